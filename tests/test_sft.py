"""training/sft.py, end to end on a toy task: a tiny random model learns it, and what is written is what predict reads."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

import toy_training as toy  # noqa: E402
from tiny_models import same, saved  # noqa: E402

import outcome  # noqa: E402
import sft  # noqa: E402
from sghc.errors import InputError  # noqa: E402
from sghc.models.causal import CausalDetector  # noqa: E402
from sghc.models.opening import Options, open_detector  # noqa: E402

BEFORE = "cold_test, without the adapter"
ROOT = Path(__file__).parents[1]
SHORT = {"max_steps": 4, "save_steps": 2, "save_strategy": "steps", "held_out_sample": 12}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return toy.write_corpora(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module", params=["pieces", "bytes"])
def run(request, data, tmp_path_factory):
    """A finished run: (base, folder, scores)."""
    top = tmp_path_factory.mktemp("run")
    base = toy.model(top / "base", request.param)
    return base, top / "out", sft.train(toy.argv(base, data, top / "out", share_prompt=True, logging_steps=5, num_train_epochs=4))


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return toy.model(tmp_path_factory.mktemp("base"))


def learned(folder) -> dict:
    from safetensors.torch import load_file

    return load_file(folder / "adapter_model.safetensors")


def test_it_learns(run):
    _, folder, scores = run
    assert scores[BEFORE]["n"] == 48
    assert scores[BEFORE]["n_rejected"] > 36  # a random model seldom names a label
    assert scores["cold_test"]["n_rejected"] == 0
    assert scores["cold_test"]["macro_f1"] > 0.8 > scores["cold_test"]["always_non_hateful"]["macro_f1"]
    history = json.loads((folder / "trainer_state.json").read_text())["log_history"]
    first, last = history[0], history[-2]
    assert first["label_accuracy"] < first["token_accuracy"] < 1  # the end of text is learned first, and makes the other look good
    assert last["label_accuracy"] > 0.95


def test_predict_reads_the_same_answers(run):
    """The command line's detector, from the folder alone: the scores that were written, and answers that end with the text."""
    base, folder, scores = run
    test = [(text, label) for i, (text, label) in enumerate(toy.texts()) if i % 8 == 0]
    answers = open_detector(str(folder), Options(dtype="float32", max_length=96, device="cpu")).answer([text for text, _ in test])
    right = sum(answer.prediction == label for answer, (_, label) in zip(answers, test, strict=True))
    assert right / len(test) == scores["cold_test"]["accuracy"]
    generated = CausalDetector(base, adapter=str(folder), decode="generate", max_new_tokens=5, max_length=96, dtype="float32", device="cpu")
    same(generated.answer([text for text, _ in test]), answers)  # five tokens asked for, one given: the end of text was learned


def test_scores_without_the_adapter_are_those_of_the_base_alone(run):
    """Nothing of the adapter is left in them, such as keys and values of the prompt's head that it had a part in."""
    base, folder, scores = run
    texts, labels = zip(*(row for i, row in enumerate(toy.texts()) if i % 8 == 0), strict=True)
    alone = CausalDetector(base, max_length=96, dtype="float32", device="cpu")
    assert alone.head
    answers = alone.answer(texts)
    assert outcome.held_out_scores([answer.prediction for answer in answers], labels) == scores[BEFORE]
    adapted = CausalDetector(base, adapter=str(folder), max_length=96, dtype="float32", device="cpu")
    with adapted.bare():
        same(adapted.answer(texts), answers)
    assert adapted.answer(texts) != answers


def test_what_a_finished_run_leaves(run):
    base, folder, scores = run
    assert {path.name for path in folder.iterdir()} == {
        "adapter_config.json", "adapter_model.safetensors", "corpus.json", "held_out.json", "README.md", "recipe.yaml", "trainer_state.json"
    }  # fmt: skip
    recipe = yaml.safe_load((folder / "recipe.yaml").read_text())
    assert recipe["model"] == json.loads((folder / "adapter_config.json").read_text())["base_model_name_or_path"] == base
    assert recipe["effective_batch_size"] == 16
    assert recipe["lora_target_modules"] == ["down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"]
    assert set(learned(folder)) == {  # the matrices and nothing else: no embeddings
        f"base_model.model.model.layers.{layer}.{part}.lora_{one}.weight"
        for layer in (0, 1)
        for part in [*(f"self_attn.{name}_proj" for name in "qkvo"), *(f"mlp.{name}_proj" for name in ("gate", "up", "down"))]
        for one in "AB"
    }
    counts = json.loads((folder / "corpus.json").read_text())
    assert (counts["rows"], counts["cut"]) == (288, 0)
    assert len(next(iter(counts["sources"]["hatem:train"]["files"].values()))) == 64
    assert json.loads((folder / "held_out.json").read_text()) == scores
    card = (folder / "README.md").read_text()
    assert "Content warning" in card
    assert f"| cold_test | 48 | {scores['cold_test']['accuracy']:.3f} |" in card


def stopped(monkeypatch, part: str, argv: list[str], steps: int = 0) -> None:
    """A run that Ctrl-C ends in a part of it: before a step of training, or when it is scored."""
    as_it_is = getattr(sft.AnswerTrainer, part, None) or getattr(sft, part)

    def ends(*args, **kwargs):
        if part == "training_step" and args[0].state.global_step < steps:
            return as_it_is(*args, **kwargs)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sft.AnswerTrainer if part == "training_step" else sft, part, ends)
        with pytest.raises(KeyboardInterrupt):
            sft.train(argv)


@pytest.mark.parametrize("strategy", ["batch_rebalance", "group_by_length", "random"])
def test_an_interrupted_run_ends_as_if_it_was_not(base, data, tmp_path, monkeypatch, strategy):
    """In the middle of the second epoch, with dropout: order, dropout, optimizer and learning rate go on where they were."""
    changes = {
        "sample": 96,
        "num_train_epochs": 2,
        "save_strategy": "steps",
        "save_steps": 2,
        "lora_dropout": 0.1,
        "train_sampling_strategy": strategy,
    }
    changes |= {"held_out_sample": 12, "share_prompt": True}
    whole = sft.train(toy.argv(base, data, tmp_path / "whole", **changes))
    stopped(monkeypatch, "training_step", toy.argv(base, data, tmp_path / "stopped", **changes), steps=11)
    assert not (tmp_path / "stopped/adapter_config.json").exists()
    (tmp_path / "stopped/checkpoint-10/trainer_state.json").unlink()  # not written whole: that of step 8 of 12 is the last
    assert sft.train(toy.argv(base, data, tmp_path / "stopped", **changes, resume=True)) == whole
    expected = learned(tmp_path / "whole")
    found = learned(tmp_path / "stopped")
    assert all(torch.equal(found[name], weight) for name, weight in expected.items())


def test_another_recipe_does_not_go_on(base, data, tmp_path, monkeypatch):
    stopped(monkeypatch, "training_step", toy.argv(base, data, tmp_path, **SHORT), steps=3)
    with pytest.raises(InputError, match="was begun with another lora_r"):
        sft.train(toy.argv(base, data, tmp_path, **SHORT, lora_r=4, resume=True))
    with pytest.raises(InputError, match="holds a run; go on with it by --resume"):
        sft.train(toy.argv(base, data, tmp_path, **SHORT))


def test_trained_and_not_scored(base, data, tmp_path, monkeypatch):
    """Where scoring fails, it is done again, and training is not."""
    stopped(monkeypatch, "score", toy.argv(base, data, tmp_path, **SHORT))
    before = learned(tmp_path)
    with monkeypatch.context() as patch:
        patch.delattr(sft, "fit")
        assert sft.train(toy.argv(base, data, tmp_path, **SHORT, resume=True))["cold_test"]["n"] == 12
    assert all(torch.equal(weight, before[name]) for name, weight in learned(tmp_path).items())
    assert sft.train(toy.argv(base, data, tmp_path, **SHORT, resume=True))["cold_test"]["n"] == 12  # finished: nothing is done


def test_a_full_disk(base, data, tmp_path):
    """A limit on the size of a file stands for it: it holds the adapter (143 kB), and not the optimizer's state."""
    import resource

    size = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, size[1]))
    try:
        with pytest.raises(OSError, match="checkpoint-2: "):
            sft.train(toy.argv(base, data, tmp_path, **SHORT))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, size)
    assert sft.train(toy.argv(base, data, tmp_path, **SHORT, resume=True))["cold_test"]["n"] == 12


def test_two_processes_train_the_same(base, data, tmp_path):
    """On the CPU; the same rows make a step, so that the same matrices are learned. Scores are left to one process."""
    changes = {"max_steps": 4, "save_strategy": "no", "held_out_sample": 12}
    sft.train(toy.argv(base, data, tmp_path / "one", **changes))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", str(Path(sft.__file__))]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, *toy.argv(base, data, tmp_path / "two", **changes)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    expected, found = learned(tmp_path / "one"), learned(tmp_path / "two")
    assert all(torch.allclose(found[name], weight, atol=1e-5) for name, weight in expected.items())
    assert f"--config {tmp_path}/two/recipe.yaml --resume" in done.stdout
    assert not (tmp_path / "two/held_out.json").exists()
    scores = sft.train(["--config", str(tmp_path / "two/recipe.yaml"), "--resume"])
    assert scores == json.loads((tmp_path / "one/held_out.json").read_text())


def test_weights_are_of_the_type_that_was_asked_for(base, data, tmp_path, monkeypatch):
    """TRL and transformers load float32 unless told: 28 GB for seven billion weights."""
    kept = {}
    save = sft.save
    monkeypatch.setattr(sft, "save", lambda trainer, folder: (kept.update(trainer.model.named_parameters()), save(trainer, folder)))
    sft.train(toy.argv(base, data, tmp_path, **SHORT, dtype="bfloat16", bf16=True))
    frozen = {weight.dtype for name, weight in kept.items() if "lora_" not in name}
    assert frozen == {torch.bfloat16}
    assert {weight.dtype for name, weight in kept.items() if weight.requires_grad} == {torch.float32}
    config = json.loads(Path(base, "config.json").read_text())
    assert len(kept["base_model.model.model.embed_tokens.weight"]) == config["vocab_size"]  # not resized


def test_evaluation_while_training(base, data, tmp_path):
    changes = {"held_out": ["cold_test", "cold_dev"], "validation": "cold_dev", "eval_strategy": "steps", "eval_steps": 2}
    changes |= {"activation_checkpointing": True}
    sft.train(toy.argv(base, data, tmp_path, **SHORT, **changes))
    history = json.loads((tmp_path / "trainer_state.json").read_text())["log_history"]
    evaluated = [one for one in history if "eval_loss" in one]
    assert [one["step"] for one in evaluated] == [2, 4]
    assert all(0 <= one["eval_label_accuracy"] <= one["eval_token_accuracy"] <= 1 for one in evaluated)
    for wrong in ("cold_test", "hatexplain_val"):
        with pytest.raises(InputError, match="validation: expected one of held_out that is no test set"):
            sft.train(toy.argv(base, data, tmp_path / wrong, **SHORT, **changes | {"validation": wrong}))


def test_sea_lions_mpt_is_refused(data, tmp_path):
    """Its checkpoint has learned positions, biases and a norm of queries and keys, for which transformers' own MPT has no place."""
    from safetensors.torch import load_file, save_file

    base = tmp_path / "mpt"
    saved(base, "mpt")
    sft.train(toy.argv(str(base), data, tmp_path / "plain", **SHORT))  # the built-in kind is trained
    weights = load_file(base / "model.safetensors")
    weights["transformer.wpe.weight"] = torch.ones(256, 32)
    weights["transformer.blocks.0.attn.q_ln.weight"] = torch.ones(32)
    weights["transformer.blocks.0.attn.Wqkv.bias"] = torch.ones(96)
    save_file(weights, base / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match="3 weights of the checkpoint have no place in the model"):
        sft.train(toy.argv(str(base), data, tmp_path / "out", **SHORT))
    with pytest.raises(InputError, match="3 weights of the checkpoint have no place in the model"):
        CausalDetector(str(base), adapter=str(tmp_path / "plain"), device="cpu")
    with pytest.raises(InputError, match="needs a revision"):
        sft.train(toy.argv(str(base), data, tmp_path / "out", **SHORT, trust_remote_code=True))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"effective_batch_size": 12}, "expected a multiple of 8"),
        ({"share_prompt": True, "activation_checkpointing": True}, "share_prompt goes with"),
        ({"packing": True}, "packing and padding_free"),
        ({"validation": "cold_dev"}, "go together"),
        ({"load_in_4bit": True}, "load_in_4bit needs bitsandbytes"),
        ({"lora_target_modules": ["q_proj", "Wqkv"]}, "has no modules Wqkv"),
        ({"max_length": 12}, "max_length is 12"),
        ({"max_length": 500}, "takes 256 tokens"),
        ({"model": "nobody/has-this"}, "nobody/has-this: cannot be loaded"),
        ({"lora_target_modules": ["q_proj", "lm_head"]}, "lm_head"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_written(base, data, tmp_path, changes, message):
    with pytest.raises(InputError, match=message) as caught:
        sft.train(toy.argv(base, data, tmp_path / "out", **SHORT | changes))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out/adapter_config.json").exists()


@pytest.mark.parametrize("name", ["effective_batch_size", "per_device_train_batch_size", "lora_r", "learning_rate", "max_length"])
def test_numbers_that_make_no_training_leave_no_folder(base, data, tmp_path, name):
    with pytest.raises(InputError, match=f"{name} is (0|0.0), expected more than 0"):
        sft.train(toy.argv(base, data, tmp_path / "out", **SHORT | {name: 0}))
    assert not (tmp_path / "out").exists()
    with pytest.raises(InputError, match="--config: expected the path"):
        sft.train(["--config"])


def test_a_recipe_with_an_unknown_key(tmp_path):
    (tmp_path / "recipe.yaml").write_text("model: x\nlora_rank: 3\n")
    with pytest.raises(InputError, match=r"recipe.yaml: no such key: lora_rank"):
        sft.train(["--config", str(tmp_path / "recipe.yaml"), "--use_cpu", "true"])
