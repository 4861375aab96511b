"""Where the marks of a chart stand. The templates draw them as SVG."""

from typing import NamedTuple

MARKED = (0.1, 0.25, 0.5, 0.75, 0.9)  # thresholds that a curve names
TABLED = tuple(step / 10 for step in range(11))  # thresholds that stand in the table beside it
APART = 34, 13  # units between two named points, to the side or upwards, so that the names do not lie upon each other


class Frame(NamedTuple):
    """A square that runs from 0 to 1 both ways, in units of the SVG's viewBox."""

    left: float = 48
    top: float = 12
    size: float = 280

    def x(self, share: float) -> float:
        return round(self.left + share * self.size, 1)

    def y(self, share: float) -> float:
        return round(self.top + (1 - share) * self.size, 1)


FRAME = Frame()


class Mark(NamedTuple):
    """A named point; its name stands beside it, inside the frame."""

    x: float
    y: float
    name: str

    @property
    def at(self) -> tuple[float, float, str]:
        """Where the name stands, and which end of it."""
        right, top = self.x > FRAME.left + FRAME.size - APART[0], self.y < FRAME.top + APART[1]
        return self.x + (-7 if right else 7), self.y + (15 if top else -6), "end" if right else "start"


class Curve(NamedTuple):
    """Miss rate (upwards) against false alarms (to the right) over all thresholds."""

    name: str
    path: str  # the points of a polyline
    marks: list[Mark]  # the thresholds that are named
    answers: tuple[float, float] | None  # (x, y) of the answers as they were given
    rows: list[dict]  # the points at TABLED
    n: int
    note: str


def curve(result: dict, name: str = "") -> Curve | None:
    """The curve of a result's thresholds; None where it has none."""
    if not (found := result.get("thresholds")):
        return None
    points = found["points"]
    places = [(FRAME.x(one["false_alarm_rate"]), FRAME.y(one["miss_rate"])) for one in points]
    overall = result["overall"]
    answers = None
    if None not in (overall["accuracy_hateful"], overall["accuracy_non_hateful"]):
        answers = FRAME.x(1 - overall["accuracy_non_hateful"]), FRAME.y(1 - overall["accuracy_hateful"])
    path = " ".join(f"{x},{y}" for x, y in dict.fromkeys(places))
    return Curve(name, path, marks(points, places), answers, [one for one in points if near(one, TABLED)], found["n"], found["note"])


def marks(points: list[dict], places: list[tuple[float, float]]) -> list[Mark]:
    """The named points, without those that stand too near to an earlier one; the middle comes first."""
    named = [(place, one["threshold"]) for one, place in zip(points, places, strict=True) if near(one, MARKED)]
    kept: list[Mark] = []
    for (x, y), threshold in sorted(named, key=lambda one: abs(one[1] - 0.5)):
        if all(abs(x - other.x) >= APART[0] or abs(y - other.y) >= APART[1] for other in kept):
            kept.append(Mark(x, y, f"{threshold:g}".lstrip("0")))
    return kept


def near(point: dict, thresholds: tuple[float, ...]) -> bool:
    return any(abs(point["threshold"] - one) < 1e-9 for one in thresholds)


def along(value: float, least: float = 0.0, most: float = 1.0, width: float = 140.0, margin: float = 5.0) -> float:
    """How far from the left a value stands on a scale that is `width` units wide; what lies outside stands at its end."""
    share = (min(max(value, least), most) - least) / (most - least)
    return round(margin + share * (width - 2 * margin), 1)
