"""The two other suites that the paper's Table 6 compares with, as far as that table needs them."""

from pathlib import Path

from sghc.errors import InputError, shown
from sghc.suite.catalogue import FUNCTIONALITIES, LABELS
from sghc.suite.csvfile import LINE, read_rows
from sghc.suite.repairs import WHOLE_NUMBER

MANDARIN = "MHC Final Cases/hatecheck_cases_final_mandarin.csv"


def read_hatecheck(folder: Path) -> tuple[list[dict], set[int]]:
    """English HateCheck: every one of its 3,728 cases, as the paper took it, and the ids that the suite knows.

    Each case is {"id", "label", "functionality"}, the last by the paper's number where it has one. Source: Röttger et al. (2021).
    """
    path = folder / "test_suite_cases.csv"
    cases = [case(path, row, whole_number(path, row)) for row in read_rows(path, ("case_id", "functionality", "label_gold"))]
    check_ids(path, cases)
    return cases, {one["id"] for one in cases}


def read_mandarin(folder: Path) -> tuple[list[dict], set[str]]:
    """Multilingual HateCheck's Mandarin, as `read_hatecheck` gives it: those cases whose annotators' majority is the gold label (2,991 of 3,378).

    Source: Röttger et al. (2022).
    """
    path = folder / MANDARIN
    rows = list(read_rows(path, ("mhc_case_id", "functionality", "label_gold", "label_annotated_maj")))
    cases = [case(path, row, row["mhc_case_id"]) for row in rows]
    check_ids(path, cases)
    agreed = [one for one, row in zip(cases, rows, strict=True) if row["label_annotated_maj"] == row["label_gold"]]
    return agreed, {one["id"] for one in cases}


def case(path: Path, row: dict, id: int | str) -> dict:
    if row["label_gold"] not in LABELS:
        raise InputError(f"{path}: line {row[LINE]}: label_gold is {shown(row['label_gold'])}, expected one of {', '.join(LABELS)}")
    known = FUNCTIONALITIES.get(row["functionality"])
    return {"id": id, "label": LABELS.index(row["label_gold"]), "functionality": known.id if known else row["functionality"]}


def whole_number(path: Path, row: dict) -> int:
    if not WHOLE_NUMBER.fullmatch(row["case_id"]):
        raise InputError(f"{path}: line {row[LINE]}: case_id is {shown(row['case_id'])}, expected a whole number")
    return int(row["case_id"])


def check_ids(path: Path, cases: list[dict]) -> None:
    """Raises InputError where an id stands twice."""
    seen = set()
    for one in cases:
        if one["id"] in seen:
            raise InputError(f"{path}: case id {shown(one['id'])} stands more than once")
        seen.add(one["id"])
