"""Scores of several runs in one table: mean and range over seeds, or one model before and after.

    python training/summary.py trained/minilm-1 trained/minilm-2 trained/minilm-3
    python training/summary.py before=trained/smollm2/before.json after=trained/smollm2 after=results.json

Each argument is a run's folder (its held_out.json is read), such a file, or what `sghatecheck score --json` wrote. Runs of one label, which stands
before `=`, are taken together.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

import outcome
import recipe
from sghc.errors import InputError, plain
from sghc.terminal import plain as decimal
from sghc.terminal import show, titled

SHOWN = {"accuracy": "accuracy", "f1": "F1", "macro_f1": "macro F1", "coverage": "coverage"}


def scores_of(path: Path) -> dict[str, dict]:
    """Set -> scores: of a run on its held-out sets, or of a suite by language. InputError for a file that is neither."""
    file = path / outcome.SCORES if path.is_dir() else path
    try:
        found = json.loads(file.read_bytes())
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror}); is the run finished?") from None
    except ValueError:
        raise InputError(f"{file}: not readable as JSON") from None
    if isinstance(found, dict) and isinstance(found.get("language"), dict) and isinstance(found.get("overall"), dict):
        found = {**found["language"], "overall": found["overall"]}
    if not isinstance(found, dict) or not all(isinstance(one, dict) and "accuracy" in one for one in found.values()):
        raise InputError(f"{file}: neither held-out scores of a run nor a result of sghatecheck score")
    return found


def gathered(arguments: list[str]) -> dict[tuple[str, str], list[dict]]:
    """(set, label) -> the scores of each run."""
    runs = defaultdict(list)
    for argument in arguments:
        label, _, path = argument.rpartition("=") if not Path(argument).exists() else ("", "", argument)
        for name, one in scores_of(Path(path)).items():
            runs[name, label].append(one)
    if not runs:
        raise InputError("name the folders of finished runs, or files with their scores")
    return runs


def spread(values: list[float | None]) -> str:
    """`.634 (.621 to .650)`; runs that agree are one value, and where a run has none the whole has none."""
    if any(value is None for value in values):
        return "–"
    mean, least, most = (decimal(value, 3) for value in (sum(values) / len(values), min(values), max(values)))
    return mean if least == most else f"{mean} ({least} to {most})"


def table(runs: dict[tuple[str, str], list[dict]]):
    """A row for each set and label; without the columns that no row has anything in."""
    order = list(dict.fromkeys(name for name, _ in runs))
    rows = [["set", "model", "runs", "n", *SHOWN.values(), "always non-hateful"]]
    for (name, label), scores in sorted(runs.items(), key=lambda item: order.index(item[0][0])):
        always = [(one.get("always_non_hateful") or {}).get("macro_f1") for one in scores]
        values = [spread([one.get(key) for one in scores]) for key in SHOWN]
        rows.append([plain(name), plain(label), str(len(scores)), f"{max(one['n'] for one in scores):,}", *values, spread(always)])
    columns = [column for column in zip(*rows, strict=True) if set(column[1:]) - {"", "–"}]
    shown = titled("Scores: mean (lowest to highest run)", *(column[0] for column in columns), left=("model",))
    for row in zip(*(column[1:] for column in columns), strict=True):
        shown.add_row(*row)
    return shown


if __name__ == "__main__":
    recipe.main(lambda: show([table(gathered(sys.argv[1:]))]))
