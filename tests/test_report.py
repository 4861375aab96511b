"""`sghatecheck score … --report`: each number on the page is the result's, what comes from outside is inert, and texts stay out unless asked for."""

import json
import os

import pages
import pytest
from command import run

from sghc.leaderboard import scored
from sghc.leaderboard.report import charts
from sghc.leaderboard.report.heatmap import FEW
from sghc.leaderboard.report.single import score_page
from sghc.paper.reproduction import read_printed

HOSTILE = "<img src=x onerror=alert(1)>\"'&amp;</td></script><script>alert(2)</script>{{ 7 * 7 }}{% raw %}\u202e"
HARMLESS_TAGS = {
    *("a", "bdi", "body", "br", "caption", "circle", "code", "data", "dd", "details", "div", "dl", "dt", "figcaption", "figure", "footer", "g"),
    *("h1", "h2", "h3", "head", "header", "html", "i", "li", "line", "main", "meta", "nav", "p", "path", "polyline", "rect", "section", "small"),
    *("span", "strong", "style", "summary", "svg", "table", "tbody", "td", "text", "th", "thead", "title", "tr", "ul"),
}


@pytest.fixture
def suite(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return pages.build(tmp_path)


def report(capsys, suite, rows, *options, name="p.jsonl"):
    """(the page, the result) of predictions."""
    pages.write(suite.parent / name, rows)
    status, _, err = run(capsys, "score", name, "--suite", suite, "--report", "report.html", "--json", "result.json", *options)
    assert status == 0, err
    return pages.read(suite.parent / "report.html"), json.loads((suite.parent / "result.json").read_text())


def test_each_cell_of_the_map_is_the_results(capsys, suite):
    page, result = report(capsys, suite, pages.answers(suite))
    cells = pages.heat_cells(page)
    assert len(cells) == 3 * 3
    for (name, column), cell in cells.items():
        entry = result["functionality"][name] if column == "mean" else result["language_functionality"][f"{column}/{name}"]
        assert pages.numbers(cell) == [entry["accuracy"], *entry["accuracy_ci"]]
        low, high = (f"{limit:.2f}".removeprefix("0") for limit in entry["accuracy_ci"])
        assert cell.get_text().startswith(f"{entry['accuracy']:.3f}".removeprefix("0"))
        assert f"[{low}, {high}]" in cell.get_text()
        assert f"s{round(entry['accuracy'] * 10)}" in cell["class"]
        assert ("few" in cell["class"]) == (entry["n_clusters"] < FEW)
        assert f"{entry['n']} cases, {entry['n_clusters']} clusters" == cell["title"]
    hatched = {place for place, cell in cells.items() if "few" in cell["class"]}
    assert hatched == {("ident_pos_nh", column) for column in ("mean", "singlish", "malay")}  # 3 templates a language, 6 in all


def test_what_each_cell_rests_on_is_told(capsys, suite):
    page, result = report(capsys, suite, pages.answers(suite))
    rows = [[one.get_text() for one in row.find_all(["th", "td"])] for row in page.select("section[aria-labelledby=map] .notes tbody tr")]
    assert len(rows) == 9
    titles = {"Singlish": "singlish", "Malay": "malay"}
    for name, column, n, n_clusters, how in rows:
        path = f"functionality.{name}" if column == "Mean" else f"language_functionality.{titles[column]}/{name}"
        part, key = path.split(".")
        assert (n, n_clusters) == (str(result[part][key]["n"]), str(result[part][key]["n_clusters"]))
        assert how == result["notes"][f"{path}.accuracy_ci"]


def test_every_number_on_the_page_stands_in_the_result_or_is_printed_in_the_paper(capsys, suite):
    page, result = report(capsys, suite, pages.answers(suite, scores=True))
    known = pages.every_number(result) | pages.every_number(read_printed()["table4"])
    found = pages.numbers(page)
    assert len(found) > 300
    assert not {*found} - known
    for one in page.select("data"):
        shown, value = one.get_text().replace("−", "-"), float(one["value"])
        digits = len(shown.partition(".")[2])
        assert float(shown) == pytest.approx(value, abs=0.5 * 10**-digits + 1e-12)
    cards = [pages.numbers(card)[0] for card in page.select(".cards li")]
    assert cards == [result["overall"][rate] for rate in ("macro_f1", "accuracy_hateful", "accuracy_non_hateful", "coverage")]
    assert result["signature"] in page.header.get_text()


def test_what_is_null_is_said_to_be_so_with_its_reason(capsys, suite):
    rows = [one for one in pages.answers(suite) if "ms" in one["case_id"]]
    harmless = {case["case_id"] for case in pages.cases(suite) if not case["label"]}
    page, result = report(capsys, suite, [row for row in rows if row["case_id"] not in harmless], "--allow-partial")
    assert result["overall"]["macro_f1"] is None
    cards = [" ".join(card.get_text(" ").split()) for card in page.select(".cards li")]
    assert cards[0] == f"Macro F1 n/a {result['notes']['overall.macro_f1']}"
    assert cards[2] == "Harmless cases left alone n/a no non-hateful case"
    cell = pages.heat_cells(page)["ident_pos_nh", "malay"]
    assert " ".join(cell.get_text(" ").split()) == "n/a no case left: every answer is missing or rejected"
    assert "Partial." in page.header.get_text()
    text = page.get_text()
    assert "None" not in text
    assert "nan" not in text.lower()


def test_the_mean_column_is_there_only_where_there_are_languages_to_average(capsys, suite):
    page, _ = report(capsys, suite, [one for one in pages.answers(suite) if one["case_id"].startswith("ms")])
    assert {column for _, column in pages.heat_cells(page)} == {"malay"}
    assert "In which language?" not in page.get_text()


def test_without_intervals_nothing_is_called_noise_or_more(capsys, suite):
    page, _ = report(capsys, suite, pages.answers(suite, scores=True), "--ci", "none")
    assert not page.select(".ci")
    chips = [chip.get_text() for chip in page.select(".findings dd:nth-of-type(-n+2) .chip")]
    assert chips == ["no interval", "no interval"]


def test_what_is_weakest_for_whom_and_in_which_language(capsys, suite):
    """Malay hate against Seniors is missed, and nothing else."""
    rows = pages.answers(suite, lambda number, case: case["language"] == "malay" and case["target"] == "Seniors" and case["label"])
    page, result = report(capsys, suite, rows)
    found = [" ".join(dt.get_text(" ").split()) for dt in page.select(".findings dt")]
    assert found[0] == "In which language? Malay"
    assert found[2] == "For whom is hate missed most? Seniors"
    gap = result["bias"]["overall"]["false_negative_gap"]
    assert gap["value"] == pytest.approx(0.5)  # all of Malay's, none of Singlish's
    assert gap["value"] in pages.numbers(page.select(".findings dd")[2])
    first = page.select("section[aria-labelledby=targets] tbody tr")[0]
    assert first.th.get_text() == "Seniors"
    assert "beyond noise" in page.select(".findings dd")[2].get_text()


def test_the_weakest_functionalities_list_the_cases_that_were_answered_wrongly(capsys, suite):
    wrong = {case["case_id"] for case in pages.cases(suite) if case["functionality"] == "threat_dir_h"}
    page, _ = report(capsys, suite, pages.answers(suite, lambda number, case: case["case_id"] in wrong))
    section = page.select_one("section[aria-labelledby=weakest]")
    assert [head.bdi.get_text() for head in section.select("h3")] == ["threat_dir_h"]  # the others have no error
    assert {one.get_text() for one in section.select(".ids bdi")} == wrong
    assert "36 wrong of 36" in section.get_text()


def test_thresholds_are_drawn_where_there_are_scores(capsys, suite):
    page, result = report(capsys, suite, pages.answers(suite, scores=True))
    points = result["thresholds"]["points"]
    drawn = [tuple(map(float, pair.split(","))) for pair in page.select_one(".curve polyline")["points"].split()]
    frame = charts.FRAME
    assert drawn[0] == (frame.left + frame.size, frame.top + frame.size)  # everything is flagged: no miss, all false alarms
    expected = {(round(48 + 280 * one["false_alarm_rate"], 1), round(12 + 280 * (1 - one["miss_rate"]), 1)) for one in points}
    assert {*drawn} == expected
    rows = [pages.numbers(row) for row in page.select("section[aria-labelledby=thresholds] tbody tr")]
    assert rows == [[one["miss_rate"], one["false_alarm_rate"]] for one in points[::10]]
    assert "threshold chosen on this suite is not a result" in page.get_text()
    assert not report(capsys, suite, pages.answers(suite))[0].select(".curve")


def test_the_papers_models_stand_beside_what_they_were_asked(capsys, suite):
    page, _ = report(capsys, suite, pages.answers(suite))
    section = page.select_one("section[aria-labelledby=paper]")
    tables = section.select("table")
    assert [row.th.get_text(" ").split() for row in tables[0].select("tbody tr")] == [
        ["F1", "derog_neg_emote_h"],
        ["F5", "threat_dir_h"],
        ["F17", "ident_pos_nh"],
    ]
    printed = read_printed()["table4"]["F1"]
    first = pages.numbers(tables[0].select_one("tbody tr"))
    assert first[-5:] == [printed[f"Singlish|{model}"] for model in ("LL", "MB", "MI", "SO", "SM")]
    assert "other cases" in section.get_text()  # a suite of one's own has none of the paper's


def test_a_functionality_of_ones_own_has_no_printed_neighbour(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    suite = pages.build(tmp_path, languages=("hokkien",), hateful=("sarcasm_h",), harmless=("praise_nh",))
    page, _ = report(capsys, suite, pages.answers(suite))
    assert {name for name, _ in pages.heat_cells(page)} == {"sarcasm_h", "praise_nh"}
    assert "Other functionalities" in page.get_text()
    assert not page.select("section[aria-labelledby=paper]")


def test_a_suite_of_hardly_anything_has_a_page_that_says_what_is_lacking(capsys, tmp_path, monkeypatch):
    """One case of one language, no target, no contrast, no template with three cases."""
    monkeypatch.chdir(tmp_path)
    suite = pages.build(tmp_path, languages=("malay",), hateful=(), harmless=("praise_nh",), targets={"Women": "bakers"})
    case = pages.cases(suite)[0]
    page, result = report(capsys, suite, [{"case_id": case["case_id"], "prediction": 0}], "--allow-partial")
    assert result["overall"]["n"] == 1
    assert f"Malay: n/a {result['notes']['bias.malay']}" in " ".join(page.get_text(" ").split()).replace(" :", ":")
    assert "n/a no template has 3 scored cases" in " ".join(page.select_one("section[aria-labelledby=consistency]").get_text(" ").split())
    assert "No functionality has an error." in page.get_text()
    assert "no hateful case" in page.select(".cards li")[1].get_text()
    status, _, err = run(capsys, "compare", "p.jsonl", "p.jsonl", "--suite", suite, "--allow-partial", "--report", "both.html")
    assert status == 0, err
    assert "n/a" in pages.read(tmp_path / "both.html").get_text()


def test_rejected_outputs_are_counted_and_shown_only_with_texts(capsys, suite):
    given = [{"case_id": one["case_id"], "output": str(one["prediction"])} for one in pages.answers(suite)]
    given[0]["output"] = "I would rather talk about soup"
    page, _ = report(capsys, suite, given)
    section = page.select_one("section[aria-labelledby=rejected]")
    assert "Outputs that name neither label: 1;" in section.get_text()
    assert [one.get_text() for one in section.select(".ids bdi")] == [given[0]["case_id"]]
    assert "soup" not in str(page)
    page, _ = report(capsys, suite, given, "--show-text")
    assert "I would rather talk about soup" in page.select_one("section[aria-labelledby=rejected]").get_text()


def test_texts_are_left_out_unless_asked_for_and_then_closed_and_veiled(capsys, suite):
    texts = {case["text"] for case in pages.cases(suite)}
    page, _ = report(capsys, suite, pages.answers(suite))
    whole = str(page)
    assert not any(text in whole for text in texts)
    page, _ = report(capsys, suite, pages.answers(suite), "--show-text")
    revealed = page.select(".revealed")
    assert {one.get_text() for one in revealed} <= texts
    assert len(revealed) > 10
    assert all("open" not in one.find_parent("details").attrs for one in revealed)
    assert all(set(veil.get_text()) <= {"x", " "} for veil in page.select(".veil"))
    for one in revealed:
        one.decompose()
    rest = str(page)
    assert not any(text in rest for text in texts)  # nowhere else
    assert "Not for sharing." in page.header.get_text()
    assert "sghatecheck:canary:" in page.header.get_text()


def test_show_text_without_a_report_is_wrong_usage(capsys, suite):
    pages.write(suite.parent / "p.jsonl", pages.answers(suite))
    status, _, err = run(capsys, "score", "p.jsonl", "--suite", suite, "--show-text")
    assert status == 2
    assert "--report" in err


def test_what_comes_from_outside_is_escaped(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    targets = {HOSTILE: HOSTILE.replace("{", "(").replace("}", ")"), "Women": "bakers"}
    suite = pages.build(tmp_path, hateful=(HOSTILE + "_h",), harmless=("ident_pos_nh",), targets=targets)
    name = HOSTILE.replace("/", "∕") + ".jsonl"
    given = [{"case_id": one["case_id"], "output": HOSTILE if number % 7 == 0 else "1"} for number, one in enumerate(pages.answers(suite))]
    record = {"identity": {"model": HOSTILE, HOSTILE: HOSTILE}, "asked": {"suite": HOSTILE}, "partial": False, "versions": {HOSTILE: HOSTILE}}
    (tmp_path / f"{name.removesuffix('.jsonl')}.run.json").write_text(json.dumps({**record, "started": HOSTILE}))
    page, _ = report(capsys, suite, given, "--show-text", name=name)
    check_inert(page)
    assert page.h1.get_text() == f"SGHateCheck report: {HOSTILE}"
    assert page.title.get_text().startswith(HOSTILE.replace("/", "∕"))
    assert any(HOSTILE in row.get_text() for row in page.select(".heat tbody th"))
    assert any(one.get_text() == HOSTILE for one in page.select("section[aria-labelledby=targets] bdi"))
    assert any(one.get_text() == HOSTILE for one in page.select("section[aria-labelledby=rejected] details code"))
    assert any("<script>" in one.get_text() for one in page.select(".revealed"))
    status, _, err = run(capsys, "compare", name, name, "--suite", suite, "--report", "both.html")
    assert status == 0, err
    both = pages.read(tmp_path / "both.html")
    check_inert(both)
    assert HOSTILE.replace("/", "∕") in both.header.get_text()


def check_inert(page) -> None:
    """No element but those of the templates, no handler, nothing that is fetched."""
    assert {tag.name for tag in page.find_all(True)} <= HARMLESS_TAGS
    for tag in page.find_all(True):
        assert not [name for name in tag.attrs if name.startswith("on") or name in ("src", "srcset", "xlink:href", "formaction", "action")]
        assert tag.get("href", "#").startswith("#")
    style = page.style.get_text()
    assert "url(" not in style
    assert "@import" not in style
    policy = page.find("meta", {"http-equiv": "Content-Security-Policy"})["content"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert "49" not in page.h1.get_text()  # {{ 7 * 7 }} is a text


def test_a_file_name_that_is_no_text_does_not_stop_the_page(capsys, suite):
    name = os.fsdecode(b"caf\xe9.jsonl")
    page, _ = report(capsys, suite, pages.answers(suite), name=name)
    assert page.title.get_text() == "caf?.jsonl: SGHateCheck report"
    pages.write(suite.parent / "b.jsonl", pages.answers(suite))
    status, _, err = run(capsys, "compare", name, "b.jsonl", "--suite", suite, "--json", "both.json", "--report", "both.html")
    assert status == 0, err
    assert json.loads((suite.parent / "both.json").read_text())["a"] == r"caf\udce9"


def test_a_run_record_is_shown_and_a_broken_one_is_said_to_be(capsys, suite):
    page, _ = report(capsys, suite, pages.answers(suite))
    assert "no run record (p.run.json) lies beside" in page.get_text()
    record = {
        "identity": {"model": "ORG/NAME", "revision": "abc123"},
        "asked": {"data": "of others"},
        "partial": False,
        "versions": {},
        "started": "now",
    }
    (suite.parent / "p.run.json").write_text(json.dumps(record))
    page, _ = report(capsys, suite, pages.answers(suite))
    assert page.h1.get_text() == "SGHateCheck report: ORG/NAME"
    assert "abc123" in page.get_text()
    assert "not just those scored here" in page.get_text()
    (suite.parent / "p.run.json").write_text("[")
    assert "p.run.json is not a record of a run" in report(capsys, suite, pages.answers(suite))[0].get_text()


def test_a_report_is_written_whole_and_never_over_what_is_read(capsys, suite):
    path = pages.write(suite.parent / "p.jsonl", pages.answers(suite))
    before = path.read_bytes()
    readme = (suite / "README.md").read_bytes()
    for place in (path, suite / "README.md", suite / "report.html", suite.parent / "p.run.json"):
        status, _, err = run(capsys, "score", path, "--suite", suite, "--report", place)
        assert status == 1
        assert "name another file" in err
    status, _, err = run(capsys, "score", path, "--suite", suite, "--json", "same", "--report", "same")
    assert status == 1
    assert json.loads((suite.parent / "same").read_text())["overall"]
    assert (path.read_bytes(), (suite / "README.md").read_bytes()) == (before, readme)
    (suite.parent / "old.html").write_text("old")
    pages.write(path, [{"case_id": "xx-1", "prediction": 1}])
    assert run(capsys, "score", path, "--suite", suite, "--report", "old.html")[0] == 1
    assert (suite.parent / "old.html").read_text() == "old"
    assert run(capsys, "score", path, "--suite", suite, "--report", "nowhere/x.html")[0] == 1
    assert not [one for one in suite.parent.iterdir() if one.name.startswith(".")]


def test_answers_read_at_a_threshold_are_those_whose_cases_are_listed(capsys, suite):
    rows = [{**one, "prediction": 0, "score": 0.6} for one in pages.answers(suite)]
    page, result = report(capsys, suite, rows, "--threshold", "0.5")
    assert result["overall"]["accuracy_hateful"] == 1
    harmless = {case["case_id"] for case in pages.cases(suite) if not case["label"]}
    assert {one.get_text() for one in page.select("section[aria-labelledby=weakest] .ids bdi")} == harmless


def test_a_page_of_four_languages_is_below_two_megabytes(shared_data, tmp_path):
    from sghc.suite import folder, release
    from sghc.suite.sources import card_of, official

    suite = official(release.local_copy(shared_data / "sghatecheck"))
    folder.write(suite, card_of(suite, "official"), tmp_path / "suite")
    path = pages.write(tmp_path / "p.jsonl", [{"case_id": case["case_id"], "output": "no label"} for case in pages.cases(tmp_path / "suite")])
    held = scored.hold(path, tmp_path / "suite", "test", None, allow_partial=False)
    page = score_page(held, scored.score_held(held), show_text=True)  # all wrong, all rejected, with texts: as large as it gets
    assert 300_000 < len(page) < 2_000_000
