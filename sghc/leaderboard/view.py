"""What a leaderboard's table shows of the rows that rank wrote: which of them, in what order, in which numbers. Nothing is computed anew."""

from typing import NamedTuple

from sghc.leaderboard.published import Published
from sghc.leaderboard.report.values import Number, title_of

PAGE = 100  # rows of the ranking at a time
RATES = {"macro_f1": "Macro F1", "accuracy": "Accuracy", "accuracy_hateful": "Hate found", "accuracy_non_hateful": "Harmless left alone"}
LEVELS = {"functional_class": "Class", "target": "Target"}
EVERYTHING = "every case"
ASKED = {"any": "any prompt and reading", "paper": "asked as in the paper", "verified": "verified only"}


class Choice(NamedTuple):
    """What a reader has picked.

    language  None for all of them, else one: its numbers and its ranking
    level     None for every case, else a key of LEVELS, and `group` which class or target
    asked     a key of ASKED
    search    part of a model's name
    sort      a column's key; `down` whether the largest stand first
    start     how many rows of the ranking are passed over
    """

    language: str | None = None
    level: str | None = None
    group: str | None = None
    asked: str = "any"
    search: str = ""
    sort: str = "rank"
    down: bool = False
    start: int = 0


class Column(NamedTuple):
    key: str
    title: str
    bar: bool = False


class Place(NamedTuple):
    """The place that a row holds, and the best and the worst that it could hold."""

    rank: int
    best: int
    worst: int
    first: bool  # cannot be told from the first


class Line(NamedTuple):
    """A row: what rank wrote, its place (None where it has none) and a Number for each column, in their order."""

    row: dict
    place: Place | None
    numbers: list[Number]


class View(NamedTuple):
    columns: list[Column]
    ranked: list[Line]  # those of this page
    n: int  # of all pages
    partial: list[Line]
    baselines: list[Line]
    choice: Choice


def select(published: Published, choice: Choice) -> View:
    """The rows that a reader has picked, in the order that was asked; a choice that makes no sense is put right."""
    board = published.board
    columns = columns_of(board["suite"]["languages"], choice)
    if choice.sort not in ("rank", "model", *(one.key for one in columns)):
        choice = choice._replace(sort="rank", down=False)
    slices = published.slice(choice.level, choice.group, choice.language) if choice.level else None
    parts = {}
    for part in ("rows", "partial", "baselines"):
        lines = [line(row, columns, choice, slices) for row in board[part] if wanted(row, choice)]
        parts[part] = ordered(lines, columns, choice)
    ranked = parts["rows"]
    start = min(max(choice.start, 0), max(len(ranked) - 1, 0)) // PAGE * PAGE
    return View(columns, ranked[start : start + PAGE], len(ranked), parts["partial"], parts["baselines"], choice._replace(start=start))


def columns_of(languages: list[str], choice: Choice) -> list[Column]:
    """A class or target: accuracy first, since macro F1 is null where one gold label stands alone. All languages: each one's, too."""
    if choice.level:
        return [Column("accuracy", RATES["accuracy"], True), *(Column(rate, title) for rate, title in RATES.items() if rate != "accuracy")]
    first, *others = [Column(rate, title) for rate, title in RATES.items() if rate != "accuracy"]
    own = [Column(f"language:{name}", title_of(name)) for name in languages] if choice.language is None and len(languages) > 1 else []
    return [first._replace(bar=True), *own, *others]


def wanted(row: dict, choice: Choice) -> bool:
    if choice.search.casefold().strip() not in row["model"].casefold():
        return False
    if choice.asked == "verified":
        return row["verified"]
    return choice.asked != "paper" or row["kind"] == "baseline" or not row["marks"]


def line(row: dict, columns: list[Column], choice: Choice, slices: dict | None) -> Line:
    values = numbers_of(row, choice, slices)
    return Line(row, place_of(values), [number(row, values, one) for one in columns])


def numbers_of(row: dict, choice: Choice, slices: dict | None) -> dict:
    """The slice that is shown of a row; nothing where it has none."""
    if slices is not None:
        return slices.get(row["id"], {})
    return row if choice.language is None else row["language"].get(choice.language, {})


def number(row: dict, values: dict, column: Column) -> Number:
    key, _, language = column.key.partition(":")
    if language:
        values, key = row["language"].get(language, {}), "macro_f1"
    value, limits = values.get(key), values.get(f"{key}_ci")
    return Number(value, limits, "" if value is not None else "none")


def place_of(values: dict) -> Place | None:
    if values.get("rank") is None:
        return None
    return Place(values["rank"], values["rank_best"], values["rank_worst"], bool(values.get("tied_with_first")))


def ordered(lines: list[Line], columns: list[Column], choice: Choice) -> list[Line]:
    """Sorted, those without a value last either way; equal ones as rank has them."""
    if choice.sort == "model":
        return sorted(lines, key=lambda one: one.row["model"].casefold(), reverse=choice.down)
    if choice.sort == "rank":
        found = [one.place.rank if one.place else None for one in lines]
    else:
        at = [one.key for one in columns].index(choice.sort)
        found = [one.numbers[at].value for one in lines]
    known = [place for place, value in enumerate(found) if value is not None]
    rest = [lines[place] for place, value in enumerate(found) if value is None]
    return [lines[place] for place in sorted(known, key=found.__getitem__, reverse=choice.down)] + rest


def options(published: Published) -> list[tuple[str, str]]:
    """What may be picked besides every case: (title, `level:group`) of the classes, then of the targets."""
    titles = [(f"{title}: {name}", f"{level}:{name}") for level, title in LEVELS.items() for name in sorted(published.groups(level))]
    return [(EVERYTHING, ""), *titles]


def group_of(picked: str | None) -> dict:
    """`level` and `group` of a Choice from what `options` lists."""
    level, _, group = (picked or "").partition(":")
    return {"level": level, "group": group} if level in LEVELS else {"level": None, "group": None}
