"""`sghatecheck compare A B --report`: differences, tests and verdicts on the page are those of the comparison, on the same cases for both."""

import json

import pages
import pytest
from command import run

from sghatecheck_metric.comparing import compare
from sghc.leaderboard import compared
from sghc.leaderboard.report import double
from sghc.paper.reproduction import read_printed


@pytest.fixture
def suite(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return pages.build(tmp_path)


def report(capsys, suite, a, b, *options):
    """(the page, the result) of two systems' predictions."""
    pages.write(suite.parent / "a.jsonl", a)
    pages.write(suite.parent / "b.jsonl", b)
    status, _, err = run(capsys, "compare", "a.jsonl", "b.jsonl", "--suite", suite, "--report", "r.html", "--json", "r.json", *options)
    assert status == 0, err
    return pages.read(suite.parent / "r.html"), json.loads((suite.parent / "r.json").read_text())


def worse_at_threats(number, case) -> bool:
    return case["functionality"] == "threat_dir_h" or number % 5 == 0


def test_numbers_and_verdicts_are_the_comparisons(capsys, suite):
    page, result = report(capsys, suite, pages.answers(suite), pages.answers(suite, worse_at_threats))
    assert [one.get_text() for one in page.header.select("bdi")] == ["a", "b"]
    accuracy = page.select("section[aria-labelledby=overview] tbody")[0]
    for row, entry in zip(accuracy.select("tr")[1:], [result["overall"], *result["language"].values()], strict=True):
        values = entry["accuracy"]
        p = entry.get("p_holm", values["p"])
        assert pages.numbers(row) == [values["a"], values["b"], values["difference"], *values["difference_ci"], p]
        assert entry["verdict"] in row.find_all("td")[-1].get_text()
    rows = page.select("section[aria-labelledby=functionality] tbody tr")
    assert rows[0].th.bdi.get_text() == "threat_dir_h"  # what is worse stands before what cannot be told
    assert "worse" in rows[0].get_text()
    assert len(rows) == 3
    known = pages.every_number(result) | {number for score in scores_of(suite) for number in pages.every_number(score)}
    known |= pages.every_number(cells_of(suite)) | pages.every_number(read_printed()["table4"])
    assert not {*pages.numbers(page)} - known


def held_of(suite, invalid="wrong", allow_partial=False):
    paths = [suite.parent / "a.jsonl", suite.parent / "b.jsonl"]
    return double.on_same_cases(compared.hold_all(paths, suite, "test", None, allow_partial=allow_partial), invalid)


def scores_of(suite, invalid="wrong", allow_partial=False):
    return [double.score_held(one, invalid=invalid, allow_partial=True) for one in held_of(suite, invalid, allow_partial)]


def cells_of(suite):
    return double.by_cell(held_of(suite), "wrong")


def test_the_map_holds_the_difference_of_each_cell(capsys, suite):
    page, result = report(capsys, suite, pages.answers(suite), pages.answers(suite, worse_at_threats))
    cells = pages.heat_cells(page)
    assert len(cells) == 9
    a, b = scores_of(suite)
    for (name, column), cell in cells.items():
        if column == "mean":
            values = result["functionality"][name]["accuracy"]
            assert pages.numbers(cell) == [values["difference"], values["a"], values["b"], *(values["difference_ci"] or [])]
            assert values["difference_ci"] or "no interval" in cell.get_text()
            continue
        one, other = (score["language_functionality"][f"{column}/{name}"]["accuracy"] for score in (a, b))
        assert pages.numbers(cell)[:3] == pytest.approx([other - one, one, other])
        if name == "threat_dir_h":
            low, high = pages.numbers(cell)[3:]
            assert low <= other - one <= high
    # of one cell alone, as a comparison on its cases gives it
    held = held_of(suite)
    columns = held[0].cases
    rows = [row for row, pair in enumerate(zip(columns["language"], columns["functionality"], strict=True)) if pair == ("malay", "threat_dir_h")]
    answers = [[one.answers[row] for row in rows] for one in held]
    alone = compare(*answers, [columns["label"][row] for row in rows], cluster=[columns["cluster"][row] for row in rows])
    found = pages.numbers(cells["threat_dir_h", "malay"])
    assert found[0] == alone["overall"]["accuracy"]["difference"]
    assert found[3:] == pytest.approx(alone["overall"]["accuracy"]["difference_ci"], abs=0.05)  # other draws


@pytest.mark.parametrize(("invalid", "left_out"), [("wrong", 1), ("drop", 2)])
def test_both_are_measured_on_the_same_cases(capsys, suite, invalid, left_out):
    a, b = ([{"case_id": one["case_id"], "output": str(one["prediction"])} for one in pages.answers(suite)] for _ in range(2))
    a[3]["output"] = "soup"  # rejected
    del b[8]  # missing
    page, result = report(capsys, suite, a, b, "--allow-partial", "--invalid", invalid)
    assert result["overall"]["n_left_out"] == left_out
    assert f"{left_out} cases are left out for both" in page.header.get_text()
    for name, score in zip("ab", scores_of(suite, invalid, True), strict=True):
        for place in (("overall",), ("language", "malay"), ("functionality", "threat_dir_h"), ("target", "Women")):
            entry, single = result, score
            for part in place:
                entry, single = entry[part], single[part]
            assert single["accuracy"] == pytest.approx(entry["accuracy"][name], abs=1e-12)
            assert single["n"] == entry["n"]
    assert "1 of A, 0 of B" in page.select_one("section[aria-labelledby=rejected]").get_text()


def test_changed_cases_are_those_that_one_alone_answers_rightly(capsys, suite):
    cases = pages.cases(suite)
    lost, won = cases[0], next(case for case in cases if case["functionality"] == "ident_pos_nh")
    a = pages.answers(suite, lambda number, case: case["case_id"] == won["case_id"])
    b = pages.answers(suite, lambda number, case: case["case_id"] == lost["case_id"])
    page, _ = report(capsys, suite, a, b)
    section = page.select_one("section[aria-labelledby=changed]")
    found = {
        head.bdi.get_text(): [[one.get_text() for one in details.select(".ids bdi")] for details in head.find_next_siblings("details")[:2]]
        for head in section.select("h3")
    }
    assert found == {lost["functionality"]: [[lost["case_id"]], []], won["functionality"]: [[], [won["case_id"]]]}
    same, _ = report(capsys, suite, a, a)
    assert "Both are right and wrong on the same cases." in same.get_text()
    assert "None" not in same.get_text()


def test_two_curves_stand_in_one_chart_where_both_have_scores(capsys, suite):
    page, _ = report(capsys, suite, pages.answers(suite, scores=True), pages.answers(suite, worse_at_threats, scores=True))
    assert len(page.select(".curve polyline")) == 2
    names = {text.get_text()[0] for text in page.select(".curve g text")}
    assert names == {"A", "B"}


def test_texts_never_stand_in_a_comparison(capsys, suite):
    page, _ = report(capsys, suite, pages.answers(suite), pages.answers(suite, worse_at_threats))
    whole = str(page)
    assert not any(case["text"] in whole for case in pages.cases(suite))


def test_a_report_is_of_two_and_never_over_what_is_read(capsys, suite):
    for name in "abc":
        pages.write(suite.parent / f"{name}.jsonl", pages.answers(suite))
    status, _, err = run(capsys, "compare", "a.jsonl", "b.jsonl", "c.jsonl", "--suite", suite, "--report", "r.html")
    assert status == 2
    assert "two" in err
    before = (suite.parent / "b.jsonl").read_bytes()
    status, _, err = run(capsys, "compare", "a.jsonl", "b.jsonl", "--suite", suite, "--report", "b.jsonl")
    assert status == 1
    assert "name another file" in err
    assert (suite.parent / "b.jsonl").read_bytes() == before
