"""The one exception that a user's input can raise."""


class InputError(ValueError):
    """The input is at fault. The message names file, row, what was found and what was expected, never the text of a case."""


def shown(value, width: int = 40) -> str:
    """A value as an error may show it: quoted, control characters escaped, cut to `width` characters."""
    text = repr(value)
    return text if len(text) <= width else text[: width - 1] + "…"


def first_few(items, limit: int = 5) -> str:
    """The first items at fault and how many more there are, as in `a, b and 4 more`."""
    items = [str(item) for item in items]
    return ", ".join(items[:limit]) + (f" and {len(items) - limit:,} more" if len(items) > limit else "")
