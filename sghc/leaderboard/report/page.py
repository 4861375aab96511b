"""Data and template become a page. Whatever comes from outside is escaped: autoescape is on for every template, and no value is marked as safe."""

import functools

from sghc import __version__
from sghc.leaderboard.report import charts
from sghc.leaderboard.report.heatmap import FEW, STEPS
from sghc.leaderboard.report.values import number, title_of
from sghc.suite.catalogue import FUNCTIONALITIES
from sghc.terminal import plain


def render(template: str, **content) -> bytes:
    """The page in UTF-8. What is no text at all, such as a byte of a file name that cannot be decoded, becomes a question mark."""
    return environment().get_template(template).render(**content).encode("utf-8", "replace")


def stylesheet(name: str) -> str:
    """A style sheet of the templates' folder, as it stands."""
    return environment().loader.get_source(environment(), name)[0]


@functools.cache
def environment():
    import jinja2

    found = jinja2.Environment(
        loader=jinja2.PackageLoader("sghc.leaderboard.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"plain": plain, "share": share, "signed": signed, "p": p_text, "along": charts.along, "language": title_of}
    found.globals |= {"version": __version__, "frame": charts.FRAME, "FEW": FEW, "STEPS": STEPS, "number": number, "known": FUNCTIONALITIES.get}
    return found


def share(value: float, digits: int = 3) -> str:
    """`.610`"""
    return plain(value, digits).replace("-", "−")


def signed(value: float, digits: int = 3) -> str:
    """`+.061`, `−.061`; zero has no sign."""
    text = plain(value, digits, sign=True)
    return (text[1:] if not text.strip("+-.0") else text).replace("-", "−")


def p_text(value: float) -> str:
    return f"=\u00a0{plain(value, 3)}" if value >= 0.0005 else "<\u00a0.001"
