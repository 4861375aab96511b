"""The report of a comparison of two predictions files (`sghatecheck compare A B --report`)."""

from typing import NamedTuple

from sghatecheck_metric.comparing import compare
from sghatecheck_metric.reading import MISSING, REJECTED
from sghc.leaderboard.report import cases, charts, findings
from sghc.leaderboard.report.heatmap import difference_map
from sghc.leaderboard.report.page import render
from sghc.leaderboard.report.reference import models, reference
from sghc.leaderboard.report.single import Targets, target_tables
from sghc.leaderboard.report.values import Number, difference, remarks, side, title_of
from sghc.leaderboard.scored import Held, columns_of, score_held
from sghc.suite.catalogue import FUNCTIONALITIES, Functionality

RATES = {"accuracy": "Accuracy", "accuracy_hateful": "Hate found", "accuracy_non_hateful": "Harmless cases left alone", "macro_f1": "Macro F1"}
FAMILIES = ("functionality", "target")
VERDICTS = ("better", "worse", "undecided")  # in the order of the tables
CHANGED = 10  # functionalities whose cases are listed


class Difference(NamedTuple):
    """A row: A, B and B - A. `p` is Holm's in the accuracies of a family; there alone, and overall, is a verdict."""

    name: str
    known: Functionality | None
    a: Number
    b: Number
    number: Number
    p: float | None
    verdict: str | None


def compare_page(held: list[Held], result: dict, invalid: str = "wrong") -> bytes:
    """The page of a comparison, HTML in UTF-8.

    Args:
        held: the two systems' answers, A's and B's.
        result: what compare_held made of them.
        invalid: what a rejected output counted as.
    """
    systems = on_same_cases(held, invalid)
    scores = [score_held(one, invalid=invalid, allow_partial=True) for one in systems]
    differing = sorted(result.get("functionality", {}), key=lambda name: -abs(result["functionality"][name]["accuracy"]["difference"] or 0))
    return render(
        "compare.html.j2",
        a=result["a"],
        b=result["b"],
        result=result,
        caution=held[0].about.caution,
        overview={title: overview(result, rate) for rate, title in RATES.items()},
        families={part: family(result, part) for part in FAMILIES if result.get(part)},
        counts={part: verdicts(result, part) for part in ("language", *FAMILIES) if result.get(part)},
        heat=difference_map(result, by_cell(systems, invalid)),
        scores=scores,
        whom=[findings.whom(one) for one in scores],
        targets=target_pairs(scores),
        curves=[one for name, score in zip("AB", scores, strict=True) if (one := charts.curve(score, name))],
        models=models(),
        reference=reference(*scores),
        official=held[0].about.name == "official",
        changes=cases.changes(*systems, differing[:CHANGED], invalid),
        rejected=[sum(answer == REJECTED for answer in one.answers) for one in held],
        remarks=remarks(result),
    )


def on_same_cases(held: list[Held], invalid: str) -> list[Held]:
    """Both with the cases left out that the comparison leaves out: what one has no answer for, or with "drop" an output that was rejected."""
    left_out = (MISSING, REJECTED) if invalid == "drop" else (MISSING,)
    out = [any(answer in left_out for answer in pair) for pair in zip(*(one.answers for one in held), strict=True)]
    return [one._replace(answers=[MISSING if gone else answer for answer, gone in zip(one.answers, out, strict=True)]) for one in held]


def by_cell(systems: list[Held], invalid: str) -> dict:
    """The comparison once more, with each functionality of each language on its own, for the intervals of the map: same clusters, same strata."""
    columns = columns_of(systems[0])
    names = zip(columns["language"], columns["functionality"], strict=True)
    columns |= {"functionality": [name and f"{language}/{name}" for language, name in names], "target": None, "protected_group": None}
    return compare(*(one.answers for one in systems), systems[0].cases["label"], invalid=invalid, allow_partial=True, **columns)


def overview(result: dict, rate: str) -> list[Difference]:
    """Overall and the languages in one rate."""
    rows = [row(result, "overall", rate, ("overall",), rate == "accuracy")]
    return rows + [row(result, title_of(name), rate, ("language", name), rate == "accuracy") for name in result.get("language", {})]


def family(result: dict, part: str) -> list[Difference]:
    """The accuracies of the functionalities or targets: what B is better at, what it is worse at, what cannot be told; largest differences first."""
    rows = [row(result, name, "accuracy", (part, name), True) for name in result[part]]
    return sorted(rows, key=lambda one: (VERDICTS.index(one.verdict), -abs(one.number.value or 0)))


def row(result: dict, name: str, rate: str, place: tuple, judged: bool) -> Difference:
    entry = result
    for part in place:
        entry = entry[part]
    path = (*place, rate)
    sides = side(result, "a", *path), side(result, "b", *path)
    p = entry.get("p_holm", entry[rate]["p"]) if judged else entry[rate]["p"]
    return Difference(name, FUNCTIONALITIES.get(name), *sides, difference(result, *path), p, entry["verdict"] if judged else None)


def verdicts(result: dict, part: str) -> dict[str, int]:
    return {verdict: sum(one["verdict"] == verdict for one in result[part].values()) for verdict in VERDICTS}


def target_pairs(scores: list[dict]) -> list[tuple[Targets, Targets]]:
    """A's and B's error rates of the targets, in the entries that both have; B's rows in the order of A's."""
    a, b = ({one.entry: one for one in target_tables(score)} for score in scores)
    pairs = []
    for entry in a:
        if entry in b:
            rows = {one.name: one for one in b[entry].rows}
            pairs.append((a[entry], b[entry]._replace(rows=[rows[one.name] for one in a[entry].rows])))
    return pairs
