"""What a training run leaves in its folder, the same for every kind of model: scores on held-out sets, and the files beside the model.

    recipe.yaml      every choice that was made, which the same script reads again
    corpus.json      what was trained on: counts and hashes (corpora.Corpus)
    held_out.json    {held-out set: scores}; written last but one, so that its presence means that the run is finished
    README.md        a model card

The first two stand there from the beginning, so that a run that is taken up again is known to be the same.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import yaml

from sghc.errors import InputError, first_few
from sghc.files import write_whole

RECIPE, CORPUS, SCORES, CARD = "recipe.yaml", "corpus.json", "held_out.json", "README.md"
CHECKPOINT = re.compile(r"checkpoint-(\d+)")
FREE = {"resume", "output_dir", "data", "hydrated"}  # where things lie: corpus.json has what is in them


# --- scores ---


def held_out_scores(predictions: Sequence[int | None], labels: Sequence[int]) -> dict:
    """Scores of a held-out set, as Table 2 of the paper has them (accuracy, F1 of the hateful label) and around them.

    Args:
        predictions: 0, 1, or None for an output that is neither: a wrong answer, which costs its label's recall and not the other's precision.
        labels: 0 non-hateful, 1 hateful.

    Returns:
        n, n_hateful, n_rejected, coverage, accuracy, f1, precision, recall (of the hateful label), macro_f1 (the mean of both labels' F1), and
        `always_non_hateful`: what accuracy, f1 and macro_f1 would be if every answer were non-hateful. A ratio with nothing under the line is 0.
    """
    scores = plain_scores(predictions, labels)
    always = plain_scores([0] * len(labels), labels)
    rejected = sum(prediction is None for prediction in predictions)
    counts = {"n": len(labels), "n_hateful": sum(labels), "n_rejected": rejected, "coverage": 1 - ratio(rejected, len(labels))}
    return counts | scores | {"always_non_hateful": {name: always[name] for name in ("accuracy", "f1", "macro_f1")}}


def plain_scores(predictions: Sequence[int | None], labels: Sequence[int]) -> dict[str, float]:
    right = [sum(p == label == y for p, y in zip(predictions, labels, strict=True)) for label in (0, 1)]
    said = [sum(p == label for p in predictions) for label in (0, 1)]
    gold = [sum(y == label for y in labels) for label in (0, 1)]
    f1 = [ratio(2 * right[label], said[label] + gold[label]) for label in (0, 1)]
    precision, recall = ratio(right[1], said[1]), ratio(right[1], gold[1])
    return {"accuracy": ratio(sum(right), len(labels)), "f1": f1[1], "precision": precision, "recall": recall, "macro_f1": sum(f1) / 2}


def ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


# --- files ---


def begin(folder: Path, recipe: Mapping, counts: Mapping, resume: bool) -> Path | None:
    """Makes a run's folder, or finds it again. Returns the checkpoint to go on from; None to begin from the beginning.

    Raises:
        InputError: the folder holds a run and `resume` was not asked for, or a run of another recipe or other data; or it cannot be written.
    """
    said = {RECIPE: {key: value for key, value in recipe.items() if key not in FREE}, CORPUS: dict(counts)}
    if any((folder / name).exists() for name in (*said, SCORES)):
        if not resume:
            raise InputError(f"{folder}: holds a run; go on with it by --resume, or name another folder with --output_dir")
        for name, now in said.items():
            before = {key: value for key, value in loaded(folder / name).items() if key not in FREE}
            if differs := [key for key in {**before, **now} if before.get(key) != now.get(key)]:
                raise InputError(f"{folder / name}: was begun with another {first_few(differs)}; name another folder with --output_dir")
    else:
        save(folder, recipe, counts)
    return last_checkpoint(folder)


def is_finished(folder: Path) -> bool:
    return (folder / SCORES).exists()


def last_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint that was written whole: the trainer's state is the last file of one."""
    found = sorted((int(match[1]), path) for path in folder.glob("checkpoint-*") if (match := CHECKPOINT.fullmatch(path.name)))
    return next((path for _, path in reversed(found) if is_json(path / "trainer_state.json")), None)


def is_json(path: Path) -> bool:
    try:
        return isinstance(json.loads(path.read_bytes()), dict)
    except (OSError, ValueError):
        return False


def loaded(path: Path) -> dict:
    """What a recipe.yaml or corpus.json holds. InputError where it is not there or is none."""
    try:
        found = yaml.safe_load(path.read_text("utf-8"))  # JSON is YAML
    except (OSError, ValueError, yaml.YAMLError):
        found = None
    if not isinstance(found, dict):
        raise InputError(f"{path}: cannot be read as what a run wrote; name another folder with --output_dir")
    return found


def save(folder: Path, recipe: Mapping, counts: Mapping) -> None:
    """Writes what is known before training."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / RECIPE, yaml.safe_dump(dict(recipe), sort_keys=False, allow_unicode=True, width=120).encode())
    write_json(folder / CORPUS, counts)


def write(folder: Path, recipe: Mapping, counts: Mapping, scores: Mapping, card: str) -> None:
    """Writes the files beside a finished model.

    Args:
        recipe: every choice, as recipe.as_used gives it.
        counts: of the corpus.
        scores: held-out set -> held_out_scores.
        card: Markdown, as model_card.card makes it.
    """
    save(folder, recipe, counts)
    write_whole(folder / CARD, card.encode())
    write_json(folder / SCORES, scores)


def write_json(path: Path, content) -> None:
    write_whole(path, (json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())


def put_model(folder: Path, save: Callable[[Path], object]) -> None:
    """Has a model written beside its place and moves it there, its configuration last: what cannot be written whole is not found as a model."""
    beside = folder / f".model-{os.getpid()}"
    try:
        save(beside)
        for path in sorted(beside.iterdir(), key=lambda one: one.name in ("config.json", "adapter_config.json")):
            path.replace(folder / path.name)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
