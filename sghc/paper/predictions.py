"""The release's own predictions, experiments/{model}-{training set}-{test set}[-bad].json, read strictly.

A file of answers is a list of {"classified": 0 or 1, "actual", "case_id"}; its `-bad.json` lists the outputs that were rejected, as {"output",
"actual_label", "case_id"}. `actual` is never read: Tamil's is wrong, blank gold labels having become 0. `output` is never shown: it holds the prompt.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from sghc.errors import InputError, shown

NAME = re.compile(r"(?P<model>.+)-(?P<training>\w*set)-(?P<test_set>\w+?)(?P<bad>-bad)?\.json")
IDS = {"sghc_en": int, "sghc_ms": int, "sghc_zh": int, "sghc_ta": int, "hatecheck": int, "cn": str}  # elsewhere either
Id = int | str


class Run(NamedTuple):
    """One fine-tuned model on one test set, in the file names' words: ("mistral", "multiset", "sghc_en")."""

    model: str
    training: str
    test_set: str

    def file(self, bad: bool = False) -> str:
        return f"{self.model}-{self.training}-{self.test_set}{'-bad' if bad else ''}.json"


@dataclass
class Experiments:
    """What a folder of predictions holds.

    `answers` maps a case's id to 0 (non-hateful) or 1, rejected cases left out; `rejected` has the id of each record of a `-bad.json`, and no entry
    where there is no such file; `both` counts the ids in both files; `others` names what is no file of predictions.
    """

    answers: dict[Run, dict[Id, int]] = field(default_factory=dict)
    rejected: dict[Run, list[Id]] = field(default_factory=dict)
    both: dict[Run, int] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)


def read_folder(folder: Path) -> Experiments:
    """Reads every file of predictions in a folder, also of models and sets that the paper lacks; no folder is an empty one.

    Raises:
        InputError: a file named as predictions that does not hold them.
    """
    found = Experiments()
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        named = NAME.fullmatch(path.name)
        if not named or not path.is_file():
            found.others.append(path.name)
            continue
        run = Run(named["model"], named["training"], named["test_set"])
        if named["bad"]:
            found.rejected[run] = [id for id, _ in read_records(path, run)]
        else:
            found.answers[run] = read_answers(path, run)
    for run, ids in found.rejected.items():
        answers = found.answers.get(run, {})
        # a case in both files was rejected: its answer is what a reader made of an output without a label
        found.both[run] = sum(answers.pop(id, None) is not None for id in set(ids))
    return found


def read_answers(path: Path, run: Run) -> dict[Id, int]:
    """The answer to each case. InputError where `classified` is not 0 or 1, or a case is answered in two ways."""
    answers: dict[Id, int] = {}
    for place, (id, record) in enumerate(read_records(path, run), 1):
        if "classified" not in record:
            raise InputError(f"{path}: record {place} has no classified")
        answer = record["classified"]
        if type(answer) is not int or answer not in (0, 1):
            raise InputError(f"{path}: record {place}: classified is {shown(answer)}, expected 0 or 1")
        if answers.setdefault(id, answer) != answer:
            raise InputError(f"{path}: record {place}: case_id {shown(id)} is answered {answer} here and {answers[id]} in an earlier record")
    return answers


def read_records(path: Path, run: Run) -> list[tuple[Id, dict]]:
    """(case_id, record) for each record of a file. InputError where it is no JSON list of objects that each have a case_id of the test set's type."""
    try:
        records = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: not readable as JSON ({error.msg} in line {error.lineno}, column {error.colno}); is the file cut off?") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not readable as JSON ({type(error).__name__})") from None
    if not isinstance(records, list):
        raise InputError(f"{path}: {shown(records)} where a list of records is expected")
    return [(id_of(path, run, place, record), record) for place, record in enumerate(records, 1)]


def id_of(path: Path, run: Run, place: int, record) -> Id:
    if not isinstance(record, dict):
        raise InputError(f"{path}: record {place} is {shown(record)}, expected an object with case_id")
    if "case_id" not in record:
        raise InputError(f"{path}: record {place} has no case_id")
    id, kind = record["case_id"], IDS.get(run.test_set)
    if type(id) not in ((kind,) if kind else (int, str)):
        expected = {int: "a whole number", str: "a string", None: "a whole number or a string"}[kind]
        raise InputError(f"{path}: record {place}: case_id is {shown(id)}, expected {expected}")
    return id
