"""A predictions file held against a suite: every case asked has one answer, or the file is refused; then the metric scores it."""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sghatecheck_metric.reading import MISSING, fingerprint
from sghatecheck_metric.scoring import score
from sghc.errors import InputError, first_few, plain
from sghc.models.predictions import Prediction, read
from sghc.suite import folder
from sghc.suite.cases import ALL

COLUMNS = ["case_id", "text", "label", "language", "functionality", "target", "protected_group", "cluster", "template_id"]
NO_PREDICTION = Prediction(MISSING, None, "")


class Held(NamedTuple):
    """A predictions file held against the cases that were asked: one answer a case (MISSING where there is none) and one score (NaN)."""

    path: Path
    answers: list[int]
    scores: list[float]
    cases: dict[str, list]  # COLUMNS
    about: folder.About
    split: str
    data: str  # the fingerprint of all cases asked
    threshold: float | None = None  # where the answers were read from the scores


def score_file(path: Path, suite: Path, split: str = "test", configs: list[str] | None = None, *, threshold: float | None = None, **options) -> dict:
    """The result (see the metric's README) of a predictions file.

    Args:
        suite: a folder that `sghatecheck build` wrote.
        configs: the languages that were asked; by default those that the file has a case of. Each is asked whole.
        threshold: answers are read from the scores instead: hateful where the score is at least this.
        options: those of the metric's `score`, such as allow_partial, invalid and ci.

    Raises:
        InputError: the file is not a predictions file, its case ids are not those of the suite's split, an option that the metric refuses, or a
            threshold where an answer has no score.
    """
    return score_held(hold(path, suite, split, configs, allow_partial=options.get("allow_partial", False), threshold=threshold), **options)


def score_held(held: Held, **options) -> dict:
    """The result of answers that are held against their cases; options and errors are those of score_file."""
    scores = None if all(map(math.isnan, held.scores)) else np.array(held.scores)
    try:
        result = score(held.answers, held.cases["label"], **columns_of(held), scores=scores, threshold=held.threshold, **options)
    except ValueError as error:  # invalid="error" with rejected outputs, or an option out of range
        raise InputError(f"{held.path}: {error}") from None
    if held.about.caution:
        result["notes"]["suite"] = held.about.caution
    return result


def hold(path: Path, suite: Path, split: str, configs: list[str] | None, *, allow_partial: bool, threshold: float | None = None) -> Held:
    """Reads a predictions file and finds the answer to each case that was asked. Arguments and errors are those of score_file."""
    predictions = read(path)
    about = folder.describe(suite)
    configs = about.languages if configs and ALL in configs else configs
    cases = folder.read(about, split, configs, COLUMNS)
    language_of = dict(zip(cases["case_id"].to_pylist(), cases["language"].to_pylist(), strict=True))
    check_known(path, predictions, language_of, suite, about, split, configs)
    asked = set(configs or (language_of[case_id] for case_id in predictions))
    cases = [case for case in cases.to_pylist() if case["language"] in asked]
    data = fingerprint(*([case[name] for case in cases] for name in ("case_id", "label", "text")))
    cases = [case for case in cases if case["label"] is not None]  # 11 annotated Tamil cases have no right answer
    given = [predictions.get(case["case_id"], NO_PREDICTION) for case in cases]
    answers, scores = [one.answer for one in given], [math.nan if one.score is None else one.score for one in given]
    check_complete(path, cases, answers, allow_partial)
    held = Held(path, answers, scores, {name: [case[name] for case in cases] for name in COLUMNS}, about, split, data)
    return held if threshold is None else at_threshold(held, threshold)


def at_threshold(held: Held, threshold: float) -> Held:
    """With the answers that the scores give at a threshold; a rejected output stays rejected, a missing case missing. InputError without a score."""
    if not 0 <= threshold <= 1:
        raise InputError(f"threshold is {threshold}, expected a probability between 0 and 1")
    rows = list(zip(held.cases["case_id"], held.answers, held.scores, strict=True))
    if bare := [case_id for case_id, answer, one in rows if answer >= 0 and math.isnan(one)]:
        raise InputError(f"{held.path}: a threshold needs a score for each answer; {len(bare):,} have none: {first_few(bare)}")
    return held._replace(answers=[answer if answer < 0 else int(one >= threshold) for _, answer, one in rows], threshold=threshold)


def columns_of(held: Held) -> dict:
    """What the metric's functions take besides answers and gold: the columns, and what the signature names."""
    cases = held.cases
    return {
        **{name: cases[name] for name in ("language", "functionality", "target", "protected_group", "cluster")},
        "template": cases["template_id"],
        "data": held.data,
        "subset": held.split,
        "suite": "sghatecheck" if held.about.name == "official" else f"sghatecheck-{held.about.name}",
    }


def check_known(
    path: Path,
    predictions: dict[str, Prediction],
    language_of: dict[str, str],
    suite: Path,
    about: folder.About,
    split: str,
    configs: list[str] | None,
) -> None:
    """Raises InputError where the file answers a case that was not asked, and says where that case stands, if anywhere."""
    strangers = [case_id for case_id in predictions if case_id not in language_of]
    if not strangers:
        return
    stands = {}
    for (language, other), _place in about.files.items():
        for case_id in folder.read(about, other, [language], ["case_id"])["case_id"].to_pylist():
            stands.setdefault(case_id, f"config {language}, split {other}")
    rows = [f"{plain(case_id)} in {predictions[case_id].place} ({stands.get(case_id, 'in no split of the suite')})" for case_id in strangers]
    asked = f"split {split} of {suite}" + (f", config {first_few(configs)}" if configs else "")
    raise InputError(f"{path}: {len(rows):,} case ids are not in {asked}: {first_few(rows)}")


def check_complete(path: Path, cases: list[dict], answers: list[int], allow_partial: bool) -> None:
    """Raises InputError where cases have no answer and that is not allowed, or where none has one."""
    missing = [case["case_id"] for case, answer in zip(cases, answers, strict=True) if answer == MISSING]
    if len(missing) == len(cases):
        raise InputError(f"{path}: not one of the {len(cases):,} cases asked has an answer")
    if missing and not allow_partial:
        raise InputError(
            f"{path}: {len(missing):,} of {len(cases):,} cases have no answer: {first_few(missing)}; --allow-partial leaves them out and counts them"
        )
