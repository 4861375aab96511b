"""A submission: what is packed, what may be published, and that the one check refuses what should not stand on a leaderboard."""

import json

import boards
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sghc.errors import InputError
from sghc.leaderboard import packing, rows, scored, submission, submit
from sghc.leaderboard.board import row_of
from sghc.models import record

NAMED = {**boards.ABOUT, "model": "org/detector", "revision": boards.COMMIT}


@pytest.fixture
def given(suite):
    return boards.answers(suite, wrong=5)


def pack(path, ground, **options):
    return packing.pack(path, options.pop("about", NAMED), ground, **options)


def with_record(path, ground, languages=boards.LANGUAGES, asked=None, **identity):
    asked = {"suite": "own", "split": "test", "configs": [*languages], "limit": None, "data": ground.fingerprint(languages), **(asked or {})}
    identity = {"kind": "causal", "model": "org/detector", "revision": boards.COMMIT, "reading": "last-character", **identity}
    identity = {"prompt": {"name": "paper", "sha256": submission.PAPER}, **identity}
    record.write(record.new({name: value for name, value in identity.items() if value is not None}, asked), path)
    return path


def parquet(packed, folder, **columns):
    """The packed Parquet file with some columns replaced, or added; its bytes."""
    table = pq.read_table(pa.BufferReader(content_of(packed)))
    for name, values in columns.items():
        values = values if isinstance(values, pa.Array) else pa.array(values, table.schema.field(name).type if name in table.schema.names else None)
        at = table.schema.get_field_index(name)
        table = table.set_column(at, name, values) if at >= 0 else table.append_column(name, values)
    pq.write_table(table.replace_schema_metadata(None), folder / "changed.parquet")
    return (folder / "changed.parquet").read_bytes()


def content_of(packed):
    return next(content for path, content in packed.files.items() if path.endswith(".parquet"))


# --- packing ---


def test_every_form_of_the_same_predictions_is_one_submission(tmp_path, ground, given):
    boards.write(tmp_path / "a.jsonl", given)
    boards.write(tmp_path / "b.jsonl", [{**one, "prediction": ["non-hateful", "hateful"][one["prediction"]], "raw": "x"} for one in reversed(given)])
    (tmp_path / "c.csv").write_text("case_id,prediction\n" + "".join(f"{one['case_id']},{one['prediction']}\n" for one in given))
    pq.write_table(pa.Table.from_pylist(given), tmp_path / "d.parquet")
    packs = [pack(tmp_path / name, ground) for name in ("a.jsonl", "b.jsonl", "c.csv", "d.parquet")]
    assert len({one.checked.digest for one in packs}) == 1
    assert len({content_of(one) for one in packs}) == 1
    assert packs[0].folder == f"submissions/org__detector/{packs[0].checked.digest[:12]}"
    assert packs[1].notes == ["not sent: column raw"]
    other = {**NAMED, "revision": "f" * 40}
    assert pack(tmp_path / "a.jsonl", ground, about=other).checked.digest != packs[0].checked.digest
    noted = {**NAMED, "licence": "mit", "contact": "somebody else"}
    assert pack(tmp_path / "a.jsonl", ground, about=noted).checked.digest == packs[0].checked.digest


def test_outputs_scores_and_mass_are_sent_as_they_are(tmp_path, ground, given):
    more = [{"case_id": one["case_id"], "output": f"label: {one['prediction']}", "score": 0.25, "mass": 0.5, "cut": True} for one in given]
    more[0]["output"] = "cannot say"
    packed = pack(boards.write(tmp_path / "a.jsonl", more), ground)
    table = pq.read_table(pa.BufferReader(content_of(packed)))
    assert table.column_names == ["case_id", "prediction", "output", "score", "mass"]
    sent = {one["case_id"]: one for one in table.to_pylist()}
    assert sent[more[0]["case_id"]] == {"case_id": more[0]["case_id"], "prediction": None, "output": "cannot say", "score": 0.25, "mass": 0.5}
    assert packed.notes == ["not sent: column cut"]
    pq.write_table(pa.Table.from_pylist(more), tmp_path / "b.parquet")
    assert pack(tmp_path / "b.parquet", ground).checked.digest == packed.checked.digest


def test_a_parquet_file_of_another_make_is_read_the_same(tmp_path, ground, given):
    """Rows in another order, in several groups, a column that is absent, texts with and without a dictionary."""
    more = [{"case_id": one["case_id"], "output": f"label {one['prediction']}", "score": at / 1000} for at, one in enumerate(given)]
    del more[7]["score"]
    packed = pack(boards.write(tmp_path / "a.jsonl", more), ground)
    table = pq.read_table(pa.BufferReader(content_of(packed))).drop_columns(["prediction", "mass"])
    for options in ({"row_group_size": 50}, {"use_dictionary": False, "compression": "gzip"}, {"data_page_size": 100, "version": "1.0"}):
        pq.write_table(table.take(list(range(len(table)))[::-1]), tmp_path / "made.parquet", **options)
        again = submit.check(packed.submission, (tmp_path / "made.parquet").read_bytes(), "predictions.parquet", ground)
        assert again.digest == packed.checked.digest
        assert again.answers.tolist() == packed.checked.answers.tolist()


def test_what_is_shown_at_home_is_what_score_shows(tmp_path, suite, ground, given):
    given[3] = {"case_id": given[3]["case_id"], "output": "cannot say"}
    path = boards.write(tmp_path / "a.jsonl", given)
    packed = pack(path, ground)
    row, result = row_of(submit.entry_of(packed.submission, packed.checked, ground)), scored.score_file(path, suite)
    for entry, expected in ((row, result["overall"]), *((row["language"][name], result["language"][name]) for name in boards.LANGUAGES)):
        for field in ("n", "n_rejected", "n_missing", "accuracy", "macro_f1", "coverage", "accuracy_ci", "macro_f1_ci", "accuracy_hateful_ci"):
            assert entry[field] == pytest.approx(expected[field], abs=1e-6), field


def test_about_a_model_from_options_and_yaml(tmp_path, suite, given, capsys):
    path = boards.write(tmp_path / "a.jsonl", given)
    about = tmp_path / "about.yaml"
    about.write_text(
        "model: org/other\nrevision: 0123456789\nparameters: 7_000_000_000\nlicence: no\ncontact: tester\nbase: org/base\ntraining_data:\n"
    )
    status, _, err = boards.run(capsys, "submit", path, "--suite", suite, "--about", about, "--model", "org/detector", "--out", tmp_path / "board")
    assert (status, err) == (0, "")
    (document,) = (tmp_path / "board").rglob("submission.json")
    told = json.loads(document.read_text())
    assert (told["model"], told["revision"], told["parameters"], told["licence"]) == ("org/detector", "0123456789", 7_000_000_000, "no")
    assert (told["base"], told["training_data"], told["run"]) == ("org/base", None, None)
    about.write_text("modle: org/other\n")
    status, _, err = boards.run(capsys, "submit", path, "--suite", suite, "--about", about, "--dry-run")
    assert (status, "modle" in err) == (1, True)
    status, _, err = boards.run(capsys, "submit", path, "--suite", suite, "--dry-run")
    assert status == 1
    assert "licence: Field required" in err
    assert boards.run(capsys, "submit", path, "--suite", suite, "--model", "a/b")[0] == 2  # where to?


def test_the_record_goes_along_without_what_is_private(tmp_path, ground, given):
    path = boards.write(tmp_path / "a.jsonl", given)
    private = {"kind": "endpoint", "base_url": "http://10.0.0.7:8000/v1", "revision": None, "model": "/home/somebody/models/detector"}
    packed = pack(with_record(path, ground, **private), ground)
    text = packed.files[f"{packed.folder}/submission.json"].decode()
    assert "10.0.0.7" not in text
    assert "somebody" not in text
    assert packed.submission.run.identity["model"] == "detector"
    assert packed.submission.prompt.name == "paper"
    assert packed.submission.reading == "last-character"
    assert submission.marks(packed.submission) == []


@pytest.mark.parametrize(
    ("changed", "about", "said"),
    [
        ({"revision": "f" * 40}, {}, "revision"),
        ({"model": "org/another"}, {}, "model"),
        ({"reading": {"yes": 1, "no": 0}}, {"reading": "last-character"}, "reading"),
        ({"asked": {"data": "0" * 64}}, {}, "fingerprint"),
        ({"asked": {"split": "generated"}}, {}, "split"),
        ({"prompt": {"name": "own", "sha256": "short"}}, {}, "prompt"),
    ],
)
def test_a_record_of_another_run_is_refused(tmp_path, ground, given, changed, about, said):
    path = boards.write(tmp_path / "a.jsonl", given)
    pack(with_record(path, ground), ground)
    with_record(path, ground, **changed)
    with pytest.raises(InputError, match=said):
        pack(path, ground, about=NAMED | about)


def test_marks_say_what_was_asked_otherwise(tmp_path, ground, given):
    path = boards.write(tmp_path / "a.jsonl", given)
    with_record(path, ground, prompt={"name": "chat", "sha256": "0" * 64}, reading={"unsafe": 1, "safe": 0}, decode="constrained")
    assert submission.marks(pack(path, ground).submission) == ["other prompt", "other reading", "constrained decoding"]
    with_record(path, ground, kind="classifier", prompt=None, reading=None)
    packed = pack(path, ground)
    packed.submission.prompt = packed.submission.reading = None
    assert submission.marks(packed.submission) == []
    record.path_of(path).unlink()
    told = submission.marks(pack(path, ground, about=NAMED | {"revision": "2026-05-01"}).submission)
    assert told == ["prompt not stated", "reading not stated", "no run record", "revision is not a commit"]


# --- what is never published ---


def test_long_outputs_and_echoes_are_refused_by_file_and_row_and_redacted_to_the_same_answers(tmp_path, suite, ground, given, capsys):
    outputs = [{"case_id": one["case_id"], "output": str(one["prediction"])} for one in given]
    text = {one["case_id"]: one["text"] for one in boards.cases(suite)}
    other = text[given[-1]["case_id"]]
    assert len(other) > 32
    outputs[0]["output"] = "x" * 31 + "1"  # as long as may be
    outputs[1]["output"] = "x" * 32 + "1"
    outputs[2]["output"] = "y" * 40
    outputs[3]["output"] = text[given[3]["case_id"]][8:30] + " 0"  # a part of its own case
    outputs[4]["output"] = f"so: {other[:28]}"  # of another case, not whole
    outputs[5]["output"] = "hateful: label 1"
    path = boards.write(tmp_path / "a.jsonl", outputs)
    status, _, err = boards.run(capsys, "validate", path, "--suite", suite)
    assert status == 1
    assert f"{path}: 3 outputs may not be published: line 2: an output of 33 characters" in err
    assert "line 3: an output of 40 characters" in err
    assert "line 4: an output that holds text of a case" in err
    assert "--redact" in err
    assert text[given[3]["case_id"]][8:30] not in err
    packed = pack(path, ground, redact=True)
    sent = {one["case_id"]: one for one in pq.read_table(pa.BufferReader(content_of(packed))).to_pylist()}
    assert [sent[one["case_id"]]["output"] for one in outputs[:3]] == ["x" * 31 + "1", None, "rejected"]
    assert [sent[one["case_id"]]["prediction"] for one in outputs[1:4]] == [1, None, 0]
    assert packed.notes == ["redacted: 3 outputs, which read as before"]
    assert packed.checked.answers.tolist() == scored.hold(path, suite, "test", None, allow_partial=False).answers
    boards.write(path, [{"case_id": case_id, "raw": text[case_id], "prediction": 1} for case_id in text])
    assert b"green door" not in b"".join(pack(path, ground).files.values())


def test_a_short_case_said_whole_is_found_in_any_split_and_any_spelling(tmp_path, suite, ground, given, monkeypatch):
    monkeypatch.setitem(ground.__dict__, "short_texts", {b"ittolledtwic": [b"ittolledtwice"]})
    outputs = [{"case_id": one["case_id"], "output": "1"} for one in given]
    outputs[7]["output"] = ">> IT tolled\ttwice 0"
    path = boards.write(tmp_path / "a.jsonl", outputs)
    with pytest.raises(InputError, match="line 8: an output that holds text"):
        pack(path, ground)


def test_the_texts_of_all_splits_are_known(ground):
    texts = {text for found in ground.short_texts.values() for text in found}
    assert b"house0ofthesinglishbakershasagreendoor" in texts
    assert all(len(text) >= 12 for text in texts)


# --- the leaderboard's check ---


def test_a_packed_submission_passes_and_one_that_was_touched_does_not(tmp_path, suite, ground, given, capsys):
    packed = pack(boards.write(tmp_path / "a.jsonl", given), ground)
    submit.write(packed, tmp_path / "board")
    folder = tmp_path / "board" / packed.folder
    status, out, _ = boards.run(capsys, "validate", folder, "--suite", suite)
    assert status == 0
    # of each language's 72 hateful and 48 other cases 15 and 9 are wrong: F1 is 2*57/138 and 2*39/102
    assert "passes: singlish, malay; macro F1 .795, coverage 1.000" in out
    changed = np.array([one["prediction"] for one in sorted(given, key=lambda one: one["case_id"])])
    changed[0] = 1 - changed[0]
    (folder / "predictions.parquet").write_bytes(parquet(packed, tmp_path, prediction=changed))
    status, _, err = boards.run(capsys, "validate", folder, "--suite", suite)
    assert status == 1
    assert "not the name of its folder" in err


def bad(given, **columns):
    n = len(given)
    return {name: values if callable(values) else [values, *[None] * (n - 1)] for name, values in columns.items()}


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"score": lambda n: [float("nan"), *[0.5] * (n - 1)]}, "a score that is no probability between 0 and 1, in row 1"),
        ({"score": lambda n: [0.5, float("inf"), *[0.5] * (n - 2)]}, "a score that is no probability between 0 and 1, in row 2"),
        ({"mass": lambda n: [-0.1, *[None] * (n - 1)]}, "a mass that is no probability"),
        ({"prediction": lambda n: [2, *[1] * (n - 1)]}, "neither 0 nor 1, in row 1"),
        ({"prediction": lambda n: [-9, *[1] * (n - 1)]}, "neither 0 nor 1, in row 1"),
        ({"prediction": lambda n: [None, *[1] * (n - 1)]}, "neither prediction nor output, or both of them, in row 1"),
        ({"output": lambda n: ["1", *[None] * (n - 1)]}, "neither prediction nor output, or both of them, in row 1"),
        ({"raw": lambda n: ["text"] * n}, "column raw, expected only"),
        ({"score": lambda n: pa.array(["0.5"] * n)}, "column score is of type string, expected double"),
        ({"prediction": lambda n: pa.array([[1]] * n)}, "column prediction"),
        ({"case_id": lambda n: pa.array([f"x-{at}" for at in range(n)])}, "case ids are not in split test of the suite: x-0 in row 1"),
        ({"case_id": lambda n: pa.array(["<b>bold</b> no"] * n)}, "a text of 14 characters in row 1"),
        ({"case_id": lambda n: pa.array(["x" * 200] * n)}, "column case_id: a text of more than 128 bytes, in row 1"),
        ({"case_id": lambda n: pa.array([b"\xff\xfe"] * n).cast(pa.string(), safe=False)}, "not UTF-8"),
    ],
)
def test_rows_that_are_none_are_refused(tmp_path, ground, given, columns, said):
    packed = pack(boards.write(tmp_path / "a.jsonl", given), ground)
    try:
        columns = {name: make(len(given)) for name, make in columns.items()}
    except pa.ArrowInvalid:
        columns = {"case_id": pa.Array.from_buffers(pa.string(), 240, pa.array([b"\xff\xfe"] * 240).buffers())}
    with pytest.raises(InputError, match=said.replace("(", "\\(")):
        rows.read(parquet(packed, tmp_path, **columns), "predictions.parquet", ground)


def test_ids_that_stand_twice_or_in_no_suite_are_refused(tmp_path, suite, ground, given, capsys):
    ids = [one["case_id"] for one in given]
    packed = pack(boards.write(tmp_path / "a.jsonl", given), ground)
    with pytest.raises(InputError, match=f"repeated case_id: {sorted(ids)[0]}"):
        rows.read(parquet(packed, tmp_path, case_id=[sorted(ids)[0], sorted(ids)[0], *sorted(ids)[2:]]), "predictions.parquet", ground)
    boards.write(tmp_path / "b.jsonl", [*given, {"case_id": "zz-1", "prediction": 1}, {"case_id": ids[0], "prediction": 1}])
    boards.write(tmp_path / "c.jsonl", [*given, {"case_id": "zz-1", "prediction": 1}])
    status, _, err = boards.run(capsys, "validate", tmp_path / "b.jsonl", tmp_path / "c.jsonl", tmp_path / "a.jsonl", "--suite", suite)
    assert status == 1
    assert "repeated case_id" in err or "contradictory case_id" in err
    assert "c.jsonl: 1 case ids are not in split test of the suite: zz-1 in line 241" in err


def test_cases_without_an_answer_make_it_partial(tmp_path, suite, ground, given, capsys):
    given[0] = {"case_id": given[0]["case_id"], "output": None}
    path = boards.write(tmp_path / "a.jsonl", given[:-1])
    packed = pack(path, ground)
    assert packed.notes == ["not sent: 1 rows without an answer"]
    assert not submit.entry_of(packed.submission, packed.checked, ground).complete
    _, out, _ = boards.run(capsys, "validate", path, "--suite", suite)
    assert "partial, so it would not be ranked" in out
    malay = pack(boards.write(tmp_path / "b.jsonl", boards.answers(suite, languages=["malay"])), ground)
    assert malay.submission.suite.configs == ["malay"]
    assert malay.submission.suite.data == ground.fingerprint(["malay"])
    with pytest.raises(InputError, match="singlish, which the submission names"):
        pack(tmp_path / "b.jsonl", ground, configs=["all"])
    with pytest.raises(InputError, match="malay, which the submission does not name"):
        pack(path, ground, configs=["singlish"])


def test_answers_to_another_suite_are_refused(tmp_path, suite, ground, given):
    packed = pack(boards.write(tmp_path / "a.jsonl", given), ground)
    told = json.loads(submission.to_bytes(packed.submission))
    for changed, said in (
        ({"data": "0" * 64}, "fingerprint"),
        ({"configs": ["malay"]}, "fingerprint"),
        ({"configs": ["malay", "malay"]}, "named twice"),
        ({"configs": ["klingon"]}, "no language klingon"),
    ):
        one = submission.parse(json.dumps(told | {"suite": told["suite"] | changed}).encode(), "submission.json")
        with pytest.raises(InputError, match=said):
            submit.check(one, content_of(packed), "predictions.parquet", ground)
