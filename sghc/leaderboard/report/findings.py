"""What a page says first: in which language a model is weakest, at what, and for whom, and whether that is more than noise."""

from typing import NamedTuple

from sghc.leaderboard.report.values import ERRORS, Gap, Number, below, gap, number, title_of

SMALL = 0.05  # p


class Lowest(NamedTuple):
    """The lowest of several values, and that of all together."""

    name: str
    rate: str
    number: Number
    whole: Number
    beyond_noise: bool  # its interval lies wholly below the whole


class Whom(NamedTuple):
    """The largest gap in one error between targets, and what Cochran's Q says of their having one rate."""

    error: str
    gap: Gap
    most: Number | None
    least: Number | None
    p: float | None

    @property
    def beyond_noise(self) -> bool:
        return self.p is not None and self.p < SMALL


def language(result: dict) -> Lowest | None:
    """The language with the lowest macro F1; by accuracy where macro F1 is null. None for one language."""
    if len(result.get("language", {})) < 2:
        return None
    rate = "accuracy" if any(one["macro_f1"] is None for one in result["language"].values()) else "macro_f1"
    found = lowest(result, "language", rate)
    return found and found._replace(name=title_of(found.name))


def functionality(result: dict) -> Lowest | None:
    return lowest(result, "functionality", "accuracy")


def lowest(result: dict, part: str, rate: str) -> Lowest | None:
    values = {name: one[rate] for name, one in result.get(part, {}).items() if one[rate] is not None}
    if not values:
        return None
    name = min(values, key=values.__getitem__)
    own, whole = number(result, part, name, rate), number(result, "overall", rate)
    return Lowest(name, rate.replace("_f1", " F1"), own, whole, below(own, whole))


def whom(result: dict, entry: str = "overall") -> list[Whom]:
    """The gaps in misses and false alarms, as far as there are any, in an entry of `bias`."""
    if not (result.get("bias") or {}).get(entry):
        return []
    found = []
    for error, gold in zip(ERRORS, ("hateful", "non_hateful"), strict=True):
        one, test = gap(result, entry, error), result["bias"][entry]["cochran_q"][gold]
        if one.most is not None:
            ends = [number(result, "bias", entry, "targets", name, f"{error}_rate") for name in (one.most, one.least)]
            found.append(Whom(error, one, *ends, test and test["p"]))
    return found
