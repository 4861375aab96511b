"""Models in vLLM: behind a stand-in with vLLM's signatures, the same model gives the answers that it gives in transformers."""

import json
import shutil
import sys
from pathlib import Path

import fake_vllm
import pytest

from sghc.errors import InputError
from sghc.models.opening import Options, open_detector
from sghc.models.reader import answer_words

torch = pytest.importorskip("torch")

from tiny_models import TEXTS, same, saved  # noqa: E402

from sghc.models.causal import CausalDetector, Row  # noqa: E402
from sghc.models.vllm_engine import VllmDetector  # noqa: E402

CHAT = "<s>{% for m in messages %}user: {{ m.content | trim }}\n{% endfor %}bot: "


@pytest.fixture
def vllm(monkeypatch):
    return fake_vllm.installed(monkeypatch)


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("llama"), "llama")


def own_prompt(text):
    return f"tea {text}\nbakers"


def adapter(llama, folder, scale: float, **settings):
    """A LoRA adapter whose second matrix is `scale` throughout; with 0 it changes nothing."""
    peft = pytest.importorskip("peft")
    from transformers import AutoModelForCausalLM

    made = peft.get_peft_model(AutoModelForCausalLM.from_pretrained(llama), peft.LoraConfig(r=3, target_modules=["q_proj", "v_proj"], **settings))
    for name, weight in made.named_parameters():
        if "lora_B" in name:
            torch.nn.init.constant_(weight, scale)
    made.save_pretrained(folder)
    return str(folder)


@pytest.mark.parametrize("architecture", ["llama", "gpt2"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"decode": "constrained"},
        {"decode": "generate", "max_new_tokens": 5},
        {"ask": own_prompt, "prompt_name": "own.txt", "max_length": 100},
        {"chat": True},
        {"chat": True, "decode": "generate", "max_new_tokens": 3, "words": answer_words("hateful=unsafe,non-hateful=safe")},
        {"dtype": "bfloat16"},
    ],
    ids=["argmax", "constrained", "generate", "own prompt", "chat", "words", "bfloat16"],
)
def test_the_answers_are_those_of_transformers(vllm, tmp_path, architecture, options):
    model = saved(tmp_path / architecture, architecture, chat_template=CHAT)
    texts = [*TEXTS, "it rains and rains " * 90]  # the last one is cut
    here, there = VllmDetector(model, **options), CausalDetector(model, device="cpu", batch_size=1, **options)
    answers = here.answer(texts)
    if options.get("dtype"):
        assert [answer.mass for answer in answers] == pytest.approx([answer.mass for answer in there.answer(texts)], abs=0.02)
        assert here.identity["dtype"] == there.identity["dtype"] == "bfloat16"
        return
    same(answers, there.answer(texts))
    assert answers[-1].cut
    assert len({answer.output for answer in answers}) > 1  # or any two engines would agree
    shared = set(here.identity) - {"engine", "weights"}
    assert {name: here.identity[name] for name in shared} == {name: there.identity[name] for name in shared}


def test_what_the_engine_is_asked(vllm, llama):
    detector = VllmDetector(llama, decode="constrained", tensor_parallel=2)
    ids = []
    made = detector.llm.generate
    detector.llm.generate = lambda prompts, *rest, **more: ids.extend(prompts) or made(prompts, *rest, **more)
    answers = detector.answer(TEXTS[:3])
    assert [one["prompt_token_ids"] for one in ids] == [CausalDetector(llama, device="cpu").encode(text).ids for text in TEXTS[:3]]
    assert all(answer.output in ("0", "1") and answer.prediction == (answer.score > 0.5) for answer in answers)
    assert {answer.mass < 0.5 for answer in answers} == {True}  # the mass before the mask, not 1
    (params,) = detector.llm.asked
    assert (params.temperature, params.max_tokens, params.allowed_token_ids) == (0, 1, detector.label_ids)
    expected = {"model": llama, "tensor_parallel_size": 2, "max_model_len": 256, "dtype": "float32", "generation_config": "vllm"}
    assert {name: detector.llm.made[name] for name in expected} == expected
    assert detector.answer([]) == []
    assert (detector.batch_size, VllmDetector(llama, batch_size=7).batch_size) == (512, 7)


def test_the_record_names_the_engine_and_the_weights(vllm, llama, tmp_path):
    identity = VllmDetector(llama, tensor_parallel=2).identity
    assert identity["kind"] == "causal"
    assert identity["engine"] == {"name": "vllm", "version": "0.33.0", "tensor_parallel": 2}
    assert json.loads(json.dumps(identity)) == identity
    moved = shutil.copytree(llama, tmp_path / "moved")
    assert VllmDetector(str(moved)).identity["weights"] == identity["weights"]
    weights = bytearray((moved / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (moved / "model.safetensors").write_bytes(weights)
    assert VllmDetector(str(moved)).identity["weights"] != identity["weights"]


def test_a_score_that_the_engine_does_not_give_is_none(vllm, llama):
    detector = VllmDetector(llama)
    expected = detector.answer(TEXTS)
    detector.params.logprobs = detector.params.logprob_token_ids = None
    for answer, whole in zip(detector.answer(TEXTS), expected, strict=True):
        assert (answer.score, answer.mass) == (None, None)
        assert (answer.prediction, answer.output) == (whole.prediction, whole.output)
    detector.params.logprobs = 1  # one label is there by chance, or none
    assert {answer.score for answer in detector.answer(TEXTS)} == {None}


def test_answers_that_are_no_numbers(vllm, llama):
    detector = VllmDetector(llama)
    torch.nn.init.constant_(detector.llm.base.get_output_embeddings().weight, float("nan"))
    with pytest.raises(InputError, match="answers are not numbers in float32; try another dtype"):
        detector.answer(TEXTS[:1])


def test_an_adapter_of_lora(vllm, llama, tmp_path):
    place = adapter(llama, tmp_path / "adapter", 0.5)
    adapted = VllmDetector(llama, adapter=place)
    same(adapted.answer(TEXTS), CausalDetector(llama, adapter=place, device="cpu").answer(TEXTS))
    plain = VllmDetector(llama)
    assert [answer.score for answer in adapted.answer(TEXTS)] != pytest.approx([answer.score for answer in plain.answer(TEXTS)], abs=1e-3)
    assert (adapted.llm.made["enable_lora"], adapted.llm.made["max_lora_rank"]) == (True, 8)  # the least that allows for 3
    assert adapted.identity["adapter"] == place
    assert adapted.identity["weights"] != plain.identity["weights"]
    alone = VllmDetector(place)  # its configuration names the model
    assert (alone.identity["model"], alone.identity["adapter"]) == (llama, place)


def test_adapters_that_would_do_something_else_or_nothing(vllm, llama, tmp_path):
    with pytest.raises(InputError, match="an adapter without effect in vLLM"):
        VllmDetector(llama, adapter=adapter(llama, tmp_path / "nothing", 0.0))
    for name, settings in (("alpha", {"alpha_pattern": {"q_proj": 3}}), ("rank", {"rank_pattern": {"q_proj": 2}}), ("dora", {"use_dora": True})):
        with pytest.raises(InputError, match=f"vLLM does not apply an adapter's .*{name}.*; merge it into the model"):
            VllmDetector(llama, adapter=adapter(llama, tmp_path / name, 0.5, **settings))
    place = Path(adapter(llama, tmp_path / "large", 0.5))
    settings = json.loads((place / "adapter_config.json").read_text())
    for change, what in (({"r": 600}, "rank 600"), ({"bias": "all"}, "bias"), ({"peft_type": "IA3"}, "peft_type")):
        (place / "adapter_config.json").write_text(json.dumps(settings | change))
        with pytest.raises(InputError, match=f"vLLM does not apply an adapter's {what}"):
            VllmDetector(llama, adapter=str(place))
    with pytest.raises(InputError, match="nowhere: no such folder"):
        VllmDetector(llama, adapter=str(tmp_path / "nowhere"))


def test_what_cannot_run_is_one_clear_error(vllm, llama, tmp_path):
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    classifier = shutil.copytree(llama, tmp_path / "classifier")
    config = json.loads((classifier / "config.json").read_text())
    (classifier / "config.json").write_text(json.dumps(config | {"architectures": ["LlamaForSequenceClassification"]}))
    for model, options, message in (
        (llama, {"tensor_parallel": 4}, "cannot be loaded .*larger than the number of available GPUs"),
        (llama, {"max_length": 300}, "max_length is 300, and the model takes 256"),
        (llama, {"trust_remote_code": True}, "needs a revision"),
        (llama, {"decode": "beam"}, "decode is 'beam'"),
        (str(tmp_path / "model.gguf"), {}, "a GGUF file"),
        (str(classifier), {}, "a classifier, and --engine vllm is for language models"),
        (str(tmp_path / "nowhere"), {}, "nowhere: no such folder or file"),
        (saved(tmp_path / "endless", "llama", eos_token=None), {}, "no end-of-text token"),
    ):
        with pytest.raises(InputError, match=message):
            VllmDetector(model, **options)


def test_an_engine_that_stops_says_nothing_of_the_prompt(vllm, llama):
    detector = VllmDetector(llama)

    def stops(*arguments, **options):
        raise RuntimeError(f"died over {TEXTS[0]}")

    detector.llm.generate = stops
    with pytest.raises(InputError) as caught:
        detector.answer(TEXTS)
    assert "vLLM stopped (RuntimeError)" in str(caught.value)
    assert "rains" not in str(caught.value)


def test_the_end_of_an_answer_is_the_models_own(vllm, llama, tmp_path):
    options = {"decode": "generate", "max_new_tokens": 6}
    endless = VllmDetector(llama, **options)
    written = [done.token_ids for done in endless.complete([Row("", endless.encode(text).ids, False) for text in TEXTS], endless.params, None)]
    end = next(tokens[2] for tokens in written if len(tokens) == 6 and tokens[2] > 260 and tokens[2] not in tokens[:2])  # no byte, so that it shows
    folder = shutil.copytree(llama, tmp_path / "ended")
    settings = {"eos_token_id": [end], "repetition_penalty": 9.0, "max_new_tokens": 1}
    (folder / "generation_config.json").write_text(json.dumps(settings))
    ended = VllmDetector(str(folder), **options)
    assert ended.params.stop_token_ids == [ended.tokenizer.eos_token_id, end]
    answers = ended.answer(TEXTS)
    same(answers, CausalDetector(str(folder), device="cpu", **options).answer(TEXTS))
    assert [answer.output for answer in answers] != [answer.output for answer in endless.answer(TEXTS)]


# --- chosen by the command ---


def test_vllm_that_is_not_installed(monkeypatch, llama):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(InputError, match=r"--engine vllm needs vLLM, which is not installed: pip install"):
        open_detector(llama, Options(engine="vllm"))


def test_vllm_that_is_too_old_or_broken(monkeypatch, vllm, llama):
    vllm.__version__ = "0.19.1"
    vllm.SamplingParams = type("SamplingParams", (), dict.fromkeys(("temperature", "max_tokens", "logprobs", "stop_token_ids", "detokenize")))
    vllm.SamplingParams.allowed_token_ids = None
    with pytest.raises(InputError, match=r"vLLM 0\.19\.1 has no SamplingParams\.logprob_token_ids, expected 0\.20 or newer"):
        open_detector(llama, Options(engine="vllm"))
    del vllm.LLM
    with pytest.raises(InputError, match="vLLM is installed and cannot be imported"):
        open_detector(llama, Options(engine="vllm"))


def test_options_of_other_engines_are_refused(vllm, llama):
    detector = open_detector(llama, Options(engine="vllm", tensor_parallel=2, decode="constrained", batch_size=9))
    assert (type(detector), detector.batch_size, detector.decode) == (VllmDetector, 9, "constrained")
    assert type(open_detector(llama, Options(engine="transformers", device="cpu"))) is CausalDetector
    for options, flags in (
        (Options(engine="vllm", device="cuda"), "--device: not for a detector of kind vllm"),
        (Options(engine="vllm", base_url="http://127.0.0.1:9/v1"), "--base-url: not for a detector of kind vllm"),
        (Options(tensor_parallel=2), "--tensor-parallel: not for a detector of kind causal"),
    ):
        with pytest.raises(InputError, match=flags):
            open_detector(llama, options)
    with pytest.raises(InputError, match="--engine: not for a detector of kind callable"):
        open_detector("json:loads", Options(engine="transformers"))


def test_two_workers_on_one_suite_by_the_command(starter, monkeypatch, vllm, llama, tmp_path, capsys):
    from sghc import cli

    told = ["sghatecheck", "predict", "--model", llama, "--suite", str(starter), "--limit", "60", "--engine", "vllm"]

    def command(*more) -> int:
        monkeypatch.setattr("sys.argv", [*told, *map(str, more)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        return left.value.code or 0

    for more in (["--shard", "2/2"], ["--shard", "1/2"]):
        assert command("--out", tmp_path / "p.jsonl", *more) == 0
    assert "2 shards joined: 60 of 60 cases answered" in capsys.readouterr().out
    assert command("--out", tmp_path / "whole.jsonl") == 0
    assert (tmp_path / "p.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert json.loads((tmp_path / "p.run.json").read_text())["identity"]["engine"]["name"] == "vllm"
    monkeypatch.setitem(sys.modules, "vllm", None)
    assert command("--out", tmp_path / "absent.jsonl") == 1
    assert "pip install vllm" in capsys.readouterr().err
    assert not (tmp_path / "absent.jsonl").exists()
