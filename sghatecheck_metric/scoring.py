"""What an answer is worth: arrays in, scores out.

Three steps, each over whole arrays: *read* (reading.py: answers and columns become codes), *count* and *measure* (counting.py: a case belongs
to a few slices, every rate is arithmetic on their counts), *bound* (intervals.py: clusters are drawn again, and the same arithmetic gives each
rate's interval).
Nothing but numpy is imported: the metric's folder must load alone.
"""

from __future__ import annotations

import numpy as np

from .bias import bias
from .consistency import consistency
from .contrasts import contrast_levels, contrasts
from .counting import RATES, Level, Slice, count, count_distinct, lay_out, shared, tally, total
from .intervals import BOUNDED, CI_MODES, Design, Limits, estimate, limits_across, limits_within
from .matching import bias_levels, match
from .reading import LABELS, MISSING, REJECTED, check_lengths, code_column, rows_text, shown
from .reading import fingerprint as fingerprint
from .reading import read_answers as read_answers
from .reading import read_gold as read_gold
from .resampling import Units, make_units
from .thresholds import operating_points

VERSION = "1.0.0"
INVALID_MODES = ("wrong", "drop", "error")
COLUMNS = ("language", "functionality", "target", "protected_group", "cluster", "template")
FIELDS = ("n", "n_templates", "n_clusters", *RATES, "n_rejected", "n_missing")
NEEDS = {  # the parts of a result after `overall`, and the columns each is made from: without them it is left out
    "shared": ("language", "functionality"),
    "language": ("language",),
    "functionality": ("functionality",),
    "target": ("target",),
    "protected_group": ("protected_group",),
    "language_functionality": ("language", "functionality"),
    "language_target": ("language", "target"),
}
# where a level's slices of one language stand
WITHIN = {"overall": "language", "functionality": "language_functionality", "target": "language_target"}


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
    scores=None,
    threshold=None,
    invalid="wrong",
    allow_partial=False,
    ci="bootstrap",
    n_resamples=2000,
    confidence=0.95,
    seed=12345,
    stratify=True,
    data="none",
    subset="given",
    suite="sghatecheck",
) -> dict:
    """Codes of answers and gold, (n,) each, and optional columns of n names -> the result in JSON-ready dicts (README.md has each field).

    scores: probabilities of hateful, (n,), NaN where there is none; threshold: the one that the answers were read at, for the signature.
    invalid: "wrong" counts a rejected output as wrong, "drop" leaves it out, "error" refuses it. Missing answers are refused unless allow_partial.
    ci: "bootstrap" (n_resamples replicates over clusters, stratified by language and functionality, or without `stratify` by language alone),
    "wilson" or "none". data (a fingerprint), subset and suite go into the signature. Raises ValueError for lengths that differ, codes out of range,
    values that are no names, and what the options refuse.
    """
    check_options(invalid, allow_partial, ci, n_resamples, confidence, seed)
    answers, gold = _check_codes(answers, (0, 1, REJECTED, MISSING), "predictions"), _check_codes(gold, (0, 1), "references")
    check_lengths({"predictions": answers, "references": gold})
    partial = _refuse(answers, invalid, allow_partial)
    given = (language, functionality, target, protected_group, cluster, template)
    coded = {name: code_column(values, name, len(gold)) for name, values in zip(COLUMNS, given, strict=True)}
    clusters = coded["cluster"] or coded["template"]
    strata = [coded[name] for name in ("language", "functionality")[: 1 + stratify] if coded[name]]
    units = make_units(len(gold), strata, clusters) if ci != "none" else Units(np.zeros(len(gold), np.int64), np.zeros(1, np.int64))
    design = Design(ci, n_resamples, confidence, seed, units)

    language, languages = coded["language"] or (np.zeros(len(gold), np.int64), [None])
    scored = answers >= (0 if invalid == "drop" else REJECTED)
    matched = match(coded, answers, gold, scored, language, languages, scores)
    levels = [*_levels(coded, language, languages), *contrast_levels(coded["functionality"]), *bias_levels(matched)]
    layout = lay_out(levels, language, languages)
    counts = count(layout, answers, gold)
    found = estimate(layout, counts, answers, gold, invalid, design)
    inner = {rate: limits_within(found, rate) for rate in BOUNDED} if ci != "none" else {}
    outer = {rate: limits_across(found, rate, inner[rate]) for rate in inner}

    distinct = [count_distinct(layout, scored, coded["template"]), count_distinct(layout, scored, clusters)]
    summed = [None if values is None else total(values, layout.parent, len(layout.across)) for values in distinct]
    result = {"overall": {}} | {name: {} for name, needed in NEEDS.items() if all(coded[column] for column in needed)}
    notes = {}
    across, within = [_across(one) for one in layout.across], [_within(one) for one in layout.within]
    _fill(result, notes, across, total(counts, layout.parent, len(across)), found.across, outer, summed, invalid)
    _fill(result, notes, within, counts, found.within, inner, distinct, invalid)
    if coded["functionality"]:
        result["contrast"] = contrasts(found, inner.get("accuracy"), counts, invalid, notes)
    if coded["template"]:
        result["consistency"] = consistency(answers, gold, scored, coded, language, languages, design, notes)
    if matched:
        result["bias"] = bias(matched, found, inner, outer, counts, languages, invalid, notes)
    if scores is not None:
        result["thresholds"] = operating_points(scores, gold, language, scored)
        if result["thresholds"] is None:
            notes["thresholds"] = "no language has scores of both gold labels"
    line = signature(data, subset, invalid, partial, suite, design, clusters is not None, threshold)
    return {**result, "notes": notes, "signature": line}


def _levels(coded: dict, language, languages) -> list[Level]:
    """The partitions that the result shows: all cases, the shared functionalities, and each group column that is there."""
    levels = [Level("overall", np.zeros(len(language), np.int64), [None])]
    if coded["language"] and coded["functionality"]:
        levels.append(Level("shared", shared(language, languages, *coded["functionality"]), [None]))
    return levels + [Level(name, *coded[name]) for name in ("functionality", "target", "protected_group") if coded[name]]


def _across(one: Slice) -> tuple | None:
    """Where a slice that spans languages stands in the result: (part,) or (part, name); None for those that it does not show."""
    if one.level not in ("overall", *NEEDS):
        return None
    return (one.level,) if one.group is None else (one.level, one.group)


def _within(one: Slice) -> tuple | None:
    """Where a slice of one language stands in the result, or None."""
    if one.language is None or one.level not in WITHIN:
        return None
    return WITHIN[one.level], one.language if one.group is None else f"{one.language}/{one.group}"


def check_options(invalid="wrong", allow_partial=False, ci="none", n_resamples=2, confidence=0.95, seed=0) -> None:
    """ValueError unless every option holds a value that it knows."""
    for name, value, known in (("invalid", invalid, INVALID_MODES), ("ci", ci, CI_MODES)):
        if value not in known:
            raise ValueError(f"{name}: expected one of {', '.join(known)}, got {str(value)[:40]!r}")
    if not isinstance(allow_partial, (bool, np.bool_)):
        raise ValueError(f"allow_partial: expected True or False, got {shown(allow_partial)}")
    for name, value, least in (("n_resamples", n_resamples, 100 if ci == "bootstrap" else 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise ValueError(f"{name}: expected a whole number of at least {least}, got {shown(value)}")
    if not isinstance(confidence, (float, np.floating)) or not 0.5 <= confidence < 1:
        raise ValueError(f"confidence: expected a share from 0.5 to below 1, got {shown(confidence)}")


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


def _fill(result, notes, paths, counts, rates, limits: dict[str, Limits], distinct, invalid) -> None:
    """Writes one dict per path into the result, and the reason for each null, and for each interval of its own kind, into the notes."""
    golds, rejected, missing, asked = tally(counts, invalid)
    templates, clusters = ([None] * len(paths) if values is None else values.tolist() for values in distinct)
    numbers = [_or_none(rates[name]) for name in RATES]
    intervals = {f"{rate}_ci": _or_none(one.limits.T) for rate, one in limits.items()}
    rows = zip(golds.sum(axis=-1).tolist(), templates, clusters, *numbers, rejected.tolist(), missing.tolist(), *intervals.values(), strict=True)
    names = (*FIELDS, *intervals)
    for place, (path, row) in enumerate(zip(paths, rows, strict=True)):
        if path is None:
            continue
        entry = dict(zip(names, row, strict=True))
        if len(path) == 1:
            result[path[0]] = entry
        else:
            result[path[0]][path[1]] = entry
        for name in names:
            rate = name.removesuffix("_ci")
            word = limits[rate].words[place] if name in intervals else ""
            if entry[rate] is None:
                notes[".".join((*path, name))] = reason(rate, golds[place].tolist(), int(asked[place]))
            elif word:
                notes[".".join((*path, name))] = word


def _or_none(values: np.ndarray) -> list:
    """Numbers as Python's, None in the place of NaN; a row (m, 2) of two as a list."""
    if values.ndim == 1:
        return [None if value != value else value for value in values.tolist()]
    return [None if pair[0] != pair[0] else pair for pair in values.tolist()]


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


def signature(data: str, subset: str, invalid: str, partial: bool, suite: str, design: Design, clustered: bool, threshold=None) -> str:
    """One line that says what a score is a score of, in sacreBLEU's manner (Post 2018). It shows the start of the fingerprint."""
    method = f"{'cluster-' * clustered}bootstrap-{design.n_resamples}" if design.mode == "bootstrap" else design.mode
    fields = [suite, f"v:{VERSION}", f"data:{data[:8]}", f"subset:{subset}", f"invalid:{invalid}", f"ci:{method}"]
    if any("|" in field for field in fields):
        raise ValueError("data, subset and suite may not hold '|', which separates the signature's fields")
    if design.mode == "bootstrap":
        fields.append(f"seed:{design.seed}")
    if design.mode != "none" and design.confidence != 0.95:
        fields.append(f"confidence:{design.confidence:g}")
    if threshold is not None:
        fields.append(f"threshold:{threshold:g}")
    return "|".join(fields + ["partial:yes"] * partial)


def flatten(result: dict) -> dict[str, float]:
    """Every number of a result by its path, {"language.malay.macro_f1": 0.61, ...}; nulls, notes and the signature have none."""
    flat = {}

    def walk(path, value):
        if isinstance(value, dict):
            for key, inner in value.items():
                walk((*path, key), inner)
        elif isinstance(value, list) and path[-1].endswith("ci"):
            walk(path, dict(zip(("low", "high"), value, strict=True)))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            flat[".".join(path)] = value

    walk((), {key: value for key, value in result.items() if key != "notes"})
    return flat
