"""Tables 3 to 6 and the list of Appendix D.2: what the released predictions are worth, by the paper's rules.

The paper's frame: the answers that were not rejected, of the cases whose released selection is a label, against the gold label. It keeps the empty
Malay case, and leaves out 42 cases of `test` on which the release says `undecided` or `no_match` although a majority agrees with the gold label.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sghc.paper.cells import Cell, Confusion, Lacks, Unknown, accuracy, macro_f1, mean
from sghc.paper.predictions import Experiments, Id, Run
from sghc.suite.catalogue import FUNCTIONALITIES, LABELS, LANGUAGES, PROTECTED_GROUPS


class Model(NamedTuple):
    short: str  # in Table 4
    title: str  # in Table 5 and D.2


MODELS = {
    "llama": Model("LL", "LLaMA2"),
    "mbert": Model("MB", "mBert"),
    "mistral": Model("MI", "Mistral"),
    "sealion": Model("SO", "SEA-LION"),
    "seallm": Model("SM", "SeaLLM"),
}
TRAINING = {"engset": "EngSet", "multiset": "MultiSet"}
SETS = {"sghc_en": "singlish", "sghc_ms": "malay", "sghc_zh": "mandarin", "sghc_ta": "tamil"}
SET_TITLES = {code: f"SGHateCheck {LANGUAGES[name].title}" for code, name in SETS.items()} | {"cn": "MHC Mandarin", "hatecheck": "HateCheck"}
OPTIONS = {"cn": "--mhc DIR", "hatecheck": "--hatecheck DIR"}  # what brings the cases of the sets that are not the release's own
COMPARED = {"MHCM": "cn", "SHCM": "sghc_zh", "HC": "hatecheck", "SHCS": "sghc_en"}  # the columns of Table 6
COMPARED_FUNCTIONALITIES = ("F7", "F16", "F17", "F19")
NO_LLAMA = Unknown("the release has no -bad.json of LLaMA2, and as many answers as of the other models")
NEVER_RELEASED = {"llama-engset-sghc_ta-bad.json": NO_LLAMA, "llama-engset-sghc_zh-bad.json": NO_LLAMA}


class Frame(NamedTuple):
    """The cases of a test set that the paper scores; the arrays and lists have one entry a case."""

    place: dict[Id, int]
    known: Collection[Id]  # every id of the suite, also of the cases that are left out
    gold: np.ndarray
    functionality: list[str | None]
    target: list[str | None]


class Outcome(NamedTuple):
    """One run's answers against the gold labels, whole and in parts, and how many ids fit where."""

    whole: Confusion
    functionality: dict[str | None, Confusion]
    target: dict[str | None, Confusion]
    unknown: int  # answers to cases that the suite does not know
    outside: int  # answers to cases outside the frame
    unanswered: int  # cases of the frame without an answer


@dataclass
class Board:
    """All that the tables are computed from: the predictions, the cases they answer, and one `Outcome` for each run that has both."""

    experiments: Experiments
    frames: dict[str, Frame]
    outcomes: dict[Run, Outcome]

    def cell(self, model: str, training: str, test_set: str, value: Callable[[Outcome], Cell]) -> Cell:
        """`value` of a run's outcome, or what it lacks."""
        run = Run(model, training, test_set)
        if outcome := self.outcomes.get(run):
            return value(outcome)
        wants = () if run in self.experiments.answers else (run.file(),)
        return Lacks(wants if test_set in self.frames else (OPTIONS[test_set], *wants))


def board(experiments: Experiments, frames: dict[str, Frame]) -> Board:
    outcomes = {run: outcome(frames[run.test_set], answers) for run, answers in experiments.answers.items() if run.test_set in frames}
    return Board(experiments, frames, outcomes)


def frame(cases: Iterable[dict], known: Collection[Id]) -> Frame:
    """A frame of cases, each {"id", "label", "functionality"} and perhaps "target"; `known` has every id of the suite."""
    cases = list(cases)
    return Frame(
        {one["id"]: place for place, one in enumerate(cases)},
        known,
        np.array([one["label"] for one in cases], dtype=np.int64),
        [one["functionality"] for one in cases],
        [one.get("target") for one in cases],
    )


def released_frame(rows: list[dict]) -> Frame:
    """The paper's frame of one language, from its annotated rows."""
    kept = [row for row in rows if row["released_selection"] in LABELS and row["label"] is not None]
    cases = ({"id": row["c_id"], "label": row["label"], "functionality": row["paper_functionality_id"], "target": row["target"]} for row in kept)
    return frame(cases, {row["c_id"] for row in rows})


def outcome(frame: Frame, answers: dict[Id, int]) -> Outcome:
    predicted = np.full(len(frame.gold), -1, dtype=np.int64)
    unknown = outside = 0
    for id, answer in answers.items():
        if (place := frame.place.get(id)) is not None:
            predicted[place] = answer
        elif id in frame.known:
            outside += 1
        else:
            unknown += 1
    return Outcome(
        confusions(frame.gold, predicted, [None] * len(predicted)).get(None, [[0, 0], [0, 0]]),
        confusions(frame.gold, predicted, frame.functionality),
        confusions(frame.gold, predicted, frame.target),
        unknown,
        outside,
        int((predicted < 0).sum()),
    )


def confusions(gold: np.ndarray, predicted: np.ndarray, groups: list[str | None]) -> dict[str | None, Confusion]:
    """The confusion of each group of cases, those without an answer (-1) left out."""
    codes: dict[str | None, int] = {}
    group = np.array([codes.setdefault(name, len(codes)) for name in groups], dtype=np.int64)
    answered = predicted >= 0
    index = (group * 4 + gold * 2 + predicted)[answered]
    counts = np.bincount(index, minlength=4 * len(codes)).reshape(-1, 2, 2).tolist()
    return dict(zip(codes, counts, strict=True))


# --- the tables, each in the shape of the printed one ---


def table3(board: Board) -> dict:
    """Accuracy by gold label and macro F1: by language the mean of the five models, and the mean of the four languages."""
    table = {}
    for training, title in TRAINING.items():

        def by_language(value: Callable[[Outcome], Cell], training=training) -> dict[str, Cell]:
            cells = {LANGUAGES[name].title: mean(board.cell(model, training, test_set, value) for model in MODELS) for test_set, name in SETS.items()}
            return {"Average": mean(cells.values()), **cells}

        non_hateful = by_language(lambda found: accuracy(found.whole, 0))
        hateful = by_language(lambda found: accuracy(found.whole, 1))
        table[f"Accuracy|{title}"] = {f"{name}|{label}": cells[name] for name in hateful for label, cells in (("NH", non_hateful), ("H", hateful))}
        table[f"F1|{title}"] = by_language(lambda found: macro_f1(found.whole))
    return {row: table[row] for row in sorted(table)}


def table4(board: Board) -> dict:
    """Accuracy of each MultiSet model by functionality, and over the non-hateful, the hateful and all cases."""
    table = {}
    for id, test in by_id().items():

        def value(found: Outcome, id=id) -> Cell:
            return accuracy(found.functionality[id]) if id in found.functionality else None

        table[id] = {"GL": "H" if test.gold == "hateful" else "N", **by_model(board, value)}
    table["Avg_NH"] = {"GL": None, **by_model(board, lambda found: accuracy(found.whole, 0))}
    table["Avg_H"] = {"GL": None, **by_model(board, lambda found: accuracy(found.whole, 1))}
    table["Avg_both"] = {"GL": None, **by_model(board, lambda found: accuracy(found.whole))}
    return table


def by_model(board: Board, value: Callable[[Outcome], Cell]) -> dict[str, Cell]:
    return {
        f"{LANGUAGES[name].title}|{model.short}": board.cell(code, "multiset", test_set, value)
        for test_set, name in SETS.items()
        for code, model in MODELS.items()
    }


def by_id() -> dict:
    """The catalogue's functionalities by the paper's numbers."""
    return {test.id: test for test in FUNCTIONALITIES.values()}


def table5(board: Board) -> dict:
    """Macro F1 of each MultiSet model by target: the mean of the values within each of the four languages."""
    table = {}
    for target, group in PROTECTED_GROUPS.items():

        def value(found: Outcome, target=target) -> Cell:
            return macro_f1(found.target[target]) if target in found.target else None

        cells = {model.title: mean(board.cell(code, "multiset", test_set, value) for test_set in SETS) for code, model in MODELS.items()}
        table[target] = {"group": group, **cells, "Average": mean(cells.values())}
    table["Average"] = {"group": None, **{model.title: mean(row[model.title] for row in table.values()) for model in MODELS.values()}}
    return table


def table6(board: Board) -> dict:
    """Macro F1 inside one functionality, and overall, on two pairs of suites: the mean of the five MultiSet models."""
    table = {}
    for id in COMPARED_FUNCTIONALITIES:

        def value(found: Outcome, id=id) -> Cell:
            return macro_f1(found.functionality[id]) if id in found.functionality else None

        table[id] = by_suite(board, value)
    table["Overall F1"] = by_suite(board, lambda found: macro_f1(found.whole))
    return table


def by_suite(board: Board, value: Callable[[Outcome], Cell]) -> dict[str, Cell]:
    return {column: mean(board.cell(model, "multiset", test_set, value) for model in MODELS) for column, test_set in COMPARED.items()}


def rejected(board: Board) -> dict:
    """D.2: how many outputs of each run were rejected, which only its `-bad.json` tells: no such file is not a count of 0."""
    return {
        f"{model.title}|{trained}": {title: rejected_of(board, Run(code, training, test_set)) for test_set, title in SET_TITLES.items()}
        for training, trained in TRAINING.items()
        for code, model in MODELS.items()
    }


def rejected_of(board: Board, run: Run) -> Cell:
    if (ids := board.experiments.rejected.get(run)) is not None:
        return len(ids)
    file = run.file(bad=True)
    return NEVER_RELEASED.get(file, Lacks((file,)))
