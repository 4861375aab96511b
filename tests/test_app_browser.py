"""The leaderboard in a real browser: filter, sort, open a model, compare two, how to submit; a hostile submission does nothing."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import boards
import browser
import httpx
import pytest

from sghc.leaderboard import packing, ranking, submit
from sghc.leaderboard.baselines import baselines

ROOT = Path(__file__).parents[1]
HOSTILE = "<img src=https://example.org/x onerror=alert(1)><script>alert(2)</script>${alert(3)}{{alert(4)}}[a](javascript:alert(5))"
LONG = f"org/{'a-very.long_name' * 5}"


@pytest.fixture(scope="module")
def chromium():
    with browser.chromium() as found:
        yield found


@pytest.fixture(scope="module")
def address(chromium, tmp_path_factory, suite, ground):
    """`sghatecheck serve` over a small leaderboard, as a user would start it."""
    top = tmp_path_factory.mktemp("served")
    for model, wrong, about in (
        ("org/fifth", 5, {}),
        ("org/second", 2, {}),
        (LONG, 3, {}),
        ("org/hostile", 4, {**dict.fromkeys(("contact", "licence", "base", "training_data"), HOSTILE), "reading": {HOSTILE: 1}}),
    ):
        path = boards.write(top / "p.jsonl", boards.answers(suite, wrong))
        packed = packing.pack(path, {**boards.ABOUT, "revision": boards.COMMIT, "model": model, **about}, ground)
        submit.write(packed, top / "board")
    ranking.write(ranking.rank(ranking.open_place(str(top / "board"), None), ground, baselines(None), top / "cache"), top / "board")
    board = json.loads((top / "board" / "leaderboard.json").read_text())
    board["set_aside"] = [{"path": HOSTILE, "reason": HOSTILE}]
    board["suite"]["caution"] = board["notes"]["marks"] = board["rows"][0]["marks"][0] = HOSTILE
    (top / "board" / "leaderboard.json").write_text(json.dumps(board))
    command = [sys.executable, "-m", "sghc.cli", "serve", str(top / "board"), "--suite", str(suite)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment) as server:
        said = []
        for line in server.stdout:
            said.append(line)
            if "Ctrl-C" in line:
                break
        assert len(said) == 1, said  # one line: no warnings
        yield said[0].partition("http")[1] + said[0].partition("http")[2].split()[0]
        server.send_signal(signal.SIGINT)
        assert "Traceback" not in server.stdout.read()


def opened(chromium, address, path="", **options):
    seen = browser.Seen(chromium, address + path, **options)
    seen.page.wait_for_selector(".sghc h1")
    return seen


def ranked(page) -> list[str]:
    return [text.split("\n")[0] for text in page.locator("[aria-label='Ranked submissions'] tbody th a").all_inner_texts()]


def pick(page, label: str, option: str) -> None:
    page.get_by_label(label, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()


def is_quiet(seen, address) -> bool:
    """No word in the console, no dialog, no request to anywhere else."""
    assert seen.complaints == []
    assert [one for one in seen.requests if not one.startswith((address, "data:", "blob:", "about:"))] == []
    return True


def test_filter_and_sort(chromium, address):
    seen = opened(chromium, address)
    page = seen.page
    assert ranked(page) == ["org/fifth", "org/hostile", LONG, "org/second"]
    page.get_by_role("button", name="Model").first.click()
    page.wait_for_selector("th[aria-sort=ascending] button[data-sort=model]")
    assert ranked(page) == sorted(ranked(page))
    page.get_by_role("button", name="Hate found").first.click()
    page.wait_for_selector("th[aria-sort=descending] button[data-sort=accuracy_hateful]")
    pick(page, "Language", "Bahasa Melayu" if page.get_by_role("option", name="Bahasa Melayu").count() else "Malay")
    page.get_by_text("ranked submissions, in Malay").wait_for()
    assert page.locator("th[aria-sort] button").first.get_attribute("data-sort") == "accuracy_hateful"  # the order that was asked for stays
    pick(page, "Cases", "Target: Women")
    page.get_by_text("on the cases of Women").wait_for()
    assert page.locator("[aria-label='Ranked submissions'] thead").inner_text().startswith("Place\tModel\tAccuracy")
    page.get_by_label("Model", exact=True).fill("fif")
    page.get_by_text("1 of 4 ranked").wait_for()
    assert ranked(page) == ["org/fifth"]
    assert is_quiet(seen, address)


def test_open_a_model_from_the_table_by_keyboard(chromium, address):
    seen = opened(chromium, address)
    page = seen.page
    page.get_by_role("link", name="org/second").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/model?id=**")
    page.get_by_role("heading", name="org/second", exact=True, level=1).wait_for()
    report = page.frame_locator("iframe.report")
    report.locator("table.heat").wait_for()
    assert report.locator("table.heat tbody tr:not(.group)").count() == 2
    page.wait_for_function("document.querySelector('iframe.report').clientHeight > 2000")  # as high as what it holds
    assert is_quiet(seen, address)


def test_compare_two(chromium, address):
    seen = opened(chromium, address, "compare")
    page = seen.page
    for label, model in (("A", "org/second"), ("B", "org/fifth")):
        page.get_by_label(label, exact=True).fill(model)
        page.get_by_role("option", name=model).last.click()  # A's list may not be gone yet
    page.get_by_role("button", name="Compare", exact=True).click()
    report = page.frame_locator("iframe.report")
    report.get_by_text("B = org/fifth").wait_for()
    assert report.locator("table.heat").count() == 1
    assert is_quiet(seen, address)


def test_a_hostile_submission_is_inert(chromium, address):
    seen = opened(chromium, address)
    page = seen.page
    page.locator("summary", has_text="may not stand").click()
    assert page.locator(".aside").inner_text().count(HOSTILE) == 2
    assert page.locator(".board").inner_text().count(HOSTILE) == 5
    page.get_by_role("link", name="org/hostile").click()
    page.locator("summary", has_text="What was submitted").click()
    assert page.locator(".sghc dl").inner_text().count(HOSTILE) == 5
    page.frame_locator("iframe.report").locator("table.heat").wait_for()
    assert page.locator(".sghc img, .sghc script, .sghc a[href^=javascript]").count() == 0
    assert page.frame_locator("iframe.report").locator("img, script").count() == 0
    assert is_quiet(seen, address)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_readable_and_without_fault_in_what_is_ours(chromium, address, scheme):
    seen = opened(chromium, address, scheme=scheme)
    seen.open_all()
    seen.page.wait_for_timeout(300)
    assert [text for _, text in seen.too_faint() if text in seen.page.locator(".board").inner_text()] == []
    assert [one for one in seen.violations() if "sghc" in one or "<th" in one or "<td" in one] == []


def test_on_a_phone_and_how_to_submit(chromium, address):
    seen = opened(chromium, address, width=360)
    assert not seen.wider_than_the_screen()
    seen.page.get_by_role("link", name="Submit").click()
    seen.page.get_by_role("heading", name="Submit a model").wait_for()
    assert "sghatecheck submit predictions.jsonl" in seen.page.locator("pre").all_inner_texts()[-1]
    assert not seen.wider_than_the_screen()
    assert is_quiet(seen, address)


def test_the_server_gives_away_no_file_and_describes_no_interface(address):
    assert address.startswith("http://127.0.0.1:")
    for path in ("docs", "redoc", "openapi.json"):
        assert httpx.get(address + path).status_code == 404
    assert httpx.get(f"{address}gradio_api/file=/etc/passwd").status_code == 403
    assert httpx.get(f"{address}gradio_api/info").json() == {"named_endpoints": {}, "unnamed_endpoints": {}}
    assert "default-src 'self'" in httpx.get(address).headers["content-security-policy"]
