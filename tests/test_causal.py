"""Causal models as detectors: tiny random ones, whose answers mean nothing and must yet be the same however they are asked for."""

import json
import shutil

import pytest
from tokenizers_made import trained

from sghatecheck_metric.reading import REJECTED
from sghc.errors import InputError
from sghc.models.asking import PAPER
from sghc.models.encoding import Encoder
from sghc.models.prompt import Prompter, ask
from sghc.models.reader import answer_words, read_label

torch = pytest.importorskip("torch")

from tiny_models import TEXTS, same, saved  # noqa: E402

from sghc.models.causal import CausalDetector, Row  # noqa: E402


@pytest.fixture(scope="module", params=["llama", "mistral", "mpt", "gpt2"])
def any_model(request, tmp_path_factory):
    return saved(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("llama"), "llama")


def logits_by_hand(folder, text):
    """Next-token logits of one case alone, without padding or any of the detector's code; and the prompter."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    prompter = Prompter(AutoTokenizer.from_pretrained(folder), 256)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype="float32").eval()
    with torch.inference_mode():
        return model(torch.tensor([prompter.encode(text).ids])).logits[0, -1], prompter


@pytest.mark.parametrize("decode", ["argmax", "generate", "constrained"])
def test_answers_do_not_hang_on_the_batch_or_its_order(any_model, decode):
    together = CausalDetector(any_model, decode=decode, batch_size=7, device="cpu")
    alone = CausalDetector(any_model, decode=decode, batch_size=1, device="cpu")
    answers = together.answer(TEXTS)
    same(answers, alone.answer(TEXTS))
    same(answers, together.answer(TEXTS[::-1])[::-1])
    assert len({answer.score for answer in answers}) > 10  # or the texts would make no difference
    assert together.answer([]) == []


def test_argmax_is_greedy_generation_of_one_token(any_model):
    from transformers import AutoModelForCausalLM

    detector = CausalDetector(any_model, batch_size=8, device="cpu")
    model = AutoModelForCausalLM.from_pretrained(any_model, dtype="float32").eval()
    for text, answer in zip(TEXTS, detector.answer(TEXTS), strict=True):
        ids = torch.tensor([detector.encode(text).ids])
        new = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=1, do_sample=False, pad_token_id=0)[0, -1:]
        assert answer.output == detector.tokenizer.decode(new, skip_special_tokens=True)
        assert (REJECTED if answer.prediction is None else answer.prediction) == read_label(answer.output, ask(text))
    same(detector.answer(TEXTS), CausalDetector(any_model, decode="generate", batch_size=8, device="cpu").answer(TEXTS))


def test_score_and_mass_are_those_of_the_softmax(any_model):
    answers = CausalDetector(any_model, batch_size=8, device="cpu").answer(TEXTS)
    for text, answer in list(zip(TEXTS, answers, strict=True))[::6]:
        logits, prompter = logits_by_hand(any_model, text)
        zero, one = logits.softmax(-1)[prompter.label_ids].tolist()
        assert answer.mass == pytest.approx(zero + one, rel=1e-3, abs=1e-6)
        assert answer.score == pytest.approx(one / (zero + one), abs=1e-4)
        assert 0 <= answer.mass <= 1
        assert 0 <= answer.score <= 1


def test_constrained_never_rejects_and_free_keeps_what_came(any_model):
    free = CausalDetector(any_model, device="cpu").answer(TEXTS)
    constrained = CausalDetector(any_model, decode="constrained", device="cpu")
    rejected = [answer for answer in free if answer.prediction is None]
    assert len(rejected) > 10  # a random model seldom names a label
    assert any(answer.output for answer in rejected)
    for answer in constrained.answer(TEXTS):
        assert answer.output == str(answer.prediction)
        assert answer.prediction == (answer.score > 0.5)
    assert constrained.identity["decode"] == "constrained"


def test_generate_gives_new_text_up_to_the_end_of_text(any_model):
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(any_model, dtype="float32").eval()
    detector = CausalDetector(any_model, decode="generate", max_new_tokens=6, batch_size=5, device="cpu")
    for text, answer, first in zip(TEXTS[:8], detector.answer(TEXTS[:8]), CausalDetector(any_model, device="cpu").answer(TEXTS[:8]), strict=True):
        ids = torch.tensor([detector.encode(text).ids])
        whole = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=6, do_sample=False, pad_token_id=0)[0]
        assert answer.output == detector.tokenizer.decode(whole[ids.shape[1] :], skip_special_tokens=True)
        assert answer.score == pytest.approx(first.score, abs=1e-4)


def test_an_echo_is_kept_as_it_came_and_rejected(llama):
    detector = CausalDetector(llama, decode="generate", max_new_tokens=9, device="cpu")
    for text, expected in (("it rains 1", None), ("it rains", 1)):  # said again from the first prompt, new behind the second
        new = detector.tokenizer("it rains 1", add_special_tokens=False)["input_ids"]
        answer = detector.read(Row(ask(text), detector.encode(text).ids, False), [*new, detector.ends[0], new[0]], 0.5, 0.1)
        assert (answer.prediction, answer.output) == (expected, "it rains 1")


def test_a_models_own_generation_settings_do_not_bend_the_answer(llama, tmp_path):
    folder = shutil.copytree(llama, tmp_path / "bent")
    settings = {"repetition_penalty": 9.0, "suppress_tokens": list(range(250)), "do_sample": True, "temperature": 5.0, "eos_token_id": [2]}
    (folder / "generation_config.json").write_text(json.dumps(settings))
    options = {"decode": "generate", "max_new_tokens": 4, "device": "cpu"}
    same(CausalDetector(str(folder), **options).answer(TEXTS), CausalDetector(llama, **options).answer(TEXTS))


def test_what_pads_does_not_matter(llama, tmp_path):
    plain = CausalDetector(llama, device="cpu")
    assert plain.tokenizer.pad_token_id is None
    for name, special in (("end", {"pad_token": "</s>"}), ("unknown", {"pad_token": "<unk>"})):
        padded = CausalDetector(saved(tmp_path / name, "llama", **special), device="cpu")
        same(padded.answer(TEXTS), plain.answer(TEXTS))


def test_long_cases_are_cut_and_counted(llama):
    detector = CausalDetector(llama, max_length=100, device="cpu")
    long = "it rains and rains " * 100
    answers = detector.answer(["it rains", long, "tea"])
    assert [answer.cut for answer in answers] == [False, True, False]
    assert len(detector.encode(long).ids) <= 98
    generating = CausalDetector(llama, max_length=100, decode="generate", max_new_tokens=20, device="cpu")
    assert len(generating.encode(long).ids) <= 80
    with pytest.raises(InputError, match="max_length is 300, and the model takes 256"):
        CausalDetector(llama, max_length=300, device="cpu")


def test_a_prompt_of_ones_own(llama):
    def own(text):
        return f"tea {text}\nbakers"

    detector = CausalDetector(llama, ask=own, prompt_name="rain.txt", max_length=64, device="cpu")
    ids, cut = detector.encode("it rains and rains " * 50)
    assert cut
    assert len(ids) <= 62
    assert detector.tokenizer.decode(ids, skip_special_tokens=True).strip().startswith("tea it rains and")
    assert detector.tokenizer.decode(ids).endswith("\nbakers")
    assert detector.identity["prompt"]["name"] == "rain.txt"
    assert detector.identity["prompt"]["sha256"] != CausalDetector(llama, device="cpu").identity["prompt"]["sha256"]
    same(CausalDetector(llama, ask=PAPER, device="cpu").answer(TEXTS), CausalDetector(llama, device="cpu").answer(TEXTS))


def test_what_a_tokenizer_puts_behind_a_text_is_not_asked():
    tokenizer = trained("pieces with an end")
    assert tokenizer("tea")["input_ids"][-1] == tokenizer.eos_token_id
    encoder = Encoder(tokenizer, lambda text: f"tea {text}: ", 64)
    assert tokenizer.eos_token_id not in encoder.encode("it rains").ids
    with pytest.raises(InputError, match="the prompt may have 9 tokens"):
        Encoder(tokenizer, lambda text: f"tea {text}: ", 9)


def test_chat_and_words(tmp_path):
    folder = saved(tmp_path / "chat", "llama", chat_template="<s>{% for m in messages %}user: {{ m.content | trim }}\n{% endfor %}bot: ")
    words = answer_words("hateful=unsafe,non-hateful=safe")
    detector = CausalDetector(folder, chat=True, words=words, decode="generate", max_new_tokens=3, max_length=128, device="cpu")
    ids, cut = detector.encode("  it rains and rains " * 50)
    assert cut
    assert len(ids) <= 125
    assert ids.count(detector.tokenizer.bos_token_id) == 1
    assert detector.tokenizer.decode(ids).endswith("### Label:\nbot: ")
    answer = detector.answer(TEXTS[:2])[0]
    assert (answer.prediction, answer.score, answer.mass) == (None, None, None)
    assert detector.identity["reading"] == words
    assert detector.identity["prompt"]["name"] == "chat"


def test_settings_that_contradict_each_other(llama):
    for options, message in (
        ({"decode": "beam"}, "decode is 'beam'"),
        ({"max_new_tokens": 5}, "max_new_tokens is for decode generate"),
        ({"max_new_tokens": 0}, "expected 1 or more"),
        ({"words": {"safe": 0, "unsafe": 1}}, "read from generated text"),
        ({"chat": True}, "no chat template"),
        ({"trust_remote_code": True}, "needs a revision"),
        ({"base_model": llama}, "goes with an adapter"),
    ):
        with pytest.raises(InputError, match=message):
            CausalDetector(llama, device="cpu", **options)


def test_the_record_tells_models_apart(llama, any_model):
    identity = CausalDetector(llama, device="cpu").identity
    assert json.loads(json.dumps(identity)) == identity
    assert (identity["kind"], identity["revision"], identity["adapter"], identity["dtype"]) == ("causal", None, None, "float32")
    assert identity["reading"] == "last-character"
    assert identity["prompt"]["name"] == "paper"
    other = CausalDetector(any_model, device="cpu").identity["weights"]
    assert (other == identity["weights"]) == ("/llama" in any_model)
    assert CausalDetector(llama, dtype="bfloat16", device="cpu").identity["dtype"] == "bfloat16"
