"""The leaderboard, and a submission's place on it, as tables for a terminal."""

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from sghc.errors import first_few
from sghc.leaderboard.board import Entry, row_of
from sghc.leaderboard.packing import Packed
from sghc.leaderboard.tables import coverage, number, short
from sghc.terminal import titled

SHOWN = 20  # rows of the leaderboard


def render(board: dict, most: int = SHOWN) -> Iterator:
    """The first rows, what is apart, and what was set aside."""
    suite = board["suite"]
    if suite["caution"]:
        yield Text(f"{suite['name']}: {suite['caution']}", style="bold yellow")
    rows, languages = board["rows"], suite["languages"]
    title = f"{len(rows):,} submissions by macro F1" + (f", the first {most}" if len(rows) > most else "")
    yield table_of(title, rows[:most], languages)
    for part, what in (("partial", "Partial submissions, not ranked"), ("baselines", "The paper's runs, not ranked")):
        if board[part]:
            yield table_of(what, board[part], languages)
    if board["set_aside"]:
        table = titled(f"{len(board['set_aside']):,} set aside", "", "reason", left=("reason",))
        for one in board["set_aside"][:most]:
            table.add_row(Text(one["path"], overflow="fold"), Text(one["reason"], overflow="fold"))
        yield table
    yield Text(f"{board['notes']['ties']}. {board['notes']['verified']}", style="dim")
    yield Text(board["signature"], style="dim", overflow="fold")


def table_of(title: str, rows: list[dict], languages: list[str]) -> Table:
    table = titled(title, "", "model", "macro F1", *map(short, languages), "coverage", "verified", "", left=("model", ""))
    for row in rows:
        numbers = [number(row["language"][language], "macro_f1", interval=False, chance=None) for language in languages]
        verified = "" if row["kind"] == "baseline" else "yes" if row["verified"] else "no"
        model = Text(row["model"], overflow="fold")
        table.add_row(places(row), model, number(row, "macro_f1", chance=None), *numbers, coverage(row), verified, ", ".join(row["marks"]))
    return table


def places(row: dict) -> str:
    """`3 (2–5)`: the place that a row holds, and those that it could hold."""
    if "rank" not in row:
        return ""
    tied = "" if row["rank_best"] == row["rank_worst"] else f" ({row['rank_best']}–{row['rank_worst']})"
    return f"{row['rank']}{tied}"


def render_packed(packed: Packed, entry: Entry) -> Iterator:
    """What will be sent, and the numbers that the leaderboard will find in it."""
    one, row = packed.submission, row_of(entry)
    if entry.ground.caution:
        yield Text(f"{entry.ground.name}: {entry.ground.caution}", style="bold yellow")
    asked = f"{one.model} at {one.revision}, asked {', '.join(one.suite.configs)}"
    table = titled(asked, "", "cases", "macro F1", "accuracy", "rejected", "missing", "coverage")
    for name, values in (("overall", row), *((name, row["language"][name]) for name in one.suite.configs)):
        rates = [number(values, rate, chance=None) for rate in ("macro_f1", "accuracy")]
        table.add_row(name, f"{values['n']:,}", *rates, f"{values['n_rejected']:,}", f"{values['n_missing']:,}", coverage(values))
    yield table
    if row["marks"]:
        yield Text(f"Marked on the leaderboard: {', '.join(row['marks'])}.")
    if not entry.complete:
        yield Text("Partial: a language or a case has no answer, so it will not be ranked.", style="bold yellow")
    sizes = [f"{path.rpartition('/')[2]} ({len(content):,} bytes)" for path, content in packed.files.items()]
    notes = "".join(f"; {note}" for note in packed.notes)
    yield Text(f"{packed.folder}: {first_few(sizes)}{notes}", overflow="fold")
