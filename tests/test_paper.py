"""The paper, reproduced: the importer and the paper's arithmetic on small made-up tables, and every printed table from the released files."""

import io
import itertools
import json
import shutil
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from rich.console import Console

from sghc.errors import InputError
from sghc.paper import others, predictions, reproduction, scores, summary
from sghc.paper.causes import NO_CAUSE, TWICE, cause_of
from sghc.paper.cells import Lacks, accuracy, in_print, macro_f1, mean
from sghc.paper.comparison import compare, shown
from sghc.paper.predictions import Run, read_folder
from sghc.suite import release
from sghc.suite.catalogue import LANGUAGES

RUN = "mistral-multiset-sghc_ms.json"


def write_json(path: Path, content) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def answer(case_id, classified=0) -> dict:
    return {"classified": classified, "actual": 1, "case_id": case_id}


def refusal(tmp_path: Path, content, name: str = RUN) -> str:
    """The message with which a folder with one such file is refused."""
    write_json(tmp_path / name, content)
    with pytest.raises(InputError) as caught:
        read_folder(tmp_path)
    assert name in str(caught.value)
    return str(caught.value)


def printed_text(report: reproduction.Report, width: int = 100) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width)
    for part in summary.render(report):
        console.print(part)
    return out.getvalue()


# --- the arithmetic ---


def test_f1_by_hand():
    # gold 0 0 1 1, predicted 0 1 1 1: F1 of label 0 is 2/3, of label 1 4/5
    assert macro_f1([[1, 1], [0, 2]]) == Fraction(11, 15)
    # one gold label and no mistake: the other label occurs nowhere and has no part in the mean
    assert macro_f1([[0, 0], [0, 5]]) == 1
    # one gold label and one mistake of five: 8/9 for it, 0 for the label that was predicted once
    assert macro_f1([[0, 0], [1, 4]]) == Fraction(4, 9)
    assert macro_f1([[0, 0], [0, 0]]) is None


def test_f1_is_scikit_learns_over_the_labels_that_occur():
    from sklearn.metrics import f1_score

    for confusion in itertools.product(range(3), repeat=4):
        if not sum(confusion):
            continue
        pairs = [pair for pair, count in zip(itertools.product((0, 1), repeat=2), confusion, strict=True) for _ in range(count)]
        gold, predicted = zip(*pairs, strict=True)
        expected = f1_score(gold, predicted, average="macro", zero_division=0)
        assert float(macro_f1([list(confusion[:2]), list(confusion[2:])])) == pytest.approx(expected, abs=1e-12)


def test_accuracy_by_gold_label():
    assert accuracy([[3, 1], [1, 1]]) == Fraction(4, 6)
    assert accuracy([[3, 1], [1, 1]], gold=0) == Fraction(3, 4)
    assert accuracy([[0, 0], [1, 1]], gold=0) is None


def test_a_mean_is_never_over_fewer():
    assert mean([Fraction(1, 2), Fraction(1, 4)]) == Fraction(3, 8)
    assert mean([Fraction(1, 2), Lacks(("a.json",)), Lacks(("b.json", "a.json"))]) == Lacks(("a.json", "b.json"))
    assert mean([Fraction(1, 2), None]) is None


def test_rounding_and_cutting():
    assert in_print(Fraction(7057, 10000), 3, cut=True) == 0.705
    assert in_print(Fraction(7057, 10000), 3) == 0.706
    assert in_print(Fraction(1, 16), 3) == 0.062  # an exact half goes to the even digit, as in Python and NumPy
    assert in_print(Fraction(3, 16), 3) == 0.188
    assert in_print(Fraction(2675, 1000), 2) == 2.68  # which a float would make 2.67
    assert in_print(17, 0) == 17
    assert shown("table6", ("F19", "SHCM"), Fraction(1807, 10000)) == 0.18  # one of the three cells that Table 6 cuts
    assert shown("table6", ("F19", "HC"), Fraction(1807, 10000)) == 0.181


def test_comparison_counts_numbers_and_keeps_labels_and_gaps_apart():
    printed = {"table4": {"F1": {"GL": "H", "a": 0.5, "b": 0.25, "c": 0.1, "d": None, "e": 0.7}}}
    cells = {"GL": "N", "a": Fraction(1, 2), "b": Fraction(1, 3), "c": Lacks(("x.json",)), "d": Fraction(1), "e": None}
    report = compare({"table4": {"F1": cells}}, printed)["table4"]
    assert (report.printed, report.equal, report.recomputed) == (4, 1, 3)
    assert [one.path for one in report.differing] == [("F1", "b"), ("F1", "e")]
    assert [one.wants for one in report.lacking] == [("x.json",)]
    assert [one.computed for one in report.labels] == ["N"]


def test_a_cause_belongs_to_one_value():
    assert cause_of(("table7", "Mandarin", "retained"), 2772) == TWICE
    assert cause_of(("table7", "Mandarin", "retained"), 2771) == NO_CAUSE
    assert cause_of(("table4", "F1", "Malay|LL"), 0.5) == NO_CAUSE


# --- the importer ---


def test_every_file_of_a_folder_is_read_or_named(tmp_path):
    write_json(tmp_path / RUN, [answer(1, 1), answer(2)])
    write_json(tmp_path / "my-own-model-otherset-sghc_id.json", [answer("x", 1)])
    write_json(tmp_path / "sealion-engset-cn-bad.json", [{"output": "-", "actual_label": None, "case_id": "mandarin-7"}])
    write_json(tmp_path / "notes.json", "{")
    (tmp_path / "plots").mkdir()
    found = read_folder(tmp_path)
    assert found.answers == {Run("mistral", "multiset", "sghc_ms"): {1: 1, 2: 0}, Run("my-own-model", "otherset", "sghc_id"): {"x": 1}}
    assert found.rejected == {Run("sealion", "engset", "cn"): ["mandarin-7"]}
    assert found.others == ["notes.json", "plots"]
    lines = reproduction.runs_read(found)
    assert "my-own-model-otherset (in no table): sghc_id (in no table)" in lines
    assert "sealion-engset: cn (rejected outputs only)" in lines


def test_no_folder_holds_no_predictions(tmp_path):
    assert read_folder(tmp_path / "experiments") == predictions.Experiments()


def test_a_case_in_both_files_was_rejected(tmp_path):
    write_json(tmp_path / "sealion-multiset-sghc_ta.json", [answer(157, 1), answer(158)])
    write_json(tmp_path / "sealion-multiset-sghc_ta-bad.json", [{"output": "-", "actual_label": None, "case_id": 158}])
    found, run = read_folder(tmp_path), Run("sealion", "multiset", "sghc_ta")
    assert found.answers[run] == {157: 1}
    assert found.both[run] == 1


def test_the_same_answer_twice_is_one(tmp_path):
    write_json(tmp_path / RUN, [answer(1, 1), answer(1, 1)])
    assert read_folder(tmp_path).answers[Run("mistral", "multiset", "sghc_ms")] == {1: 1}


@pytest.mark.parametrize("content", ["", "[{", '{"classified": 1}', "null", "7", "[" * 100_000])
def test_what_is_no_list_of_records_is_refused(tmp_path, content):
    assert "JSON" in (message := refusal(tmp_path, content)) or "list of records" in message


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / RUN).write_bytes(b"\xff\xfe\x00\xd8")
    with pytest.raises(InputError, match="not readable as JSON"):
        read_folder(tmp_path)


@pytest.mark.parametrize("value", [2, -1, None, True, 1.0, "1", [1]])
def test_an_answer_other_than_0_or_1_is_refused(tmp_path, value):
    assert "record 2: classified is" in refusal(tmp_path, [answer(1), answer(2, value)])


@pytest.mark.parametrize("key", ["classified", "case_id"])
def test_a_missing_key_is_refused(tmp_path, key):
    record = answer(2)
    del record[key]
    assert f"record 2 has no {key}" in refusal(tmp_path, [answer(1), record])


def test_a_record_that_is_no_object_is_refused(tmp_path):
    assert "record 2 is 5" in refusal(tmp_path, [answer(1), 5])


@pytest.mark.parametrize(
    ("name", "value"), [(RUN, "1"), (RUN, True), (RUN, 1.5), ("llama-multiset-cn.json", 1), ("llama-multiset-hatecheck.json", "1")]
)
def test_a_case_id_of_another_type_is_refused(tmp_path, name, value):
    assert "case_id is" in refusal(tmp_path, [answer(value)], name)


def test_contradictory_answers_are_refused(tmp_path):
    assert "record 3: case_id 1 is answered 0 here and 1 in an earlier record" in refusal(tmp_path, [answer(1, 1), answer(2), answer(1, 0)])


def test_a_rejected_output_without_case_id_is_refused(tmp_path):
    assert "record 1 has no case_id" in refusal(tmp_path, [{"output": "-"}], "sealion-engset-cn-bad.json")


def test_no_message_shows_text(tmp_path):
    text = "a sentence about tea and rain"
    for content in ([answer(text)], [answer(1, text)], [text], [answer(1, [text])], [answer(1, "\u8336")], f'[{{"{text}'):
        message = refusal(tmp_path, content)
        assert "tea" not in message
        assert "\u8336" not in message


# --- the other suites ---


def hatecheck(folder: Path, *rows: str) -> Path:
    lines = ["case_id,functionality,test_case,label_gold", *rows]
    folder.mkdir(exist_ok=True)
    (folder / "test_suite_cases.csv").write_text("\n".join(lines) + "\n")
    return folder


def test_hatecheck_by_the_papers_numbers(tmp_path):
    folder = hatecheck(tmp_path / "hc", "1,slur_h,tea,hateful", "2,slur_reclaimed_nh,rain,non-hateful")
    cases, known = others.read_hatecheck(folder)
    assert cases == [{"id": 1, "label": 1, "functionality": "F7"}, {"id": 2, "label": 0, "functionality": "slur_reclaimed_nh"}]
    assert known == {1, 2}


def test_mandarin_keeps_cases_whose_annotators_agree_with_the_gold(tmp_path):
    path = tmp_path / others.MANDARIN
    path.parent.mkdir()
    head = "mhc_case_id,functionality,label_gold,label_annotated_maj\n"
    path.write_text(head + "mandarin-1,slur_h,hateful,hateful\nmandarin-2,slur_h,hateful,non-hateful\n")
    cases, known = others.read_mandarin(tmp_path)
    assert [one["id"] for one in cases] == ["mandarin-1"]
    assert known == {"mandarin-1", "mandarin-2"}


@pytest.mark.parametrize(
    ("rows", "message"),
    [(["1,slur_h,tea,maybe"], "label_gold"), (["x,slur_h,tea,hateful"], "case_id"), (["1,slur_h,tea,hateful"] * 2, "more than once")],
)
def test_a_damaged_suite_is_refused(tmp_path, rows, message):
    with pytest.raises(InputError, match=message):
        others.read_hatecheck(hatecheck(tmp_path / "hc", *rows))


def test_a_folder_without_the_suite_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"test_suite_cases\.csv"):
        others.read_hatecheck(tmp_path)
    with pytest.raises(InputError, match=r"hatecheck_cases_final_mandarin\.csv"):
        others.read_mandarin(tmp_path)


# --- a made-up release, worked out by hand ---


@pytest.fixture
def toy_source(toy) -> Path:
    """Four languages of three cases each, two hateful and one not, and five models that call every case hateful."""
    for row in toy.annotations["ta"]:
        row["c_group"] = "1"
    source = toy.write()
    for model, test_set in itertools.product(scores.MODELS, scores.SETS):
        write_json(source / "experiments" / f"{model}-multiset-{test_set}.json", [answer(id, 1) for id in (0, 1, 2, 99)])
    return source


def test_a_made_up_release(toy_source):
    report = reproduction.reproduce(toy_source)
    computed = report.computed
    assert computed["table3"]["Accuracy|MultiSet"]["Tamil|NH"] == 0
    assert computed["table3"]["Accuracy|MultiSet"]["Average|H"] == 1
    assert computed["table3"]["F1|MultiSet"]["Average"] == Fraction(2, 5)  # 4/5 for hateful, 0 for the other
    assert computed["table4"]["F1"]["Malay|MI"] == 1
    assert computed["table4"]["F9"]["Malay|MI"] == 0
    assert computed["table4"]["Avg_both"]["Malay|MI"] == Fraction(2, 3)
    assert computed["table5"]["Women"]["Average"] == 1
    assert computed["table6"]["Overall F1"]["SHCM"] == Fraction(2, 5)
    assert computed["table6"]["Overall F1"]["HC"] == Lacks(("--hatecheck DIR", *(f"{model}-multiset-hatecheck.json" for model in scores.MODELS)))
    assert computed["table7"]["Malay"] == {"unanimous": 3, "two_of_three": 0, "undetermined": 0, "mismatch": 0, "retained": 3, "excluded": 0}
    assert computed["table9"]["F1"]["SS"] == 2
    assert (computed["totals"]["all"], computed["totals"]["hateful"]) == (12, 8)
    assert "SGHateCheck Malay, answers to ids that the suite does not have: 1 in each of 5 runs" in report.set_aside


def test_one_missing_model_leaves_its_means_lacking(toy_source):
    (toy_source / "experiments" / RUN).unlink()
    computed = reproduction.reproduce(toy_source).computed
    assert computed["table3"]["F1|MultiSet"]["Malay"] == Lacks((RUN,))
    assert computed["table3"]["F1|MultiSet"]["Average"] == Lacks((RUN,))
    assert computed["table3"]["F1|MultiSet"]["Tamil"] == Fraction(2, 5)
    assert computed["table4"]["F1"]["Malay|MI"] == Lacks((RUN,))
    assert computed["table5"]["Women"]["Mistral"] == Lacks((RUN,))
    assert computed["table5"]["Women"]["LLaMA2"] == 1


def test_without_predictions_the_counts_still_come(toy_source):
    shutil.rmtree(toy_source / "experiments")
    report = reproduction.reproduce(toy_source)
    assert report.tables["table4"].recomputed == 0
    assert len(report.tables["table4"].lacking) == 515
    assert report.tables["table7"].recomputed == 23
    assert "mistral-multiset" in printed_text(report)
    json.dumps(reproduction.to_json(report), allow_nan=False)


def test_a_damaged_file_fails_the_whole(toy_source):
    write_json(toy_source / "experiments" / RUN, "[{")
    with pytest.raises(InputError, match=RUN):
        reproduction.reproduce(toy_source)


# --- the released files ---


@pytest.fixture(scope="module")
def report(shared_data) -> reproduction.Report:
    return reproduction.reproduce(shared_data / "sghatecheck", shared_data / "hatecheck", shared_data / "mhc")


@pytest.fixture
def copied(shared_data, tmp_path) -> Path:
    """A copy of the release whose predictions can be changed."""
    for name in ("testcases", "annotations"):
        (tmp_path / name).symlink_to(shared_data / "sghatecheck" / name)
    (tmp_path / "experiments").mkdir()
    for path in (shared_data / "sghatecheck" / "experiments").iterdir():
        shutil.copyfile(path, tmp_path / "experiments" / path.name)
    return tmp_path


def is_engset(path: tuple[str, ...]) -> bool:
    return "EngSet" in path[0]


@pytest.mark.parametrize(
    ("table", "equal", "recomputed", "printed"),
    [
        ("table1", 0, 0, 15),
        ("table2", 0, 0, 30),
        ("table3", 14, 14, 28),
        ("table4", 515, 515, 515),
        ("table5", 89, 89, 89),
        ("table6", 20, 20, 20),
        ("table7", 17, 23, 23),
        ("table8", 3, 4, 4),
        ("table9", 91, 108, 108),
        ("D2", 1, 1, 9),
        ("totals", 8, 15, 17),
    ],
)
def test_printed_tables_from_the_release(report, table, equal, recomputed, printed):
    found = report.tables[table]
    if any(not is_engset(gap.path) for gap in found.lacking) or (found.lacking and table not in ("table3", "D2")):
        pytest.fail(f"cells lack more than the EngSet files: {found.lacking[:3]}")
    assert (found.equal, found.recomputed, found.printed) == (equal, recomputed, printed)


def test_the_frame_is_the_papers(report):
    assert report.computed["totals"]["all"] == 21152
    assert (report.computed["totals"]["hateful"], report.computed["totals"]["non_hateful"]) == (15052, 6100)
    assert report.beside["Totals: the released test cases by the gold label that they have"] == {"all": 21141, "hateful": 14446, "non_hateful": 6695}
    assert {one.path[0] for one in report.tables["table7"].differing} == {"Mandarin"}
    assert any("Singlish, answers to ids that the suite does not have: 61 in each of 5 runs" in line for line in report.set_aside)
    assert any("Mandarin, answers to ids that the suite does not have: 145 in each of 5 runs" in line for line in report.set_aside)
    assert any("Tamil, answers whose output was rejected: 1 in 1 run" in line for line in report.set_aside)


def test_only_two_cells_differ_without_a_known_cause(report):
    strange = [(name, one.path) for name, table in report.tables.items() for one in table.differing if one.cause == NO_CAUSE]
    assert strange == [("table9", ("Total_non-hate", "TA")), ("table9", ("Total_hate", "TA"))]
    assert [one.path for one in report.tables["table9"].labels] == [("F11", "gold")]


def test_json_has_the_shape_and_the_values_of_the_printed_tables(report):
    document = json.loads(json.dumps(reproduction.to_json(report), allow_nan=False))
    recomputed = {name: {tuple(one["path"]) for one in table["differing"]} for name, table in document["comparison"]["tables"].items()}
    for name, table in report.printed.items():
        if document[name] is None:
            assert name in ("table1", "table2")
            continue
        for path, value, found in leaves_of(table, document[name]):
            if isinstance(value, float | int) and path not in recomputed[name] and found is not None:
                assert found == value, (name, path)


def leaves_of(printed: dict, found: dict, path: tuple = ()):
    for key, value in printed.items():
        if isinstance(value, dict):
            yield from leaves_of(value, found[key], (*path, key))
        else:
            yield (*path, key), value, found.get(key)


def test_the_summary_reads_at_100_columns(report):
    text = printed_text(report)
    assert max(map(len, text.splitlines())) <= 100
    for part in ("515 of 515", "17 of 23", "Table 7, Mandarin: unanimous 2,330 → 2,290", "llama-engset-sghc_en.json", "Table 2 as printed"):
        assert part in text


def test_the_computation_never_reads_the_printed_figures(report, shared_data, monkeypatch):
    monkeypatch.setattr(reproduction, "read_printed", dict)
    again = reproduction.reproduce(shared_data / "sghatecheck", shared_data / "hatecheck", shared_data / "mhc")
    assert again.tables == {}
    assert again.computed == report.computed


def test_one_altered_prediction_shows_in_its_cells(copied, report):
    rows = release.read_language(LANGUAGES["malay"], release.local_copy(copied), Counter())[2]
    id = next(row["c_id"] for row in rows if row["functionality_id"] == "F9" and row["status"] == "retained")
    path = copied / "experiments" / RUN
    records = json.loads(path.read_text())
    record = next(record for record in records if record["case_id"] == id)
    record["classified"] = 1 - record["classified"]
    write_json(path, records)

    differing = reproduction.reproduce(copied).tables["table4"].differing
    assert {one.path for one in differing} == {("F9", "Malay|MI"), ("Avg_NH", "Malay|MI")}  # one of 2,208 does not change the third decimal
    assert {one.cause for one in differing} == {NO_CAUSE}


def test_engset_files_are_read_alike(copied):
    folder = copied / "experiments"
    for path in list(folder.glob("*-multiset-*.json")):
        shutil.copyfile(path, folder / path.name.replace("multiset", "engset"))
    ids = [record["case_id"] for record in json.loads((folder / "sealion-engset-sghc_ta.json").read_text())]
    refused = ids[:1979]
    write_json(folder / "sealion-engset-sghc_ta.json", [answer(id) for id in ids[1979:]])
    write_json(folder / "sealion-engset-sghc_ta-bad.json", [{"output": "-", "actual_label": None, "case_id": id} for id in refused])

    report = reproduction.reproduce(copied)
    assert not report.tables["table3"].lacking
    assert report.tables["table3"].recomputed == 28
    assert report.computed["table3"]["F1|EngSet"]["Malay"] == report.computed["table3"]["F1|MultiSet"]["Malay"]
    assert report.computed["D2"]["SEA-LION|EngSet"]["SGHateCheck Tamil"] == 1979
    assert report.tables["D2"].equal == 2


def test_a_rejected_file_that_is_not_there_is_no_count_of_zero(copied):
    (copied / "experiments" / "sealion-multiset-sghc_ta-bad.json").unlink()
    gaps = reproduction.reproduce(copied).tables["D2"].lacking
    assert ("sealion-multiset-sghc_ta-bad.json",) in [gap.wants for gap in gaps]
