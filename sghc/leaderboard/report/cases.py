"""Which cases stand behind the numbers: those answered wrongly, those whose output was rejected. Ids; texts only where they were asked for."""

import re
from typing import NamedTuple

from sghatecheck_metric.reading import MISSING, REJECTED
from sghc.leaderboard.report.heatmap import is_hateful
from sghc.leaderboard.report.values import Number, number, tag_of
from sghc.leaderboard.scored import Held
from sghc.models.predictions import READERS
from sghc.suite.catalogue import FUNCTIONALITIES, Functionality

WEAKEST = 10  # functionalities whose cases are listed
TEXTS = 8  # of each functionality and language, one of each template first
OUTPUTS = 40  # rejected outputs that are shown
LONGEST = 300  # characters of an output that are shown
VEILED = 60  # characters of a text's shape


class Text(NamedTuple):
    case_id: str
    text: str
    tag: str  # its language, as HTML names it
    target: str | None
    output: str | None = None

    @property
    def veil(self) -> str:
        """Its shape alone, to be blurred: nothing of a text is on the page until it is opened."""
        return re.sub(r"\w", "x", self.text)[:VEILED]


class Wrong(NamedTuple):
    """The wrong answers of one functionality in one language."""

    language: str
    number: Number
    n: int
    ids: list[str]
    texts: list[Text]


class Weak(NamedTuple):
    name: str
    known: Functionality | None
    hateful: bool | None
    number: Number
    languages: list[Wrong]


class Rejected(NamedTuple):
    """The outputs of one language that name neither label, by functionality."""

    language: str
    ids: dict[str, list[str]]
    n: int


def weakest(held: Held, result: dict, invalid: str, show_text: bool) -> list[Weak]:
    """The functionalities with the lowest accuracy, lowest first, and the cases of them that were answered wrongly."""
    slices = result.get("functionality", {})
    order = sorted((name for name in slices if slices[name]["accuracy"] is not None), key=lambda name: slices[name]["accuracy"])
    order = [name for name in order if slices[name]["accuracy"] < 1][:WEAKEST]
    rows = {name: {language: [] for language in result["language"]} for name in order}
    for row, (name, language) in enumerate(zip(held.cases["functionality"], held.cases["language"], strict=True)):
        if name in rows and is_wrong(held, row, invalid):
            rows[name][language].append(row)
    found = []
    for name in order:
        languages = [wrong(held, result, name, one, rows[name][one], show_text) for one in result["language"]]
        hateful = is_hateful(slices[name]["accuracy_hateful"], slices[name]["accuracy_non_hateful"])
        found.append(Weak(name, FUNCTIONALITIES.get(name), hateful, number(result, "functionality", name, "accuracy"), [*filter(None, languages)]))
    return found


def is_wrong(held: Held, row: int, invalid: str) -> bool:
    """Whether a case counts as an error: not one without an answer, and a rejected one only where these count as wrong."""
    answer = held.answers[row]
    return answer != held.cases["label"][row] and answer != MISSING and not (answer == REJECTED and invalid == "drop")


def wrong(held: Held, result: dict, name: str, language: str, rows: list[int], show_text: bool) -> Wrong | None:
    key = f"{language}/{name}"
    if key not in result["language_functionality"]:
        return None
    texts = [text_of(held, row) for row in spread(held, rows)[:TEXTS]] if show_text else []
    found = number(result, "language_functionality", key, "accuracy")
    return Wrong(language, found, result["language_functionality"][key]["n"], [held.cases["case_id"][row] for row in rows], texts)


def spread(held: Held, rows: list[int]) -> list[int]:
    """One case of each template first, then the others: a few of them show more than one sentence."""
    first = {held.cases["template_id"][row]: row for row in reversed(rows)}
    return sorted(first.values()) + sorted({*rows} - {*first.values()})


def text_of(held: Held, row: int, output: str | None = None) -> Text:
    cases = held.cases
    return Text(cases["case_id"][row], cases["text"][row], tag_of(cases["language"][row]), cases["target"][row], output)


def rejected(held: Held, result: dict) -> list[Rejected]:
    """The cases whose output was rejected, by language, the functionality with the most first."""
    ids: dict[str, dict[str, list[str]]] = {language: {} for language in result["language"]}
    for row, answer in enumerate(held.answers):
        if answer == REJECTED:
            own = ids[held.cases["language"][row]]
            own.setdefault(held.cases["functionality"][row] or "", []).append(held.cases["case_id"][row])
    ordered = {language: dict(sorted(own.items(), key=lambda one: -len(one[1]))) for language, own in ids.items()}
    return [Rejected(language, own, sum(map(len, own.values()))) for language, own in ordered.items() if own]


def rejected_texts(held: Held) -> list[Text]:
    """The first rejected outputs with their cases' texts, read again from the predictions file, which alone has them."""
    rows = {held.cases["case_id"][row]: row for row, answer in enumerate(held.answers) if answer == REJECTED}
    outputs = {row["case_id"]: row.get("output") or "" for _, row in READERS[held.path.suffix.lower()](held.path) if row.get("case_id") in rows}
    return [text_of(held, row, outputs.get(case_id, "")[:LONGEST]) for case_id, row in [*rows.items()][:OUTPUTS]]


def example_of(held: Held, template: str) -> Text:
    """The first case of a template."""
    return text_of(held, held.cases["template_id"].index(template))


class Change(NamedTuple):
    """The cases of one functionality that one of two systems answers rightly and the other not."""

    name: str
    known: Functionality | None
    lost: list[str]  # A is right, B is not
    won: list[str]


def changes(a: Held, b: Held, names: list[str], invalid: str) -> list[Change]:
    """For each functionality named, the cases on which A and B differ in being right."""
    found = {name: Change(name, FUNCTIONALITIES.get(name), [], []) for name in names}
    for row, (name, case_id) in enumerate(zip(a.cases["functionality"], a.cases["case_id"], strict=True)):
        wrongs = is_wrong(a, row, invalid), is_wrong(b, row, invalid)
        if name in found and wrongs[0] != wrongs[1]:
            (found[name].lost if wrongs[1] else found[name].won).append(case_id)
    return [one for one in found.values() if one.lost or one.won]
