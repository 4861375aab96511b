"""The reproduction as a person reads it: a table of the tables, and the cells that differ, lack something or cannot be had."""

from collections.abc import Iterator, Sequence

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sghc.errors import first_few
from sghc.paper.comparison import Difference, TableReport
from sghc.paper.reproduction import Report
from sghc.terminal import titled

TITLES = {
    "table1": ("Table 1", "template origins"),
    "table2": ("Table 2", "held-out tests"),
    "table3": ("Table 3", "by language"),
    "table4": ("Table 4", "by functionality"),
    "table5": ("Table 5", "by target"),
    "table6": ("Table 6", "four suites"),
    "table7": ("Table 7", "votes"),
    "table8": ("Table 8", "agreement"),
    "table9": ("Table 9", "case counts"),
    "D2": ("D.2", "rejected outputs"),
    "totals": ("Totals", "in the text"),
}
AS_PRINTED = ("table1", "table2")  # shown with the printed figures, since there are no others
MOST = 24  # cells listed for one cause; --json has them all


def render(report: Report) -> Iterator:
    """A report as things that a `rich` console prints; made for 100 columns, legible at 80."""
    yield overview(report)
    for title, lines in (
        ("Cells that differ: printed → computed", differences(report)),
        ("Cells that lack predictions or a suite", lacking(report)),
        ("Cells that nothing released can give", unknown(report)),
        ("Beside the tables", beside(report)),
        ("Predictions read", report.read),
        ("Set aside", report.set_aside),
    ):
        if lines := list(lines):
            yield section(title, lines)
    for name in AS_PRINTED:
        yield as_printed(name, report.printed[name])


def section(title: str, lines: list[str]) -> Group:
    """A title and indented paragraphs; a line's own leading blanks indent all of its paragraph."""
    paragraphs = (Padding(Text(line.lstrip()), (0, 0, 0, 2 + len(line) - len(line.lstrip()))) for line in lines)
    return Group(Text(title, style="bold"), *paragraphs)


def overview(report: Report) -> Table:
    columns = ("table", "equal", "differ", "lack", "not released", "printed", "compared")
    table = titled("The paper's figures: equal, of those that could be recomputed", *columns, left=("compared",))
    for name, one in report.tables.items():
        equal = f"{one.equal} of {one.recomputed}" if one.recomputed else "-"
        numbers = (len(one.differing), len(one.lacking), len(one.unknown))
        title = " ".join(TITLES[name]).removeprefix("Table ")
        table.add_row(title, equal, *(str(number or "-") for number in numbers), str(one.printed), one.rule, style=style(one))
    return table


def style(one: TableReport) -> str:
    if not one.recomputed:
        return "dim"
    return "yellow" if one.differing else "green"


def differences(report: Report) -> Iterator[str]:
    """Two paragraphs for each table and cause: the cells, with the key that they share named once, and the cause."""
    for name, one in report.tables.items():
        by_cause: dict[str, list[Difference]] = {}
        for found in (*one.differing, *one.labels):
            by_cause.setdefault(found.cause, []).append(found)
        for cause, cells in by_cause.items():
            shared = [key for key in cells[0].path if len(cells) > 1 and all(key in cell.path for cell in cells)]
            listed = [f"{spelled(cell.path, shared)} {number(cell.printed)} → {number(cell.computed)}" for cell in cells]
            yield f"{TITLES[name][0]}{', ' * bool(shared)}{spelled(shared)}: {first_few(listed, MOST)}"
            yield f"  cause: {cause}"


def lacking(report: Report) -> Iterator[str]:
    """One paragraph for each table: how many cells lack which files."""
    for name, one in report.tables.items():
        if wants := dict.fromkeys(want for gap in one.lacking for want in gap.wants):
            yield f"{TITLES[name][0]}: {plural(len(one.lacking), 'cell')}; {first_few(wants, 4)}"


def unknown(report: Report) -> Iterator[str]:
    for name, one in report.tables.items():
        by_reason: dict[str, list[str]] = {}
        for gap in one.unknown:
            by_reason.setdefault(gap.reason, []).append(spelled(gap.path))
        for reason, cells in by_reason.items():
            which = "every cell" if len(cells) == one.printed else first_few(cells, MOST)
            yield f"{TITLES[name][0]}: {which}; {reason}"


def beside(report: Report) -> Iterator[str]:
    for title, figures in report.beside.items():
        yield f"{title}: {', '.join(f'{spelled([key])} {number(value)}' for key, value in figures.items())}"


def as_printed(name: str, rows: dict) -> Table:
    """A printed table, its row and column keys as they are."""
    flat = {row: dict(flattened(cells)) for row, cells in rows.items()}
    if len(columns := next(iter(flat.values()))) > len(flat):  # the longer side goes down
        flat = {column: {row: flat[row].get(column) for row in flat} for column in columns}
    table = titled(" as printed, ".join(TITLES[name]), "", *(column.replace("|", " ") for column in next(iter(flat.values()))))
    for row, cells in flat.items():
        table.add_row(row.replace("|", " "), *("-" if value is None else number(value) for value in cells.values()))
    return table


def flattened(cells: dict, above: str = "") -> Iterator[tuple[str, float | None]]:
    for key, value in cells.items():
        if isinstance(value, dict):
            yield from flattened(value, f"{above}{key} ")
        else:
            yield above + key, value


def spelled(path: Sequence[str], without: Sequence[str] = ()) -> str:
    return " ".join(key for key in path if key not in without).replace("|", " ").replace("_", " ")


def number(value) -> str:
    """A figure as a reader needs it: whole numbers whole, others with five decimals unless they are printed ones, which have fewer."""
    if value is None:
        return "none"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return f"{float(value):.5f}".rstrip("0").ljust(len(f"{float(value):.3f}"), "0")


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}"
