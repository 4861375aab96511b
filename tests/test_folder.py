"""The built folder, as a user of datasets meets it: loaded beside it, by path, streaming, offline, by its bare name; rebuilt, cut off, refused."""

import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from datasets import load_dataset

import sghatecheck_dataset
from sghatecheck_metric.reading import fingerprint
from sghc.errors import InputError
from sghc.suite import folder, release, votes
from sghc.suite.cases import CANARY, features
from sghc.suite.catalogue import FUNCTIONALITIES
from sghc.suite.sources import card_of, from_built, from_templates, official, open_suite
from sghc.suite.suite import Suite

LANGUAGES = ["singlish", "malay", "mandarin", "tamil"]


def build(toy, out: Path) -> Suite:
    suite = official(release.local_copy(toy.write()))
    folder.write(suite, card_of(suite, "official"), out)
    return suite


@pytest.fixture
def built(toy, tmp_path) -> Path:
    build(toy, tmp_path / "sghatecheck")
    return tmp_path / "sghatecheck"


def contents(place: Path) -> dict[str, bytes]:
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def test_load_dataset_from_beside_the_folder(built, monkeypatch):
    monkeypatch.chdir(built.parent)
    for name in LANGUAGES:
        loaded = load_dataset("sghatecheck", name)
        assert {split: len(rows) for split, rows in loaded.items()} == {"test": 3, "annotated": 3, "generated": 3}
        assert loaded["test"].features == features()
    assert loaded["test"].features["label"].int2str(loaded["test"]["label"]) == ["hateful", "hateful", "non-hateful"]
    assert load_dataset("sghatecheck", "all", split="test")["language"] == [name for name in LANGUAGES for _ in range(3)]
    assert len(load_dataset("sghatecheck", split="test")) == 12  # without a config: all


def test_load_dataset_by_path_and_streaming(built):
    loaded = load_dataset(str(built), "malay", split="test", streaming=True)
    assert [row["case_id"] for row in loaded] == ["ms-0", "ms-1", "ms-2"]


def test_a_rebuild_from_a_changed_source_never_serves_old_rows(toy, built, monkeypatch):
    monkeypatch.chdir(built.parent)
    assert len(load_dataset("sghatecheck", "malay", split="generated")) == 3
    toy.add("ms", 9, "Wind blows", "profanity_nh")
    build(toy, built)
    assert len(load_dataset("sghatecheck", "malay", split="generated")) == 4
    assert len(list(built.glob("data/malay/generated-*"))) == 1


def test_the_same_source_gives_the_same_bytes(toy, built, tmp_path):
    build(toy, tmp_path / "again")
    assert contents(built) == contents(tmp_path / "again")
    build(toy, built)
    assert contents(built) == contents(tmp_path / "again")


def test_the_canary_stands_in_the_card_and_in_each_file(built):
    assert CANARY in (built / "README.md").read_text(encoding="utf-8")
    for path in built.rglob("*.parquet"):
        assert CANARY.encode() in pq.read_schema(path).metadata[b"sghatecheck"]


def test_a_folder_reads_back_as_it_was_written(toy, tmp_path):
    suite = build(toy, tmp_path / "suite")
    again = from_built(tmp_path / "suite")
    assert (again.name, again.caution, list(again.tables)) == (suite.name, suite.caution, list(suite.tables))
    assert all(again.tables[key].to_pylist() == table.to_pylist() for key, table in suite.tables.items())


# --- bare name, from anywhere ---

LOAD = "import datasets, sys; print(len(datasets.load_dataset('sghatecheck', 'malay', split=sys.argv[1])))"


def load_elsewhere(tmp_path, split) -> int:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    environment = {**os.environ, "HF_HOME": str(tmp_path / "hf")}
    done = subprocess.run([sys.executable, "-c", LOAD, split], cwd=elsewhere, env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_an_installed_suite_loads_by_its_bare_name_and_the_last_build_wins(toy, built, tmp_path):
    cache = str(tmp_path / "hf" / "datasets")
    assert sghatecheck_dataset.install(built, cache) == [*LANGUAGES, "all"]
    assert load_elsewhere(tmp_path, "generated") == 3
    first = contents(built)
    toy.add("ms", 9, "Wind blows", "profanity_nh")
    build(toy, built)
    sghatecheck_dataset.install(built, cache)
    assert load_elsewhere(tmp_path, "generated") == 4
    toy.cases["ms"].pop()
    build(toy, built)
    assert contents(built) == first
    sghatecheck_dataset.install(built, cache)  # back to rows that the cache has held before
    assert load_elsewhere(tmp_path, "generated") == 3


# --- the builder ---


def test_the_builder_gives_the_same_rows_and_sees_a_changed_source(toy, built, tmp_path):
    def load(config, place):
        builder = sghatecheck_dataset.SGHateCheck(config_name=config, data_dir=place, cache_dir=str(tmp_path / "cache"))
        builder.download_and_prepare()
        return builder.as_dataset()

    for config in ("tamil", "all"):
        from_release, from_folder, loaded = load(config, toy.folder), load(config, built), load_dataset(str(built), config)
        for split in ("test", "annotated", "generated"):
            assert from_release[split].to_list() == from_folder[split].to_list() == loaded[split].to_list()
    toy.add("ta", 9, "Wind blows", "profanity_nh")
    toy.write()
    assert len(load("tamil", toy.folder)["generated"]) == 4
    streamed = sghatecheck_dataset.SGHateCheck(config_name="malay", data_dir=toy.folder).as_streaming_dataset("test")
    assert [row["case_id"] for row in streamed] == ["ms-0", "ms-1", "ms-2"]


# --- nothing lost, nothing half written ---


def test_a_build_that_fails_leaves_the_folder_as_it_was(toy, built, monkeypatch):
    before = contents(built.parent)
    toy.cases["ta"][0]["t_function"] = "nonsense_h"
    with pytest.raises(InputError):
        build(toy, built)
    toy.cases["ta"][0]["t_function"] = "derog_neg_emote_h"
    monkeypatch.setattr(folder, "with_head", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(InputError, match="No space left"):
        build(toy, built)
    after = contents(built.parent)
    assert {name: raw for name, raw in after.items() if not name.startswith("release")} == {
        name: raw for name, raw in before.items() if not name.startswith("release")
    }
    assert [path.name for path in built.parent.iterdir() if path.name.startswith(".")] == []


def test_a_build_that_is_killed_while_it_swaps_leaves_a_whole_suite(toy, built, monkeypatch):
    class Killed(BaseException):
        pass

    toy.add("ms", 9, "Wind blows", "profanity_nh")
    real_replace = Path.replace
    for moves in range(4):  # two files change (malay's generated table and the card); killed before the 1st, 2nd, … move
        left = [moves]

        def replace(self, target, left=left):
            if not left[0]:
                raise Killed
            left[0] -= 1
            return real_replace(self, target)

        monkeypatch.setattr(Path, "replace", replace)
        with pytest.raises(Killed):
            build(toy, built)
        monkeypatch.setattr(Path, "replace", real_replace)
        assert len(load_dataset(str(built), "malay", split="generated")) == 3
        assert folder.read(built, "generated", ["malay"]).num_rows == 3
    build(toy, built)
    assert folder.read(built, "generated", ["malay"]).num_rows == 4


def test_a_folder_with_something_else_in_it_is_left_alone(toy, tmp_path):
    out = tmp_path / "mine"
    out.mkdir()
    (out / "README.md").write_text("my notes")
    with pytest.raises(InputError, match="no build wrote"):
        build(toy, out)
    assert contents(out) == {"README.md": b"my notes"}
    with pytest.raises(InputError, match="is a file"):
        build(toy, out / "README.md")


def test_hidden_files_and_links_stay(toy, tmp_path):
    (tmp_path / "clone" / ".git").mkdir(parents=True)
    (tmp_path / "clone" / ".git" / "HEAD").write_text("ref")
    build(toy, tmp_path / "clone")
    assert (tmp_path / "clone" / ".git" / "HEAD").read_text() == "ref"
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    build(toy, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert folder.read(tmp_path / "real", "test").num_rows == 12


def test_two_builds_at_once_leave_a_whole_suite(toy, built):
    """Each replaces the other's suite many times; a reader that comes after finds one of the two."""
    suites = []
    for _ in range(2):
        toy.add("ms", 9 + len(suites), "Wind blows", "profanity_nh")
        suites.append(official(release.local_copy(toy.write())))

    def replace_often(suite):
        for _ in range(15):
            folder.write(suite, card_of(suite, "official"), built)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(replace_often, suites))
    assert folder.read(built, "generated", ["malay"]).num_rows in (4, 5)
    assert len(list(built.glob("data/malay/generated-*"))) == 1


# --- reading what others may have changed ---


def test_what_is_not_there_is_named(built, tmp_path):
    with pytest.raises(InputError, match="sghatecheck build"):
        folder.describe(tmp_path / "nowhere")
    with pytest.raises(InputError, match="no config klingon"):
        folder.read(built, "test", ["klingon"])
    with pytest.raises(InputError, match="no split 'train'"):
        folder.read(built, "train")
    next(built.glob("data/tamil/test-*")).unlink()
    with pytest.raises(InputError, match=r"data/tamil/test-.*missing"):
        folder.read(built, "test", ["tamil"])


def test_a_card_cannot_lead_out_of_the_folder(built):
    card = built / "README.md"
    name = next(built.glob("data/tamil/test-*")).relative_to(built).as_posix()
    card.write_text(card.read_text(encoding="utf-8").replace(name, "../" + name), encoding="utf-8")
    with pytest.raises(InputError, match="outside the folder"):
        folder.describe(built)


def test_a_data_file_that_is_no_parquet(built):
    next(built.glob("data/malay/test-*")).write_bytes(b"not parquet")
    with pytest.raises(InputError, match="not readable as Parquet"):
        folder.read(built, "test", ["malay"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("configs:", "konfigs:"),
        ("data_files:", "data_files: x #"),
        ("- config_name", "config_name"),
        ("configs:", "configs: [\n"),
        ("configs:", "configs: 7 #"),
    ],
)
def test_a_card_edited_by_hand(built, old, new):
    card = built / "README.md"
    card.write_text(card.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=r"README\.md"):
        folder.describe(built)


def test_a_card_that_is_no_text(built):
    card = built / "README.md"
    card.write_bytes(card.read_bytes() + b"\xff")
    with pytest.raises(InputError, match=r"README\.md"):
        folder.describe(built)


@pytest.mark.parametrize("position", [0.2, 0.5, 0.9])
def test_damaged_data_files(built, position):
    for path in built.glob("data/*/*.parquet"):
        raw = path.read_bytes()
        path.write_bytes(raw[: int(len(raw) * position)])
    with pytest.raises(InputError, match="not readable as Parquet"):
        folder.read(built, "test")


def test_the_builder_refuses_a_language_that_a_built_folder_lacks(tmp_path):
    suite = from_templates(templates_in(tmp_path / "mine"), "mine")
    folder.write(suite, card_of(suite, str(tmp_path / "mine")), tmp_path / "out")
    builder = sghatecheck_dataset.SGHateCheck(config_name="tamil", data_dir=tmp_path / "out", cache_dir=str(tmp_path / "cache"))
    with pytest.raises(InputError, match="no config tamil"):
        builder.download_and_prepare()


# --- suites of templates, and the real one ---


def templates_in(source: Path) -> Path:
    source.mkdir()
    (source / "templates.csv").write_text(
        "language,functionality,gold,template\nmalay,derog_impl_h,hateful,{ID} like tea\nsindarin,custom_nh,non-hateful,Rain\n"
    )
    (source / "placeholders.csv").write_text("language,placeholder,target,value\nmalay,{ID},Elves,elves\nmalay,{ID},Women,women\n")
    return source


@pytest.mark.parametrize(("name", "kept"), [("official", "own-official"), ("starter", "own-starter"), ("a|b", "a_b"), ('it\'s "x"', "it_s_x_")])
def test_a_folder_of_ones_own_never_passes_for_one_of_ours(tmp_path, name, kept):
    source = templates_in(tmp_path / name)
    suite = open_suite(str(source), None, None)
    folder.write(suite, card_of(suite, str(source)), tmp_path / "out")
    assert folder.describe(tmp_path / "out").name == kept
    assert len(load_dataset(str(tmp_path / "out"), "malay", split="test")) == 2
    assert "not for reporting" in card_of(suite, str(source))
    assert "targets without a protected group of your own: Elves" in suite.remarks


def test_an_altered_release_says_so(toy, built):
    assert folder.describe(built).name == "altered"
    assert "do not compare" in folder.describe(built).caution
    assert "do not compare" in (built / "README.md").read_text(encoding="utf-8")


def test_a_readme_of_ones_own_that_is_no_utf_8(tmp_path):
    source = templates_in(tmp_path / "mine")
    (source / "README.md").write_bytes(b"caf\xe9")
    suite = open_suite(str(source), None, None)
    with pytest.raises(InputError, match=r"README\.md: not UTF-8"):
        card_of(suite, str(source))


def test_an_unknown_suite_is_named_with_the_choices():
    with pytest.raises(InputError, match="offical: expected official, starter, or a folder"):
        open_suite("offical", None, None)


def test_a_suite_of_templates_is_marked_as_not_for_reporting(tmp_path):
    source = templates_in(tmp_path / "mine")
    suite = from_templates(source, "mine")
    folder.write(suite, card_of(suite, str(source)), tmp_path / "out")
    loaded = load_dataset(str(tmp_path / "out"), "all", split="test")
    assert loaded["case_id"] == ["ms-g0", "ms-g1", "sindarin-g0"]
    assert loaded["target"] == ["Elves", "Women", None]
    assert loaded["functionality_id"] == ["F4", "F4", None]
    assert "not for reporting" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "not for reporting" in folder.describe(tmp_path / "out").caution


def test_the_released_suite_loads_with_its_counts(shared_data, tmp_path, monkeypatch):
    suite = official(release.local_copy(shared_data / "sghatecheck"))
    folder.write(suite, card_of(suite, "official"), tmp_path / "sghatecheck")
    monkeypatch.chdir(tmp_path)
    sizes = {"singlish": (2933, 2974, 7023), "malay": (2207, 2253, 5367), "mandarin": (2772, 2848, 5911), "tamil": (2476, 2851, 2840)}
    sizes["all"] = tuple(map(sum, zip(*sizes.values(), strict=True)))
    assert sizes["all"] == (10388, 10926, 21141)
    for config, expected in sizes.items():
        loaded = load_dataset("sghatecheck", config)
        assert tuple(len(loaded[split]) for split in ("test", "annotated", "generated")) == expected
    tamil = load_dataset("sghatecheck", "tamil", split="annotated")
    assert (tamil["label"].count(1), tamil["label"].count(0), tamil["label"].count(None)) == (1871, 969, 11)
    generated = load_dataset("sghatecheck", "all", split="generated")
    assert (generated["label"].count(1), generated["label"].count(0)) == (14446, 6695)
    test = load_dataset("sghatecheck", "all", split="test")
    assert fingerprint(test["case_id"], test["label"], test["text"]) == fingerprint(test["case_id"][::-1], test["label"][::-1], test["text"][::-1])


def test_the_cards_counts_are_the_suites(shared_data):
    suite = official(release.local_copy(shared_data / "sghatecheck"))
    card = card_of(suite, "official")
    test = {language: suite.tables[language, "test"]["functionality"].to_pylist() for language in suite.languages}
    for known in FUNCTIONALITIES.values():
        row = next(line for line in card.splitlines() if line.startswith(f"| {known.id} | `{known.name}` |"))
        counts = [rows.count(known.name) for rows in test.values()]
        assert row.split(" | ")[-5:] == [known.gold, *(str(count or "–") for count in counts[:3]), f"{counts[3] or '–'} |"]
    for language in suite.languages:
        sizes = " | ".join(f"{len(suite.tables[language, split]):,}" for split in ("test", "annotated", "generated"))
        assert any(line.startswith(f"| {language} |") and line.endswith(f" | {sizes} |") for line in card.splitlines())
    texts = [Counter(suite.tables[language, "generated"]["text"].to_pylist()) for language in suite.languages]
    assert [sum(count > 1 for text, count in one.items() if text) for one in texts] == [104, 18, 68, 0]
    assert "(Singlish 104, Malay 18, Mandarin 68)" in card
    assert "| 14,446 / 6,695 | 15,052 / 6,100 |" in card
    for language, alpha in (("singlish", 0.815), ("malay", 0.852), ("mandarin", 0.677), ("tamil", 0.787)):
        assert round(votes.alpha(suite.tables[language, "annotated"]["votes"].to_pylist()), 3) == alpha
        assert f"{language.capitalize()} {alpha:.3f}".replace("0.", ".") in card
