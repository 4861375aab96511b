"""What an answer is worth: arrays in, scores out.

Three steps, each over whole arrays:

1. *read* (reading.py): answers become codes 0, 1, REJECTED or MISSING, columns become codes in order of first appearance.
2. *count*: a case belongs to at most five slices of its language (the whole language, its shared functionalities, its functionality,
   its target, its protected group); one bincount over (slice, gold, answer) counts them all.
3. *measure*: every number is arithmetic on these counts, and what spans languages is the plain mean over its languages' slices.

`tally` and `measure` take counts with any leading axes: resampled counts go through the same lines as the counts themselves.
Nothing but numpy is imported: the metric's folder must load alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .reading import LABELS, MISSING, REJECTED, check_lengths, code_column, number, rows_text, shown
from .reading import fingerprint as fingerprint
from .reading import read_answers as read_answers
from .reading import read_gold as read_gold

VERSION = "1.0.0"
INVALID_MODES = ("wrong", "drop", "error")
COLUMNS = ("language", "functionality", "target", "protected_group", "cluster", "template")
RATES = ("accuracy", "accuracy_hateful", "accuracy_non_hateful", "macro_f1", "coverage")
FIELDS = ("n", "n_templates", "n_clusters", *RATES, "n_rejected", "n_missing")
MAX_TABLE = 2**24  # entries of a table that saves a sort or a dict; only columns mixed up by mistake need a larger one
NEEDS = {  # the parts of a result after `overall`, and the columns each is made from: without them it is left out
    "shared": ("language", "functionality"),
    "language": ("language",),
    "functionality": ("functionality",),
    "target": ("target",),
    "protected_group": ("protected_group",),
    "language_functionality": ("language", "functionality"),
    "language_target": ("language", "target"),
}


# ---- count


@dataclass(frozen=True)
class Layout:
    """Which slices a case counts in, and which slices make up what spans languages. S slices lie within one language, P span languages.

    member  int64 (levels, n): each case's slice per level, -1 where it has none (no target named, a functionality not shared)
    parent  int64 (S,): the spanning slice that a within-language slice is averaged into
    within  S paths (breakdown, name), or None for a slice that the result does not show
    across  P paths (breakdown, name); ("overall",) and ("shared",) have no name
    """

    member: np.ndarray
    parent: np.ndarray
    within: list
    across: list


def lay_out(coded: dict, n: int) -> Layout:
    """Coded columns (see code_column; absent ones None) -> the slices of n cases, in order of first appearance."""
    nothing = np.zeros(n, np.int64)
    language, languages = coded["language"] or (nothing, [None])
    levels = [("overall", nothing, None, "language")]
    if coded["language"] and coded["functionality"]:
        levels.append(("shared", _shared(language, languages, *coded["functionality"]), None, None))
    for name, within_name in (("functionality", "language_functionality"), ("target", "language_target"), ("protected_group", None)):
        if coded[name]:
            levels.append((name, *coded[name], within_name))
    member, parent, within, across = [], [], [], []
    for name, codes, names, within_name in levels:
        slices, pairs = _pair(language, codes, 1 if names is None else len(names))
        member.append(np.where(slices < 0, -1, slices + len(within)))
        parent += [len(across) + group for _, group in pairs]
        visible = within_name and coded["language"]
        within += [(within_name, _joined(languages[lang], names and names[group])) if visible else None for lang, group in pairs]
        across += [(name,)] if names is None else [(name, group) for group in names]
    return Layout(np.array(member), np.array(parent, np.int64), within, across)


def _shared(language, languages, functionality, functionalities) -> np.ndarray:
    """0 for the cases of functionalities that every language present has, else -1."""
    seen = np.zeros((len(languages), len(functionalities) + 1), bool)
    seen[language, functionality] = True
    seen[:, -1] = False  # the last column is code -1: no functionality
    return np.where(seen.all(axis=0)[functionality], 0, -1)


def _pair(language, group, n_groups: int) -> tuple[np.ndarray, list]:
    """(slice of each case, -1 where group is -1; the (language, group) of each slice), slices numbered by first appearance."""
    rows = np.flatnonzero(group >= 0)
    codes, keys = _number_ints(language[rows] * n_groups + group[rows])
    slices = np.full(len(group), -1)
    slices[rows] = codes
    return slices, [divmod(key, n_groups) for key in keys]


def _number_ints(keys) -> tuple[np.ndarray, list]:
    """What number does, for non-negative ints: by a table of the row where each first appears, as long as that table is small."""
    n, size = len(keys), int(keys.max(initial=0)) + 1
    if size > MAX_TABLE:
        return number(keys.tolist())
    first = np.full(size, n)
    np.minimum.at(first, keys, np.arange(n))
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < n)]
    codes = np.empty(size, np.int64)
    codes[order] = np.arange(len(order))
    return codes[keys], order.tolist()


def _joined(language: str, name: str | None) -> str:
    return language if name is None else f"{language}/{name}"


def count(layout: Layout, answers, gold) -> np.ndarray:
    """int64 (S, 2, 4): cases per within-language slice, gold label and answer, whose code (0, 1, REJECTED, MISSING) is its index."""
    outcome = gold.astype(np.int64) * 4 + answers % 4  # REJECTED, -1, is the last column and MISSING, -2, the one before
    key = (layout.member * 8 + outcome)[layout.member >= 0]
    return np.bincount(key, minlength=len(layout.within) * 8).reshape(-1, 2, 4)


def count_distinct(layout: Layout, scored, coded) -> np.ndarray | None:
    """int64 (S,): different codes (clusters, templates) among the scored cases of each slice. None without the column."""
    if coded is None:
        return None
    codes, names = coded
    key = (layout.member * len(names) + codes)[(layout.member >= 0) & scored]
    size = len(layout.within) * len(names)
    if size > MAX_TABLE:
        key = np.sort(key)
        return np.bincount(key[np.diff(key, prepend=-1) > 0] // len(names), minlength=len(layout.within))
    marks = np.zeros(size, bool)
    marks[key] = True
    return marks.reshape(len(layout.within), -1).sum(axis=1)


# ---- measure


def tally(counts, invalid: str) -> tuple:
    """Counts (..., 2, 4) -> scored per gold label (..., 2), rejected, missing and asked (...). The numbers stand on what is scored."""
    valid, rejected = counts[..., :2].sum(axis=-1), counts[..., REJECTED]
    scored = valid if invalid == "drop" else valid + rejected
    return scored, rejected.sum(axis=-1), counts[..., MISSING].sum(axis=-1), counts.sum(axis=(-2, -1))


def measure(counts, invalid: str) -> dict[str, np.ndarray]:
    """Counts (..., 2, 4) -> {rate: float array (...)}, NaN where a rate is not defined.

    F1 of a label is 2TP / (2TP + FP + FN), and 2TP + FP + FN is how often the label was answered plus how often it is gold. A rejected
    output is no answer of either label: it costs recall (it stays in gold) and no precision. Macro F1 is the mean of both labels' F1 and
    defined where both labels are gold.
    """
    scored, *_, asked = tally(counts, invalid)
    right = np.stack([counts[..., 0, 0], counts[..., 1, 1]], axis=-1)
    answered = counts[..., :2].sum(axis=-2)
    recall = _ratio(right, scored)
    both = (scored > 0).all(axis=-1)
    return {
        "accuracy": _ratio(right.sum(axis=-1), scored.sum(axis=-1)),
        "accuracy_hateful": recall[..., 1],
        "accuracy_non_hateful": recall[..., 0],
        "macro_f1": np.where(both, _ratio(2 * right, answered + scored).mean(axis=-1), np.nan),
        "coverage": _ratio(answered.sum(axis=-1), asked),
    }


def _ratio(part, whole) -> np.ndarray:
    return np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=whole > 0)


def average(values, parent, size: int) -> np.ndarray:
    """Plain mean (size,) of the within-language values (S,) of each spanning slice; NaN values are skipped, no value at all gives NaN."""
    order = np.argsort(values)[: np.count_nonzero(~np.isnan(values))]  # added by size, NaN last: the order of the rows changes no digit
    return _ratio(np.bincount(parent[order], values[order], size), np.bincount(parent[order], minlength=size))


def total(values, parent, size: int) -> np.ndarray:
    """Sums (size, ...) of integer counts (S, ...) over the slices of each spanning slice."""
    sums = np.zeros((size, *values.shape[1:]), np.int64)
    np.add.at(sums, parent, values)
    return sums


# ---- the result


def score(
    answers,
    gold,
    *,
    language=None,
    functionality=None,
    target=None,
    protected_group=None,
    cluster=None,
    template=None,
    invalid="wrong",
    allow_partial=False,
    data="none",
    subset="given",
    suite="sghatecheck",
) -> dict:
    """Codes of answers and gold, (n,) each, and optional columns of n names -> the result in JSON-ready dicts (README.md has each field).

    invalid: "wrong" counts a rejected output as wrong, "drop" leaves it out, "error" refuses it. Missing answers are refused unless
    allow_partial. data (a fingerprint), subset and suite go into the signature. Raises ValueError for lengths that differ, codes out of
    range, values that are no names, and what the options refuse.
    """
    check_options(invalid, allow_partial)
    answers, gold = _check_codes(answers, (0, 1, REJECTED, MISSING), "predictions"), _check_codes(gold, (0, 1), "references")
    check_lengths({"predictions": answers, "references": gold})
    partial = _refuse(answers, invalid, allow_partial)
    given = (language, functionality, target, protected_group, cluster, template)
    coded = {name: code_column(values, name, len(gold)) for name, values in zip(COLUMNS, given, strict=True)}
    layout = lay_out(coded, len(gold))
    counts = count(layout, answers, gold)
    scored = answers >= (0 if invalid == "drop" else REJECTED)
    distinct = [count_distinct(layout, scored, coded["template"]), count_distinct(layout, scored, coded["cluster"] or coded["template"])]

    result = {"overall": {}} | {name: {} for name, needed in NEEDS.items() if all(coded[column] for column in needed)}
    notes = {}
    size = len(layout.across)
    rates = measure(counts, invalid)
    spanning = {name: average(values, layout.parent, size) for name, values in rates.items()}
    sums = [None if values is None else total(values, layout.parent, size) for values in distinct]
    _fill(result, notes, layout.across, total(counts, layout.parent, size), spanning, sums, invalid)
    _fill(result, notes, layout.within, counts, rates, distinct, invalid)
    return {**result, "notes": notes, "signature": signature(data, subset, invalid, partial, suite)}


def check_options(invalid, allow_partial) -> None:
    """ValueError unless both options hold a value that they know."""
    if invalid not in INVALID_MODES:
        raise ValueError(f"invalid: expected one of {', '.join(INVALID_MODES)}, got {str(invalid)[:40]!r}")
    if not isinstance(allow_partial, (bool, np.bool_)):
        raise ValueError(f"allow_partial: expected True or False, got {shown(allow_partial)}")


def _check_codes(codes, known, column: str) -> np.ndarray:
    codes = np.asarray(codes)
    if codes.ndim != 1 or not (np.issubdtype(codes.dtype, np.integer) or codes.size == 0):
        found = f"{codes.dtype} of shape {codes.shape}"
        raise ValueError(f"{column}: expected a flat array of codes, as read_answers and read_gold return, got {found}")
    bad = np.flatnonzero(~np.isin(codes, known))
    if len(bad):
        raise ValueError(f"{column}: row {bad[0]} (counted from 0) holds the code {codes[bad[0]]}, expected one of {known}")
    return codes.astype(np.int8)


def _refuse(answers, invalid: str, allow_partial: bool) -> bool:
    """Raises for what the options do not let pass; True where cases without an answer are left out."""
    missing, rejected = np.flatnonzero(answers == MISSING), np.flatnonzero(answers == REJECTED)
    if len(missing) and not allow_partial:
        what = f"{len(missing)} of {len(answers)} cases have no answer: {rows_text(missing)}"
        raise ValueError(f"predictions: {what}; allow_partial=True leaves them out")
    if len(rejected) and invalid == "error":
        what = f"{len(rejected)} of {len(answers)} outputs name neither label: {rows_text(rejected)}"
        raise ValueError(f"predictions: {what}; invalid='error' refuses them")
    return len(missing) > 0


def _fill(result, notes, paths, counts, rates, distinct, invalid) -> None:
    """Writes one dict per path into the result, and the reason for each null into the notes."""
    golds, rejected, missing, asked = tally(counts, invalid)
    templates, clusters = ([None] * len(paths) if values is None else values.tolist() for values in distinct)
    numbers = [[None if value != value else value for value in rates[name].tolist()] for name in RATES]
    rows = zip(golds.sum(axis=-1).tolist(), templates, clusters, *numbers, rejected.tolist(), missing.tolist(), strict=True)
    for path, row, gold, n_asked in zip(paths, rows, golds.tolist(), asked.tolist(), strict=True):
        if path is None:
            continue
        entry = dict(zip(FIELDS, row, strict=True))
        if len(path) == 1:
            result[path[0]] = entry
        else:
            result[path[0]][path[1]] = entry
        if None in row:
            notes.update({".".join((*path, name)): reason(name, gold, n_asked) for name in FIELDS if entry[name] is None})


def reason(field: str, golds, asked: int) -> str:
    """Why a field is null in a slice with golds = (scored non-hateful, scored hateful) cases of `asked`."""
    if field == "n_templates":
        return "no template column"
    if field == "n_clusters":
        return "no cluster or template column"
    if not asked:
        return "no case"
    if not any(golds):
        return "no case left: every answer is missing or rejected"
    if field == "macro_f1":
        return "one gold label only in each language" if all(golds) else f"one gold label only ({LABELS[golds[1] > 0]})"
    return "no hateful case" if field == "accuracy_hateful" else "no non-hateful case"


def signature(data: str, subset: str, invalid: str, partial: bool, suite: str) -> str:
    """One line that says what a score is a score of, in sacreBLEU's manner (Post 2018). It shows the start of the fingerprint."""
    fields = [suite, f"v:{VERSION}", f"data:{data[:8]}", f"subset:{subset}", f"invalid:{invalid}", "ci:none"]
    if any("|" in field for field in fields):
        raise ValueError("data, subset and suite may not hold '|', which separates the signature's fields")
    return "|".join(fields + ["partial:yes"] * partial)


def flatten(result: dict) -> dict[str, float]:
    """Every number of a result by its path, {"language.malay.macro_f1": 0.61, ...}; nulls, notes and the signature have none."""
    flat = {}

    def walk(path, value):
        if isinstance(value, dict):
            for key, inner in value.items():
                walk((*path, key), inner)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            flat[".".join(path)] = value

    walk((), {key: value for key, value in result.items() if key != "notes"})
    return flat
