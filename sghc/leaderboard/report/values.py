"""Numbers of a result as a page shows them: the value, its interval, and the reason where one is lacking. Nothing here computes one."""

from typing import NamedTuple

from sghc.suite.catalogue import LANGUAGES

ERRORS = ("false_negative", "false_positive")  # misses and false alarms, as the result's `bias` calls them


class Number(NamedTuple):
    value: float | None
    limits: list[float] | None = None
    why: str = ""  # it has no value
    how: str = ""  # its interval was made, where not as the signature says, or why it has none


class Gap(NamedTuple):
    """The largest difference between two targets' error rates, and which two they are; None where all have the same rate."""

    number: Number
    most: str | None
    least: str | None


def number(result: dict, *path: str) -> Number:
    """The rate at a path of the result, such as ("language", "malay", "accuracy"), with its own interval and notes."""
    *place, rate = path
    entry = result
    for part in place:
        entry = entry[part]
    return named(entry.get(rate), entry.get(f"{rate}_ci"), result["notes"], ".".join(path), ".".join(path) + "_ci")


def named(value: float | None, limits: list[float] | None, notes: dict, path: str, path_of_limits: str) -> Number:
    why = notes.get(path, "not in the result") if value is None else ""
    return Number(value, limits if value is not None else None, why, notes.get(path_of_limits, "") if value is not None else "")


def gap(result: dict, entry: str, error: str) -> Gap:
    """The gap in an error, one of ERRORS, in an entry of `bias`: a language or "overall"."""
    found, path = result["bias"][entry][f"{error}_gap"], f"bias.{entry}.{error}_gap"
    if found is None:
        return Gap(Number(None, None, result["notes"].get(path, "not in the result")), None, None)
    return Gap(named(found["value"], found.get("ci"), result["notes"], path, f"{path}.ci"), found["most"], found["least"])


def difference(result: dict, *path: str) -> Number:
    """B - A in the rate at a path of a comparison, such as ("language", "malay", "accuracy")."""
    entry = result
    for part in path:
        entry = entry[part]
    key = ".".join(path)
    return named(entry["difference"], entry["difference_ci"], result["notes"], key, f"{key}.difference_ci")


def side(result: dict, system: str, *path: str) -> Number:
    """The value of "a" or "b" in the rate at a path of a comparison, which gives it no interval of its own."""
    entry = result
    for part in path:
        entry = entry[part]
    return named(entry[system], None, result["notes"], ".".join(path), "")


def below(one: Number, other: Number) -> bool:
    """Whether an interval lies wholly below another value."""
    return bool(one.limits) and other.value is not None and one.limits[1] < other.value


class Remarks(NamedTuple):
    """The notes of a result: why values are null, {reason: paths}, and what else is said of others, {path: word}."""

    missing: dict[str, list[str]]
    others: dict[str, str]


def remarks(result: dict) -> Remarks:
    null, found = {path for path, value in walk(result) if value is None}, Remarks({}, {})
    for path, word in result["notes"].items():
        if path in null:
            found.missing.setdefault(word, []).append(path)
        elif path != "suite":  # the caution, which stands above everything
            found.others[path] = word
    return found


def walk(entry: dict, *path: str):
    """(path joined by dots, value) of everything in a result."""
    for name, value in entry.items():
        yield ".".join((*path, name)), value
        if isinstance(value, dict):
            yield from walk(value, *path, name)


def title_of(language: str) -> str:
    return LANGUAGES[language].title if language in LANGUAGES else language


def tag_of(language: str) -> str:
    """Its BCP 47 tag, `und` for a language of somebody's own."""
    return LANGUAGES[language].bcp47 if language in LANGUAGES else "und"
