"""The command as a process: exit status, what goes where, and how it is cut off."""

import subprocess
import sys

import pytest


def command(*arguments, cwd=None, **options):
    return subprocess.run([sys.executable, "-m", "sghc.cli", *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False, **options)


def test_help_names_the_commands():
    done = command("--help")
    assert done.returncode == 0
    assert all(name in done.stdout for name in ("build", "score", "reproduce"))


def test_wrong_usage_is_two(tmp_path):
    assert command("score").returncode == 2
    assert command("score", "x.jsonl", "--no-such-option").returncode == 2
    assert command("unbuild").returncode == 2


def test_help_and_score_start_without_the_heavy_libraries(tmp_path):
    rooms = "from sghc import cli; from sghc.leaderboard import gate, scored, tables; from sghc.leaderboard.report import double, single"
    light = f"import sys; {rooms}; print(sorted(heavy & set(sys.modules)))"
    heavy = "heavy = {'torch', 'transformers', 'datasets', 'evaluate', 'pandas', 'gradio', 'sklearn'}"
    done = subprocess.run([sys.executable, "-c", f"{heavy}; {light}"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_build_starter_then_refuse_a_bad_source(tmp_path):
    done = command("build", "starter", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "not for reporting" in done.stdout.replace("\n", " ")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for arguments in (["build", "--source", tmp_path / "nowhere"], ["build", "nowhere"], ["build", "starter", "--source", tmp_path]):
        done = command(*arguments, cwd=tmp_path)
        assert done.returncode == 1
        assert done.stderr.startswith("sghatecheck: ")
        assert "Traceback" not in done.stderr
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_no_network_is_one_clear_error_that_says_what_to_do(tmp_path):
    closed = {"PATH": "/usr/bin:/bin", "HF_HOME": str(tmp_path), "HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"}
    done = command("build", cwd=tmp_path, env=closed, timeout=300)
    assert done.returncode == 1
    assert "--source DIR" in done.stderr
    assert "build starter" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "sghatecheck").exists()


@pytest.mark.parametrize("how", ["head", "closed"])
def test_a_reader_that_leaves_is_no_error(tmp_path, how):
    assert command("build", "starter", cwd=tmp_path).returncode == 0
    pipe = f"{sys.executable} -m sghc.cli build starter 2>err.txt | " + ("head -1" if how == "head" else "true")
    subprocess.run(["bash", "-c", pipe], cwd=tmp_path, capture_output=True, check=True)
    assert "Traceback" not in (tmp_path / "err.txt").read_text()
