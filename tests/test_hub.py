"""Submissions on their way to the Hub and back, with the real client against a server on loopback: nothing lost, nothing twice."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import boards
import hub_server
import pytest
from huggingface_hub import HfApi

from sghc.leaderboard import opened, published

REPO = "org/sghatecheck-leaderboard"
FOLDER = "submissions/org__detector"


@pytest.fixture(scope="module")
def at_work():
    with hub_server.running() as server:
        yield server


@pytest.fixture
def server(at_work, monkeypatch, tmp_path):
    at_work.reset()
    hub_server.use(at_work, monkeypatch, tmp_path / "hub")
    HfApi().create_repo(REPO, repo_type="dataset")
    return at_work


@pytest.fixture
def file(tmp_path, suite):
    return boards.write(tmp_path / "predictions.jsonl", boards.answers(suite, wrong=5))


def options(suite, model="org/detector"):
    return ["--suite", suite, "--model", model, "--revision", boards.COMMIT, "--contact", "tester", "--licence", "mit", "--repo", REPO]


def merge_all(server):
    for number in range(1, 1 + len(server.repos[REPO].pulls)):
        HfApi().merge_pull_request(REPO, number, repo_type="dataset")


def rank(capsys, suite, place, *more):
    status, out, err = boards.run(capsys, "rank", REPO, "--suite", suite, "--out", place / "board", "--cache", place / "cache", *more)
    assert status == 0, err
    return json.loads((place / "board" / "leaderboard.json").read_text()), out


def test_a_submission_goes_there_and_comes_back_ranked(server, suite, file, tmp_path, capsys):
    status, out, err = boards.run(capsys, "submit", file, *options(suite))
    assert (status, err) == (0, "")
    assert f"{server.url}/datasets/{REPO}/discussions/1 opened" in out
    pull = server.repos[REPO].pulls[0]
    (document, predictions) = sorted(pull["added"], reverse=True)
    assert document.startswith(f"{FOLDER}/")
    assert document.endswith("/submission.json")
    assert predictions == document.replace("submission.json", "predictions.parquet")
    assert pull["added"][predictions].lfs
    assert server.repos[REPO].files("main") == {}  # nothing is merged by itself
    merge_all(server)
    board, out = rank(capsys, suite, tmp_path)
    (row,) = board["rows"]
    assert row["model"] == "org/detector"
    assert row["accuracy"] == pytest.approx(0.8)
    assert board["revision"] == server.repos[REPO].refs["main"]
    assert "1 newly scored" in out
    board_again, out = rank(capsys, suite, tmp_path)
    assert board_again == board
    assert "0 newly scored" in out


def test_what_rank_wrote_is_read_from_the_repository_to_be_shown(server, suite, file, tmp_path, capsys):
    boards.run(capsys, "submit", file, *options(suite))
    merge_all(server)
    status, _, err = boards.run(capsys, "serve", REPO, "--suite", suite)
    assert (status, f"no leaderboard.json in it, which `sghatecheck rank {REPO}` writes" in err) == (1, True)
    board, _ = rank(capsys, suite, tmp_path)
    for name in ("leaderboard.json", "results.parquet"):
        server.repos[REPO].write(name, (tmp_path / "board" / name).read_bytes())
    shown = published.open_published(REPO)
    assert shown.board == board
    assert len(shown.results) > 0
    (id,) = shown.submissions
    assert "table" in opened.Opener(shown.folder, shown.within, suite).page(id)  # through the links of the client's cache


def test_the_same_answers_are_not_sent_twice(server, suite, file, capsys):
    boards.run(capsys, "submit", file, *options(suite))
    for state, said in (("open", "open already"), ("closed", "was closed"), ("merged", "merged already")):
        if state == "merged":
            merge_all(server)
        else:
            server.repos[REPO].pulls[0]["status"] = state
        status, out, _ = boards.run(capsys, "submit", file, *options(suite), "--licence", "apache-2.0")  # another note, the same answers
        assert status == 0
        assert said in out
        assert "nothing was sent" in out
    assert len(server.repos[REPO].pulls) == 1
    assert server.calls["commit"] == 1


def test_another_pull_request_of_the_same_name_is_not_taken_for_it(server, suite, file, capsys):
    boards.run(capsys, "submit", file, *options(suite))
    server.repos[REPO].pulls[0]["added"] = {}
    server.repos[REPO].commit("refs/pr/1", {})
    assert "discussions/2 opened" in boards.run(capsys, "submit", file, *options(suite))[1]


@pytest.mark.parametrize(
    ("kind", "troubles"),
    [
        ("commit", [412, 412]),
        ("commit", [429]),
        ("commit", [500, 503]),
        ("commit", ["cut"]),
        ("commit", ["lost"]),
        ("lfs-put", ["cut"]),
        ("lfs-put", ["lost"]),
        ("lfs-put", [500]),
        ("lfs-batch", [429]),
        ("lfs-verify", ["cut"]),
        ("preupload", [500]),
        ("paths-info", [500]),
        ("discussions", ["cut", "html"]),
    ],
)
def test_what_passes_is_tried_again_and_lands_once(server, suite, file, capsys, kind, troubles):
    server.script[kind] = list(troubles)
    status, _, err = boards.run(capsys, "submit", file, *options(suite))
    assert (status, err) == (0, "")
    assert server.script[kind] == []
    (pull,) = server.repos[REPO].pulls
    assert len(pull["added"]) == 2
    merge_all(server)
    assert len(server.repos[REPO].files("main")) == 2


def test_what_does_not_pass_is_one_clear_error_and_the_next_try_goes_on(server, suite, file, capsys):
    server.script["commit"] = [500] * 20
    status, _, err = boards.run(capsys, "submit", file, *options(suite))
    assert status == 1
    assert "HTTP 500" in err
    assert "Traceback" not in err
    server.script["commit"] = []
    puts = server.calls["lfs-put"]
    assert boards.run(capsys, "submit", file, *options(suite))[0] == 0
    assert server.calls["lfs-put"] == puts  # what was uploaded is not uploaded again
    assert len(server.repos[REPO].pulls) == 1


@pytest.mark.parametrize(("status", "advice"), [(401, "HF_TOKEN"), (403, "pull requests"), (404, "no such dataset repository")])
def test_refusals_say_what_to_do_and_are_not_repeated(server, suite, file, capsys, status, advice):
    server.script["commit"] = [status] * 2
    code, _, err = boards.run(capsys, "submit", file, *options(suite))
    assert code == 1
    assert advice in err
    assert server.calls["commit"] == 1


def test_the_token_is_sent_and_never_shown(server, suite, file, tmp_path, capsys, monkeypatch):
    server.script["commit"] = [403]
    server.script["lfs-put"] = [500]
    outs = boards.run(capsys, "submit", file, *options(suite), "--out", tmp_path / "local")
    assert f"Bearer {hub_server.TOKEN}" in server.tokens
    everything = "".join(map(str, outs)) + "".join(path.read_bytes().decode("latin-1") for path in (tmp_path / "local").rglob("*") if path.is_file())
    assert hub_server.TOKEN not in everything
    assert "signed=secret" not in everything
    monkeypatch.delenv("HF_TOKEN")
    calls = server.calls.total()
    code, _, err = boards.run(capsys, "submit", file, *options(suite))
    assert (code, server.calls.total()) == (1, calls)
    assert "hf auth login" in err


def test_two_at_once_both_land(server, suite, ground, tmp_path, capsys):
    from pathlib import Path

    from sghc.leaderboard import packing, submit

    server.meet = 2  # the first commit takes until the second has come, which is a conflict
    packs = []
    for number in (2, 3):
        path = boards.write(tmp_path / f"{number}.jsonl", boards.answers(suite, wrong=number))
        packs.append(packing.pack(path, {**boards.ABOUT, "model": f"org/detector-{number}", "revision": boards.COMMIT}, ground))
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda packed: submit.send(packed, REPO), packs))
    assert all("opened" in one for one in said)
    assert server.calls["commit"] == 3  # one of them met the other, and tried again
    assert len(server.repos[REPO].pulls) == 2
    merge_all(server)
    board, _ = rank(capsys, suite, Path(tmp_path))
    assert [row["model"] for row in board["rows"]] == ["org/detector-3", "org/detector-2"]


def test_a_dry_run_asks_the_hub_for_nothing(server, suite, file, capsys):
    calls = server.calls.total()
    status, out, _ = boards.run(capsys, "submit", file, *options(suite), "--dry-run")
    assert status == 0
    assert "nothing was sent" in out
    assert server.calls.total() == calls


@pytest.mark.parametrize(("kind", "troubles"), [("resolve", ["half"]), ("resolve", ["cut", 500]), ("tree", [429]), ("info", [500, "cut"])])
def test_a_download_survives_a_bad_line(server, suite, file, tmp_path, capsys, kind, troubles):
    boards.run(capsys, "submit", file, *options(suite))
    merge_all(server)
    server.script[kind] = list(troubles)
    board, _ = rank(capsys, suite, tmp_path)
    assert server.script[kind] == []
    assert [row["model"] for row in board["rows"]] == ["org/detector"]


def test_a_hub_that_stays_down_is_an_error_and_no_old_board(server, suite, file, tmp_path, capsys):
    boards.run(capsys, "submit", file, *options(suite))
    merge_all(server)
    rank(capsys, suite, tmp_path)
    server.script["info"] = [503] * 20
    before = (tmp_path / "board" / "leaderboard.json").read_bytes()
    status, _, err = boards.run(capsys, "rank", REPO, "--suite", suite, "--out", tmp_path / "board")
    assert status == 1
    assert "HTTP 503" in err
    assert (tmp_path / "board" / "leaderboard.json").read_bytes() == before


def test_what_is_too_large_or_out_of_place_is_not_downloaded(server, suite, file, tmp_path, capsys):
    boards.run(capsys, "submit", file, *options(suite))
    merge_all(server)
    repo, digest = server.repos[REPO], "0" * 12
    repo.write(f"submissions/org__large/{digest}/predictions.parquet", b"0" * (9 << 20), lfs=True)
    repo.write(f"submissions/org__large/{digest}/submission.json", b"{}")
    repo.write(f"submissions/org__odd/{digest}/run me.py", b"print()")
    repo.write("submissions/[ab]*.txt", b"x")
    repo.write("README.md", b"# a leaderboard")
    before = server.calls["resolve"]
    board, _ = rank(capsys, suite, tmp_path)
    assert len(board["rows"]) == 1
    aside = {one["path"]: one["reason"] for one in board["set_aside"]}
    assert "larger than" in aside[f"submissions/org__large/{digest}/predictions.parquet"]
    assert "not a file of a submission" in aside[f"submissions/org__odd/{digest}/run me.py"]
    assert "submissions/[ab]*.txt" in aside
    assert server.calls["resolve"] - before <= 2 * 3  # HEAD and GET of three small files


def test_a_repository_without_submissions_is_an_empty_board(server, suite, file, tmp_path, capsys):
    boards.run(capsys, "submit", file, *options(suite))  # open, and not merged
    board, _ = rank(capsys, suite, tmp_path)
    assert (board["rows"], board["set_aside"]) == ([], [])
    merge_all(server)
    digest = rank(capsys, suite, tmp_path)[0]["rows"][0]["digest"]
    server.repos[REPO].write("verified.yaml", f"{digest}: {{by: maintainer, on: 2026-11-01}}\n".encode())
    assert rank(capsys, suite, tmp_path)[0]["rows"][0]["verified"]


def test_a_revision_is_ranked_as_it_was(server, suite, file, tmp_path, capsys):
    boards.run(capsys, "submit", file, *options(suite))
    merge_all(server)
    first = server.repos[REPO].refs["main"]
    boards.write(file, boards.answers(suite, wrong=2))
    boards.run(capsys, "submit", file, *options(suite, "org/other"))
    merge_all(server)
    assert len(rank(capsys, suite, tmp_path)[0]["rows"]) == 2
    board, _ = rank(capsys, suite, tmp_path, "--revision", first)
    assert ([row["model"] for row in board["rows"]], board["revision"]) == (["org/detector"], first)
    assert boards.run(capsys, "rank", REPO, "--suite", suite, "--revision", "no-such-branch")[0] == 1
    assert boards.run(capsys, "rank", "org/no-such-board", "--suite", suite)[0] == 1


def test_the_command_in_a_process_of_its_own_heeds_the_hubs_variables(server, suite, file, tmp_path):
    """HF_ENDPOINT and HF_TOKEN are read where the library is imported, so the whole command runs as a user runs it."""
    variables = {"HF_ENDPOINT": server.url, "HF_TOKEN": hub_server.TOKEN, "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0", "HF_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "sghc.cli", "submit", str(file), *map(str, options(suite))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **variables})
    assert (done.returncode, done.stderr) == (0, "")
    assert "opened" in done.stdout
    assert len(server.repos[REPO].pulls) == 1
