"""The one exception that a user's input can raise, and how its message names a value: never by the text of a case."""

import re

NAME = re.compile(r"[\w.{}/+:'-]{0,40}", re.ASCII)  # a label, an id, a column: something that is no sentence


class InputError(ValueError):
    """The input is at fault. The message names file, row, what was found and what was expected, never the text of a case."""


def shown(value) -> str:
    """A value as an error may show it: numbers and short names as they are, of anything else the kind, since it may be the text of a case."""
    if isinstance(value, str):
        return repr(value) if NAME.fullmatch(value) else f"a text of {len(value):,} characters"
    if value is None or isinstance(value, int | float):
        return repr(value)[:40]
    return {list: "a list", dict: "an object"}.get(type(value), f"a value of type {type(value).__name__}")


def plain(value: str) -> str:
    """A name without quotes, or the kind of what is none."""
    return value if NAME.fullmatch(value) else shown(value)


def first_few(items, limit: int = 5) -> str:
    """The first items at fault and how many more there are, as in `a, b and 4 more`."""
    items = [str(item) for item in items]
    return ", ".join(items[:limit]) + (f" and {len(items) - limit:,} more" if len(items) > limit else "")
