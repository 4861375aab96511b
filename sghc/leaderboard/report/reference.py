"""The paper's five models beside a result: the accuracies that its Table 4 prints, where a functionality is there."""

from typing import NamedTuple

from sghc.leaderboard.report.values import Number, number
from sghc.paper.reproduction import read_printed
from sghc.paper.scores import MODELS
from sghc.suite.catalogue import FUNCTIONALITIES, LANGUAGES, Functionality


class Line(NamedTuple):
    known: Functionality
    own: list[Number]  # of the page's one or two systems
    printed: list[float | None]  # of the paper's models, None where no number is printed or could be read


class Table(NamedTuple):
    language: str
    lines: list[Line]


def models() -> list[str]:
    return [model.title for model in MODELS.values()]


def reference(*results: dict) -> list[Table]:
    """For each language that the paper knows, the functionalities that both the results and its Table 4 have, in its order."""
    printed = read_printed()["table4"]
    tables = []
    for language in results[0].get("language", {}):
        lines = [line for known in FUNCTIONALITIES.values() if (line := line_of(results, language, known, printed))]
        if lines:
            tables.append(Table(language, lines))
    return tables


def line_of(results: tuple[dict, ...], language: str, known: Functionality, printed: dict) -> Line | None:
    name = f"{language}/{known.name}"
    if language not in LANGUAGES or any(name not in result.get("language_functionality", {}) for result in results):
        return None
    row = [printed.get(known.id, {}).get(f"{LANGUAGES[language].title}|{model.short}") for model in MODELS.values()]
    if all(value is None for value in row):
        return None
    return Line(known, [number(result, "language_functionality", name, "accuracy") for result in results], row)
