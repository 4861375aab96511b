"""The paper's ten runs beside the submissions: five fine-tuned models on two training sets, unranked.

From the released predictions they are scored in the paper's own frame: the cases that the release selected, rejected outputs left out, which flatters
a model that rejects much; coverage says how much. Without them the printed figures stand, as far as the paper prints any for a single run.
"""

from pathlib import Path

import numpy as np

from sghatecheck_metric.counting import RATES
from sghatecheck_metric.reading import MISSING, REJECTED
from sghc.leaderboard.board import Entry
from sghc.leaderboard.ground import COLUMNS, Ground
from sghc.leaderboard.standing import COUNTS, standing
from sghc.paper import counts
from sghc.paper.predictions import Experiments, Run, read_folder
from sghc.paper.reproduction import read_printed
from sghc.paper.scores import MODELS, SETS, TRAINING
from sghc.suite import release
from sghc.suite.catalogue import LABELS, LANGUAGES

FRAME = "paper frame"
PRINTED = "printed tables"
PRINTED_AS = {"accuracy": "Avg_both", "accuracy_hateful": "Avg_H", "accuracy_non_hateful": "Avg_NH"}  # rows of Table 4


def baselines(source: Path | None) -> list[Entry]:
    """One entry for each run.

    Args:
        source: a folder laid out as SGHateCheck's repository; None, or a run that its experiments/ lacks, gives the printed figures.

    Raises:
        InputError: a file is missing from the folder, or is not what it should be.
    """
    experiments, ground = (Experiments(), None) if source is None else (read_folder(source / "experiments"), paper_frame(source))
    found = []
    for training, trained in TRAINING.items():
        for model, named in MODELS.items():
            runs = {language: Run(model, training, code) for code, language in SETS.items()}
            id, title = f"paper/{model}-{training}", f"{named.title} fine-tuned on {trained}"
            if all(run in experiments.answers for run in runs.values()):
                answers = answers_of(runs, experiments, ground)
                found.append(Entry(id, "baseline", None, None, standing(ground, answers), None, ground, title, FRAME))
            else:
                figures, remarks = printed(named.short, training)
                found.append(Entry(id, "baseline", None, None, None, None, ground, title, PRINTED, figures, remarks))
    return found


def paper_frame(source: Path) -> Ground:
    """The cases that the paper scores, in all languages; those of a run that were rejected leave its denominator."""
    languages = counts.read(release.local_copy(source))
    rows = [row for name in LANGUAGES for row in languages[name].rows if row["released_selection"] in LABELS and row["label"] is not None]
    return Ground("paper", "", {column: [row[column] for row in rows] for column in (*COLUMNS, "c_id")}, invalid="drop")


def answers_of(runs: dict[str, Run], experiments: Experiments, ground: Ground) -> np.ndarray:
    """int8 (cases of the frame,): a run's answer, REJECTED, or MISSING where the release has none."""
    given = {language: experiments.answers[run] for language, run in runs.items()}
    rejected = {language: set(experiments.rejected.get(run, ())) for language, run in runs.items()}
    cases = zip(ground.cases["language"], ground.cases["c_id"], strict=True)
    return np.array([REJECTED if id in rejected[language] else given[language].get(id, MISSING) for language, id in cases], np.int8)


def printed(model: str, training: str) -> tuple[dict, tuple[str, ...]]:
    """({overall, language: {name: numbers}} of a run as Table 4 prints it, None where it prints none; what to know of them)."""
    table = read_printed()
    cells = {rate: table["table4"][row] for rate, row in PRINTED_AS.items()} if training == "multiset" else {}
    by_language = {
        name: {**dict.fromkeys((*COUNTS, *RATES)), **{rate: row.get(f"{language.title}|{model}") for rate, row in cells.items()}}
        for name, language in LANGUAGES.items()
    }
    overall = dict.fromkeys((*COUNTS, *RATES))
    for rate in cells:
        values = [one[rate] for one in by_language.values()]
        overall[rate] = None if None in values else sum(values) / len(values)
    mean = table["table3"][f"F1|{TRAINING[training]}"]["Average"]
    remark = f"macro F1 is printed only as a mean over five models, {mean}"
    return {"overall": overall, "language": by_language}, (remark,)
