"""Two systems on the same cases: what is better, what is worse, and what cannot be told. Several systems: their order, and who is tied.

paired.py has the differences, their intervals and p-values, significance.py what many p-values are worth together; here they become a result.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from .counting import Layout, Level, count, lay_out, shared, tally, total
from .intervals import Design
from .paired import Differences, Ground, differences
from .reading import MISSING, REJECTED, check_lengths, code_column, rows_text
from .resampling import make_units
from .scoring import COLUMNS, _check_codes, check_options, reason, score, signature
from .significance import benjamini_hochberg, holm, mcnemar

WHY = "the system's answers leave it without a value, or without spread: they are constant, all right, all wrong or none"
FAMILIES = ("language", "functionality", "target", "protected_group")  # parts of the result whose members are tested together


def compare(
    answers_a,
    answers_b,
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
    n_resamples=2000,
    confidence=0.95,
    seed=12345,
    names=("A", "B"),
    data="none",
    subset="given",
    suite="sghatecheck",
) -> dict:
    """Codes of two systems' answers and of gold, (n,) each, and optional columns of n names -> JSON-ready dicts.

    `overall`, `shared`, and by name `language`, `functionality`, `target`, `protected_group`, as far as their columns are given: {n, n_clusters,
    n_left_out, then for each rate {a, b, difference (b - a), difference_ci, p}, and verdict}. Members of a family have p_holm and q_bh of their
    accuracy, overall and the languages mcnemar {only_a, only_b, p} over their cases, those of all languages pooled. What else spans languages is the
    plain mean of their values. `verdict` says whether B is "better" or "worse" in accuracy at the level 1 - confidence, by p_holm in a family and
    by p elsewhere, or "undecided". `notes` has the reason for each null. Without cluster and template each case is a cluster of its own.

    Both are measured on the same cases. One that either has no answer for is refused, or with allow_partial left out for both and counted.
    invalid="wrong" counts a rejected output as wrong; with "drop" a case that either rejected is left out for both; "error" refuses it.
    Raises ValueError for what `score` raises it for, with the system's name, of `names`.
    """
    check_options(invalid, allow_partial, "bootstrap", n_resamples, confidence, seed)
    answers, gold, partial = _same_cases(dict(zip(names, (answers_a, answers_b), strict=True)), gold, invalid, allow_partial)
    given = (language, functionality, target, protected_group, cluster, template)
    coded = {name: code_column(values, name, len(gold)) for name, values in zip(COLUMNS, given, strict=True)}
    ground = _ground(gold, coded, FAMILIES, (n_resamples, confidence, seed), invalid)
    line = signature(data, subset, invalid, partial, f"{suite}-compare", ground.design, _clustered(coded))

    layout, counts = ground.layout, count(ground.layout, answers[0], gold)  # what is scored and left out is the same for both
    inner, outer, n_units = differences(ground, answers)
    result, notes = {"overall": {}}, {}
    sums = [total(values, layout.parent, len(layout.across)) for values in (counts, n_units)]
    result |= {part: {} for part in ("shared", *FAMILIES) if part in {one.level for one in layout.across} or (part == "language" and coded[part])}
    _fill(result, notes, [(one.level, one.group) for one in layout.across], *sums, outer, invalid)
    languages = [("language", one.language) if one.level == "overall" and one.language else None for one in layout.within]
    _fill(result, notes, languages, counts, n_units, inner, invalid)
    _count_discordant(result, layout, answers == gold)
    _judge(result, notes, level_of(confidence))
    return {**result, "notes": notes, "signature": line}


def rank(systems: dict, gold, *, invalid="wrong", allow_partial=False, n_resamples=2000, confidence=0.95, seed=12345, **more) -> dict:
    """{name: answers (n,)} of two systems or more -> their order by overall macro F1, best first; by accuracy where macro F1 is null.

    {by, n, n_left_out, systems, notes, signature}. Each of `systems` is {name, value, value_ci, accuracy, macro_f1, coverage, tied_with_next, next};
    `next` is the system below: {name, difference (this value less its), difference_ci, p, p_holm}, Holm's over the pairs of neighbours, and None
    for the last. Neighbours are such by the same data, so take the p of a pair that nearly ties as a description. All are measured on the cases
    that each of them answers; options, columns, data, subset and suite (`more`) are those of `compare`.
    """
    if len(systems) < 2:
        raise ValueError(f"a ranking takes two systems or more, got {len(systems)}")
    check_options(invalid, allow_partial, "bootstrap", n_resamples, confidence, seed)
    answers, gold, partial = _same_cases(systems, gold, invalid, allow_partial)
    line = {name: more.pop(name, default) for name, default in (("data", "none"), ("subset", "given"), ("suite", "sghatecheck"))}
    columns = {**dict.fromkeys(COLUMNS), **more, "target": None, "protected_group": None}  # of which only the whole is shown
    options = {"n_resamples": n_resamples, "confidence": confidence, "seed": seed}
    values = [score(one, gold, **columns, **options, invalid=invalid, allow_partial=True)["overall"] for one in answers]
    by = "accuracy" if any(one["macro_f1"] is None for one in values) else "macro_f1"
    order = sorted(range(len(values)), key=lambda place: -(values[place][by] or 0))

    coded = {name: code_column(given, name, len(gold)) for name, given in columns.items()}
    ground = _ground(gold, coded, (), (n_resamples, confidence, seed), invalid)
    pairs = [differences(ground, answers[[lower, upper]])[1][by] for upper, lower in pairwise(order)]
    entries = [_ranked(name, values[place], by) for place in order for name in [list(systems)[place]]]
    empty = {f"systems.{place}.{field}": WHY for place, one in enumerate(entries) for field, value in one.items() if value is None}
    notes = empty | _separate(entries, pairs, level_of(confidence))
    head = {"by": by, "n": values[0]["n"], "n_left_out": values[0]["n_missing"], "systems": entries, "notes": notes}
    line["suite"] += "-rank"
    return head | {"signature": signature(**line, invalid=invalid, partial=partial, design=ground.design, clustered=_clustered(coded))}


def level_of(confidence: float) -> float:
    """The level of the tests: .05 for .95, without the digits that subtraction leaves."""
    return round(1 - confidence, 12)


def _same_cases(systems: dict, gold, invalid: str, allow_partial: bool) -> tuple[np.ndarray, np.ndarray, bool]:
    """(answers (systems, n), gold (n,), whether one was missing); a case that is left out for one system is MISSING for all."""
    codes = {f"answers of {name}": _check_codes(answers, (0, 1, REJECTED, MISSING), f"answers of {name}") for name, answers in systems.items()}
    gold = _check_codes(gold, (0, 1), "references")
    check_lengths({**codes, "references": gold})
    answers = np.stack(list(codes.values()))
    missing, rejected = answers == MISSING, answers == REJECTED
    refused = [(missing, "cases have no answer", "allow_partial=True leaves them out for every system")] if not allow_partial else []
    if invalid == "error":
        refused.append((rejected, "outputs name neither label", "invalid='error' refuses them"))
    for bad, what, why in refused:
        for name, rows in zip(codes, bad, strict=True):
            if rows.any():
                raise ValueError(f"{name}: {rows.sum()} of {len(gold)} {what}: {rows_text(np.flatnonzero(rows))}; {why}")
    out = (missing | rejected) if invalid == "drop" else missing
    return np.where(out.any(axis=0), np.int8(MISSING), answers), gold, bool(missing.any())


def _ground(gold: np.ndarray, coded: dict, families: tuple, sizes: tuple, invalid: str) -> Ground:
    """The slices of the families, and clusters stratified by language and functionality. sizes = (n_resamples, confidence, seed)."""
    strata = [coded[name] for name in ("language", "functionality") if coded[name]]
    units = make_units(len(gold), strata, coded["cluster"] or coded["template"])
    language, languages = coded["language"] or (np.zeros(len(gold), np.int64), [None])
    levels = [Level("overall", np.zeros(len(gold), np.int64), [None])]
    if families and coded["language"] and coded["functionality"]:
        levels.append(Level("shared", shared(language, languages, *coded["functionality"]), [None]))
    levels += [Level(name, *coded[name]) for name in families if name != "language" and coded[name]]
    return Ground(gold, lay_out(levels, language, languages), Design("bootstrap", *sizes, units), invalid)


def _clustered(coded: dict) -> bool:
    return bool(coded["cluster"] or coded["template"])


def _fill(result: dict, notes: dict, paths: list, counts: np.ndarray, n_units: np.ndarray, found: dict[str, Differences], invalid: str) -> None:
    """Writes an entry for each path (part, name), None for those not shown, and the reason for each null into the notes."""
    golds, _, left_out, asked = (values.tolist() for values in tally(counts, invalid))
    for place, path in enumerate(paths):
        if path is None:
            continue
        entry = {"n": sum(golds[place]), "n_clusters": int(n_units[place]), "n_left_out": left_out[place]}
        for rate, one in found.items():
            entry[rate] = _numbers(one, place)
            if entry[rate]["difference"] is None:
                notes[_path(*path, rate)] = reason(rate, golds[place], asked[place])
            elif one.limits.words[place]:
                notes[_path(*path, rate, "difference_ci")] = one.limits.words[place]
        if path[1] is None:
            result[path[0]] = entry
        else:
            result[path[0]][path[1]] = entry


def _path(*parts: str | None) -> str:
    return ".".join(part for part in parts if part is not None)


def _numbers(one: Differences, place: int) -> dict:
    """A slice's numbers of one rate; None where there is none."""
    (a, b), limits = one.values[:, place].tolist(), one.limits.limits[:, place].tolist()
    if a != a:
        return {"a": None, "b": None, "difference": None, "difference_ci": None, "p": None}
    return {"a": a, "b": b, "difference": b - a, "difference_ci": None if limits[0] != limits[0] else limits, "p": float(one.p[place])}


def _count_discordant(result: dict, layout: Layout, right: np.ndarray) -> None:
    """McNemar's test over the cases of each language, and over all of them. right (2, n): False for both where a case is left out."""
    alone = right & ~right[::-1]
    whole = [(result["overall"], slice(None))]
    for entry, cases in whole + [(entry, layout.member[0] == place) for place, entry in enumerate(result.get("language", {}).values())]:
        only_a, only_b = alone[:, cases].sum(axis=1).tolist()
        entry["mcnemar"] = {"only_a": only_a, "only_b": only_b, "p": mcnemar(only_a, only_b)}


def _judge(result: dict, notes: dict, level: float) -> None:
    """Adjusts the accuracy's p within each family, and says of each entry what B is."""
    for part in ("overall", "shared"):
        if part in result:
            result[part]["verdict"] = _verdict(result[part], result[part]["accuracy"]["p"], level)
    for part in FAMILIES:
        members = result.get(part, {})
        p = np.array([entry["accuracy"]["p"] for entry in members.values()], float)  # None becomes NaN
        for name, p_holm, q_bh in zip(members, holm(p).tolist(), benjamini_hochberg(p).tolist(), strict=True):
            entry = members[name]
            if p_holm != p_holm:
                notes |= {_path(part, name, field): "no p-value" for field in ("p_holm", "q_bh")}
            elif (least := 2.0 ** (1 - entry["n_clusters"])) * np.count_nonzero(~np.isnan(p)) >= level:
                notes[_path(part, name, "p_holm")] = (
                    f"{entry['n_clusters']} clusters: p cannot be below {least:.2g}, too much for a verdict in a family so large"
                )
            adjusted = {"p_holm": None, "q_bh": None} if p_holm != p_holm else {"p_holm": p_holm, "q_bh": q_bh}
            members[name] = entry | adjusted | {"verdict": _verdict(entry, adjusted["p_holm"], level)}


def _verdict(entry: dict, p: float | None, level: float) -> str:
    if p is None or p >= level:
        return "undecided"
    return "better" if entry["accuracy"]["difference"] > 0 else "worse"


def _ranked(name: str, values: dict, by: str) -> dict:
    return {
        "name": name,
        "value": values[by],
        "value_ci": values[f"{by}_ci"],
        **{rate: values[rate] for rate in ("accuracy", "macro_f1", "coverage")},
    }


def _separate(entries: list[dict], pairs: list[Differences], level: float) -> dict[str, str]:
    """Writes what lies between each system and the next, and returns the reasons for nulls."""
    notes = {}
    adjusted = holm(np.array([pair.p[0] for pair in pairs])).tolist()
    for place, (pair, p_holm) in enumerate(zip(pairs, adjusted, strict=True)):
        numbers = _numbers(pair, 0)
        gap = {name: numbers[name] for name in ("difference", "difference_ci", "p")} | {"p_holm": None if p_holm != p_holm else p_holm}
        entries[place] |= {"tied_with_next": not p_holm < level, "next": {"name": entries[place + 1]["name"], **gap}}
        if gap["difference"] is None:
            notes[f"systems.{place}.next"] = "no case left"
        elif word := pair.limits.words[0]:
            notes[f"systems.{place}.next.difference_ci"] = word
    entries[-1] |= {"tied_with_next": None, "next": None}
    return notes
