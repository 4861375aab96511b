"""Shared by the tests of the report: a suite with room for a map, answers to it, and what stands on a page, read back."""

import json
from pathlib import Path

from bs4 import BeautifulSoup

from sghc.suite import folder
from sghc.suite.catalogue import LANGUAGES
from sghc.suite.sources import card_of, from_templates

TEMPLATES = "language,functionality,gold,template\n"
PLACEHOLDERS = "language,placeholder,target,value\n"
WHOM = {"Women": "bakers", "Seniors": "tailors", "Malay": "gardeners"}
LANGUAGES_ASKED = ("singlish", "malay")
HATEFUL = ("derog_neg_emote_h", "threat_dir_h")
MATTERS = ("tea", "rain", "snow", "fog", "wind", "hail", "dew", "sun", "frost", "mist", "sleet", "clouds")


def build(place: Path, languages=LANGUAGES_ASKED, hateful=HATEFUL, harmless=("ident_pos_nh",), targets=WHOM) -> Path:
    """A built suite of sentences about the weather: a template for each of MATTERS in each functionality; in the last one three: too few."""
    source = place / "own"
    source.mkdir()
    rows, kinds = "", [*((name, "hateful") for name in hateful), *((name, "non-hateful") for name in harmless)]
    for language in languages:
        for number, (name, gold) in enumerate(kinds):
            for matter in MATTERS[: 3 if number == len(kinds) - 1 else None]:
                rows += ",".join(map(quoted, (language, name, gold, f"The {{WHO}} talk of {matter} {number}"))) + "\n"
    values = "".join(",".join(map(quoted, (language, "{WHO}", target, value))) + "\n" for language in languages for target, value in targets.items())
    (source / "templates.csv").write_text(TEMPLATES + rows, encoding="utf-8")
    (source / "placeholders.csv").write_text(PLACEHOLDERS + values, encoding="utf-8")
    suite = from_templates(source, "own")
    folder.write(suite, card_of(suite, "own"), place / "suite")
    return place / "suite"


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def cases(suite: Path) -> list[dict]:
    return folder.read(suite, "test", None, ["case_id", "text", "label", "language", "functionality", "target", "template_id"]).to_pylist()


def answers(suite: Path, wrong_where=lambda number, case: number % 5 == 0, scores: bool = False) -> list[dict]:
    """The right answer to each case but those where `wrong_where` says otherwise; scores on the side of the answer."""
    rows = []
    for number, case in enumerate(cases(suite)):
        answer = case["label"] ^ bool(wrong_where(number, case))
        score = {"score": 0.55 + number % 4 / 10 if answer else 0.3} if scores else {}
        rows.append({"case_id": case["case_id"], "prediction": answer, **score})
    return rows


def write(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def heat_cells(page: BeautifulSoup) -> dict[tuple[str, str], "Tag"]:  # noqa: F821
    """{(functionality, column): td} of the map, the columns by the language's own name, "mean" for the first."""
    names = {language.title: name for name, language in LANGUAGES.items()} | {"Mean": "mean"}
    (table,) = page.select("table.heat")
    columns = [names.get(text := head.get_text(), text) for head in table.select("thead th")][1:]
    return {
        (row.th.bdi.get_text(), column): cell
        for row in table.select("tbody tr:not(.group)")
        for column, cell in zip(columns, row.find_all("td"), strict=True)
    }


def numbers(element) -> list[float]:
    """Every number that stands in an element, as the machine reads it."""
    return [float(one["value"]) for one in element.select("data")]


def every_number(value) -> set[float]:
    """All numbers of a JSON value."""
    if isinstance(value, dict):
        return {number for one in value.values() for number in every_number(one)}
    if isinstance(value, list):
        return {number for one in value for number in every_number(one)}
    return {float(value)} if isinstance(value, int | float) and not isinstance(value, bool) else set()
