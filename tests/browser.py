"""Shared by the tests that look at a page in a real browser: Debian's Chromium, driven by playwright, and what is asked of any page."""

import contextlib
import shutil
from pathlib import Path

# no sandbox, since the tests may run as root in a container; and nothing that calls home
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)

# WCAG 2.2's contrast of colours as browsers write them, over what lies behind them
COLOURS = """
  const parse = text => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return {r, g, b, a}; };
  const mix = (top, below, part) => top[part] * top.a + below[part] * (1 - top.a);
  const over = (top, below) => ({r: mix(top, below, 'r'), g: mix(top, below, 'g'), b: mix(top, below, 'b'), a: 1});
  const linear = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = c => 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
  const ratio = (one, other) => { const [low, high] = [light(one), light(other)].sort((x, y) => x - y); return (high + 0.05) / (low + 0.05); };
"""
# every text that can be seen, with its contrast (1.4.3); a hatched cell is taken at its lines as well as between them
TEXTS = f"""() => {{ {COLOURS}
  const layers = element => {{
    const found = [];
    for (let e = element; e; e = e.parentElement) {{
      const style = getComputedStyle(e);
      if (style.backgroundImage !== 'none') found.push(parse(style.backgroundImage.match(/rgba?\\([^)]*\\)/)[0]));
      found.push(parse(style.backgroundColor));
    }}
    return found;
  }};
  const stack = list => list.reduceRight((below, top) => over(top, below), {{r: 255, g: 255, b: 255, a: 1}});
  const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; node = walker.nextNode();) {{
    const element = node.parentElement, style = getComputedStyle(element), text = node.textContent.trim();
    if (!text || !element.checkVisibility() || style.clipPath !== 'none') continue;
    const behind = layers(element), ink = parse(element instanceof SVGElement ? style.fill : style.color);
    const ratios = [stack(behind), stack(behind.filter(one => one.a === 0 || one.a === 1))].map(back => ratio(over(ink, back), back));
    found.push([Math.min(...ratios), text.slice(0, 40)]);
  }}
  return found;
}}"""
# of one mark, filled or drawn in a colour, against the page (1.4.11)
MARK = f"""([name, property]) => {{ {COLOURS}
  return ratio(parse(getComputedStyle(document.querySelector(name))[property]), parse(getComputedStyle(document.documentElement).backgroundColor));
}}"""


@contextlib.contextmanager
def chromium():
    """A running browser. Skips where there is none."""
    import pytest

    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    if binary is None:
        pytest.skip("no chromium on this machine (apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=binary, args=[*FLAGS])
        try:
            yield browser
        finally:
            browser.close()


class Seen:
    """A page that is open, and what it said and asked for on the way."""

    def __init__(self, browser, address: str | Path, scheme: str = "light", width: int = 1280, **options):
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address.absolute().as_uri() if isinstance(address, Path) else address)

    def open_all(self) -> None:
        self.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")

    def too_faint(self, least: float = 4.5) -> list[tuple[float, str]]:
        """The texts whose contrast is below `least`, each once."""
        return sorted({(round(ratio, 2), text) for ratio, text in self.page.evaluate(TEXTS) if ratio < least})

    def contrast_of(self, name: str, drawn: str) -> float:
        """The contrast with the page of the first element of a name, in its `fill` or its `stroke`."""
        return self.page.evaluate(MARK, [name, drawn])

    def wider_than_the_screen(self) -> bool:
        return self.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")

    def violations(self) -> list[str]:
        """What axe-core finds wrong, as `rule: element`."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response["violations"]
        return [f"{one['id']}: {node['html'][:120]}" for one in found for node in one["nodes"]]
