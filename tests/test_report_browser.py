"""The report in a real browser: quiet, readable in light and dark and on a small screen, usable by keyboard, printable."""

import sys
from itertools import pairwise

import browser
import pages
import pytest

from sghc import cli

LONG = "a" * 120


@pytest.fixture(scope="module")
def chromium():
    with browser.chromium() as found:
        yield found


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """A score's page with texts, and a comparison's: rejected and missing answers, scores, hatched cells, long names."""
    top = tmp_path_factory.mktemp("report")
    hateful, targets = ("derog_neg_emote_h", "threat_dir_h", f"{LONG}_h"), {**pages.WHOM, LONG: "bus drivers"}
    suite = pages.build(top, languages=("singlish", "malay", "mandarin", "hokkien"), hateful=hateful, targets=targets)
    one, other = pages.answers(suite, scores=True), pages.answers(suite, lambda number, case: number % 3 == 0)
    one = [{**row, "prediction": None, "output": "soup"} if number % 11 == 0 else row for number, row in enumerate(one[:-1])]
    pages.write(top / "a.jsonl", one)
    pages.write(top / "b.jsonl", other)
    for arguments in (
        ("score", top / "a.jsonl", "--report", top / "score.html", "--show-text"),
        ("compare", top / "a.jsonl", top / "b.jsonl", "--report", top / "compare.html"),
    ):
        sys.argv = ["sghatecheck", *map(str, arguments), "--suite", str(suite), "--allow-partial"]
        with pytest.raises(SystemExit) as left:
            cli.main()
        assert not left.value.code
    return {"score": top / "score.html", "compare": top / "compare.html"}


@pytest.mark.parametrize("kind", ["score", "compare"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_quiet_and_readable(chromium, places, kind, scheme):
    seen = browser.Seen(chromium, places[kind], scheme)
    seen.open_all()
    assert seen.too_faint() == []
    assert seen.complaints == []
    assert seen.requests == [places[kind].absolute().as_uri()]  # itself, and nothing else
    back = seen.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert back == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 27)")


@pytest.mark.parametrize("kind", ["score", "compare"])
def test_axe_finds_no_fault(chromium, places, kind):
    assert browser.Seen(chromium, places[kind]).violations() == []


def test_the_contrast_test_would_find_a_faint_text(chromium, places):
    seen = browser.Seen(chromium, places["score"])
    seen.page.evaluate("document.querySelector('.heat td.few').style.color = '#888'")
    assert len(seen.too_faint()) > 0


@pytest.mark.parametrize("kind", ["score", "compare"])
@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_screen(chromium, places, kind, width):
    seen = browser.Seen(chromium, places[kind], width=width)
    seen.open_all()
    assert not seen.wider_than_the_screen()
    assert seen.page.evaluate("[...document.querySelectorAll('.heat td')].every(cell => cell.scrollWidth <= cell.clientWidth + 1)")


def test_marks_stand_out_from_the_page(chromium, places):
    """The marks of charts at 3 : 1 (WCAG 2.2, 1.4.11), in both schemes."""
    marks = {".bar .range": "fill", ".bar .dot": "fill", ".bar .paper": "stroke", ".curve polyline": "stroke", ".curve .answers": "fill"}
    for scheme in ("light", "dark"):
        seen = browser.Seen(chromium, places["score"], scheme)
        assert min(seen.contrast_of(name, drawn) for name, drawn in marks.items()) >= 3


def test_by_keyboard_everything_is_reached_and_enter_reveals_a_text(chromium, places):
    seen = browser.Seen(chromium, places["score"])
    page = seen.page
    page.evaluate("document.querySelectorAll('details:has(.texts)').forEach(one => one.open = true)")
    wanted = page.evaluate("[...document.querySelectorAll('a[href], summary, [tabindex]')].filter(one => one.checkVisibility()).length")
    reached = set()
    for _ in range(wanted):
        page.keyboard.press("Tab")
        place, outline = page.evaluate(
            """() => { const all = [...document.querySelectorAll('*')], one = document.activeElement;
                       return [all.indexOf(one), getComputedStyle(one).outlineStyle]; }"""
        )
        assert outline == "solid"  # one sees where one is
        reached.add(place)
    assert len(reached) == wanted
    first = page.locator(".texts > li > details").first
    revealed, veil = first.locator(".revealed"), first.locator(".veil")
    assert not revealed.is_visible()
    assert "blur" in veil.evaluate("one => getComputedStyle(one).filter")
    first.locator("summary").focus()
    page.keyboard.press("Enter")
    assert revealed.is_visible()
    assert revealed.inner_text().startswith("The ")
    assert not veil.is_visible()
    page.keyboard.press("Enter")
    assert not revealed.is_visible()
    first.locator("summary").click()
    assert revealed.is_visible()


def test_a_closed_text_is_not_read_out(chromium, places):
    """What a screen reader is given of a closed text is its id, its target and that it can be opened."""
    seen = browser.Seen(chromium, places["score"])
    page = seen.page
    page.evaluate("document.querySelectorAll('details:has(.texts)').forEach(one => one.open = true)")
    tree = page.locator(".texts").first.aria_snapshot()
    assert "show the text, which may be hateful" in tree
    assert "talk of" not in tree
    assert "xxx" not in tree


def test_headings_and_tables_have_the_names_that_a_screen_reader_needs(chromium, places):
    page = browser.Seen(chromium, places["score"]).page
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map(one => +one.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.get_by_role("region", name="Accuracy by functionality and language").count() == 1
    cell = page.locator(".heat tbody tr:not(.group)").first
    assert cell.get_by_role("rowheader").count() == 1
    assert page.get_by_role("columnheader", name="Malay").count() >= 1


def test_it_prints_in_light_colours_with_its_tables_open_and_its_texts_closed(chromium, places):
    seen = browser.Seen(chromium, places["score"], "dark")
    seen.page.emulate_media(media="print")
    assert seen.page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    closed = seen.page.locator("details.printed:not([open]) table").first
    assert closed.is_visible()
    assert seen.page.locator(".revealed:visible").count() == 0
    assert seen.page.evaluate("getComputedStyle(document.querySelector('.heat td')).printColorAdjust") == "exact"
    made = seen.page.pdf(format="A4")
    assert made.startswith(b"%PDF")
    assert 3 <= made.count(b"/Type /Page\n") <= 30


def test_hostile_names_do_nothing(chromium, tmp_path):
    hostile = "<img src=https://example.org/x onerror=alert(1)><script>alert(2)</script><svg onload=alert(3)>"
    suite = pages.build(tmp_path, hateful=(f"{hostile}_h",), targets={hostile: hostile, "Women": "bakers"})
    pages.write(tmp_path / "p.jsonl", [{"case_id": one["case_id"], "output": hostile} for one in pages.answers(suite)])
    sys.argv = ["sghatecheck", "score", str(tmp_path / "p.jsonl"), "--suite", str(suite), "--report", str(tmp_path / "r.html"), "--show-text"]
    with pytest.raises(SystemExit):
        cli.main()
    seen = browser.Seen(chromium, tmp_path / "r.html")
    seen.open_all()
    assert seen.complaints == []
    assert len(seen.requests) == 1
    assert seen.page.locator("img, script").count() == 0
    assert hostile in seen.page.locator(".heat").inner_text()
