"""Sequence classifiers as detectors: which label is hateful, what becomes of scores, and that batches change nothing."""

import json
import math
from types import SimpleNamespace

import pytest
from tokenizers_made import trained

from sghc.errors import InputError

torch = pytest.importorskip("torch")

from sghc.models.classifier import ClassifierDetector, are_independent, find_hateful, hateful_scores, reserved_positions  # noqa: E402

torch.set_num_threads(1)  # models this small only wait for each other's threads
TEXTS = [f"{'bakers like tea ' * (n % 5)}it rains {n} times" for n in range(14)]
THREE = {0: "neutral", 1: "offensive", 2: "Hate_Speech"}


def saved(folder, labels=THREE, kind="bert", pad="<unk>", **changes):
    """A random classifier in a folder with its tokenizer."""
    import transformers as t

    tokenizer = trained("pieces", **({"pad_token": pad} if pad else {}))
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "initializer_range": 0.3}
    size |= {"vocab_size": len(tokenizer), "max_position_embeddings": 64, "pad_token_id": None if kind == "llama" else 0, "bos_token_id": None}
    config = {"bert": t.BertConfig, "roberta": t.RobertaConfig, "llama": t.LlamaConfig}[kind](**size | changes, eos_token_id=None)
    config.id2label, config.label2id = labels, {label: i for i, label in labels.items()}
    torch.manual_seed(5)
    model = t.AutoModelForSequenceClassification.from_config(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def probabilities(folder, text, function):
    """Of each label, for one text alone, without any of the detector's code."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    inputs = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        return function(model(input_ids=inputs["input_ids"]).logits[0]).tolist()


@pytest.mark.parametrize(("kind", "pad"), [("bert", "<unk>"), ("roberta", "<unk>"), ("llama", "<unk>"), ("llama", "</s>"), ("llama", None)])
def test_answers_do_not_hang_on_the_batch_or_its_order(tmp_path, kind, pad):
    folder = saved(tmp_path, kind=kind, pad=pad)
    together, alone = (ClassifierDetector(folder, batch_size=size, device="cpu") for size in (6, 1))
    answers = together.answer(TEXTS)
    scores = [answer.score for answer in answers]
    assert scores == pytest.approx([answer.score for answer in alone.answer(TEXTS)], abs=1e-5)
    assert scores == pytest.approx([answer.score for answer in together.answer(TEXTS[::-1])[::-1]], abs=1e-5)
    assert len({round(score, 4) for score in scores}) > 10
    assert [answer.prediction for answer in answers] == [int(score >= 0.5) for score in scores]
    assert all(answer.output is None and answer.mass is None for answer in answers)
    assert together.answer([]) == []


def test_exclusive_labels_add_and_independent_ones_take_the_largest(tmp_path):
    exclusive = saved(tmp_path / "exclusive")
    independent = saved(tmp_path / "independent", problem_type="multi_label_classification")
    chosen = {"hateful_labels": ["offensive", 2], "device": "cpu"}
    added, largest = (ClassifierDetector(folder, **chosen) for folder in (exclusive, independent))
    for text, adding, taking in zip(TEXTS[:5], added.answer(TEXTS[:5]), largest.answer(TEXTS[:5]), strict=True):
        assert adding.score == pytest.approx(sum(probabilities(exclusive, text, lambda logits: logits.softmax(-1))[1:]), abs=1e-5)
        assert taking.score == pytest.approx(max(probabilities(independent, text, torch.sigmoid)[1:]), abs=1e-5)
    assert (added.identity["labels"], largest.identity["labels"]) == ("exclusive", "independent")
    assert added.identity["hateful_labels"] == ["offensive", "Hate_Speech"]
    assert json.loads(json.dumps(added.identity)) == added.identity


def test_scores_by_hand():
    logits = torch.tensor([[math.log(1), math.log(2), math.log(5)]])
    assert hateful_scores(logits, [1, 2], False).tolist() == pytest.approx([7 / 8])
    assert hateful_scores(logits, [0], False).tolist() == pytest.approx([1 / 8])
    assert hateful_scores(logits, [0, 1], True).tolist() == pytest.approx([2 / 3])  # sigmoid(log x) = x / (1 + x)


@pytest.mark.parametrize(
    ("labels", "chosen", "found"),
    [
        ({0: "NOT_HATE", 1: "HATE"}, None, [1]),
        ({0: "hateful", 1: "non-hateful"}, None, [0]),
        (THREE, None, [2]),
        (THREE, ["OFFENSIVE", "hate speech"], [1, 2]),
        (THREE, ["offensive", "offensive", "1"], [1]),
        ({0: "LABEL_0", 1: "LABEL_1"}, ["LABEL_1"], [1]),
        ({0: "LABEL_0", 1: "LABEL_1"}, ["1"], [1]),
        ({0: "1", 1: "0"}, ["1"], [0]),  # a name goes before a number
        ({0: "Hate", 1: "hate"}, ["hate"], [1]),
    ],
)
def test_which_label_is_hateful(labels, chosen, found):
    assert find_hateful("model", labels, chosen) == found


@pytest.mark.parametrize("labels", [{0: "LABEL_0", 1: "LABEL_1"}, {0: "0", 1: "1"}, {0: "ok", 1: "toxic"}, {0: "not hate", 1: "nothate"}])
def test_labels_that_do_not_say(labels):
    with pytest.raises(InputError, match=f"cannot tell which label is hateful.*--hateful-label: 0 .*{labels[1]}"):
        find_hateful("model", labels, None)


def test_labels_that_are_not_there():
    with pytest.raises(InputError, match=r"has no label hat; its labels: 0 neutral, 1 offensive, 2 Hate_Speech"):
        find_hateful("model", THREE, ["hat"])
    with pytest.raises(InputError, match="has no label 3"):
        find_hateful("model", THREE, [3])


def test_outputs_that_are_no_probabilities(tmp_path):
    one = SimpleNamespace(problem_type=None, id2label={0: "hate"})
    with pytest.raises(InputError, match="has one label"):
        are_independent("model", one)
    one.problem_type = "multi_label_classification"
    assert are_independent("model", one)
    one.problem_type = "regression"
    with pytest.raises(InputError, match="gives numbers, not labels"):
        are_independent("model", one)
    with pytest.raises(InputError, match="every label is said to be hateful"):
        ClassifierDetector(saved(tmp_path), hateful_labels=[0, 1, 2], device="cpu")


def test_a_head_that_was_never_trained(tmp_path):
    """An encoder alone loads as a classifier with random weights, and would answer."""
    from transformers import AutoModel

    folder = saved(tmp_path)
    AutoModel.from_pretrained(folder).save_pretrained(folder)
    with pytest.raises(InputError, match=r"2 weights are not in the checkpoint and would be random: classifier\.bias"):
        ClassifierDetector(folder, device="cpu")


def test_parts_of_an_encoder_that_a_classifier_leaves_unused(tmp_path):
    from safetensors.torch import load_file, save_file

    folder, file = saved(tmp_path, kind="roberta"), tmp_path / "model.safetensors"
    weights = load_file(file) | {"roberta.pooler.dense.weight": torch.ones(32, 32), "lm_head.bias": torch.ones(3)}
    save_file(weights, file, metadata={"format": "pt"})
    ClassifierDetector(folder, device="cpu")
    save_file(weights | {"roberta.extra.weight": torch.ones(3)}, file, metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"1 weights of the checkpoint have no place in the model: roberta\.extra"):
        ClassifierDetector(folder, device="cpu")


@pytest.mark.parametrize(("kind", "limit"), [("bert", 64), ("roberta", 63)])  # RoBERTa counts positions from behind the padding's, 0 here
def test_long_cases_are_cut_and_counted(tmp_path, kind, limit):
    folder = saved(tmp_path, kind=kind)
    detector = ClassifierDetector(folder, device="cpu")
    assert detector.max_length == limit
    assert reserved_positions(detector.model) == 64 - limit
    assert [answer.cut for answer in detector.answer(["it rains", "it rains " * 200])] == [False, True]
    assert [answer.cut for answer in ClassifierDetector(folder, max_length=8, device="cpu").answer(["tea", "it rains " * 9])] == [False, True]
    with pytest.raises(InputError, match=f"max_length is 65, and the model takes {limit}"):
        ClassifierDetector(folder, max_length=65, device="cpu")


def test_what_is_not_there(tmp_path):
    for name in ("nobody/has-this-model", str(tmp_path / "nowhere")):
        with pytest.raises(InputError, match=name):
            ClassifierDetector(name, device="cpu")
