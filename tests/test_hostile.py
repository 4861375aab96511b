"""What a stranger may put into a submission or a leaderboard's folder: bombs, markup, names and links. Each is refused, or stays what it is: text."""

import json
import os
import resource
import subprocess
import sys
import time

import boards
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sghc.errors import InputError
from sghc.leaderboard import bounded, packing, ranking, rows, submission, submit
from sghc.leaderboard.gathering import read_verified

NAMED = {**boards.ABOUT, "model": "org/detector", "revision": boards.COMMIT}
MARKUP = '<script>alert("x")</script><img src=x onerror=alert(1)> [a](javascript:alert(1)) {{7*7}} \'; DROP TABLE--'
MEBI = 1 << 20


@pytest.fixture
def packed(tmp_path, suite, ground):
    return packing.pack(boards.write(tmp_path / "a.jsonl", boards.answers(suite, wrong=5)), NAMED, ground)


@pytest.fixture
def document(packed):
    return json.loads(submission.to_bytes(packed.submission))


def parse(document) -> submission.Submission:
    return submission.parse(json.dumps(document).encode(), "submission.json")


def to_bytes(table, place, **options) -> bytes:
    pq.write_table(table, place / "made.parquet", compression="zstd", **options)
    return (place / "made.parquet").read_bytes()


def within(seconds: float, mebibytes: int):
    """Asserts, when left, that neither processor time nor the peak of memory has grown by more."""

    class Within:
        def __enter__(self):
            self.start, self.peak = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        def __exit__(self, *_):
            assert time.process_time() - self.start < seconds
            assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - self.peak < mebibytes * 1024

    return Within()


# --- Parquet ---


def test_a_long_text_that_every_row_repeats_is_refused_before_it_is_repeated(tmp_path, ground, suite):
    ids = [one["case_id"] for one in boards.cases(suite)]
    output = pa.DictionaryArray.from_arrays(pa.array([0] * len(ids), pa.int32()), ["x" * (20 * MEBI)])  # 4.7 GiB, written out
    content = to_bytes(pa.table({"case_id": ids, "output": output}), tmp_path)
    assert len(content) < MEBI / 4
    with within(20, 256), pytest.raises(InputError, match="column output: a text of more than 128 bytes, in row 1, 2, 3"):
        rows.read(content, "predictions.parquet", ground)


def test_such_a_predictions_file_is_refused_at_home_too(tmp_path, ground, suite):
    ids = [one["case_id"] for one in boards.cases(suite)]
    output = pa.DictionaryArray.from_arrays(pa.array([0] * len(ids), pa.int32()), ["x" * (20 * MEBI)])
    to_bytes(pa.table({"case_id": ids, "output": output}), tmp_path)
    with within(20, 768), pytest.raises(InputError, match="not readable as Parquet"):
        submit.validate(tmp_path / "made.parquet", ground)


def test_a_text_that_hides_in_the_file_and_in_no_row_is_refused(tmp_path, ground, suite):
    ids = [one["case_id"] for one in boards.cases(suite)]
    output = pa.DictionaryArray.from_arrays(pa.array([0] * len(ids), pa.int32()), ["1", "y" * 500])
    content = to_bytes(pa.table({"case_id": ids, "output": output}), tmp_path)
    with pytest.raises(InputError, match="in no row, yet in the file"):
        rows.read(content, "predictions.parquet", ground)
    table = pa.table({"case_id": ids, "output": ["1"] * len(ids)}).replace_schema_metadata({"note": "z" * 500})
    with pytest.raises(InputError, match="entries of metadata"):
        rows.read(to_bytes(table, tmp_path), "predictions.parquet", ground)


def test_a_file_that_says_it_is_huge_is_refused_unread(tmp_path, ground):
    content = to_bytes(pa.table({"case_id": ["x" * (80 * MEBI)], "output": ["1"]}), tmp_path)
    assert len(content) < MEBI
    with within(20, 64), pytest.raises(InputError, match="says that it holds"):
        rows.read(content, "predictions.parquet", ground)


def test_a_file_that_lies_about_its_size_runs_into_the_cap(tmp_path):
    content = to_bytes(pa.table({"case_id": ["x" * (200 * MEBI)], "output": ["1"]}), tmp_path, use_dictionary=False, write_statistics=False)
    group = pq.read_metadata(pa.BufferReader(content)).row_group(0)
    for size in {group.column(0).total_uncompressed_size, group.total_byte_size}:
        said, small = varint(size), varint(1000)
        padded = bytes([*[one | 0x80 for one in small], *[0x80] * (len(said) - len(small) - 1), 0])
        assert content.count(said) >= 1
        content = content.replace(said, padded)
    assert pq.read_metadata(pa.BufferReader(content)).row_group(0).column(0).total_uncompressed_size == 1000
    (tmp_path / "lies.parquet").write_bytes(content)
    done = subprocess.run([sys.executable, "-c", READ, tmp_path / "lies.parquet"], capture_output=True, text=True, check=True)
    assert "not readable as Parquet" in done.stdout
    assert "MemoryError" in done.stdout
    assert int(done.stdout.split()[-1]) < 200 * 1024  # KiB at the peak, where the text alone takes as much


READ = """
import resource, sys
from pathlib import Path
from sghc.errors import InputError
from sghc.leaderboard import bounded, rows
bounded.MAX_MEMORY = 100 << 20  # this process has not taken any of it yet
try:
    bounded.read_parquet(Path(sys.argv[1]).read_bytes(), "lies.parquet", rows.schema(), 100)
except InputError as error:
    print(error)
assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""


def varint(value: int) -> bytes:
    """A whole number as Parquet's footer writes it (zigzag, seven bits a byte)."""
    value, found = value * 2, []
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def test_texts_that_grow_from_row_to_row_are_refused(tmp_path, ground, suite):
    ids = [one["case_id"] for one in boards.cases(suite)]
    table = pa.table({"case_id": ids, "output": ["x" * MEBI + str(at) for at in range(len(ids))]})
    content = to_bytes(table, tmp_path, use_dictionary=False, column_encoding={"output": "DELTA_BYTE_ARRAY", "case_id": "PLAIN"})
    assert len(content) < MEBI
    with within(20, 64), pytest.raises(InputError, match="not readable as Parquet"):
        rows.read(content, "predictions.parquet", ground)


def test_a_million_rows_are_refused_unread_in_every_form(tmp_path, suite, ground, capsys):
    n = 1_000_000
    content = to_bytes(pa.table({"case_id": pa.array(["x"] * n), "prediction": pa.array([1] * n, pa.int8())}), tmp_path)
    with within(10, 64), pytest.raises(InputError, match="1,000,000 rows, expected at most 240"):
        rows.read(content, "predictions.parquet", ground)
    (tmp_path / "many.csv").write_text("case_id,prediction\n" + "x,1\n" * n)
    (tmp_path / "many.jsonl").write_text('{"case_id":"x"}\n' * n)
    with within(10, 64):
        for name in ("made.parquet", "many.csv", "many.jsonl"):
            with pytest.raises(InputError, match=r"1,000,00\d (rows|lines), expected at most 500,000"):
                submit.validate(tmp_path / name, ground)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 100, b"\x00" * 5000, b"{}"])
def test_what_is_no_parquet_is_refused(content, ground):
    with pytest.raises(InputError, match="not readable as Parquet"):
        rows.read(content, "predictions.parquet", ground)


def test_a_damaged_parquet_is_refused_wherever_the_damage_is(packed, ground):
    content = next(content for path, content in packed.files.items() if path.endswith(".parquet"))
    whole, refused = rows.digest(rows.read(content, "predictions.parquet", ground), ground.cases["case_id"]), 0
    places = range(0, len(content), max(1, len(content) // 100))
    for at in places:
        damaged = content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]
        try:
            found = rows.digest(rows.read(damaged, "predictions.parquet", ground), ground.cases["case_id"])
        except InputError:
            refused += 1
            continue
        if found != whole:  # other answers, which are not those that the folder's name stands for
            refused += 1
    assert refused > len(places) / 3


# --- JSON and YAML ---


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[" * 30_000, "not readable as JSON"),
        (b'{"a":' * 20 + b"1" + b"}" * 20, "deeper than 8"),
        (b'{"a": 1, "a": 2}', "not readable as JSON"),
        (b'{"a": NaN}', "not readable as JSON"),
        (b'{"a": Infinity}', "not readable as JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not readable as JSON"),
        (b"[]", "expected an object"),
        (b"\xff{}", "not readable as JSON"),
    ],
)
def test_json_bombs(content, said):
    with within(5, 64), pytest.raises(InputError, match=said):
        bounded.parse_json(content, "submission.json")


LAUGHS = "a: &a [x, x, x]\n" + "".join(
    f"{name}: &{name} [*{last}, *{last}, *{last}]\n" for last, name in zip("abcdefghij", "bcdefghijk", strict=True)
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (LAUGHS, "line 1: YAML anchors, aliases"),
        ("a: *b\n", "anchors, aliases"),
        ("[" * 30_000, "deeper than 8"),
        ("- " * 30_000, "deeper than 8"),
        ("{a: " * 9 + "}" * 9, "deeper than 8"),
        ("a: !!python/object/apply:os.system [echo]\n", "tags have no place"),
        ("a: !!float 1e999\n", "tags have no place"),
        ("a: 1\na: 2\n", "a stands twice"),
        ("? [a]\n: 1\n", "is no name"),
        ("a: 1\n--- \nb: 2\n", "not readable as YAML"),
        ("a: 'x\n", "not readable as YAML"),
    ],
)
def test_yaml_bombs(content, said):
    with within(5, 64), pytest.raises(InputError, match=said):
        bounded.parse_yaml(content.encode(), "about.yaml")


def test_files_beyond_their_size_are_not_read(tmp_path, ground):
    (tmp_path / "about.yaml").write_text("a: " + "x" * (1 << 16))
    with pytest.raises(InputError, match="larger than 65,536 bytes"):
        submission.read_about(tmp_path / "about.yaml", {})
    with (tmp_path / "large.jsonl").open("wb") as file:
        file.truncate(packing.MAX_FILE + 1)
    with pytest.raises(InputError, match="larger than"):
        submit.validate(tmp_path / "large.jsonl", ground)


# --- texts and names ---


def test_markup_in_every_text_stays_text(tmp_path, suite, ground, packed, document):
    run = {"identity": {"kind": MARKUP, MARKUP: [MARKUP]}, "asked": {}, "partial": False, "versions": {MARKUP: MARKUP}, "started": MARKUP}
    texts = dict.fromkeys(("base", "training_data", "contact", "licence", "reading"), MARKUP)
    changed = document | texts | {"run": run, "prompt": {"name": MARKUP, "sha256": "0" * 64}}
    changed["suite"]["name"] = MARKUP
    one = parse(changed)
    digest = submit.check(one, next(iter(reversed(packed.files.values()))), "predictions.parquet", ground).digest
    folder = tmp_path / "board" / one.folder / digest[:12]
    folder.mkdir(parents=True)
    (folder / "submission.json").write_bytes(submission.to_bytes(one))
    (folder / "predictions.parquet").write_bytes(next(iter(reversed(packed.files.values()))))
    (tmp_path / "board" / "verified.yaml").write_text(json.dumps({digest: {"by": MARKUP, "on": MARKUP, "note": MARKUP}}))
    ranked = ranking.rank(ranking.open_place(str(tmp_path / "board"), None), ground, [], tmp_path / "cache")
    (row,) = ranked.board["rows"]
    assert {row[name] for name in (*texts, "prompt")} == {MARKUP}
    assert row["verification"] == {"by": MARKUP, "on": MARKUP, "note": MARKUP}
    assert row["model"] == "org/detector"
    ranking.write(ranked, tmp_path / "board")
    assert json.loads((tmp_path / "board" / "leaderboard.json").read_text())["rows"][0]["contact"] == MARKUP


@pytest.mark.parametrize("field", ["base", "training_data", "contact", "licence", "reading"])
@pytest.mark.parametrize("text", ["a\nb", "a\x1b[31m", "abc\u202edcba", "\u2066a", "a\u2028b", "a\x00", "", "   ", "x" * 1001, "\ud800", 5])
def test_texts_that_a_reader_cannot_see_through_are_refused(document, field, text):
    with pytest.raises(InputError, match=field):
        parse(document | {field: text})
    assert parse(document | {field: "வெள்ளை \u200d 天气 🙂"}).model == "org/detector"


@pytest.mark.parametrize(
    "model",
    [
        "../../x",
        "..",
        "org/..",
        "org/../x",
        "/etc/passwd",
        "org",
        "org/a/b",
        "org\\a",
        "org/a b",
        "org/<b>",
        "org/a\n",
        "",
        "org/" + "a" * 200,
        "-o/a",
        "org/a--b",
    ],
)
def test_names_that_are_paths_are_refused(document, model):
    with pytest.raises(InputError, match="model"):
        parse(document | {"model": model})


@pytest.mark.parametrize("revision", ["main", "../../x", "", "HEAD", "a b", "F" * 41 + "!", "x" * 80, 7])
def test_revisions_that_move_or_are_none_are_refused(document, revision):
    with pytest.raises(InputError, match="revision"):
        parse(document | {"revision": revision})


@pytest.mark.parametrize(
    "change", [{"macro_f1": 0.99}, {"score": {"overall": 1}}, {"verified": True}, {"format": "other"}, {"parameters": -1}, {"parameters": True}]
)
def test_scores_of_its_own_have_no_place_in_a_submission(document, change):
    with pytest.raises(InputError, match=next(iter(change))):
        parse(document | change)


def test_a_message_never_repeats_what_stands_there(document):
    with pytest.raises(InputError) as error:
        parse(document | {"contact": "a\nsecret words", "<b>secret words</b>": 1})
    assert "secret words" not in str(error.value)


# --- folders ---


def lay(packed, board, folder=None):
    place = board / (folder or packed.folder)
    place.mkdir(parents=True)
    for path, content in packed.files.items():
        (place / path.rpartition("/")[2]).write_bytes(content)
    return place


def gathered(board, ground):
    """(ids of the submissions that stand, why others do not by path)."""
    ranked = ranking.rank(ranking.open_place(str(board), None), ground, (), board.parent / "cache").board
    return [row["id"] for row in ranked["rows"]], {one["path"]: one["reason"] for one in ranked["set_aside"]}


def test_links_lead_nowhere(tmp_path, packed, ground):
    board, outside = tmp_path / "board", tmp_path / "outside"
    place = lay(packed, board)
    other = lay(packed, outside)
    secret = tmp_path / "secret.json"
    secret.write_bytes((place / "submission.json").read_bytes())
    assert len(gathered(board, ground)[0]) == 1
    (board / "submissions" / "org__linked").symlink_to(other.parent)
    (board / "submissions" / "org__model").mkdir()
    (board / "submissions" / "org__model" / ("a" * 12)).symlink_to(other)
    (place / "submission.json").unlink()
    (place / "submission.json").symlink_to(secret)
    found, aside = gathered(board, ground)
    assert found == []
    assert "leads out" in aside["submissions/org__linked"]
    assert "leads out" in aside[f"submissions/org__model/{'a' * 12}"]
    assert "leads out" in aside[packed.folder]
    assert str(tmp_path) not in aside[packed.folder].replace(str(board), "")
    (place / "submission.json").unlink()
    (place / "submission.json").symlink_to("submission.json")
    assert packed.folder in gathered(board, ground)[1]


def test_a_linked_folder_of_submissions_is_not_followed(tmp_path, packed, ground):
    lay(packed, tmp_path / "outside")
    (tmp_path / "board").mkdir()
    (tmp_path / "board" / "submissions").symlink_to(tmp_path / "outside" / "submissions")
    found, aside = gathered(tmp_path / "board", ground)
    assert found == []
    assert "leads out" in aside["submissions"]


def test_what_is_no_file_is_not_read(tmp_path, packed, ground):
    place = lay(packed, tmp_path / "board")
    (place / "predictions.parquet").unlink()
    os.mkfifo(place / "predictions.parquet")
    found, aside = gathered(tmp_path / "board", ground)
    assert found == []
    assert "not a regular file" in aside[packed.folder]


@pytest.mark.parametrize("name", ["..", "a b", "<b>", "-x", "$(id)", "a\nb", "ü"])
def test_odd_names_of_folders_are_set_aside(tmp_path, packed, ground, name):
    lay(packed, tmp_path / "board")
    if name != "..":
        (tmp_path / "board" / "submissions" / name).mkdir()
    (tmp_path / "board" / "submissions" / "file").write_text("x")
    found, aside = gathered(tmp_path / "board", ground)
    assert len(found) == 1
    assert len(aside) == 1 + (name != "..")
    assert not any("\n" in path or "<" in path for path in aside)


def test_a_folder_holds_its_two_files_and_those_of_its_own_model(tmp_path, packed, ground):
    board = tmp_path / "board"
    lay(packed, board, f"submissions/org__another/{packed.folder.rpartition('/')[2]}")
    place = lay(packed, board)
    (place / "run.py").write_text("print()")
    found, aside = gathered(board, ground)
    assert found == []
    assert "run.py" in aside[packed.folder]
    assert any("folder of another model" in why for why in aside.values())


@pytest.mark.parametrize(
    "text",
    ["- a\n", "abc: {by: a, on: b}\n", f"{'a' * 64}: yes\n", f"{'a' * 64}: {{by: a}}\n", f"{'a' * 64}: {{by: a, on: b, score: 1}}\n", "a: &a x\n"],
)
def test_a_list_of_the_verified_that_is_none_is_refused(tmp_path, text):
    (tmp_path / "verified.yaml").write_text(text)
    with pytest.raises(InputError, match=r"verified\.yaml"):
        read_verified(tmp_path, tmp_path)


def test_the_terminal_gets_no_control_characters(tmp_path, suite, packed, capsys):
    board = tmp_path / "board"
    lay(packed, board)
    (board / "submissions" / "a\x1b[31m").mkdir()
    _, out, err = boards.run(capsys, "rank", board, "--suite", suite, "--cache", tmp_path / "cache")
    assert "\x1b" not in out + err
