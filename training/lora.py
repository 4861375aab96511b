"""What a language model is fine-tuned with: its base, loaded whole and in the type that was asked for, and LoRA matrices beside its projections."""

import importlib.util
from dataclasses import dataclass, field

import recipe
from sghc.errors import InputError, first_few, plain
from sghc.models import local

LLAMA = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
TARGETS = {"llama": LLAMA, "mistral": LLAMA, "mpt": ("Wqkv", "out_proj", "up_proj", "down_proj")}  # every projection of a layer, by model_type


@dataclass
class Base:
    """The model that is fine-tuned, and the matrices that are trained beside its own."""

    model: str = field(
        metadata={"help": "a causal language model: a folder, a hub id, a GGUF file, or package:NAME/PATH inside an installed package"}
    )
    revision: str | None = field(default=None, metadata={"help": "of a hub id; the record says what it was resolved to"})
    dtype: str = field(default="bfloat16", metadata={"help": "of the base's weights", "choices": ["bfloat16", "float16", "float32"]})
    load_in_4bit: bool = field(default=False, metadata={"help": "the base's weights in 4 bits (QLoRA): bitsandbytes, on a GPU"})
    lora_r: int = field(default=16, metadata={"help": "rank of the matrices"})
    lora_alpha: int = field(default=32, metadata={"help": "their weight is lora_alpha / lora_r"})
    lora_dropout: float = field(default=0.05, metadata={"help": "on what goes into them"})
    lora_target_modules: list[str] = field(
        default_factory=list, metadata={"help": "ends of the names of modules that get them; by default all projections"}
    )


def check(base: Base) -> None:
    """InputError for 4 bits where they cannot be had."""
    if base.load_in_4bit:
        import torch

        lacking = [] if importlib.util.find_spec("bitsandbytes") else ["bitsandbytes (pip install bitsandbytes)"]
        lacking += [] if torch.cuda.is_available() else ["a CUDA GPU"]
        if lacking:
            raise InputError(
                f"load_in_4bit needs {' and '.join(lacking)}, not found here; leave it out and give dtype bfloat16, or use another machine"
            )


def load(base: Base, trust_remote_code: bool, local_rank: int = 0):
    """The model, its tokenizer and the hub's commit. On the CPU, from where the trainer takes it; in 4 bits on this process's GPU.

    Raises:
        InputError: as local.load.
    """
    name = recipe.located(base.model)
    device = f"cuda:{local_rank}" if base.load_in_4bit else "cpu"
    loading = {"device": device, "trust_remote_code": trust_remote_code, "quantization": quantization(base, name)}
    model, tokenizer, commit = local.load("AutoModelForCausalLM", name, base.revision, base.dtype, **loading)
    model.name_or_path = name  # goes into the adapter's configuration; transformers keeps of a GGUF file its folder only
    return model, tokenizer, commit


def quantization(base: Base, name: str):
    """How the weights are held: in 4 bits, as they are (None), or unpacked where a GGUF file has them packed."""
    import torch
    import transformers

    if base.load_in_4bit:
        kind = {"bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True, "bnb_4bit_compute_dtype": getattr(torch, base.dtype)}
        return transformers.BitsAndBytesConfig(load_in_4bit=True, **kind)
    return transformers.GgufConfig(dequantize=True) if name.endswith(".gguf") else None


def config(base: Base, model, commit: str | None):
    """PEFT's configuration. InputError where the modules to train cannot be told, or are none of the model's."""
    from peft import LoraConfig

    targets = list(base.lora_target_modules or TARGETS.get(model.config.model_type, ()))
    if not targets:
        raise InputError(f"{base.model}: of type {model.config.model_type}, whose projections are not known here; name them: lora_target_modules")
    names = [f".{name}" for name, _ in model.named_modules()]
    if strange := [target for target in targets if not any(name.endswith(f".{target}") for name in names)]:
        raise InputError(f"{base.model}: has no modules {first_few(map(plain, strange))} (lora_target_modules)")
    sizes = {"r": base.lora_r, "lora_alpha": base.lora_alpha, "lora_dropout": base.lora_dropout}
    return LoraConfig(**sizes, target_modules=targets, task_type="CAUSAL_LM", revision=commit)
