"""The recipes of training/sft.py and accelerate's configurations: each is read, and what it trains is there in a model of its kind."""

import sys
from pathlib import Path

import pytest
import yaml

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

import lora  # noqa: E402
import recipe  # noqa: E402
import sft  # noqa: E402
from sghc.errors import InputError  # noqa: E402

TRAINING = Path(sft.__file__).parent
MODELS = {"llama-2-7b": "llama", "mistral-7b": "mistral", "sea-lion-7b": "mpt", "seallm-7b": "llama", "smollm2": "llama"}
RECIPES = [path for path in sorted((TRAINING / "recipes").glob("*.yaml")) if path.stem.rpartition("-")[0] in MODELS]


def parsed(path: Path, *more: str):
    return recipe.parse((sft.Options, lora.Base, recipe.Data, sft.SFTConfig), ["--config", str(path), "--use_cpu", "true", *more])


def tiny(kind: str):
    """An untrained model of a kind, two layers, without memory for its weights."""
    import transformers as t

    small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 50}
    configs = {"llama": t.LlamaConfig(**small), "mistral": t.MistralConfig(**small, num_key_value_heads=2)}
    configs["mpt"] = t.MptConfig(d_model=32, n_heads=4, n_layers=2, vocab_size=50)
    with torch.device("meta"):
        return t.AutoModelForCausalLM.from_config(configs[kind])


def test_one_for_each_model_and_corpus():
    names = {path.stem for path in RECIPES} - {"smollm2-demo"}
    assert names == {f"{model}-{corpus}" for model in MODELS if model != "smollm2" for corpus in ("engset", "multiset")}


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe(path):
    options, base, data, arguments = parsed(path)
    written = yaml.safe_load(path.read_text())
    assert {**vars(options), **vars(base), **vars(data)}.items() >= {key: written[key] for key in ("model", "corpus", "effective_batch_size")}.items()
    assert base.revision is None  # none is known here
    assert arguments.output_dir.endswith(path.stem)
    assert sft.checked(options, base, data, arguments) * arguments.per_device_train_batch_size == options.effective_batch_size
    assert "the project's own" in path.read_text()
    if path.stem != "smollm2-demo":
        assert (base.dtype, arguments.bf16, arguments.activation_checkpointing) == ("bfloat16", True, True)
        assert data.corpus == path.stem.rpartition("-")[2]


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_projection_gets_its_matrices(path):
    from peft import get_peft_model
    from peft.tuners.lora import LoraLayer

    _, base, _, _ = parsed(path)
    model = tiny(MODELS[path.stem.rpartition("-")[0]])
    linear = sum(isinstance(module, torch.nn.Linear) for module in model.modules()) - 1  # all but the head
    adapted = get_peft_model(model, lora.config(base, model, None))
    assert sum(isinstance(module, LoraLayer) for module in adapted.modules()) == linear == 2 * len(base.lora_target_modules)


def test_the_command_line_goes_first():
    _, base, data, arguments = parsed(RECIPES[0], "--lora_r", "4", "--learning_rate", "1e-5", "--without", "waseem_hovy", "--seed", "7")
    assert (base.lora_r, arguments.learning_rate, data.without, arguments.seed) == (4, 1e-5, ["waseem_hovy"], 7)


def test_what_was_used_is_a_recipe(tmp_path):
    parts = parsed(RECIPES[0])
    (tmp_path / "used.yaml").write_text(yaml.safe_dump(recipe.as_used(*parts)))
    again = recipe.parse((sft.Options, lora.Base, recipe.Data, sft.SFTConfig), ["--config", str(tmp_path / "used.yaml")])
    assert [vars(part) for part in again[:3]] == [vars(part) for part in parts[:3]]
    assert again[3].to_dict() == parts[3].to_dict()


def test_a_model_whose_projections_are_not_known():
    import transformers as t

    with torch.device("meta"):
        model = t.AutoModelForCausalLM.from_config(t.GPT2Config(n_embd=8, n_head=2, n_layer=1, vocab_size=50))
    with pytest.raises(InputError, match="x: of type gpt2, whose projections are not known here; name them: lora_target_modules"):
        lora.config(lora.Base(model="x"), model, None)
    assert lora.config(lora.Base(model="x", lora_target_modules=["c_attn"]), model, None).target_modules == {"c_attn"}


@pytest.mark.parametrize("lacking", ["bitsandbytes", "a CUDA GPU"])
def test_4_bits_where_they_cannot_be_had(lacking, monkeypatch):
    monkeypatch.setattr(lora.importlib.util, "find_spec", lambda name: None if lacking == "bitsandbytes" else object())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: lacking == "bitsandbytes")
    with pytest.raises(InputError, match=rf"load_in_4bit needs {lacking}[^&]*not found here"):
        lora.check(lora.Base(model="x", load_in_4bit=True))


def test_4_bits_are_asked_for(monkeypatch):
    """As far as a machine without a GPU goes: what transformers would be given."""
    asked = {}
    monkeypatch.setattr(lora.local, "load", lambda kind, name, *rest, **options: asked.update(options) or (torch.nn.Linear(1, 1), None, None))
    lora.load(lora.Base(model="x", load_in_4bit=True), trust_remote_code=False, local_rank=1)
    assert asked["device"] == "cuda:1"
    assert asked["quantization"].load_in_4bit
    assert asked["quantization"].bnb_4bit_compute_dtype == torch.bfloat16


@pytest.mark.parametrize(("name", "kind"), [("fsdp", "FSDP"), ("deepspeed_zero3", "DEEPSPEED")])
def test_accelerate_reads_its_configurations(name, kind, monkeypatch):
    """By the launcher's own reading: the environment it would give each process."""
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser

    place = TRAINING / "accelerate" / f"{name}.yaml"
    monkeypatch.setattr(sys, "argv", ["accelerate"])
    arguments, *_ = _validate_launch_command(launch_command_parser().parse_args(["--config_file", str(place), "sft.py", "--seed", "1"]))
    assert (arguments.use_fsdp, arguments.use_deepspeed) == (kind == "FSDP", kind == "DEEPSPEED")
    assert (arguments.num_processes, arguments.mixed_precision) == (8, "bf16")
    if kind == "FSDP":
        assert (str(arguments.fsdp_version), arguments.fsdp_state_dict_type) == ("2", "FULL_STATE_DICT")
    else:
        assert str(arguments.zero_stage) == "3"
