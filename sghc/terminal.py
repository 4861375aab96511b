"""How tables look on a terminal: one plain style for every command."""

import contextlib
import sys
import time

from rich.console import Console
from rich.table import Table

WIDTH = 120  # of what is not a terminal


def titled(title: str, *columns: str, left: tuple[str, ...] = ()) -> Table:
    """An empty table with a title; the first column and those named in `left` hold words, the others numbers."""
    table = Table(title=title, title_justify="left", title_style="bold", header_style="dim", box=None, pad_edge=False, collapse_padding=True)
    for place, column in enumerate(columns):
        words = place == 0 or column in left
        table.add_column(column, justify="left" if words else "right", no_wrap=not words)
    return table


def plain(value: float, digits: int, sign: bool = False) -> str:
    """A proportion as the field prints it, without the leading zero: `.610`, `-.05`, `1.00`; with `sign` also `+.610`."""
    text = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 and not text.lstrip("+-").startswith("1") else text


class Output(Console):
    """A console that leaves a reader who has gone away to the command, where rich would end the process."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def width() -> int:
    """The columns there are; into a file or a pipe enough that nothing is cut."""
    console = Console()
    return console.width if console.is_terminal else max(console.width, WIDTH)


def show(renderables) -> None:
    """Prints each on its own, with a blank line between. Names from outside are printed as they are: no markup is read in them."""
    console = Output(highlight=False, markup=False, width=width())
    for one in renderables:
        console.print(one)
        console.print()


@contextlib.contextmanager
def progress(total: int, what: str, every: float = 10.0):
    """A function that is told how many more are done: a bar with rate and remaining time on a terminal, a plain line now and then in a log."""
    console = Console(stderr=True)
    if console.is_terminal:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
        with Progress(*columns, console=console) as bar:
            task = bar.add_task(what, total=total, rate="")

            def on_bar(more: int) -> None:
                bar.advance(task, more)
                if speed := bar.tasks[0].speed:
                    bar.update(task, rate=f"{speed:.1f}/s")

            yield on_bar
        return
    done, first, last = 0, None, time.monotonic()
    begun = last

    def in_log(more: int) -> None:
        nonlocal done, first, last
        done, now = done + more, time.monotonic()
        first = done if first is None else first  # what was there before this run says nothing of its rate
        if now - last >= every or done == total:
            rate = (done - first) / max(now - begun, 1e-9)
            left = f", {(total - done) / rate:,.0f} s left" if rate and done < total else ""
            print(f"{what}: {done:,} of {total:,}, {rate:,.1f}/s{left}", file=sys.stderr, flush=True)
            last = now

    yield in_log
