"""How tables look on a terminal: one plain style for every command."""

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


def width() -> int:
    """The columns there are; into a file or a pipe enough that nothing is cut."""
    console = Console()
    return console.width if console.is_terminal else max(console.width, WIDTH)


def show(renderables) -> None:
    """Prints each on its own, with a blank line between. Names from outside are printed as they are: no markup is read in them."""
    console = Console(highlight=False, markup=False, width=width())
    for one in renderables:
        console.print(one)
        console.print()
