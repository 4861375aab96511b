"""Minimum values for a result, as a gate for continuous integration (`sghatecheck score --fail-under FILE`)."""

import math
from pathlib import Path

from sghatecheck_metric.scoring import flatten
from sghc.errors import InputError, first_few, plain, shown


def read_minimums(path: Path) -> dict[str, float]:
    """The minimums of a YAML file by result path, nested (`overall: {macro_f1: 0.6}`) or flat (`overall.macro_f1: 0.6`).

    Raises:
        InputError: no such file, no YAML, no minimums, one that stands twice, or a value that is no number.
    """
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
            raise InputError(f"{path}: YAML aliases (*name) have no place here")
        node = yaml.compose(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{path}: not readable as YAML ({type(error).__name__})") from None
    if not isinstance(node, yaml.MappingNode):
        raise InputError(f"{path}: no minimums; expected for example `overall.macro_f1: 0.6`")
    minimums: dict[str, float] = {}
    for name, value in leaves(node):
        if name in minimums:
            raise InputError(f"{path}: {plain(name)} stands twice")
        minimums[name] = number_of(path, name, value)
    if not minimums:
        raise InputError(f"{path}: no minimums; expected for example `overall.macro_f1: 0.6`")
    return minimums


def leaves(node, prefix: str = ""):
    """(result path, value as text) of each entry of a YAML mapping. An empty mapping is an entry without a value."""
    for key, value in node.value:
        name = f"{prefix}{key.value}"
        if value.id == "mapping" and value.value:
            yield from leaves(value, f"{name}.")
        else:
            yield name, value.value


def number_of(path: Path, name: str, value) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = math.nan
    if not math.isfinite(found):
        raise InputError(f"{path}: {plain(name)} is {shown(value)}, expected a number")
    return found


def reason_of(result: dict, name: str) -> str:
    """Why a result has no value at a path: its own note, also for the limits of an interval."""
    return result["notes"].get(name) or result["notes"].get(name.removesuffix(".low").removesuffix(".high"), "not in the result")


def shortfalls(result: dict, minimums: dict[str, float], path: Path) -> list[str]:
    """One line for each minimum that the result does not reach.

    Raises:
        InputError: a path that the result does not have, or has no value at, with the result's own reason.
    """
    values = flatten(result)
    if unknown := [name for name in minimums if name not in values]:
        reasons = [f"{name} ({reason_of(result, name)})" for name in unknown]
        raise InputError(f"{path}: no value to hold against the minimum for {first_few(reasons)}")
    return [f"{name} is {values[name]:.4f}, below {minimum}" for name, minimum in minimums.items() if values[name] < minimum]
