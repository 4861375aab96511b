"""Predictions files of two systems or more held against the same cases of a suite: which is better, or who is tied."""

from pathlib import Path

from sghatecheck_metric.comparing import compare, rank
from sghc.errors import InputError, first_few
from sghc.leaderboard.scored import Held, columns_of, hold

GATED = ("language", "functionality", "target")  # the parts of a comparison, besides overall, in which B may not be worse


def compare_files(
    paths: list[Path], suite: Path, split: str = "test", configs: list[str] | None = None, *, allow_partial: bool = False, invalid: str = "wrong"
) -> dict:
    """The metric's comparison of two files with their names, `a` and `b`; its ranking of more than two.

    Args: those of score_file, with two predictions files or more.

    Raises:
        InputError: one of them is no predictions file of the suite's split, or they do not answer the same languages or any case in common.
    """
    return compare_held(hold_all(paths, suite, split, configs, allow_partial=allow_partial), allow_partial=allow_partial, invalid=invalid)


def hold_all(paths: list[Path], suite: Path, split: str, configs: list[str] | None, *, allow_partial: bool) -> list[Held]:
    """Each file held against the same cases. Arguments and errors are those of compare_files."""
    held = [hold(path, suite, split, configs, allow_partial=allow_partial) for path in paths]
    check_alike(held)
    return held


def compare_held(held: list[Held], *, allow_partial: bool = False, invalid: str = "wrong") -> dict:
    """What compare_files returns, of answers that are held against their cases."""
    names, answers = names_of([one.path for one in held]), [one.answers for one in held]
    columns, gold = columns_of(held[0]), held[0].cases["label"]
    options = {"invalid": invalid, "allow_partial": allow_partial, **columns}
    try:
        if len(held) == 2:
            result = {"a": names[0], "b": names[1], **compare(*answers, gold, names=tuple(names), **options)}
        else:
            result = rank(dict(zip(names, answers, strict=True)), gold, **options)
    except ValueError as error:  # invalid="error" with rejected outputs
        raise InputError(str(error)) from None
    if not (result["n"] if "n" in result else result["overall"]["n"]):
        raise InputError(f"no case is left that {first_few(names)} all answer")
    if held[0].about.caution:
        result["notes"]["suite"] = held[0].about.caution
    return result


def check_alike(held: list[Held]) -> None:
    """Raises InputError unless all files answer the same languages, which each is asked whole."""
    first, *others = [(one.path, list(dict.fromkeys(one.cases["language"]))) for one in held]
    for path, languages in others:
        if set(languages) != set(first[1]):
            says = f"{first[0]} answers {first_few(first[1])} and {path} {first_few(languages)}"
            raise InputError(f"{says}: expected the same languages; --config names those to compare, in files that hold no other")


def names_of(paths: list[Path]) -> list[str]:
    """A name for each file, all different: the stem, else the file name, else as much of the path as it takes, numbered where that is the same.

    A byte of a path that is no text stands as its escape, so that a name can be printed and written anywhere.
    """
    paths = [Path(str(path).encode("utf-8", "backslashreplace").decode()) for path in paths]
    depth = max(len(path.parts) for path in paths)
    for names in ([path.stem for path in paths], *(["/".join(path.parts[-n:]) for path in paths] for n in range(1, depth + 1))):
        if len(set(names)) == len(names):
            return names
    return [f"{path} ({number})" for number, path in enumerate(paths, 1)]


def worse(result: dict) -> list[str]:
    """One line for each thing that B is significantly worse at, overall or, after Holm's adjustment, in a language, a functionality or a target."""
    places = [("overall", result["overall"])]
    places += [(f"{part} {name}", entry) for part in GATED for name, entry in result.get(part, {}).items()]
    return [line(name, entry) for name, entry in places if entry["verdict"] == "worse"]


def line(name: str, entry: dict) -> str:
    values = entry["accuracy"]
    p = f"Holm's p = {entry['p_holm']:.4f}" if "p_holm" in entry else f"p = {values['p']:.4f}"
    return f"{name}: accuracy {values['b']:.4f} against {values['a']:.4f} ({values['difference']:+.4f}, {p})"
