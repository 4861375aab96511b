"""The wheel in a new environment, used from an empty folder: nothing may depend on the checkout."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "build", "dist", "*.egg-info", "__pycache__", "sghatecheck", ".*_cache")


def run(*command, cwd, **options) -> str:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command[1:4]}: {done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def bin(tmp_path_factory) -> Path:
    """The bin folder of a new environment with the wheel and its light dependencies in it."""
    top = tmp_path_factory.mktemp("installed")
    shutil.copytree(ROOT, top / "checkout", ignore=LEFT_OUT)  # a build leaves folders behind, so not in the checkout itself
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", top, top / "checkout", cwd=top)
    shutil.rmtree(top / "checkout")
    run(sys.executable, "-m", "venv", top / "venv", cwd=top)
    pip = (top / "venv/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", ROOT / "constraints.txt")
    run(*pip, next(top.glob("*.whl")), cwd=top, timeout=900)
    return top / "venv/bin"


def test_build_score_and_load_from_an_empty_folder(bin, tmp_path):
    out = run(bin / "sghatecheck", "build", "starter", cwd=tmp_path)
    assert "3,305" in out
    cases = (
        "from datasets import load_dataset; import json;"
        "rows = load_dataset('sghatecheck', 'all', split='test');"
        "print('\\n'.join(json.dumps({'case_id': case_id, 'prediction': 1}) for case_id in rows['case_id']))"
    )
    (tmp_path / "predictions.jsonl").write_text(run(bin / "python", "-c", cases, cwd=tmp_path))
    out = run(bin / "sghatecheck", "score", "predictions.jsonl", "--json", "results.json", "--report", "report.html", cwd=tmp_path)
    assert "not for reporting" in out
    assert "not for reporting" in (tmp_path / "report.html").read_text()
    result = json.loads((tmp_path / "results.json").read_text())
    assert (result["overall"]["n"], result["overall"]["accuracy_hateful"], result["overall"]["accuracy_non_hateful"]) == (3305, 1, 0)


def test_the_metric_loads_from_the_installed_package(bin, tmp_path):
    code = (
        "import evaluate, sghatecheck_metric;"
        "metric = evaluate.load(sghatecheck_metric.__path__[0]);"
        "print(metric.compute(predictions=[1, 0], references=[1, 1])['overall']['accuracy'])"
    )
    assert run(bin / "python", "-c", code, cwd=tmp_path).strip() == "0.5"


def test_the_official_suite_and_the_papers_tables(bin, tmp_path, shared_data):
    run(bin / "sghatecheck", "build", "--source", shared_data / "sghatecheck", cwd=tmp_path)
    assert (tmp_path / "sghatecheck" / "README.md").read_text(encoding="utf-8").count("Data statement") == 1
    run(bin / "sghatecheck", "reproduce", "--source", shared_data / "sghatecheck", "--json", "tables.json", cwd=tmp_path)
    comparison = json.loads((tmp_path / "tables.json").read_text())["comparison"]["tables"]
    assert (comparison["table4"]["equal"], comparison["table4"]["printed"]) == (515, 515)
