"""Corpora: what each source is read as, what never enters training, and that nothing goes without a count. Toy sources hold sentences about tea."""

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest
from toy_corpora import Toy

import corpora
import recipe
from sghc.errors import InputError
from sghc.suite.cases import CANARY


@pytest.fixture
def toy(tmp_path) -> Toy:
    return Toy(tmp_path)


@pytest.fixture
def suite(tmp_path) -> Path:
    """A built suite of two cases."""
    from sghc.suite import folder
    from sghc.suite.sources import card_of, open_suite

    source = tmp_path / "own"
    source.mkdir()
    lines = ["language,functionality,gold,template", "english,likes_nh,non-hateful,Bakers  LIKE tea", "english,rain_nh,non-hateful,no rain today"]
    (source / "templates.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    made = open_suite(str(source), None, None)
    folder.write(made, card_of(made, str(source)), tmp_path / "suite")
    return tmp_path / "suite"


# --- what is read ---


def test_multiset_row_by_row(toy):
    corpus = corpora.training("multiset", toy.write(), hydrated=toy.hydrated)
    assert [tuple(row.values()) for row in corpus.rows.to_pylist()] == [
        ("the kettle sings", 0, "waseem_hovy", "english", "train"),
        ("bread is brown", 1, "waseem_hovy", "english", "train"),
        ("bakers like tea", 1, "hatexplain", "english", "train"),
        ("it rains on the garden", 0, "hatexplain", "english", "train"),
        ("面包师爱喝茶", 1, "cold", "mandarin", "train"),
        ("下雨了", 0, "cold", "mandarin", "train"),
        ("hujan turun", 0, "hatem", "malay", "train"),
        ("tukang roti\nsuka teh", 1, "hatem", "malay", "train"),
    ]
    assert corpus.rows.column_names == ["text", "label", "source", "language", "split"]
    assert str(corpus.rows.schema.field("label").type) == "int8"
    counts = corpus.counts
    assert (counts["rows"], counts["hateful"], counts["expected"]) == (8, 4, 62_039)
    tweets = counts["sources"]["waseem_hovy:train"]
    assert (tweets["read"], tweets["used"], tweets["hateful"], tweets["expected"]) == (5, 2, 1, 16_038)
    assert tweets["dropped"] == {"both labels": 1, "no text": 2}
    assert (tweets["coverage"], tweets["texts of unknown ids"]) == (3 / 5, 1)
    assert counts["sources"]["hatexplain:train"]["dropped"] == {"no majority": 1}
    assert json.loads(json.dumps(counts)) == counts
    for one in counts["sources"].values():
        assert one["read"] == one["used"] + sum(one["dropped"].values())
        for name, digest in one["files"].items():
            assert digest == hashlib.sha256((toy.top / name).read_bytes()).hexdigest()


def test_engset_and_sources_by_hand(toy):
    folder = toy.write()
    english = corpora.training("engset", folder, hydrated=toy.hydrated)
    assert set(english.rows["source"].to_pylist()) == {"waseem_hovy", "hatexplain"}
    assert english.counts["expected"] == 31_421
    by_name, by_list = (corpora.training(name, folder) for name in ("hatexplain:val, cold:dev,hatem", ["hatexplain:val", "cold:dev", "hatem:train"]))
    assert by_name.rows.equals(by_list.rows)
    assert Counter(zip(*(by_name.rows[name].to_pylist() for name in ("source", "split")), strict=True)) == {
        ("hatexplain", "val"): 2,
        ("cold", "dev"): 1,
        ("hatem", "train"): 2,
    }
    assert by_name.counts["expected"] is None


def test_held_out_sets_are_whole(toy):
    toy.posts["8_gab"] = ("test", "roses need water", "hhh")
    test = corpora.held_out("hatexplain_test", toy.write())
    assert test.rows["text"].to_pylist() == ["roses need water", "tea is warm", "roses need water"]
    assert test.rows["label"].to_pylist() == [1, 0, 1]
    assert test.counts["sources"]["hatexplain:test"]["repeated"] == 1
    assert [len(corpora.held_out(name, toy.top).rows) for name in ("cold_test", "hatexplain_val", "cold_dev")] == [2, 2, 1]
    with pytest.raises(InputError, match="hatem: no held-out set; there are hatexplain_test, cold_test"):
        corpora.held_out("hatem", toy.top)


def test_repeated_and_conflicting_texts_stay_and_are_counted(toy):
    toy.hatem += [("hujan turun", "no"), ("Hujan  turun ", "yes"), ("roti", "no"), ("  ", "yes")]
    counts = corpora.training("hatem", toy.write()).counts["sources"]["hatem:train"]
    assert (counts["read"], counts["used"], counts["repeated"], counts["conflicting"]) == (6, 5, 2, 3)
    assert counts["dropped"] == {"empty text": 1}


def test_counts_in_words(toy):
    toy.cold["train"].append(("雪很白", 0))
    assert corpora.told(corpora.training("cold,hatem", toy.write()).counts) == [
        "cold,hatem: 4 rows to train on, 2 hateful (the paper: 30,618 rows)",
        "  cold:train: 2 of 3 rows, 1 hateful (the paper: 25,726 rows); left out: 1 in a held-out set",
        "  hatem:train: 2 of 2 rows, 1 hateful (the paper: 4,892 rows)",
    ]


# --- what never enters training ---


def test_texts_of_the_test_sets_are_taken_out_of_every_source(toy):
    toy.posts["9_gab"] = ("train", "Roses  need WATER", "nnn")  # white space and case aside, in the test set
    toy.cold["train"] += [("雪很白", 0), ("ＴＥＡ is warm", 0)]  # in COLD's own test set, and in HateXplain's with wide letters
    corpus = corpora.training("multiset", toy.write(), hydrated=toy.hydrated)
    tested = {corpora.key(text) for name in corpora.TESTS for text in corpora.held_out(name, toy.top).rows["text"].to_pylist()}
    assert not tested & {corpora.key(text) for text in corpus.rows["text"].to_pylist()}
    dropped = {name: one["dropped"].get("in a held-out set", 0) for name, one in corpus.counts["sources"].items()}
    assert dropped == {"waseem_hovy:train": 0, "hatexplain:train": 1, "cold:train": 2, "hatem:train": 0}
    assert corpus.counts["held_out"] == {"taken_out": ["cold_test", "hatexplain_test"], "absent": []}


def test_the_test_set_of_a_source_in_use_must_be_there(toy):
    folder = toy.write()
    (folder / "cold/COLDataset/test.csv").unlink()
    with pytest.raises(InputError, match=r"no file .*test\.csv\ncold_test is needed to keep its texts out of training"):
        corpora.training("cold", folder)
    corpus = corpora.training("engset", folder, hydrated=toy.hydrated)
    assert corpus.counts["held_out"] == {"taken_out": ["hatexplain_test"], "absent": ["cold_test"]}


def test_other_held_out_sets_are_taken_out_when_they_are_asked_for(toy):
    toy.cold["train"] += [("花园很大", 1), ("树", 0)]
    folder = toy.write()
    assert len(corpora.training("cold", folder).rows) == 4
    corpus = corpora.training("cold", folder, held_out=["cold_dev", "cold_test"])
    assert corpus.rows["text"].to_pylist() == ["面包师爱喝茶", "下雨了", "树"]
    assert corpus.counts["held_out"]["taken_out"] == ["cold_dev", "cold_test", "hatexplain_test"]
    with pytest.raises(InputError, match="cold_dev: is to be held out, and cold:dev to be trained on"):
        corpora.training("cold:dev,hatem", folder, held_out=["cold_dev"])
    (folder / "cold/COLDataset/dev.csv").unlink()
    with pytest.raises(InputError, match="cold_dev is needed to keep its texts out of training"):
        corpora.training("hatem", folder, held_out=["cold_dev"])


@pytest.mark.parametrize("name", ["hatexplain:test", "hatem,cold:test"])
def test_a_test_set_cannot_be_trained_on(toy, name):
    with pytest.raises(InputError, match="is a held-out test set and cannot be trained on"):
        corpora.training(name, toy.write())


def test_texts_of_a_suite_are_refused(toy, suite):
    folder = toy.write()
    with pytest.raises(InputError, match=r"suite: 1 rows are texts of this test suite \(1 in hatexplain\)") as caught:
        corpora.training("engset", folder, hydrated=toy.hydrated, suites=[suite])
    assert "bakers" not in str(caught.value).lower()
    assert corpora.training("cold,hatem", folder, suites=[suite]).counts["suites"] == {"own": 2}
    with pytest.raises(InputError, match="no suite there"):
        corpora.training("hatem", folder, suites=[folder / "nowhere"])


@pytest.mark.parametrize("where", ["hatem/HateMalay Dataset.csv", "cold/COLDataset/test.csv", "hatexplain/Data/dataset.json", "tweets.csv"])
def test_a_file_with_the_canary_is_refused(toy, where):
    folder = toy.write()
    with (folder / where).open("a", encoding="utf-8") as file:
        file.write(f"\n{CANARY}")
    with pytest.raises(InputError, match=rf"{Path(where).name}: holds the canary of a test suite 1 times"):
        corpora.training("multiset", folder, hydrated=toy.hydrated)


# --- what is not there ---


def test_all_absent_sources_are_named_at_once(toy):
    folder = toy.write()
    for path in (folder / "cold/COLDataset").iterdir():
        path.unlink()
    (folder / "hatem/HateMalay Dataset.csv").unlink()
    with pytest.raises(InputError) as caught:
        corpora.training("multiset", folder)
    tweets, cold, hatem, way_out = str(caught.value).split("\n")
    assert "waseem_hovy" in tweets
    assert "--hydrated FILE" in tweets
    assert cold.startswith("cold: no file")
    assert hatem.startswith("hatem: no file")
    assert way_out == "or leave out what is not at hand: --without waseem_hovy cold hatem"
    counts = corpora.training("multiset", folder, without=["hatem", "cold", "waseem_hovy"]).counts
    assert counts["without"] == ["cold", "hatem", "waseem_hovy"]
    assert (counts["rows"], counts["expected"]) == (2, 62_039)


def test_posts_of_a_division_that_are_not_in_the_file(toy):
    folder = toy.write()
    path = folder / "hatexplain/Data/dataset.json"
    path.write_text(json.dumps({one: post for one, post in json.loads(path.read_text("utf-8")).items() if one not in ("1_gab", "2_gab")}), "utf-8")
    with pytest.raises(InputError, match="2 of the 3 posts of division train are not in it; get the whole file"):
        corpora.training("hatexplain", folder)
    assert len(corpora.training("hatexplain:val", folder).rows) == 2


@pytest.mark.parametrize(
    ("name", "without", "message"),
    [
        ("bigset", [], "bigset: no corpus of that name; there are engset, multiset, waseem_hovy"),
        ("cold:val", [], "cold has no split val; it has train, dev, test"),
        ("hatem,hatem:train", [], "hatem:train is named twice"),
        ("engset", ["cold"], "without: cold is not among the sources waseem_hovy, hatexplain"),
        ("hatem", ["hatem"], "hatem: no rows are left, expected both labels"),
    ],
)
def test_names_that_are_none(toy, name, without, message):
    with pytest.raises(InputError, match=message):
        corpora.training(name, toy.write(), without=without)


# --- files that are at fault ---


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("cold/COLDataset/train.csv", "", "train.csv: no column TEXT, label"),
        ("cold/COLDataset/train.csv", "TEXT,labels\ntea,0\n", "train.csv: no column label .*found TEXT, labels"),
        ("cold/COLDataset/train.csv", "TEXT,label\ntea,0\nrain,2\n", "train.csv: line 3: label is '2', expected 0, 1"),
        ("cold/COLDataset/train.csv", 'TEXT,label\n"tea,0\n', "train.csv: line 2 is not readable as CSV"),
        ("cold/COLDataset/train.csv", "TEXT,label\ntea,0\n", "cold: all rows have the label 0, expected both labels"),
        ("cold/COLDataset/train.csv", "TEXT,label\n", "cold: no rows are left"),
        ("hatem/HateMalay Dataset.csv", "messages,hate\ntea,maybe\n", "HateMalay Dataset.csv: line 2: hate is 'maybe', expected no, yes"),
        ("hatexplain/Data/dataset.json", '{"1_gab": ', "dataset.json: not readable as JSON .line 1.; is the file cut off"),
        ("hatexplain/Data/dataset.json", "[1]", "dataset.json: expected a JSON object, found a list"),
        ("hatexplain/Data/post_id_divisions.json", '{"test": []}', "post_id_divisions.json: no list of post ids under 'train'"),
        ("waseem_hovy/NAACL_SRW_2016.csv", "11,none\n12,both\n", "NAACL_SRW_2016.csv: line 2: label is 'both', expected none, racism, sexism"),
        ("waseem_hovy/NAACL_SRW_2016.csv", "id,label\n", "NAACL_SRW_2016.csv: line 1 does not begin with a tweet id"),
        ("waseem_hovy/NAACL_SRW_2016.csv", "", "NAACL_SRW_2016.csv: no labels in it"),
        ("tweets.csv", "id,tweet\n", "tweets.csv: no column text"),
        ("tweets.csv", "id,text\n1.2E+17,tea\n", r"tweets.csv: line 2: id is '1\.2E\+17', expected the digits"),
        ("tweets.csv", "id,text\n11,tea\n11,rain\n", "tweets.csv: line 3: id 11 stands there twice with two texts"),
    ],
)
def test_what_is_wrong_with_a_file(toy, name, content, message):
    folder = toy.write()
    toy.put(name, content)
    source = name.partition("/")[0].replace("tweets.csv", "waseem_hovy")
    with pytest.raises(InputError, match=message):
        corpora.training(source, folder, hydrated=toy.hydrated)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"annotators": [{"label": "normal"}, {"label": "maybe"}]}, "post 2_gab: label is 'maybe', expected hatespeech, offensive, normal"),
        ({"annotators": [{"target": []}]}, "post 2_gab: expected post_tokens"),
        ({"post_tokens": None}, "post 2_gab: expected post_tokens"),
        ({"post_tokens": ["\ud83d"]}, "post 2_gab: expected post_tokens"),
    ],
)
def test_a_post_that_is_none(toy, change, message):
    folder = toy.write()
    path = folder / "hatexplain/Data/dataset.json"
    posts = json.loads(path.read_text("utf-8"))
    posts["2_gab"] |= change
    path.write_text(json.dumps(posts), "utf-8")
    with pytest.raises(InputError, match=message):
        corpora.training("hatexplain", folder)


# --- samples ---


def test_a_sample_keeps_the_shares_of_sources_and_labels(toy):
    toy.hatem = [(f"hujan {n}", "yes" if n < 60 else "no") for n in range(100)]
    toy.cold["train"] = [(f"茶 {n}", int(n < 10)) for n in range(50)]
    rows = corpora.training("cold,hatem", toy.write()).rows

    def shares(table):
        return Counter(zip(table["source"].to_pylist(), table["label"].to_pylist(), strict=True))

    some = corpora.sample(rows, 15, 3)
    assert shares(some) == {("cold", 0): 4, ("cold", 1): 1, ("hatem", 0): 4, ("hatem", 1): 6}
    odd = shares(corpora.sample(rows, 7, 3))
    assert sum(odd.values()) == 7
    assert all(abs(odd[one] - 7 * n / 150) < 1 for one, n in shares(rows).items())
    assert some.equals(corpora.sample(rows, 15, 3))
    assert not some.equals(corpora.sample(rows, 15, 4))
    order = rows["text"].to_pylist()
    assert [order.index(text) for text in some["text"].to_pylist()] == sorted(order.index(text) for text in set(some["text"].to_pylist()))
    assert corpora.sample(rows, 150, 0).equals(rows)
    for n in (0, 151):
        with pytest.raises(InputError, match=f"a sample of {n} rows was asked for, and there are 150"):
            corpora.sample(rows, n, 0)


def test_a_sample_of_each_source_keeps_the_shares_of_labels(toy):
    toy.hatem = [(f"hujan {n}", "yes" if n < 60 else "no") for n in range(100)]
    toy.cold["train"] = [(f"茶 {n}", int(n < 10)) for n in range(50)]
    rows = corpora.training("cold,hatem", toy.write()).rows
    some = corpora.sample_each(rows, ["hatem=10", "cold=20"], 3)
    counts = Counter(zip(some["source"].to_pylist(), some["label"].to_pylist(), strict=True))
    assert counts == {("hatem", 0): 4, ("hatem", 1): 6, ("cold", 0): 16, ("cold", 1): 4}
    assert some.equals(corpora.sample_each(rows, ["hatem=10", "cold=20"], 3))
    even = corpora.sample_each(rows, ["hatem=10", "cold=19"], 3, balanced=True)
    counts = Counter(zip(even["source"].to_pylist(), even["label"].to_pylist(), strict=True))
    assert counts == {("hatem", 0): 5, ("hatem", 1): 5, ("cold", 0): 10, ("cold", 1): 9}
    with pytest.raises(InputError, match="cold=30: half of them hateful, and there are 10 hateful rows"):
        corpora.sample_each(rows, ["hatem=10", "cold=30"], 3, balanced=True)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (["cold=2"], "a sample of cold was asked for, and the rows are of cold, hatem"),
        (["cold=2", "tea=3"], "a sample of cold, tea was asked for"),
        (["cold=2", "cold=3"], "cold: expected SOURCE=N once"),
        (["cold", "hatem=3"], "cold: expected SOURCE=N"),
        (["cold=-1", "hatem=3"], "cold: expected SOURCE=N"),
        (["cold=0", "hatem=1"], "cold=0: a sample of these was asked for"),
        (["cold=2", "hatem=999"], "hatem=999: a sample of these was asked for, and there are "),
    ],
)
def test_sizes_that_are_none(toy, sizes, message):
    with pytest.raises(InputError, match=message):
        corpora.sample_each(corpora.training("cold,hatem", toy.write()).rows, sizes, 0)


def test_one_way_to_say_how_many_rows(toy):
    with pytest.raises(InputError, match="sample and sample_each are two ways"):
        recipe.open_data(recipe.Data(data=str(toy.write()), sample=3, sample_each=["cold=2"]))
    with pytest.raises(InputError, match="balanced goes with sample_each"):
        recipe.open_data(recipe.Data(data=str(toy.write()), sample=3, balanced=True))


# --- the public files ---


def test_the_public_files(shared_data):
    """Against the paper's appendix C and the counts of the files themselves."""
    sets = {name: corpora.held_out(name, shared_data) for name in corpora.HELD_OUT}
    assert {name: len(one.rows) for name, one in sets.items()} == {
        "hatexplain_test": 1_924,
        "cold_test": 5_323,
        "hatexplain_val": 1_922,
        "cold_dev": 6_431,
    }
    assert sets["hatexplain_test"].counts["hateful"] == 594
    assert round(sets["cold_test"].counts["hateful"] / 5_323, 3) == 0.396
    corpus = corpora.training("hatexplain:val,cold,hatem", shared_data)
    found = corpus.counts["sources"]
    cold, malay = found["cold:train"], found["hatem:train"]
    assert (cold["read"], cold["expected"], cold["used"], cold["dropped"]) == (25_726, 25_726, 25_687, {"in a held-out set": 39})
    assert (malay["read"], malay["expected"], malay["used"], malay["hateful"], malay["dropped"]) == (4_892, 4_892, 4_892, 1_890, {})
    assert (cold["conflicting"], malay["conflicting"]) == (26, 66)  # 13 texts twice; 31 texts, and one more when case is set aside
    assert len(corpus.rows) == 1_921 + 25_687 + 4_892
    tested = {text for name in corpora.TESTS for text in sets[name].rows["text"].to_pylist()}
    assert not tested & set(corpus.rows["text"].to_pylist())


def test_the_public_tweet_ids_with_made_up_texts(shared_data, tmp_path):
    ids = list(dict.fromkeys(line.split(",")[0] for line in (shared_data / "waseem_hovy/NAACL_SRW_2016.csv").read_text("utf-8").split()))
    assert len(ids) == 16_849
    hydrated = tmp_path / "tweets.csv"
    hydrated.write_text("id,text\n" + "".join(f"{one},rain number {one}\n" for one in ids), "utf-8")
    found = corpora.training("waseem_hovy", shared_data, hydrated=hydrated).counts["sources"]["waseem_hovy:train"]
    assert (found["read"], found["used"], found["dropped"], found["coverage"]) == (16_849, 16_791, {"both labels": 58}, 1.0)
    assert found["hateful"] == 3_326 + 1_964


@pytest.mark.parametrize("rows", ["", "999999999,rain\n"])
def test_tweets_of_none_of_the_ids_are_refused(toy, tmp_path, rows):
    (tmp_path / "other.csv").write_text(f"id,text\n{rows}")
    with pytest.raises(InputError, match=r"other\.csv: has the text of none of the .* tweets"):
        corpora.training("engset", toy.write(), hydrated=tmp_path / "other.csv")


def test_the_training_posts_of_hatexplain_are_not_among_the_public_files_at_hand(shared_data):
    if (shared_data / "hatexplain/Data/dataset.json").stat().st_size > 5e6:
        pytest.skip("the whole dataset.json is there")
    with pytest.raises(InputError, match="15,383 of the 15,383 posts of division train are not in it"):
        corpora.training("engset", shared_data, without=["waseem_hovy"])
