"""A score as the Hub takes it into a model's repository: `.eval_results/sghatecheck.yaml`, or a model-index for the head of an older card.

One entry a language, which is a task of the dataset repository's eval.yaml (suite/benchmark.py): the value is its macro F1, as scored, and the notes
say what it is worth. A number of another kind has no place in such a file, since readers put it beside those of other models.
"""

from pathlib import Path
from typing import NamedTuple

from sghc.errors import InputError, plain
from sghc.leaderboard import hub
from sghc.leaderboard.packing import named, run_of
from sghc.leaderboard.scored import Held
from sghc.leaderboard.submission import model_name
from sghc.suite.benchmark import SPLIT
from sghc.terminal import plain as number


class Task(NamedTuple):
    """A language's score; `date` is when its answers were complete, where a record says so."""

    language: str
    macro_f1: float
    accuracy: float
    notes: str
    date: str | None


def tasks(held: Held, result: dict, invalid: str) -> list[Task]:
    """The scores of a result, one a language.

    Args:
        result: of scored.score_held, with rejected outputs treated as `invalid` says.

    Raises:
        InputError: of another split than `test`, with rejected outputs left out, of a language with cases that have no answer or without a macro F1.
    """
    if held.split != SPLIT:
        raise InputError(f"{held.path}: scored on split {held.split}; the tasks on the Hub are of split {SPLIT}")
    if invalid == "drop":
        raise InputError(f"{held.path}: --invalid drop leaves rejected outputs out, and such a score does not go beside others on the Hub")
    run = run_of(held.path)
    for language, of in result["language"].items():
        if of["n_missing"]:
            raise InputError(
                f"{held.path}: {of['n_missing']:,} cases of {plain(language)} have no answer; a partial run is no score of a task on the Hub"
            )
        if of["macro_f1"] is None:
            raise InputError(f"{held.path}: {plain(language)} has no macro F1: {result['notes'][f'language.{language}.macro_f1']}")
    return [
        Task(language, of["macro_f1"], of["accuracy"], notes(of, result["signature"], held.about.caution), run.finished if run else None)
        for language, of in result["language"].items()
    ]


def notes(of: dict, signature: str, caution: str) -> str:
    """One line: why the score is not for reporting, if so; what the value is, with its interval; coverage; the signature."""
    interval = of.get("macro_f1_ci")
    limits = f" [{number(interval[0], 3)}, {number(interval[1], 3)}]" if interval else ""
    rejected = f"{of['n_rejected']:,} of {of['n']:,} outputs rejected, counted as wrong"
    found = [f"macro F1{limits}, accuracy {number(of['accuracy'], 3)}", f"coverage {number(of['coverage'], 3)}, {rejected}", signature]
    return "; ".join([*filter(None, [caution]), *found])


def eval_results(scores: list[Task], dataset: str) -> bytes:
    """A file for `.eval_results/` of a model's repository.

    Args:
        dataset: the benchmark's dataset repository, ORG/NAME. InputError where it is no such name.
    """
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    hub.check_repo(dataset)
    entries = [EvalResultEntry(dataset, one.language, one.macro_f1, date=one.date, notes=one.notes) for one in scores]
    return to_yaml(eval_result_entries_to_yaml(entries))


def model_index(scores: list[Task], dataset: str, model: str | None, predictions: Path) -> bytes:
    """The key `model-index` of a model card's head, as YAML.

    Args:
        model: its name, ORG/NAME; by default that of the record beside the predictions.

    Raises:
        InputError: no such name of a model or a dataset repository, or no model named anywhere.
    """
    from huggingface_hub import EvalResult
    from huggingface_hub.repocard_data import eval_results_to_model_index

    hub.check_repo(dataset)
    found = [
        EvalResult(
            task_type="text-classification",
            task_name="Hate speech detection",
            dataset_type=dataset,
            dataset_name=f"SGHateCheck, {one.language}",
            dataset_config=one.language,
            dataset_split=SPLIT,
            metric_type=kind,
            metric_name=name,
            metric_value=value,
            metric_args={"notes": one.notes},
        )
        for one in scores
        for kind, name, value in (("f1", "macro F1", one.macro_f1), ("accuracy", "accuracy", one.accuracy))
    ]
    return to_yaml({"model-index": eval_results_to_model_index(name_of(model, predictions), found)})


def name_of(model: str | None, predictions: Path) -> str:
    run = run_of(predictions)
    name = model or (named(run).get("model") if run else None)
    if name is None:
        raise InputError(f"{predictions}: no record beside it names a model of the Hub; give --model ORG/NAME")
    try:
        return model_name(name)
    except ValueError as error:
        raise InputError(f"--model {plain(name)}: {error}") from None


def to_yaml(content) -> bytes:
    import yaml

    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=1000).encode()
