"""What a training run leaves: scores worked out by hand, files that are whole or not there, and summaries of several runs."""

import json

import pytest
from rich.console import Console

import outcome
import summary
from sghc.errors import InputError


def test_scores_by_hand():
    """Hateful: 2 found of 4, one rejected and one missed; 1 of 6 others said to be hateful, and one of those rejected."""
    labels = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    predictions = [1, 1, None, 0, 1, None, 0, 0, 0, 0]
    assert outcome.held_out_scores(predictions, labels) == {
        "n": 10,
        "n_hateful": 4,
        "n_rejected": 2,
        "coverage": 0.8,
        "accuracy": 0.6,
        "precision": pytest.approx(2 / 3),
        "recall": 0.5,
        "f1": pytest.approx(2 * 2 / (3 + 4)),
        "macro_f1": pytest.approx((4 / 7 + 2 * 4 / (5 + 6)) / 2),
        "always_non_hateful": {"accuracy": 0.6, "f1": 0, "macro_f1": pytest.approx((2 * 6 / (10 + 6)) / 2)},
    }


def test_scores_are_scikit_learns_where_nothing_is_rejected():
    import random

    from sklearn.metrics import accuracy_score, precision_recall_fscore_support

    pick = random.Random(1)
    labels, predictions = ([pick.randint(0, 1) for _ in range(200)] for _ in range(2))
    scores = outcome.held_out_scores(predictions, labels)
    precision, recall, f1, _ = precision_recall_fscore_support(labels, predictions)
    assert scores["accuracy"] == pytest.approx(accuracy_score(labels, predictions))
    assert [scores[name] for name in ("precision", "recall", "f1", "macro_f1")] == pytest.approx([precision[1], recall[1], f1[1], f1.mean()])


def test_scores_of_nothing_right():
    scores = outcome.held_out_scores([None, None], [1, 0])
    assert (scores["accuracy"], scores["f1"], scores["macro_f1"], scores["coverage"]) == (0, 0, 0, 0)


def test_a_model_is_moved_to_its_place_when_it_is_whole(tmp_path):
    def half(place):
        place.mkdir()
        (place / "config.json").write_text("{}")
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        outcome.put_model(tmp_path, half)
    assert not list(tmp_path.iterdir())

    def whole(place):
        place.mkdir()
        (place / "config.json").write_text("{}")
        (place / "model.safetensors").write_text("weights")

    outcome.put_model(tmp_path, whole)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.json", "model.safetensors"]


def test_a_run_in_its_folder(tmp_path):
    folder = tmp_path / "run"
    recipe, counts = {"seed": 1, "output_dir": str(folder)}, {"rows": 2}
    assert outcome.begin(folder, recipe, counts, False) is None
    (folder / "checkpoint-9").mkdir()
    (folder / "checkpoint-10").mkdir()
    (folder / "checkpoint-best").mkdir()
    for name in ("checkpoint-9", "checkpoint-10"):
        (folder / name / "trainer_state.json").write_text("{}")
    assert outcome.begin(folder, recipe | {"output_dir": "moved", "resume": True}, counts, True) == folder / "checkpoint-10"
    with pytest.raises(InputError, match=r"recipe\.yaml: was begun with another seed; name another folder with --output_dir"):
        outcome.begin(folder, recipe | {"seed": 2}, counts, True)
    with pytest.raises(InputError, match=r"corpus\.json: was begun with another rows"):
        outcome.begin(folder, recipe, {"rows": 3}, True)
    (folder / "recipe.yaml").write_text("[")
    with pytest.raises(InputError, match=r"recipe\.yaml: cannot be read as what a run wrote"):
        outcome.begin(folder, recipe, counts, True)


@pytest.fixture
def runs(tmp_path):
    """Three seeds with their scores, and a result over a suite."""
    for seed, accuracy in enumerate((0.5, 0.6, 0.85), 1):
        (tmp_path / f"run-{seed}").mkdir()
        always = {"accuracy": 0.7, "f1": 0.0, "macro_f1": 0.4}
        scores = {"n": 1924, "accuracy": accuracy, "f1": 0.5, "macro_f1": accuracy / 2, "coverage": 1.0, "always_non_hateful": always}
        (tmp_path / f"run-{seed}" / "held_out.json").write_text(json.dumps({"hatexplain_test": scores}))
    result = {"overall": {"n": 20, "accuracy": 0.55, "macro_f1": 0.45, "coverage": 1.0}, "language": {"malay": {"n": 20, "accuracy": 0.55}}}
    (tmp_path / "results.json").write_text(json.dumps(result))
    return tmp_path


def lines(runs, *arguments) -> list[list[str]]:
    console = Console(width=160, record=True, file=None, quiet=False)
    with console.capture() as caught:
        console.print(summary.table(summary.gathered(list(arguments))))
    return [" ".join(line.split()) for line in caught.get().splitlines() if line.strip()][2:]


def test_mean_and_range_over_seeds(runs):
    assert lines(runs, *(str(runs / f"run-{seed}") for seed in (1, 2, 3))) == [
        "hatexplain_test 3 1,924 .650 (.500 to .850) .500 .325 (.250 to .425) 1.000 .400"
    ]


def test_before_and_after_and_a_suite(runs):
    shown = lines(runs, f"before={runs / 'run-1'}", f"after={runs / 'run-3' / 'held_out.json'}", f"after={runs / 'results.json'}")
    assert shown == [
        "hatexplain_test before 1 1,924 .500 .500 .250 1.000 .400",
        "hatexplain_test after 1 1,924 .850 .500 .425 1.000 .400",
        "malay after 1 20 .550 – – – –",
        "overall after 1 20 .550 – .450 1.000 –",
    ]


def test_what_cannot_be_summarised(runs, tmp_path):
    (tmp_path / "other.json").write_text('{"a": 1}')
    (tmp_path / "torn.json").write_text('{"a": ')
    for argument, message in (("nowhere", "cannot be read"), ("other.json", "neither held-out scores"), ("torn.json", "not readable as JSON")):
        with pytest.raises(InputError, match=message):
            summary.gathered([str(tmp_path / argument)])
    with pytest.raises(InputError, match="name the folders"):
        summary.gathered([])
