"""Minimum values for a result, as a gate for continuous integration (`sghatecheck score --fail-under FILE`)."""

from pathlib import Path

from sghatecheck_metric.scoring import flatten
from sghc.errors import InputError, first_few, shown


def read_minimums(path: Path) -> dict[str, float]:
    """The minimums of a YAML file by result path, nested (`overall: {macro_f1: 0.6}`) or flat (`overall.macro_f1: 0.6`).

    Raises:
        InputError: no such file, no YAML, no minimums, or a value that is no number.
    """
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{path}: not readable as YAML ({type(error).__name__})") from None
    if not isinstance(content, dict) or not content:
        raise InputError(f"{path}: no minimums; expected for example `overall.macro_f1: 0.6`")
    minimums = dict(leaves(content))
    for name, value in minimums.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
            raise InputError(f"{path}: {name} is {shown(value)}, expected a number")
    return minimums


def leaves(tree: dict, prefix: str = ""):
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def shortfalls(result: dict, minimums: dict[str, float], path: Path) -> list[str]:
    """One line for each minimum that the result does not reach.

    Raises:
        InputError: a path that the result does not have, or has no value at, with the result's own reason.
    """
    values = flatten(result)
    if unknown := [name for name in minimums if name not in values]:
        reasons = [f"{name} ({result['notes'].get(name, 'not in the result')})" for name in unknown]
        raise InputError(f"{path}: no value to hold against the minimum for {first_few(reasons)}")
    return [f"{name} is {values[name]:.4f}, below {minimum}" for name, minimum in minimums.items() if values[name] < minimum]
