"""What is wrong in the released files and what is done about it: one function a rule, and the checks for everything that no rule covers.

Each rule counts the rows it touches under (rule, language's name); `sghatecheck build` prints the counts. The numbers in the docstrings are
those of the pinned commit.
"""

import re
from collections import Counter
from pathlib import Path

from sghc.errors import InputError, first_few, shown
from sghc.suite import votes
from sghc.suite.catalogue import FUNCTIONALITIES, LABELS, PROTECTED_GROUPS, Language, gold_of
from sghc.suite.csvfile import LINE
from sghc.suite.templates import Template, Value, digest

Repairs = Counter  # (rule, language's name) -> rows

TARGETS = {name: name for name in PROTECTED_GROUPS} | {
    "Transexual": "Transsexual",
    "seniors": "Seniors",
    "mentally ill": "Mentally Ill",
    "physically disabled": "Physically Disabled",
}
WHOLE_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
SELECTIONS = (*LABELS, "no_match", "undecided")
# Names from HateCheck that stand in an annotation (first) where the test case has another (second)
LEFTOVERS = {
    "singlish": {("spell_char_comp_h", "spell_space_add_h"), ("derog_dehum_h", "spell_space_add_h")},
    "mandarin": {
        ("spell_char_swap_h", "spell_homoph_h"),
        ("spell_space_add_h", "spell_char_comp_h"),
        ("spell_leet_h", "spell_pinyin_h"),
        ("target_obj_nh", "spell_pinyin_h"),
    },
}
DIRECTIONS = ("general", "directed", "-", "")  # "-" where the case is not hateful

# The functionality that HateCheck has under a t_id; the paper's tables counted Singlish so from t_id 767 on.
PAPER_RANGES = {range(767, 787): "F23", range(787, 807): "F24", range(807, 827): "F25", range(827, 847): "F26", range(847, 867): "F27"}
# Three Singlish templates that the paper's tables count elsewhere, by t_id and a digest of the template: no text of the release stands here.
PAPER_EXCEPTIONS = {("834", "72cac0365b39e565"): "F3", ("785", "ccc2344aa4df6bfa"): "F4", ("774", "4f532dd6eee9b7ab"): "F4"}


def template_key(row: dict) -> tuple[str, str, str]:
    """t_id alone is no key: 205 Singlish and 112 Malay ids hold two to four texts."""
    return row["t_id"], row["t_case_local"], row["p_label"]


def case_key(row: dict) -> tuple[str, str, str, str]:
    return *template_key(row), row["p_value"]


# --- checks ---


def check_values(path: Path, rows: list[dict], *, blank_functionality: bool) -> None:
    """Raises InputError at the first value outside the lists of the release: functionality, gold label, direction, target, t_id, placeholder.

    Only annotations may leave the functionality blank (11 Tamil rows do).
    """
    functionalities = {*FUNCTIONALITIES, ""} if blank_functionality else {*FUNCTIONALITIES}
    allowed = {"t_function": functionalities, "t_gold": {*LABELS, ""}, "t_direction": {*DIRECTIONS}, "p_target": {*TARGETS, ""}}
    for row in rows:
        for column, values in allowed.items():
            if row[column] not in values:
                raise InputError(f"{path}: line {row[LINE]}: {column} is {shown(row[column])}, expected one of {first_few(sorted(values), 40)}")
        if not WHOLE_NUMBER.fullmatch(row["t_id"]):
            raise InputError(f"{path}: line {row[LINE]}: t_id is {shown(row['t_id'])}, expected a whole number")
        check_placeholder(path, row)


def check_placeholder(path: Path, row: dict) -> None:
    """Raises InputError where placeholder, value and template do not fit: a placeholder that is not in its template, or a value without one."""
    label = row["p_label"]
    if label and label not in row["t_case_local"]:
        raise InputError(f"{path}: line {row[LINE]}: p_label is {shown(label)}, which does not occur in t_case_local")
    if label and not row["p_target"]:
        raise InputError(f"{path}: line {row[LINE]}: p_label is {shown(label)} without a p_target")
    if not label and (row["p_value"] or row["p_target"]):
        raise InputError(f"{path}: line {row[LINE]}: p_target is {shown(row['p_target'])} without a p_label")


def check_ids(path: Path, annotations: list[dict]) -> None:
    """Raises InputError where a c_id is no whole number or stands twice, or a released selection is none."""
    seen = {}
    for row in annotations:
        if not WHOLE_NUMBER.fullmatch(row["c_id"]):
            raise InputError(f"{path}: line {row[LINE]}: c_id is {shown(row['c_id'])}, expected a whole number")
        if row["annotation_selected"] not in SELECTIONS:
            raise InputError(
                f"{path}: line {row[LINE]}: annotation_selected is {shown(row['annotation_selected'])}, expected one of {first_few(SELECTIONS)}"
            )
        if row["c_id"] in seen:
            raise InputError(f"{path}: line {row[LINE]}: c_id {row['c_id']} stands already in line {seen[row['c_id']]}")
        seen[row["c_id"]] = row[LINE]


def check_unjoined(path: Path, row: dict) -> None:
    """Only rows of no functionality may lack a test case (11 in Tamil, t_id 1101-1114); InputError for any other."""
    if row["t_function"] or row["t_gold"]:
        raise InputError(f"{path}: line {row[LINE]}: no test case has its t_id {row['t_id']}, t_case_local, p_label and p_value; is a file cut off?")


def check_templates(path: Path, cases: list[dict]) -> None:
    """Raises InputError where the cases of one template disagree in functionality or direction (the former fixes the gold label)."""
    first: dict[tuple, dict] = {}
    for row in cases:
        other = first.setdefault(template_key(row), row)
        for column in ("t_function", "t_direction"):
            if row[column] != other[column]:
                found, before = shown(row[column]), shown(other[column])
                raise InputError(f"{path}: line {row[LINE]}: {column} is {found}, but {before} for the same template in line {other[LINE]}")


# --- rules ---


def first_of_doubled(language: Language, cases: list[dict], uses: list[tuple[Template, Value]], counts: Repairs) -> dict[tuple, tuple]:
    """(template, value, text) by case key. Mandarin holds 21 rows twice, since one entry of its slur tables is doubled: the first stands for both."""
    by_key: dict[tuple, tuple] = {}
    for row, (template, value) in zip(cases, uses, strict=True):
        by_key.setdefault(case_key(row), (template, value, row["c_testcase"]))
    if len(by_key) < len(cases):
        counts["test case that stands twice (kept in `generated`)", language.name] = len(cases) - len(by_key)
    return by_key


def settle_functionalities(language: Language, path: Path, cases: list[dict], annotations: list[dict], counts: Repairs) -> dict[tuple, str]:
    """The functionality of each template, where the two files disagree because a name from HateCheck was left over in one of them.

    Singlish: the annotation's name stands, except `spell_char_comp_h`, which is `spell_space_add_h` (so 14 test cases change, of t_id 834, and 56
    annotations). Elsewhere the test case's name stands (138 Mandarin annotations change). InputError for any other disagreement.
    """
    names = {template_key(row): row["t_function"] for row in cases}
    for row in annotations:
        pair = row["t_function"], names.get(template_key(row), row["t_function"])
        if pair[0] != pair[1] and pair not in LEFTOVERS.get(language.name, ()):
            raise InputError(f"{path}: line {row[LINE]}: t_function is {pair[0]}, but {pair[1]} in its test case")
    if language.name == "singlish":
        for row in annotations:
            if row["t_function"] != "spell_char_comp_h" and template_key(row) in names:
                names[template_key(row)] = row["t_function"]
    for rule, rows in (("test case whose functionality is renamed", cases), ("annotation whose functionality is renamed", annotations)):
        if renamed := sum(row["t_function"] != names.get(template_key(row), row["t_function"]) for row in rows):
            counts[rule, language.name] = renamed
    return names


def settle_golds(language: Language, path: Path, cases: list[dict], names: dict[tuple, str], counts: Repairs) -> dict[tuple, str]:
    """The gold label of each template: the one that its functionality's ending fixes, which is also what the annotations have.

    Fills the 1,580 Tamil test cases whose gold is blank. InputError where a test case has another gold.
    """
    golds = {key: gold_of(name) for key, name in names.items()}
    for row in cases:
        gold = golds[template_key(row)]
        if row["t_gold"] not in (gold, ""):
            raise InputError(f"{path}: line {row[LINE]}: t_gold is {row['t_gold']!r}, but {names[template_key(row)]} is {gold}")
    if blank := sum(row["t_gold"] == "" for row in cases):
        counts["test case without gold label (read from its functionality)", language.name] = blank
    return golds


def direction_of(row: dict, gold: str | None) -> str | None:
    """`general` or `directed` for hateful cases, else None: the release's `-`, and the 1,580 Tamil test cases (1,591 annotations) left blank, where
    it cannot be recovered."""
    return row["t_direction"] if gold == "hateful" and row["t_direction"] not in ("-", "") else None


def count_blank_directions(language: Language, cases: list[dict], counts: Repairs) -> None:
    if blank := sum(row["t_direction"] == "" for row in cases):
        counts["test case without direction (left null)", language.name] = blank


def value_of(language: Language, row: dict, counts: Repairs) -> Value:
    """The placeholder's entry, its target in the paper's spelling: the files write four of the 14 otherwise (`Transexual`, `seniors`, …), in 1,940
    Singlish test cases, 1,472 Malay, 1,610 Mandarin and 794 Tamil."""
    target = TARGETS.get(row["p_target"])
    if target and target != row["p_target"]:
        counts["target that the paper spells otherwise", language.name] += 1
    return Value(target, row["p_value"])


def paper_functionality_id(language: Language, t_id: str, template: str, functionality: str | None) -> str | None:
    """The functionality under which the paper's tables count a template: HateCheck's of that t_id in Singlish, three templates apart (182 annotated
    cases differ from the default); elsewhere the default."""
    default = FUNCTIONALITIES[functionality].id if functionality else None
    if language.name != "singlish":
        return default
    by_range = next((id for ids, id in PAPER_RANGES.items() if int(t_id) in ids), default)
    return PAPER_EXCEPTIONS.get((t_id, digest(template, length=16)), by_range)


def judgement(language: Language, path: Path, row: dict, annotators: tuple[str, ...], gold: str | None, counts: Repairs) -> dict:
    """votes, majority and status of an annotated row, from its raw votes.

    The released annotation_selected was made from raw strings: 15 Singlish and 28 Mandarin rows read `undecided` although two votes agree. One Malay
    row has no text.
    """
    given = [vote_of(language, path, row, name, counts) for name in annotators]
    decided = votes.majority(given)
    status = votes.status(row["c_testcase"], gold, decided)
    if status == "empty":
        counts["annotated case without text (status empty)", language.name] += 1
    if decided and row["annotation_selected"] == "undecided":
        counts["released selection undecided although two votes agree", language.name] += 1
    return {"votes": given, "majority": decided, "status": status}


def vote_of(language: Language, path: Path, row: dict, annotator: str, counts: Repairs) -> str | None:
    raw = row[annotator]
    if raw not in votes.SPELLINGS:
        raise InputError(f"{path}: line {row[LINE]}: {annotator} is {shown(raw)}, expected one of {first_few(votes.VOTES)}")
    if raw == "nonhateful":
        counts["vote spelled nonhateful", language.name] += 1
    elif raw in ("skipped", ""):
        counts["vote missing (skipped or blank)", language.name] += 1
    return votes.normalise(raw)
