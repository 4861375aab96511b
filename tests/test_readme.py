"""The README's snippets run as written, and its figures are those of the real suite."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", README, re.S | re.M)


@pytest.fixture
def beside(tmp_path) -> Path:
    """A folder in which the README's commands are run: the checkout's folders that they name, and nothing else."""
    for name in ("examples", "sghatecheck_metric"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def test_the_snippets_run_in_the_order_of_the_commands_before_the_python(beside):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    assert len(blocks("bash")) == 1
    assert len(blocks("python")) == 1
    subprocess.run(["bash", "-euc", *blocks("bash")], cwd=beside, env=environment, check=True, capture_output=True)
    assert json.loads((beside / "results.json").read_text())["overall"]["n"] == 3305
    (beside / "snippet.py").write_text(blocks("python")[0])
    done = subprocess.run([sys.executable, "snippet.py"], cwd=beside, env=environment, check=True, capture_output=True, text=True)
    assert "sghatecheck|v:" in done.stdout


def test_the_profanity_filters_figures(beside, shared_data):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def run(*command):
        subprocess.run([sys.executable, *map(str, command)], cwd=beside, env=environment, check=True, capture_output=True)

    run("-m", "sghc.cli", "build", "--source", shared_data / "sghatecheck")
    run("examples/profanity_filter.py", "sghatecheck", "predictions.jsonl", "singlish")
    run("-m", "sghc.cli", "score", "predictions.jsonl", "--json", "results.json")
    result = json.loads((beside / "results.json").read_text())
    assert f"accuracy is {result['overall']['accuracy']:.3f}".replace("0.", ".") in README
    rows = re.findall(r"^\| [^|]+ \| F\d+ `(\w+)` \| (\.\d+) \| (\.\d+) to (\.\d+|1\.00) \| (\d+) \|$", README, re.M)
    assert len(rows) == 6
    for name, right, low, high, n in rows:
        values = result["functionality"][name]
        assert (f"{values['accuracy']:.3f}", values["n"]) == (f"0{right}", int(n))
        assert values["accuracy_ci"] == pytest.approx([float(low), float(high)], abs=0.0051)
    missed = {target: f"{100 * (1 - values['accuracy_hateful']):.0f} %" for target, values in result["target"].items()}
    assert f"{missed['Immigrants']} of the hate against immigrants and {missed['Mentally Ill']} of that against the mentally ill" in README
    assert result["signature"] in README
