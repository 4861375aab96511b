# Two commands do everything on a new machine with Python 3.11 or newer: `make demo` and `make test`. The pip lines behind them are in the README.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test lint clean

# the starter suite, a real detector over it, its scores
demo: .venv/demo
	$(BIN)/sghatecheck build starter --out .venv/suite
	$(BIN)/python examples/profanity_filter.py .venv/suite .venv/predictions.jsonl
	$(BIN)/sghatecheck score .venv/predictions.jsonl --suite .venv/suite

test: .venv/test lint
	$(BIN)/python -m pytest

lint: .venv/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

.venv/demo: setup.cfg constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) --editable ".[demo]"
	touch $@

.venv/test: setup.cfg constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) --editable ".[test]"
	touch $@

clean:
	rm -rf .venv
