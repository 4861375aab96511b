"""Small tables for the tests of bias and consistency, and the parts of a result that these are about, checked."""

import json

import numpy as np

from sghatecheck_metric.reading import MISSING, REJECTED
from sghatecheck_metric.scoring import score

PARTS = ("bias", "consistency")


def sections(answers, gold, ci="none", n_resamples=400, **given) -> dict:
    """{"bias", "consistency", "notes"} of a result, as far as they are there, with their own notes. The columns are lists of names."""
    result = score(np.array(answers, np.int8), np.array(gold, np.int8), allow_partial=True, ci=ci, n_resamples=n_resamples, **given)
    json.dumps(result, allow_nan=False)
    notes = {path: word for path, word in result["notes"].items() if path.split(".")[0] in PARTS}
    result = {part: result[part] for part in PARTS if part in result} | {"notes": notes}
    check_nulls_and_intervals(result)
    return result


def check_nulls_and_intervals(result: dict) -> None:
    """Every null has its reason, every reason a place, and every interval a width."""
    places = {}

    def walk(path, value):
        places[path] = value
        if isinstance(value, dict):
            for key, inner in value.items():
                walk(f"{path}.{key}" if path else key, inner)

    walk("", {key: value for key, value in result.items() if key != "notes"})
    for path, value in places.items():
        assert value is not None or result["notes"].get(path), path
        if path.endswith("ci") and value is not None:
            assert value[0] < value[1], path
    assert set(result["notes"]) <= set(places)


def spread(rows: str, targets="abcdefg") -> dict:
    """Columns from one word a template: "h 110" is a hateful template, whose first two targets were answered hateful, the third not.

    "r" is a rejected output, "." a case that does not exist, and "?" one without an answer.
    """
    columns = {"answers": [], "gold": [], "target": [], "template": []}
    for number, row in enumerate(rows.split(";")):
        label, answers = row.split()
        for target, answer in zip(targets, answers, strict=False):
            if answer != ".":
                columns["answers"].append({"r": REJECTED, "?": MISSING}.get(answer) if answer in "r?" else int(answer))
                columns["gold"].append(int(label == "h"))
                columns["target"].append(target)
                columns["template"].append(f"template {number}")
    return columns


def joined(**languages) -> dict:
    """The columns of several languages, one under the other."""
    columns = {"answers": [], "gold": [], "target": [], "template": [], "language": []}
    for name, own in languages.items():
        for key, values in own.items():
            columns[key] += values
        columns["language"] += [name] * len(own["gold"])
    return columns
