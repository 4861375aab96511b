"""Same sentence, another group, another answer? How often the cases of one template are answered alike.

A template with at least three scored cases is *consistent* if all of them got one answer, right or wrong; a rejected output is an answer of its own
kind. Its flip rate is the chance that two different cases of it got different answers. A template whose cases have both gold labels is two here,
one a label: different answers are a flip only where one and the same is right.

The share of consistent templates is a proportion of few: its interval is Wilson's (1927), over as many templates as would know the share as well as
these, whose clusters and strata are those of every other interval (Korn and Graubard 1998; Dean and Pagano 2015). It needs no replicates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .intervals import SAME, Design, by_clusters
from .matching import mean
from .resampling import effective, of_mean, wilson

LEAST = 3  # scored cases of a template: two agree by chance too easily
SHOWN = 10  # templates listed
TOO_FEW = f"no template has {LEAST} scored cases"


@dataclass(frozen=True)
class Templates:
    """The G templates with at least LEAST scored cases, each within one language; arrays (G,).

    language, template, functionality   codes; a functionality of -1 is none, or more than one
    unit                                the unit of resampling that its first case is in
    n, hateful                          scored cases, and those answered hateful
    consistent, flip_rate               0 or 1, and a share
    """

    language: np.ndarray
    template: np.ndarray
    functionality: np.ndarray
    unit: np.ndarray
    n: np.ndarray
    hateful: np.ndarray
    consistent: np.ndarray
    flip_rate: np.ndarray


def consistency(answers, gold, scored, coded: dict, language, languages: list, design: Design, notes: dict) -> dict | None:
    """{language: entry, "overall": entry} (README.md has the fields), None where no template has enough cases. Without languages "overall" alone.

    "overall" is the plain mean of the languages that have an entry, and each functionality there of those that have it; n_templates is a sum, and
    most_inconsistent is of all languages. Without a template column the result is None.

    Args:
        answers, gold, scored, language: codes, and which cases count, (n,) each.
        coded: "template" and "functionality" as reading.code_column returns them.
        notes: receives how an interval was made, and why an entry is null.
    """
    if coded["template"] is None:
        return None
    found = group(answers, gold, scored, coded, language, design)
    result, entries = {}, []
    for code, name in enumerate(languages):
        path, of = f"consistency.{name or 'overall'}", np.flatnonzero(found.language == code)
        result[name or "overall"] = _entry(path, found, of, coded, design, notes) if len(of) else None
        if len(of):
            entries.append(result[name or "overall"])
        else:
            notes[path] = TOO_FEW
    if languages == [None]:
        return result
    if not entries:
        notes["consistency.overall"] = TOO_FEW
        return result | {"overall": None}
    if len(entries) < len(languages):
        notes["consistency.overall"] = f"the mean of {len(entries)} of {len(languages)} languages"
    return result | {
        "overall": _overall(entries, notes) | {"most_inconsistent": _most_inconsistent(found, np.arange(len(found.n)), coded, languages)}
    }


def group(answers, gold, scored, coded: dict, language, design: Design) -> Templates:
    """The cases, (n,) each, by template."""
    template, names = coded["template"]
    rows = np.flatnonzero(scored)
    functionality = coded["functionality"][0][rows] if coded["functionality"] else np.full(len(rows), -1)
    keys, first, place = np.unique((language[rows] * len(names) + template[rows]) * 2 + gold[rows], return_index=True, return_inverse=True)
    kinds = np.bincount(place * 3 + answers[rows] + 1, minlength=len(keys) * 3).reshape(-1, 3)  # rejected, non-hateful, hateful
    own = functionality[first]
    own[place[functionality != own[place]]] = -1
    n = kinds.sum(axis=1)
    keep = n >= LEAST
    keys, kinds, n = keys[keep], kinds[keep], n[keep]
    return Templates(
        language=keys // (2 * len(names)),
        template=keys // 2 % len(names),
        functionality=own[keep],
        unit=design.units.of_case[rows][first][keep],
        n=n,
        hateful=kinds[:, 2],
        consistent=(kinds.max(axis=1) == n).astype(float),
        flip_rate=1 - (kinds * (kinds - 1)).sum(axis=1) / (n * (n - 1)),
    )


def share_limits(found: Templates, of: np.ndarray, design: Design) -> tuple[np.ndarray, str]:
    """((2,) limits, a word on them) of the share of consistent templates among those of one language, given by their places `of`.

    The variance is that of a ratio over stratified clusters, linearised: what the bootstrap of resampling.py comes to with enough replicates. A
    cluster without such a template is in its stratum all the same.
    """
    same, unit, stratum = found.consistent[of], found.unit[of], design.units.stratum
    n_clusters = len(np.unique(unit))
    if design.mode == "wilson":
        return _of_clusters(same.mean(), n_clusters, design.confidence, "ci='wilson'")
    sizes = np.bincount(stratum)
    part = (np.bincount(unit, same, len(stratum)) - same.mean() * np.bincount(unit, minlength=len(stratum))) / len(of)
    spread = (part - (np.bincount(stratum, part) / sizes)[stratum]) ** 2
    variance = (spread * (sizes / np.maximum(sizes - 1, 1))[stratum]).sum()
    if variance < SAME:
        return _of_clusters(same.mean(), n_clusters, design.confidence, "clusters of a stratum do not differ")
    df = n_clusters - len(np.unique(stratum[unit]))
    size = float(effective(same.mean(), variance, len(of), df, design.confidence))
    return wilson(same.mean(), size, design.confidence), f"Wilson's interval over an effective {size:.1f} templates in {n_clusters} clusters"


def _of_clusters(share, n_clusters: int, confidence: float, why: str) -> tuple[np.ndarray, str]:
    limits, words = by_clusters(np.array([share]), np.array([n_clusters]), confidence, why)
    return limits[:, 0], words[0]


def _entry(path: str, found: Templates, of: np.ndarray, coded: dict, design: Design, notes: dict) -> dict:
    """The entry of one language, whose templates have the places `of`."""
    entry = {"n_templates": len(of), "share_consistent": mean(found.consistent[of])}
    if design.mode != "none":
        limits, notes[f"{path}.share_consistent_ci"] = share_limits(found, of, design)
        entry["share_consistent_ci"] = limits.tolist()
    entry["flip_rate"] = mean(found.flip_rate[of])
    if coded["functionality"]:
        entry["functionality"] = _by_functionality(found, of, coded["functionality"][1])
    return entry | {"most_inconsistent": _most_inconsistent(found, of, coded, None)}


def _by_functionality(found: Templates, of: np.ndarray, names: list) -> dict:
    """{functionality: numbers} of the templates that are of exactly one."""
    of = of[found.functionality[of] >= 0]
    of = of[np.argsort(found.flip_rate[of])]  # added by size: the order of the rows changes no digit
    code = found.functionality[of]
    n = np.bincount(code, minlength=len(names))
    sums = (np.bincount(code, values[of], len(names)) for values in (found.consistent, found.flip_rate))
    rows = zip(names, n.tolist(), *(values.tolist() for values in sums), strict=True)
    return {name: {"n_templates": n, "share_consistent": same / n, "flip_rate": flips / n} for name, n, same, flips in rows if n}


def _most_inconsistent(found: Templates, of: np.ndarray, coded: dict, languages: list | None) -> list[dict]:
    """The templates with the highest flip rates, then the most cases, then the first ids; with `languages` each says which is its own."""
    names, functionality = coded["template"][1], coded["functionality"]
    of = of[found.flip_rate[of] > 0]
    if len(of) > SHOWN:  # sorting the few that may be listed is sorting by names, which is slow
        of = of[found.flip_rate[of] >= np.partition(found.flip_rate[of], -SHOWN)[-SHOWN] - 1e-12]

    def rank(place: int) -> tuple:
        language = languages[found.language[place]] if languages else ""
        return -round(found.flip_rate[place], 12), -found.n[place], str(names[found.template[place]]), language

    order = sorted(of.tolist(), key=rank)
    rows = []
    for place in order[:SHOWN]:
        name, own = names[found.template[place]], found.functionality[place]
        row = {"template": name if isinstance(name, (str, int)) else str(name)}
        if languages:
            row["language"] = languages[found.language[place]]
        if functionality and own >= 0:
            row["functionality"] = functionality[1][own]
        n = int(found.n[place])
        rows.append(row | {"n": n, "hateful": int(found.hateful[place]) / n, "flip_rate": float(found.flip_rate[place])})
    return rows


def _mean(entries: list[dict]) -> dict:
    """The plain mean of entries, and their templates in all."""
    shares = {name: mean([entry[name] for entry in entries]) for name in ("share_consistent", "flip_rate")}
    return {"n_templates": sum(entry["n_templates"] for entry in entries)} | shares


def _overall(entries: list[dict], notes: dict) -> dict:
    """The mean of the languages' entries, with intervals where they have such."""
    overall = _mean(entries)
    if "share_consistent_ci" in entries[0]:
        rows = sorted((entry["share_consistent"], *entry["share_consistent_ci"]) for entry in entries)
        overall["share_consistent_ci"] = of_mean(np.array(rows)[:, 0], np.array(rows)[:, 1:].T).tolist()
        notes["consistency.overall.share_consistent_ci"] = "combined from the intervals of the languages"
    if "functionality" in entries[0]:
        names = dict.fromkeys(name for entry in entries for name in entry["functionality"])
        overall["functionality"] = {
            name: _mean([entry["functionality"][name] for entry in entries if name in entry["functionality"]]) for name in names
        }
    return overall
