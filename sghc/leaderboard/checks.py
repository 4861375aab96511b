"""The one check of a submission: `validate`, `submit` and `rank` all call it, so that what passes at home passes on the leaderboard."""

from typing import NamedTuple

import numpy as np

from sghatecheck_metric.reading import MISSING
from sghc.errors import InputError, first_few
from sghc.leaderboard import rows
from sghc.leaderboard.ground import SPLIT, Ground
from sghc.leaderboard.submission import Submission, digest_of

SHORT = 12  # digits of a digest in a folder's name


class Checked(NamedTuple):
    """A submission that may stand on the leaderboard."""

    answers: np.ndarray  # int8 (cases of the ground,)
    digest: str  # of what was answered by what


def check(submission: Submission, predictions: bytes, name, ground: Ground) -> Checked:
    """Holds a submission against the ground.

    Args:
        predictions: its Parquet file.
        name: of the file, for messages.

    Raises:
        InputError: another suite, a record of another run, or rows that `rows.read` refuses.
    """
    check_suite(submission, name, ground)
    found = rows.read(predictions, name, ground)
    return Checked(check_asked(submission, found, name, ground), digest_of(submission, rows.digest(found, ground.cases["case_id"])))


def check_suite(submission: Submission, name, ground: Ground) -> None:
    """Raises InputError unless the submission, and the record of its run, are of the ground's cases."""
    asked, run = submission.suite, submission.run
    if len(set(asked.configs)) < len(asked.configs):
        raise InputError(f"{name}: a language is named twice: {first_few(asked.configs)}")
    if asked.data != (expected := ground.fingerprint(asked.configs)):
        raise InputError(f"{name}: of a suite with the fingerprint {asked.data[:8]}…, expected {expected[:8]}… ({ground.name}, split {SPLIT})")
    if run is None:
        return
    if run.asked.get("split", SPLIT) != SPLIT:
        raise InputError(f"{name}: its run asked another split than {SPLIT}")
    whole = run.asked.get("limit") is None and run.asked.get("configs") is not None and set(run.asked["configs"]) == set(asked.configs)
    if whole and run.asked.get("data") != asked.data:
        raise InputError(f"{name}: its run's record is of cases with another fingerprint than {asked.data[:8]}…")


def check_asked(submission: Submission, found: rows.Rows, name, ground: Ground) -> np.ndarray:
    """The answers to each case of the ground. InputError where they are not of the languages that the submission names, or there are none."""
    answers = rows.answers(found, len(ground.gold))
    codes, languages = ground.language
    answered = {languages[code] for code in np.unique(codes[answers != MISSING]).tolist()}
    if not answered:
        raise InputError(f"{name}: no answer in it")
    if strangers := sorted(answered - set(submission.suite.configs)):
        raise InputError(f"{name}: answers cases of {first_few(strangers)}, which the submission does not name")
    if lacking := sorted(set(submission.suite.configs) - answered):
        raise InputError(f"{name}: answers no case of {first_few(lacking)}, which the submission names")
    return answers


def check_address(digest: str, id: str) -> None:
    """Raises InputError unless a submission's folder is named by its digest."""
    if digest[:SHORT] != id.rpartition("/")[2]:
        raise InputError(f"its digest is {digest[:SHORT]}, which is not the name of its folder: something was changed after it was packed")
