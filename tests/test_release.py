"""Reading the release: each trap of the files has a test on toy data, and the counts are those of the real files where these are at hand."""

from collections import Counter
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from sghc.errors import InputError
from sghc.suite import release, sources, templates
from sghc.suite.catalogue import FUNCTIONALITIES, LANGUAGES, PROTECTED_GROUPS
from sghc.suite.repairs import PAPER_EXCEPTIONS
from sghc.suite.templates import digest


def read(toy, language="singlish"):
    """(generated rows, annotated rows, counts of the repairs) of one language of the toy release."""
    counts = Counter()
    found, tables, annotated = release.read_language(LANGUAGES[language], release.local_copy(toy.write()), counts)
    return list(templates.generate(found, tables)), annotated, {rule: number for (rule, _), number in counts.items()}


def test_a_case_has_every_field(toy):
    generated, annotated, _ = read(toy)
    assert annotated[0] == {
        "case_id": "ss-0",
        "c_id": 0,
        "language": "singlish",
        "text": "bakers like tea",
        "label": 1,
        "functionality": "derog_neg_emote_h",
        "functionality_id": "F1",
        "functional_class": "Derogation",
        "target": "Women",
        "protected_group": "Gender/Sexuality",
        "direction": "general",
        "cluster": "ss-1",
        "template_id": "ss-1-" + digest("{ID}", "{ID} like tea"),
        "template": "{ID} like tea",
        "placeholder": "{ID}",
        "placeholder_value": "bakers",
        "votes": ["hateful"] * 3,
        "majority": "hateful",
        "status": "retained",
        "paper_functionality_id": "F1",
        "released_selection": "hateful",
        "choices": ["non-hateful", "hateful"],
    }
    unannotated = {"case_id": "ss-g0", "c_id": None, "votes": None, "majority": None, "status": "unannotated", "released_selection": None}
    assert generated[0] == annotated[0] | unannotated


def test_columns_are_found_by_name(toy):
    names = list(toy.cases["ss"][0])
    toy.columns["testcases/ss_testcases_all.csv"] = ["", "Unnamed: 0.1", *reversed(names), "index"]
    toy.columns["annotations/ss_annotations.csv"] = ["Unnamed: 0", *sorted(toy.annotations["ss"][0]), "c_order"]
    generated, annotated, _ = read(toy)
    assert [row["text"] for row in generated] == ["bakers like tea", "tailors like tea", "It rains"]
    assert [row["case_id"] for row in annotated] == ["ss-0", "ss-1", "ss-2"]


def test_text_is_never_cleaned(toy):
    texts = ["  \tＡｌｌ tea ", "None", "NA", "null", "e\u0301clair", "tea\u2028leaf", 'a "quoted" one, with commas']
    for place, text in enumerate(texts):
        toy.add("ss", 100 + place, text, "profanity_nh", votes=("non-hateful",) * 3)
    _, annotated, _ = read(toy)
    assert [row["text"] for row in annotated[3:]] == texts


def test_templates_under_one_t_id_are_told_apart_and_share_a_cluster(toy):
    toy.add("ss", 1, "{ID} drink tea", "derog_neg_emote_h", values=["bakers", "tailors"])
    generated, _, _ = read(toy)
    assert {row["cluster"] for row in generated if "tea" in row["text"]} == {"ss-1"}
    assert len({row["template_id"] for row in generated if "tea" in row["text"]}) == 2


def test_cases_are_joined_by_key_since_one_text_may_stand_under_two_t_ids(toy):
    toy.add("ss", 50, "Tea again", "derog_impl_h", votes=("hateful",) * 3)
    toy.add("ss", 51, "Tea again", "counter_ref_nh", votes=("non-hateful",) * 3)
    _, annotated, _ = read(toy)
    assert [(row["functionality"], row["label"], row["status"]) for row in annotated[-2:]] == [
        ("derog_impl_h", 1, "retained"),
        ("counter_ref_nh", 0, "retained"),
    ]


@pytest.mark.parametrize(
    ("votes", "kept", "majority", "status"),
    [
        (("nonhateful", "hateful", "non-hateful"), ["non-hateful", "hateful", "non-hateful"], "non-hateful", "retained"),
        (("skipped", "non-hateful", "non-hateful"), [None, "non-hateful", "non-hateful"], "non-hateful", "retained"),
        (("", "non-hateful", "hateful"), [None, "non-hateful", "hateful"], None, "undetermined"),
        (("hateful", "non-hateful", "nonsensical"), ["hateful", "non-hateful", "nonsensical"], None, "undetermined"),
        (("hateful", "hateful", "non-hateful"), ["hateful", "hateful", "non-hateful"], "hateful", "mismatch"),
        (("nonsensical", "nonsensical", "hateful"), ["nonsensical", "nonsensical", "hateful"], "nonsensical", "mismatch"),
    ],
)
def test_votes_are_normalised_before_they_are_counted(toy, votes, kept, majority, status):
    toy.add("ss", 60, "Wet again", "profanity_nh", votes=votes)
    toy.annotations["ss"][-1]["annotation_selected"] = "undecided"
    _, annotated, _ = read(toy)
    found = annotated[-1]
    assert (found["votes"], found["majority"], found["status"], found["released_selection"]) == (kept, majority, status, "undecided")


def test_two_annotators_must_agree(toy):
    toy.add("ta", 60, "Wet again", "profanity_nh", votes=("non-hateful", "hateful"))
    _, annotated, _ = read(toy, "tamil")
    assert annotated[0]["votes"] == ["hateful", "hateful"]
    assert annotated[0]["status"] == "retained"
    assert (annotated[-1]["majority"], annotated[-1]["status"]) == (None, "undetermined")


def test_blank_gold_is_read_from_the_functionality_and_never_as_non_hateful(toy):
    for row in toy.cases["ta"]:
        row |= {"t_gold": "", "t_direction": ""}
    for row in toy.annotations["ta"]:
        row["t_direction"] = ""
    generated, annotated, counts = read(toy, "tamil")
    assert [row["label"] for row in generated] == [1, 1, 0]
    assert [row["label"] for row in annotated] == [1, 1, 0]
    assert {row["direction"] for row in generated + annotated} == {None}
    assert counts["test case without gold label (read from its functionality)"] == 3


def test_rows_of_no_functionality_have_no_label_and_count_as_mismatch(toy):
    row = dict.fromkeys(toy.cases["ta"][0], "") | {"t_id": "1101", "t_case_local": "Sun", "c_testcase": "Sun"}
    toy.annotate("ta", row, ("non-hateful", "non-hateful"))
    generated, annotated, counts = read(toy, "tamil")
    found = annotated[-1]
    assert [found[name] for name in ("label", "functionality", "functionality_id", "direction", "status")] == [None, None, None, None, "mismatch"]
    assert found["cluster"] == "ta-1101"
    assert len(generated) == 3
    assert counts["annotation that belongs to no functionality"] == 1


def test_an_empty_case_is_empty_before_all_else(toy):
    toy.add("ms", 84, "", "derog_impl_h", votes=("hateful",) * 3)
    _, annotated, _ = read(toy, "malay")
    assert (annotated[-1]["text"], annotated[-1]["status"], annotated[-1]["majority"]) == ("", "empty", "hateful")


def test_singlish_takes_the_annotations_functionality_and_mandarin_the_test_cases(toy):
    for code, of_case, left_over in (
        ("ss", "spell_space_add_h", ("derog_dehum_h", "spell_char_comp_h")),
        ("zh", "spell_pinyin_h", ("spell_leet_h", "target_obj_nh")),
    ):
        toy.add(code, 70, "{ID} sleep", of_case, values=["bakers", "tailors"], votes=("hateful",) * 3)
        toy.add(code, 71, "{ID} wake", of_case, values=["bakers", "tailors"], votes=("hateful",) * 3)
        for row, name in zip(toy.annotations[code][-4:], [left_over[0]] * 2 + [left_over[1]] * 2, strict=True):
            row["t_function"] = name
    generated, annotated, counts = read(toy, "singlish")
    assert [row["functionality"] for row in annotated[-4:]] == ["derog_dehum_h"] * 2 + ["spell_space_add_h"] * 2
    assert [row["functionality"] for row in generated[-4:]] == ["derog_dehum_h"] * 2 + ["spell_space_add_h"] * 2
    assert (counts["test case whose functionality is renamed"], counts["annotation whose functionality is renamed"]) == (2, 2)
    _, annotated, counts = read(toy, "mandarin")
    assert {row["functionality"] for row in annotated[-4:]} == {"spell_pinyin_h"}
    assert counts["annotation whose functionality is renamed"] == 4


def test_the_papers_numbering_stands_apart(toy):
    for t_id in (766, 767, 800, 866):
        toy.add("ss", t_id, f"Number {t_id}", "derog_impl_h", votes=("hateful",) * 3)
    _, annotated, _ = read(toy)
    assert [(row["functionality_id"], row["paper_functionality_id"]) for row in annotated[-4:]] == [
        ("F4", "F4"),
        ("F4", "F23"),
        ("F4", "F24"),
        ("F4", "F27"),
    ]


def test_targets_are_spelled_as_in_the_paper(toy):
    _, annotated, counts = read(toy)
    assert [(row["target"], row["protected_group"]) for row in annotated] == [("Women", "Gender/Sexuality"), ("Seniors", "Age"), (None, None)]
    assert counts["target that the paper spells otherwise"] == 1


def test_a_doubled_entry_of_a_table_is_kept_and_the_first_stands_for_both(toy):
    for t_id in (80, 81):
        toy.add("zh", t_id, "{SLR} " + str(t_id), "slur_h", values=["x", "y", "x"], targets=("Women", "Malay", "Women"), label="{SLR}")
    toy.annotate("zh", toy.cases["zh"][-1], ("hateful",) * 3)
    generated, annotated, counts = read(toy, "mandarin")
    assert [row["text"] for row in generated[-6:]] == ["x 80", "y 80", "x 80", "x 81", "y 81", "x 81"]
    assert counts["test case that stands twice (kept in `generated`)"] == 2
    assert annotated[-1]["text"] == "x 81"


# --- bad input: one clear error that names file, line and value ---

CASES, ANNOTATIONS = "ss_testcases_all.csv", "ss_annotations.csv"


def spoil(toy, table, row, **values):
    getattr(toy, table)["ss"][row] |= values


@pytest.mark.parametrize(
    ("table", "row", "values", "words"),
    [
        ("cases", 2, {"t_function": "derog_typo_h"}, [CASES, "line 4", "derog_typo_h"]),
        ("cases", 2, {"t_function": ""}, [CASES, "line 4", "t_function is ''"]),
        ("cases", 0, {"t_gold": "Hateful"}, [CASES, "line 2", "'Hateful'", "hateful"]),
        ("cases", 0, {"t_gold": "non-hateful"}, [CASES, "line 2", "derog_neg_emote_h is hateful"]),
        ("cases", 1, {"t_direction": "sideways"}, [CASES, "line 3", "sideways"]),
        ("cases", 1, {"p_target": "Martians"}, [CASES, "line 3", "Martians"]),
        ("cases", 1, {"p_target": ""}, [CASES, "line 3", "without a p_target"]),
        ("cases", 2, {"p_target": "Women"}, [CASES, "line 4", "without a p_label"]),
        ("cases", 1, {"p_label": "{OTHER}"}, [CASES, "line 3", "{OTHER}"]),
        ("cases", 1, {"t_id": "two"}, [CASES, "line 3", "'two'"]),
        ("cases", 1, {"c_testcase": "cobblers like tea"}, [CASES, "line 3", "t_id 1"]),
        ("annotations", 1, {"annotator_2": "maybe"}, [ANNOTATIONS, "line 3", "annotator_2", "'maybe'"]),
        ("annotations", 1, {"c_id": "0"}, [ANNOTATIONS, "line 3", "c_id 0", "line 2"]),
        ("annotations", 1, {"c_id": "x1"}, [ANNOTATIONS, "line 3", "'x1'"]),
        ("annotations", 1, {"p_value": "cobblers"}, [ANNOTATIONS, "line 3", "no test case"]),
        ("annotations", 1, {"c_testcase": "other"}, [ANNOTATIONS, "line 3", "c_testcase"]),
        ("annotations", 2, {"t_gold": "hateful"}, [ANNOTATIONS, "line 4", "profanity_nh"]),
        ("annotations", 1, {"annotation_selected": "hatef"}, [ANNOTATIONS, "line 3", "annotation_selected", "'hatef'"]),
        ("annotations", 1, {"t_function": "slur_h"}, [ANNOTATIONS, "line 3", "slur_h", "derog_neg_emote_h"]),
        ("annotations", 1, {"p_target": "Women"}, [ANNOTATIONS, "line 3", "p_target"]),
        ("annotations", 1, {"t_direction": "directed"}, [ANNOTATIONS, "line 3", "t_direction"]),
        ("annotations", 1, {"c_id": "05"}, [ANNOTATIONS, "line 3", "'05'"]),
        ("annotations", 1, {"c_id": "9" * 30}, [ANNOTATIONS, "line 3", "c_id"]),
        ("annotations", 1, {"c_id": "１２"}, [ANNOTATIONS, "line 3", "c_id"]),
        ("cases", 1, {"t_id": "9" * 5000}, [CASES, "line 3", "t_id"]),
        ("cases", 1, {"t_function": "slur_h"}, [CASES, "line 3", "slur_h", "line 2"]),
        ("cases", 1, {"t_direction": "directed"}, [CASES, "line 3", "directed", "line 2"]),
        ("cases", 1, {"t_function": "bakers like tea"}, [CASES, "line 3", "a text of 15 characters"]),
    ],
)
def test_a_value_that_no_rule_covers(toy, table, row, values, words):
    spoil(toy, table, row, **values)
    with pytest.raises(InputError) as error:
        read(toy)
    assert all(word in str(error.value) for word in words)
    assert "like tea" not in str(error.value)  # no case text in an error


def damaged(path, how):
    raw = path.read_bytes()
    path.write_bytes(
        {
            "cut in a row": raw[: raw.rindex(b",general") + 3],
            "cut at a row": raw[: raw.index(b"\n", raw.index(b"bakers")) + 1],
            "open quote": raw + b'"',
            "latin-1": raw.replace(b"tea", b"th\xe9"),
            "binary": raw.replace(b"tea", b"t\0a"),
            "no column": raw.replace(b"t_gold", b"gold"),
            "column twice": raw.replace(b"t_gold", b"t_id"),
            "empty": b"",
            "header only": raw[: raw.index(b"\n") + 1],
        }[how]
    )


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("cut in a row", ["line 3", "cut off"]),
        ("cut at a row", ["cut off"]),
        ("open quote", ["line ", "cut off"]),
        ("latin-1", ["UTF-8"]),
        ("binary", ["not a text file"]),
        ("no column", ["t_gold"]),
        ("column twice", ["t_gold"]),
        ("empty", ["empty file"]),
        ("header only", ["no rows"]),
    ],
)
def test_a_damaged_file(toy, how, words):
    path = toy.write() / "testcases" / CASES
    damaged(path, how)
    with pytest.raises(InputError) as error:
        release.read_language(LANGUAGES["singlish"], release.local_copy(toy.folder), Counter())
    assert all(word in str(error.value) for word in [CASES if how != "cut at a row" else "ss_", *words])


def test_a_missing_file_is_named(toy):
    (toy.write() / "annotations" / "ta_annotations.csv").unlink()
    with pytest.raises(InputError, match=r"annotations/ta_annotations\.csv"):
        release.local_copy(toy.folder)


def test_a_download_that_fails_says_what_to_do():
    def no_network(urls):
        raise ConnectionError("unreachable")

    with pytest.raises(InputError, match=r"unreachable.*--source.*build starter"):
        release.download(no_network)


def test_a_download_with_a_wrong_sum_is_refused(toy):
    folder = toy.write()
    with pytest.raises(InputError, match=r"SHA-256 is [0-9a-f]{64}, expected 3da0ed18"):
        release.download(lambda urls: [str(folder / url.removeprefix(release.ORIGIN)) for url in urls])


# --- the real files ---

SIZES = {  # language: test, annotated, generated, templates, annotated cases that the paper numbers otherwise
    "singlish": (2933, 2974, 7023, 887, 182),
    "malay": (2207, 2253, 5367, 731, 0),
    "mandarin": (2772, 2848, 5911, 715, 0),
    "tamil": (2476, 2851, 2840, 372, 0),
}


@pytest.fixture(scope="module")
def real(shared_data):
    files = release.local_copy(shared_data / "sghatecheck")
    assert release.altered(files) == []
    counts = Counter()
    return {name: release.read_language(language, files, counts) for name, language in LANGUAGES.items()} | {"counts": counts}


@pytest.mark.parametrize("language", SIZES)
def test_released_sizes(real, language):
    found, tables, annotated = real[language]
    generated = list(templates.generate(found, tables))
    retained = sum(row["status"] == "retained" for row in annotated)
    renumbered = sum(row["functionality_id"] != row["paper_functionality_id"] for row in annotated)
    assert (retained, len(annotated), len(generated), len(found), renumbered) == SIZES[language]


@pytest.mark.parametrize("language", SIZES)
def test_templates_and_placeholders_regenerate_the_released_cases(real, shared_data, language):
    import pandas as pd  # an independent reading of the released file

    found, tables, _ = real[language]
    path = shared_data / "sghatecheck" / "testcases" / f"{LANGUAGES[language].code}_testcases_all.csv"
    released = pd.read_csv(path, keep_default_na=False, dtype=str)
    generated = list(templates.generate(found, tables))
    assert [row["text"] for row in generated] == released["c_testcase"].tolist()
    assert [row["placeholder_value"] or "" for row in generated] == released["p_value"].tolist()
    assert [row["cluster"].split("-")[1] for row in generated] == released["t_id"].tolist()
    spelled = released["p_target"].str.title().replace({"Transexual": "Transsexual"})
    assert [row["target"] or "" for row in generated] == spelled.tolist()


def test_released_repairs(real):
    counts = real["counts"]
    assert counts == {
        ("test case whose functionality is renamed", "singlish"): 14,
        ("annotation whose functionality is renamed", "singlish"): 56,
        ("annotation whose functionality is renamed", "mandarin"): 138,
        ("vote spelled nonhateful", "singlish"): 114,
        ("vote spelled nonhateful", "mandarin"): 231,
        ("vote missing (skipped or blank)", "singlish"): 2,
        ("vote missing (skipped or blank)", "malay"): 1,
        ("vote missing (skipped or blank)", "mandarin"): 14,
        ("vote missing (skipped or blank)", "tamil"): 1,
        ("released selection undecided although two votes agree", "singlish"): 15,
        ("released selection undecided although two votes agree", "mandarin"): 28,
        ("annotated case without text (status empty)", "malay"): 1,
        ("test case that stands twice (kept in `generated`)", "mandarin"): 21,
        ("test case without gold label (read from its functionality)", "tamil"): 1580,
        ("test case without direction (left null)", "tamil"): 1580,
        ("annotation that belongs to no functionality", "tamil"): 11,
        **{key: number for key, number in counts.items() if key[0].startswith("target")},
    }


@pytest.mark.parametrize(
    ("language", "functionalities", "without_target"), [("singlish", 27, 35), ("malay", 22, 39), ("mandarin", 25, 35), ("tamil", 22, 115)]
)
def test_what_is_in_test(real, language, functionalities, without_target):
    test = [row for row in real[language][2] if row["status"] == "retained"]
    assert {row["functionality"] for row in test} <= set(FUNCTIONALITIES)
    assert len({row["functionality"] for row in test}) == functionalities
    assert sum(row["target"] is None for row in test) == without_target
    assert {row["target"] for row in test} == {*PROTECTED_GROUPS, None}
    assert len({row["case_id"] for row in test}) == len(test)
    for name in {row["functionality"] for row in test}:
        assert len({row["label"] for row in test if row["functionality"] == name}) == 1


def test_the_papers_exceptions_are_met_once_each(real):
    met = {(row.cluster[3:], digest(row.text, length=16)) for row in real["singlish"][0]}
    assert set(PAPER_EXCEPTIONS) <= met


def test_an_altered_file_is_noticed(shared_data, tmp_path):
    files = release.local_copy(shared_data / "sghatecheck")
    copy = tmp_path / "ms.csv"
    copy.write_bytes(files["annotations/ms_annotations.csv"].read_bytes() + b"\n")
    assert release.altered({**files, "annotations/ms_annotations.csv": copy}) == ["annotations/ms_annotations.csv"]


# --- the download, over loopback ---


@pytest.fixture
def served(toy, monkeypatch):
    """The toy release behind a web server on loopback, pinned as it is: what the download manager is told to fetch."""
    import datasets

    folder = toy.write()
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    handler.log_message = lambda *_: None
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    pinned = {path: release.file_hash(folder / path) for path in release.pins()}
    monkeypatch.setattr(release, "ORIGIN", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setattr(release, "pins", lambda: pinned)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    yield toy
    server.shutdown()
    server.server_close()


def test_the_release_is_downloaded_checked_and_built(served):
    files = release.download(sources.download)
    suite = sources.official(files)
    assert (suite.name, suite.caution) == ("official", "")
    assert {key: len(table) for key, table in suite.tables.items() if key[1] == "test"} == {(name, "test"): 3 for name in LANGUAGES}


def test_a_file_that_changed_upstream_is_refused(served):
    served.cases["ta"][0]["c_testcase"] = "smiths like tea"
    served.write()
    with pytest.raises(InputError, match=r"ta_testcases_all\.csv: SHA-256 is"):
        release.download(sources.download)


def test_a_file_that_is_gone_upstream_says_what_to_do(served):
    (served.folder / "annotations" / "zh_annotations.csv").unlink()
    with pytest.raises(InputError, match=r"cannot be downloaded.*--source DIR.*build starter"):
        release.download(sources.download)
