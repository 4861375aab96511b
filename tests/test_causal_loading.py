"""What cannot be loaded whole is not loaded: checkpoints with gaps, adapters without effect, models that are not there."""

import json
import shutil
from pathlib import Path

import pytest

from sghc.errors import InputError

torch = pytest.importorskip("torch")

from tiny_models import TEXTS, same, saved  # noqa: E402

from sghc.models import local  # noqa: E402
from sghc.models.causal import CausalDetector  # noqa: E402


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("llama"), "llama")


def changed(llama, folder, change):
    """A copy of a model whose weights were changed on the way."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(llama, folder)
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return str(folder)


def adapter(llama, folder, scale: float):
    """A LoRA adapter whose second matrix is `scale` throughout; it starts as nothing, so that 0 changes nothing."""
    peft = pytest.importorskip("peft")
    from transformers import AutoModelForCausalLM

    made = peft.get_peft_model(AutoModelForCausalLM.from_pretrained(llama), peft.LoraConfig(r=2, target_modules=["q_proj", "v_proj"]))
    for name, weight in made.named_parameters():
        if "lora_B" in name:
            torch.nn.init.constant_(weight, scale)
    made.save_pretrained(folder)
    return str(folder)


def test_weights_that_lack_or_have_no_place(llama, tmp_path):
    lacking = changed(llama, tmp_path / "lacking", lambda weights: weights.pop("model.layers.1.mlp.up_proj.weight"))
    with pytest.raises(InputError, match=r"lacking: 1 weights are not in the checkpoint.*up_proj"):
        CausalDetector(lacking, device="cpu")
    spare = changed(llama, tmp_path / "spare", lambda weights: weights.update({"model.layers.0.attn.q_ln.weight": torch.ones(32)}))
    with pytest.raises(InputError, match=r"spare: 1 weights of the checkpoint have no place.*q_ln"):
        CausalDetector(spare, device="cpu")
    other = changed(llama, tmp_path / "other", lambda weights: weights.update({"model.norm.weight": torch.ones(16)}))
    with pytest.raises(InputError, match="other: "):
        CausalDetector(other, device="cpu")


def test_sea_lions_mpt_is_not_transformers_mpt(tmp_path):
    """Its checkpoint has learned positions, biases and a norm of queries and keys, which the built-in class would leave out without an error."""

    def more(weights):
        weights["transformer.wpe.weight"] = torch.ones(256, 32)
        weights["transformer.blocks.0.attn.q_ln.weight"] = torch.ones(32)
        weights["transformer.blocks.0.attn.Wqkv.bias"] = torch.ones(96)

    with pytest.raises(InputError, match="3 weights of the checkpoint have no place in the model"):
        CausalDetector(changed(saved(tmp_path / "mpt", "mpt"), tmp_path / "sea-lion", more), device="cpu")


def test_what_is_not_there(llama, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    for name in ("nobody/has-this-model", str(tmp_path / "nowhere"), str(empty), str(tmp_path / "no.gguf")):
        with pytest.raises(InputError) as caught:
            CausalDetector(name, device="cpu")
        assert str(caught.value).startswith(name)
        assert "\n" not in str(caught.value)
    torn = shutil.copytree(llama, tmp_path / "torn")
    (torn / "model.safetensors").write_bytes((torn / "model.safetensors").read_bytes()[:1000])
    with pytest.raises(InputError, match="torn: cannot be loaded"):
        CausalDetector(str(torn), device="cpu")
    with pytest.raises(InputError, match="no end-of-text token"):
        CausalDetector(saved(tmp_path / "endless", "llama", eos_token=None), device="cpu")


def test_no_secret_in_an_error():
    def fails():
        raise OSError("no https://me:pass@host/model?token=abc with hf_abcdefghijklmnopqrstuvwxyz\nmore")

    with pytest.raises(InputError) as caught:
        local.attempt("https://me:pass@host/model", fails)
    assert str(caught.value) == "https://…host/model: cannot be loaded (OSError: no https://…host/model… with …)"


def test_an_adapter_changes_the_answers(llama, tmp_path):
    place = adapter(llama, tmp_path / "adapter", 0.5)
    plain, adapted = CausalDetector(llama, device="cpu"), CausalDetector(llama, adapter=place, batch_size=5, device="cpu")
    answers = adapted.answer(TEXTS)
    assert [answer.score for answer in answers] != pytest.approx([answer.score for answer in plain.answer(TEXTS)], abs=1e-3)
    same(answers, CausalDetector(llama, adapter=place, batch_size=1, device="cpu").answer(TEXTS))
    same(answers, CausalDetector(llama, adapter=place, decode="generate", device="cpu").answer(TEXTS))
    assert adapted.identity["adapter"] == place
    assert adapted.identity["weights"] != plain.identity["weights"]


def test_an_adapter_without_effect(llama, tmp_path):
    with pytest.raises(InputError, match="an adapter without effect"):
        CausalDetector(llama, adapter=adapter(llama, tmp_path / "nothing", 0.0), device="cpu")
    place = Path(adapter(llama, tmp_path / "renamed", 0.5))
    from safetensors.torch import load_file, save_file

    weights = load_file(place / "adapter_model.safetensors")
    save_file({name.replace("self_attn", "attention"): weight for name, weight in weights.items()}, place / "adapter_model.safetensors")
    with pytest.raises(InputError, match="Found missing adapter keys"):
        CausalDetector(llama, adapter=str(place), device="cpu")


def test_an_adapters_model_may_have_moved(llama, tmp_path):
    place = Path(adapter(llama, tmp_path / "adapter", 0.5))
    found = CausalDetector(str(place), device="cpu")
    assert (found.identity["model"], found.identity["adapter"]) == (llama, str(place))
    settings = json.loads((place / "adapter_config.json").read_text())
    (place / "adapter_config.json").write_text(json.dumps(settings | {"base_model_name_or_path": "/gone/model"}))
    with pytest.raises(InputError, match="adapts /gone/model, where nothing is; give base_model"):
        CausalDetector(str(place), device="cpu")
    same(CausalDetector(str(place), base_model=llama, device="cpu").answer(TEXTS), found.answer(TEXTS))


def test_batches_are_of_like_length():
    seen = []

    def work(rows):
        seen.append([len(row) for row in rows])
        return rows

    rows = ["tea" * n for n in (1, 4, 2, 3, 1)]
    assert local.Batches(2).run(work, rows) == rows
    assert seen == [[12, 9], [6, 3], [3]]


def test_smaller_batches_where_memory_ends():
    pytest.importorskip("accelerate")
    batches, seen = local.Batches(8), []

    def work(rows):
        if len(rows) > 5:
            raise RuntimeError("CUDA out of memory. Tried to allocate")
        seen.append(len(rows))
        return [row.upper() for row in rows]

    rows = [chr(97 + n) * (n % 7 + 1) for n in range(17)]
    assert batches.run(work, rows) == [row.upper() for row in rows]
    assert batches.size == 5
    assert sum(seen) == 17

    def never(rows):
        raise RuntimeError("CUDA out of memory. Tried to allocate")

    with pytest.raises(InputError, match="does not fit into memory"):
        local.Batches(4).run(never, rows)
