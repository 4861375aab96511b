"""A predictions file held against a suite: every case asked has one answer, or the file is refused; then the metric scores it."""

from pathlib import Path

from sghatecheck_metric.reading import MISSING, fingerprint
from sghatecheck_metric.scoring import score
from sghc.errors import InputError, first_few
from sghc.models.predictions import Prediction, read
from sghc.suite import folder

COLUMNS = ["case_id", "text", "label", "language", "functionality", "target", "protected_group", "cluster", "template_id"]
NOT_FOR_REPORTING = "no native speaker has reviewed these cases: not for reporting"


def score_file(
    path: Path, suite: Path, split: str = "test", configs: list[str] | None = None, *, allow_partial: bool = False, invalid: str = "wrong"
) -> dict:
    """The result (see the metric's README) of a predictions file.

    Args:
        suite: a folder that `sghatecheck build` wrote.
        configs: the languages that were asked; by default those that the file has a case of. Each is asked whole.
        allow_partial: cases without an answer are left out and counted, instead of refused.
        invalid: what a rejected output counts as: wrong, drop or error.

    Raises:
        InputError: the file is not a predictions file, or its case ids are not those of the suite's split.
    """
    predictions = read(path)
    about = folder.describe(suite)
    cases = folder.read(suite, split, configs, COLUMNS)
    language_of = dict(zip(cases["case_id"].to_pylist(), cases["language"].to_pylist(), strict=True))
    check_known(path, predictions, language_of, suite, about, split, configs)
    asked = set(configs or (language_of[case_id] for case_id in predictions))
    cases = [case for case in cases.to_pylist() if case["language"] in asked and case["label"] is not None]
    answers = [predictions[case["case_id"]].answer if case["case_id"] in predictions else MISSING for case in cases]
    check_complete(path, cases, answers, allow_partial)

    columns = {name: [case[name] for case in cases] for name in COLUMNS}
    try:
        result = score(
            answers,
            columns["label"],
            language=columns["language"],
            functionality=columns["functionality"],
            target=columns["target"],
            protected_group=columns["protected_group"],
            cluster=columns["cluster"],
            template=columns["template_id"],
            invalid=invalid,
            allow_partial=allow_partial,
            data=fingerprint(columns["case_id"], columns["label"], columns["text"]),
            subset=split,
            suite="sghatecheck" if about.name == "official" else f"sghatecheck-{about.name}",
        )
    except ValueError as error:  # invalid="error" with rejected outputs
        raise InputError(f"{path}: {error}") from None
    if not about.for_reporting:
        result["notes"]["suite"] = NOT_FOR_REPORTING
    return result


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
        for case_id in folder.read(suite, other, [language], ["case_id"])["case_id"].to_pylist():
            stands.setdefault(case_id, f"config {language}, split {other}")
    rows = [f"{case_id} in {predictions[case_id].place} ({stands.get(case_id, 'in no split of the suite')})" for case_id in strangers]
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
