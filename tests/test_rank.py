"""`sghatecheck rank`: merged submissions scored from their answers, in order, with who is tied; what is at fault stops nothing."""

import hashlib
import json
import subprocess
import sys

import boards
import numpy as np
import pyarrow.parquet as pq
import pytest

from sghatecheck_metric.comparing import compare
from sghc.leaderboard import baselines, cache, packing, ranking, scored, standing, submission, submit
from sghc.models import record
from sghc.suite.catalogue import FUNCTIONALITIES

ABOUT = {**boards.ABOUT, "revision": boards.COMMIT}


@pytest.fixture
def place(tmp_path):
    (tmp_path / "board" / "submissions").mkdir(parents=True)
    return tmp_path


def add(place, suite, ground, model, rows=None, wrong=0, **about):
    """Packs answers, writes them into the board, and returns what was packed."""
    path = boards.write(place / f"{model.partition('/')[2]}.jsonl", boards.answers(suite, wrong) if rows is None else rows)
    packed = packing.pack(path, {**ABOUT, "model": model, **about}, ground)
    submit.write(packed, place / "board")
    return packed


def rank(place, ground, paper=(), **options):
    return ranking.rank(ranking.open_place(str(place / "board"), None), ground, paper, options.get("cache", place / "cache"))


def test_rows_are_in_order_with_the_numbers_and_intervals_of_score(place, suite, ground):
    for model, wrong in (("org/fifth", 5), ("org/right", 0), ("org/fourth", 4)):
        add(place, suite, ground, model, wrong=wrong)
    rows = rank(place, ground).board["rows"]
    assert [row["model"] for row in rows] == ["org/right", "org/fifth", "org/fourth"]
    assert [row["rank"] for row in rows] == [1, 2, 3]
    assert rows[0]["macro_f1"] == 1
    assert rows[1]["macro_f1"] == pytest.approx((2 * 57 / 138 + 2 * 39 / 102) / 2)  # worked out in test_submission.py
    expected = scored.score_file(place / "fourth.jsonl", suite)
    assert expected["overall"]["macro_f1_ci"]
    for entry, other in ((rows[2], expected["overall"]), *((rows[2]["language"][name], expected["language"][name]) for name in boards.LANGUAGES)):
        for field in ("macro_f1", "macro_f1_ci", "accuracy", "accuracy_ci", "accuracy_non_hateful_ci", "coverage", "n"):
            assert entry[field] == pytest.approx(other[field], abs=1e-6)


def test_slices_are_those_of_score(place, suite, ground):
    add(place, suite, ground, "org/fourth", wrong=4)
    ranking.write(rank(place, ground), place / "out")
    table = pq.read_table(place / "out" / "results.parquet").to_pylist()
    found = {(one["level"], one["language"], one["group"]): one for one in table}
    expected = scored.score_file(place / "fourth.jsonl", suite, ci="none")
    for target, entry in expected["target"].items():
        for field in ("n", "accuracy", "macro_f1", "accuracy_hateful", "coverage", "n_missing"):
            assert found["target", None, target][field] == pytest.approx(entry[field])
    for key, entry in expected["language_target"].items():
        language, target = key.split("/")
        assert found["target", language, target]["macro_f1"] == pytest.approx(entry["macro_f1"])
    for name, entry in expected["functionality"].items():  # each is alone in its class
        one = found["functional_class", None, FUNCTIONALITIES[name].functional_class]
        assert one["accuracy"] == pytest.approx(entry["accuracy"])
        assert one["macro_f1"] is None
    assert found["overall", None, None]["macro_f1_low"] < found["overall", None, None]["macro_f1"] < found["overall", None, None]["macro_f1_high"]
    assert found["target", "malay", "Women"]["macro_f1_low"] is None
    assert len(found) == len(table) == 3 + 2 * 3 + 3 * 3


def test_ties_are_told_from_paired_differences(place, suite, ground):
    """Two that differ in two cases are tied, one that is far behind is not; the interval is that of `compare`, by another route."""
    right, nearly, far = boards.answers(suite), boards.answers(suite), boards.answers(suite, 4)
    for at in (0, 200):
        nearly[at]["prediction"] ^= 1
    packs = [add(place, suite, ground, f"org/{name}", one) for name, one in (("right", right), ("nearly", nearly), ("far", far))]
    rows = rank(place, ground).board["rows"]
    assert [(row["rank"], row["rank_best"], row["rank_worst"]) for row in rows] == [(1, 1, 2), (2, 1, 2), (3, 3, 3)]
    assert [row["tied_with_next"] for row in rows] == [True, False, None]
    assert [row["tied_with_first"] for row in rows] == [True, True, False]
    columns = {name: ground.cases[name] for name in ("language", "functionality", "cluster")}
    other = compare(packs[2].checked.answers, packs[1].checked.answers, ground.gold, **columns)["overall"]["macro_f1"]
    assert rows[1]["next"]["id"] == rows[2]["id"]
    assert rows[1]["next"]["difference"] == pytest.approx(other["difference"])
    assert rows[1]["next"]["difference_ci"] == pytest.approx(other["difference_ci"], abs=0.01)
    assert rows[2]["next"] is None


def test_who_is_better_beyond_noise_pair_by_pair():
    """Against the standard deviation of each pair's differences, taken one by one."""
    rng = np.random.default_rng(0)
    shared = rng.normal(0, 0.05, 2000)  # what is hard for all
    replicates = np.stack([value + shared + rng.normal(0, spread, 2000) for value, spread in ((0.7, 0.004), (0.72, 0.004), (0.73, 0.02))])
    values = np.array([0.7, 0.72, 0.73])
    told, half = standing.better(values, replicates.astype(np.float32), 200)
    for i in range(3):
        for j in range(3):
            expected = 1.9719 * np.std(replicates[i] - replicates[j], ddof=1)  # the quantile of t with 200 degrees of freedom
            assert half[i, j] == pytest.approx(expected, rel=2e-3, abs=1e-6)
    assert told.tolist() == [[False] * 3, [True, False, False], [False] * 3]
    assert not standing.better(values, replicates, 9)[0].any()  # too few clusters to tell


def test_equal_answers_share_a_place(place, suite, ground):
    for model in ("org/b", "org/a", "org/c"):
        add(place, suite, ground, model, wrong=4)
    rows = rank(place, ground).board["rows"]
    assert [(row["model"], row["rank"], row["rank_best"], row["rank_worst"]) for row in rows] == [(f"org/{one}", 1, 1, 3) for one in "abc"]


def test_only_new_submissions_are_scored_and_the_board_is_the_same(place, suite, ground, capsys):
    add(place, suite, ground, "org/fifth", wrong=5)
    first = rank(place, ground)
    assert (first.scored, rank(place, ground).scored) == (1, 0)
    assert rank(place, ground).board == first.board
    assert rank(place, ground, cache=place / "another").board == first.board
    add(place, suite, ground, "org/third", wrong=3)
    assert rank(place, ground).scored == 1
    for content in (b"", b"PK\x03\x04 not a cache"):
        (place / "cache" / cache.place_of(place / "cache", ground).name).write_bytes(content)
        assert (rank(place, ground).scored, rank(place, ground).scored) == (2, 0)
    arguments = ["rank", place / "board", "--suite", suite, "--cache", place / "cache"]
    for scored_now in ("0 newly scored", "0 newly scored"):
        status, out, _ = boards.run(capsys, *arguments)
        assert status == 0
        assert scored_now in out
    written = (place / "board" / "leaderboard.json").read_bytes()
    board = json.loads(written)
    assert board["results"]["sha256"] == hashlib.sha256((place / "board" / "results.parquet").read_bytes()).hexdigest()
    boards.run(capsys, *arguments)
    assert (place / "board" / "leaderboard.json").read_bytes() == written  # ranked again, with its own results beside: the same bytes


def test_ranking_needs_no_heavy_library(place, suite, ground):
    """pandas, which pyarrow imports at the least occasion, would double the time that one more submission takes."""
    add(place, suite, ground, "org/fifth", wrong=5)
    command = f"rank {place / 'board'} --suite {suite} --cache {place / 'cache'}".split()
    run = f"import sys; sys.argv[1:] = {command!r}\nfrom sghc import cli\ntry: cli.main()\nexcept SystemExit: pass\n"
    heavy = "heavy = {'torch', 'transformers', 'datasets', 'evaluate', 'pandas', 'gradio', 'sklearn', 'huggingface_hub'}\n"
    done = subprocess.run([sys.executable, "-c", heavy + run + "print(sorted(heavy & set(sys.modules)))"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_cache_is_never_taken_from_a_leaderboards_folder(place, suite, ground, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "home"))
    add(place, suite, ground, "org/fifth", wrong=5)
    ranking.rank(ranking.open_place(str(place / "board"), None), ground, ())
    assert [path.parent for path in place.rglob("*.npz")] == [place / "home" / "sghatecheck" / "leaderboard"]


def test_the_bad_ones_are_set_aside_with_reasons_and_stop_nothing(place, suite, ground, capsys):
    good = add(place, suite, ground, "org/good", wrong=5)
    touched = add(place, suite, ground, "org/touched", wrong=4)
    boasting = add(place, suite, ground, "org/boasting", wrong=3)
    stranger = add(place, suite, ground, "org/stranger", wrong=6)
    empty = add(place, suite, ground, "org/empty", wrong=7)
    folders = {one.submission.model: place / "board" / one.folder for one in (good, touched, boasting, stranger, empty)}
    predictions = (folders["org/good"] / "predictions.parquet").read_bytes()
    (folders["org/touched"] / "predictions.parquet").write_bytes(predictions)  # better answers than those that its name stands for
    told = json.loads((folders["org/boasting"] / "submission.json").read_text())
    (folders["org/boasting"] / "submission.json").write_text(json.dumps(told | {"macro_f1": 0.98765}))
    (folders["org/stranger"] / "submission.json").write_text(
        json.dumps(told | {"model": "org/stranger", "suite": told["suite"] | {"data": "0" * 64}})
    )
    (folders["org/empty"] / "predictions.parquet").write_bytes(b"PAR1" * 5)
    status, out, err = boards.run(capsys, "rank", place / "board", "--suite", suite, "--cache", place / "cache")
    assert (status, "Traceback" in err) == (0, False)
    board = json.loads((place / "board" / "leaderboard.json").read_text())
    assert [row["model"] for row in board["rows"]] == ["org/good"]
    reasons = {one["path"].split("/")[1]: one["reason"] for one in board["set_aside"]}
    assert "not the name of its folder" in reasons["org__touched"]
    assert "macro_f1: Extra inputs are not permitted" in reasons["org__boasting"]
    assert "fingerprint" in reasons["org__stranger"]
    assert "not readable as Parquet" in reasons["org__empty"]
    assert not any(str(place) in why for why in reasons.values())
    assert "4 set aside" in out
    assert "0.98765" not in (place / "board" / "leaderboard.json").read_text()


def test_a_reader_that_breaks_stops_nothing(place, suite, ground, monkeypatch):
    add(place, suite, ground, "org/a", wrong=5)
    add(place, suite, ground, "org/b", wrong=4)
    read, calls = ranking.read, []

    def broken(content, name, on):
        calls.append(name)
        if len(calls) == 1:
            raise OverflowError("deep inside")
        return read(content, name, on)

    monkeypatch.setattr(ranking, "read", broken)
    board = rank(place, ground).board
    assert [row["model"] for row in board["rows"]] == ["org/b"]
    assert board["set_aside"][0]["reason"] == "cannot be read (OverflowError)"


def test_partial_ones_are_apart(place, suite, ground):
    add(place, suite, ground, "org/whole", wrong=3)
    add(place, suite, ground, "org/malay", boards.answers(suite, languages=["malay"]))
    add(place, suite, ground, "org/lacking", boards.answers(suite)[:-1])
    board = rank(place, ground).board
    assert [row["model"] for row in board["rows"]] == ["org/whole"]
    partial = {row["model"]: row for row in board["partial"]}
    assert partial["org/malay"]["language"]["malay"]["macro_f1"] == 1
    assert partial["org/malay"]["language"]["singlish"]["macro_f1"] is None
    assert partial["org/malay"]["n_missing"] == 120
    assert partial["org/lacking"]["n_missing"] == 1
    assert "rank" not in partial["org/malay"]


def test_a_row_is_verified_where_a_maintainer_says_so(place, suite, ground, capsys):
    one = add(place, suite, ground, "org/one", wrong=5)
    add(place, suite, ground, "org/two", wrong=6)
    (place / "board" / "verified.yaml").write_text(f"{one.checked.digest}: {{by: a maintainer, on: 2026-11-01}}\n{'0' * 64}: {{by: a, on: b}}\n")
    status, out, _ = boards.run(capsys, "rank", place / "board", "--suite", suite, "--cache", place / "cache")
    board = json.loads((place / "board" / "leaderboard.json").read_text())
    assert {row["model"]: row["verified"] for row in board["rows"]} == {"org/one": True, "org/two": False}
    assert next(row for row in board["rows"] if row["verified"])["verification"] == {"by": "a maintainer", "on": "2026-11-01", "note": None}
    assert "labels are public" in board["notes"]["verified"]
    assert "labels are public" in out
    (place / "board" / "verified.yaml").write_text("[")
    status, _, err = boards.run(capsys, "rank", place / "board", "--suite", suite, "--cache", place / "cache")
    assert (status, "verified.yaml" in err) == (1, True)


def test_rows_say_how_they_were_asked(place, suite, ground):
    path = boards.write(place / "chat.jsonl", boards.answers(suite, 5))
    identity = {"kind": "causal", "model": "org/chat", "revision": boards.COMMIT, "reading": "last-character"}
    asked = {"suite": "own", "split": "test", "configs": [*boards.LANGUAGES], "limit": None, "data": ground.fingerprint(boards.LANGUAGES)}
    for prompt, marks in (({"name": "paper", "sha256": submission.PAPER}, []), ({"name": "chat", "sha256": "0" * 64}, ["other prompt"])):
        record.write(record.new({**identity, "prompt": prompt}, asked), path)
        submit.write(
            packing.pack(path, {**ABOUT, "model": f"org/{prompt['name']}", "revision": boards.COMMIT} | {"model": "org/chat"}, ground),
            place / "board",
        )
        (row,) = [one for one in rank(place, ground).board["rows"] if one["prompt"] == prompt["name"]]
        assert row["marks"] == marks


def test_a_board_without_submissions_and_places_that_are_none(place, suite, ground, capsys, monkeypatch):
    monkeypatch.chdir(place)
    board = rank(place, ground).board
    assert (board["rows"], board["partial"], board["set_aside"]) == ([], [], [])
    ranking.write(rank(place, ground), place / "out")
    assert pq.read_table(place / "out" / "results.parquet").num_rows == 0
    for name, said in (("nowhere", "no such folder"), (place, "no folder submissions"), ("../../no/x", "no such folder")):
        status, _, err = boards.run(capsys, "rank", name, "--suite", suite)
        assert (status, said in err) == (1, True)


def test_a_board_that_cannot_be_written_leaves_the_old_one(place, suite, ground, monkeypatch):
    add(place, suite, ground, "org/one", wrong=5)
    ranking.write(rank(place, ground), place / "out")
    before = {path.name: path.read_bytes() for path in (place / "out").iterdir()}
    add(place, suite, ground, "org/two", wrong=4)
    whole = ranking.write_whole
    monkeypatch.setattr(ranking, "write_whole", lambda path, content: whole(path / "x" if path.name == "results.parquet" else path, content))
    with pytest.raises(Exception, match="cannot be written"):
        ranking.write(rank(place, ground), place / "out")
    assert {path.name: path.read_bytes() for path in (place / "out").iterdir()} == before


# --- the paper's runs ---


def test_the_papers_runs_as_printed(place, ground):
    found = rank(place, ground, baselines.baselines(None)).board["baselines"]
    assert len(found) == 10
    mistral = next(row for row in found if row["model"] == "Mistral fine-tuned on MultiSet")
    assert mistral["marks"] == ["printed tables"]
    assert mistral["language"]["singlish"]["accuracy"] == 0.8  # Table 4
    assert mistral["accuracy"] == pytest.approx((0.8 + 0.61 + 0.83 + 0.415) / 4)
    assert mistral["macro_f1"] is None
    assert "0.48" in mistral["remarks"][0]
    assert not any("rank" in row or row["verified"] for row in found)


def test_the_papers_runs_from_their_predictions(place, ground, shared_data):
    """The means over the five models are those of Table 3, cut to three digits as it prints them; coverage and rejections are the run's own."""
    found = rank(place, ground, baselines.baselines(shared_data / "sghatecheck")).board["baselines"]
    assert len(found) == 10
    runs = [row for row in found if row["marks"] == ["paper frame"]]
    assert [row["model"] for row in runs] == [f"{name} fine-tuned on MultiSet" for name in ("LLaMA2", "mBert", "Mistral", "SEA-LION", "SeaLLM")]
    printed = {"singlish": 0.507, "malay": 0.536, "mandarin": 0.585, "tamil": 0.291}
    for language, value in printed.items():
        assert int(1000 * np.mean([row["language"][language]["macro_f1"] for row in runs])) / 1000 == value
    mistral = next(row for row in runs if "Mistral" in row["model"])
    assert round(mistral["language"]["singlish"]["accuracy"], 3) == 0.8
    assert [mistral["language"][language]["n"] for language in printed] == [2855, 2208, 2594, 2476]
    assert next(row for row in runs if "SEA-LION" in row["model"])["language"]["tamil"]["n_rejected"] == 1
    low, high = mistral["language"]["singlish"]["macro_f1_ci"]
    assert low < mistral["language"]["singlish"]["macro_f1"] < high
