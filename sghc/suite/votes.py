"""From annotators' votes to what a case is worth: majority, status, agreement (the paper's Section 2.5 and Appendix B)."""

from collections import Counter
from collections.abc import Iterable, Sequence

from sghc.suite.catalogue import VOTES

STATUSES = ("retained", "mismatch", "undetermined", "empty", "unannotated")
SPELLINGS = {**{vote: vote for vote in VOTES}, "nonhateful": "non-hateful", "skipped": None, "": None}


def normalise(vote: str) -> str | None:
    """One raw vote as `hateful`, `non-hateful` or `nonsensical`; None where the annotator gave none. KeyError for anything else.

    Repairs the release's `nonhateful` (114 Singlish votes, 231 Mandarin) and its `skipped` (1) and blank votes (Singlish 1, Malay 1, Tamil 1,
    Mandarin 14), which are missing.
    """
    return SPELLINGS[vote]


def majority(votes: Sequence[str | None]) -> str | None:
    """The label that at least two annotators gave, or None. Two annotators must agree; of three, two suffice."""
    counts = Counter(vote for vote in votes if vote)
    label, count = counts.most_common(1)[0] if counts else (None, 0)
    return label if count >= 2 else None


def status(text: str, gold: str | None, decided: str | None) -> str:
    """What becomes of an annotated case: `empty` before all else, `undetermined` without a majority, `retained` where it is the gold label."""
    if not text:
        return "empty"
    if decided is None:
        return "undetermined"
    return "retained" if decided == gold else "mismatch"


def compilation(cases: Iterable[dict]) -> dict[str, int]:
    """The columns of the paper's Table 7 for annotated cases, each a dict with `votes`, `majority` and `label_name`.

    As in the paper, the empty Malay case counts by its votes. `two_of_three` is what is neither unanimous nor undetermined.
    """
    counts = Counter(dict.fromkeys(("unanimous", "two_of_three", "undetermined", "mismatch", "retained", "excluded"), 0))
    for one in cases:
        votes = one["votes"]
        if one["majority"] is None:
            counts.update(("undetermined", "excluded"))
            continue
        counts["unanimous" if len(set(votes)) == 1 else "two_of_three"] += 1
        counts.update(("retained",) if one["majority"] == one["label_name"] else ("mismatch", "excluded"))
    return dict(counts)


def alpha(votes: Sequence[Sequence[str | None]], level: str = "nominal") -> float | None:
    """Krippendorff's alpha over a list of cases' votes (each in annotator order); None where all votes are the same, and it has no value.

    Args:
        votes: one sequence a case, all of one length.
        level: `nominal`, which suits labels without an order; the paper's Table 8 used `interval`, with non-hateful 0, hateful 1, nonsensical 2.

    Source: Krippendorff (2018), computed by the `krippendorff` package.
    """
    import krippendorff
    import numpy as np

    if len({vote for row in votes for vote in row if vote}) < 2:
        return None
    codes = {None: np.nan, **{vote: float(place) for place, vote in enumerate(VOTES)}}
    ratings = np.array([[codes[vote] for vote in row] for row in votes]).T
    return float(krippendorff.alpha(reliability_data=ratings, level_of_measurement=level, value_domain=[0.0, 1.0, 2.0]))
