"""From what the command line says to a detector: which kind it is, and that only options of that kind are given."""

import re
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from sghc.errors import InputError, first_few
from sghc.models import asking
from sghc.models.detector import Detector
from sghc.models.reader import answer_words

FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
MODEL = {"revision", "max_length", "dtype", "trust_remote_code"}
LOCAL = MODEL | {"device", "engine"}
ASKED = {"prompt", "answers"}
CAUSAL = {"adapter", "base_model", "adapter_revision", "chat", "decode", "max_new_tokens"}
TAKES = {  # the options that each kind of detector knows, besides batch_size
    "callable": set(),
    "endpoint": ASKED | {"base_url", "api", "max_new_tokens", "concurrency"},
    "classifier": LOCAL | {"hateful_label"},
    "causal": LOCAL | ASKED | CAUSAL,
    "vllm": MODEL | ASKED | CAUSAL | {"engine", "tensor_parallel"},
}


@dataclass(frozen=True)
class Options:
    """What may be said of a detector; each default stands for "not said"."""

    batch_size: int | None = None
    prompt: Path | None = None
    chat: bool = False
    answers: str | None = None
    decode: str | None = None
    max_new_tokens: int | None = None
    hateful_label: list[str] = field(default_factory=list)
    adapter: str | None = None
    base_model: str | None = None
    adapter_revision: str | None = None
    revision: str | None = None
    max_length: int | None = None
    dtype: str | None = None
    device: str | None = None
    trust_remote_code: bool = False
    base_url: str | None = None
    api: str | None = None
    concurrency: int | None = None
    engine: str | None = None
    tensor_parallel: int | None = None


def open_detector(model: str, options: Options) -> Detector:
    """The detector that `model` and its options name.

    Args:
        model: `module:function`; a model's name at an endpoint, with base_url; else a folder or hub id for transformers or, by `engine`, for vLLM, or
            a GGUF file.

    Raises:
        InputError: no such thing, an option of another kind of detector, or whatever the detector itself refuses.
    """
    kind = kind_of(model, options)
    check_options(kind, options)
    if kind == "callable":
        from sghc.models.callables import from_spec

        return from_spec(model, options.batch_size or 32)
    ask = asking.from_file(options.prompt) if options.prompt else None
    words = answer_words(options.answers) if options.answers is not None else None
    if kind == "endpoint":
        from sghc.models.endpoint import EndpointDetector

        named = {} if ask is None else {"ask": ask, "prompt_name": options.prompt.name}
        named |= given(options, base_url="base_url", api="api", max_new_tokens="max_tokens", concurrency="concurrency")
        return EndpointDetector(model, words=words, **named)
    local = given(options, **{name: name for name in (*TAKES[kind] - ASKED - {"engine", "hateful_label"}, "batch_size")})
    if kind == "classifier":
        from sghc.models.classifier import ClassifierDetector

        return ClassifierDetector(model, hateful_labels=options.hateful_label or None, **local)
    if kind == "vllm":
        from sghc.models.vllm_engine import VllmDetector as Causal
    else:
        from sghc.models.causal import CausalDetector as Causal
    return Causal(model, ask=ask, prompt_name=options.prompt.name if options.prompt else None, words=words, **local)


def kind_of(model: str, options: Options) -> str:
    """callable, endpoint, vllm, classifier or causal; the last two by what the model's configuration says it is made for."""
    if options.engine == "vllm":
        return "vllm"
    if options.base_url is not None:
        return "endpoint"
    if FUNCTION.fullmatch(model) and not Path(model).exists():
        return "callable"
    if Path(model).suffix == ".gguf" or options.adapter or (Path(model) / "adapter_config.json").is_file():
        return "causal"
    names = architectures(model, options)
    return "classifier" if any(name.endswith("ForSequenceClassification") for name in names) else "causal"


def architectures(model: str, options: Options) -> list[str]:
    """The classes that a model's configuration names."""
    from sghc.models import local

    try:
        from transformers import AutoConfig
    except ImportError as error:
        raise InputError(f"running a model here needs torch and transformers ({error}): pip install 'sghatecheck[train]'") from None
    source, more = local.where(model)
    more |= {"revision": options.revision} if options.revision else {}
    config = local.attempt(model, lambda: AutoConfig.from_pretrained(source, trust_remote_code=options.trust_remote_code, **more))
    return config.architectures or []


def check_options(kind: str, options: Options) -> None:
    """Raises InputError where an option is given that this kind of detector does not know: it would be ignored without a word."""
    defaults = asdict(Options())
    said = {one.name for one in fields(options) if getattr(options, one.name) != defaults[one.name]} - {"batch_size"}
    if foreign := sorted(said - TAKES[kind]):
        flags = [f"--{name.replace('_', '-')}" for name in foreign]
        raise InputError(f"{first_few(flags)}: not for a detector of kind {kind}")


def given(options: Options, **names: str) -> dict:
    """The options that are given, by the name that a detector has for them."""
    defaults = Options()
    return {theirs: getattr(options, ours) for ours, theirs in names.items() if getattr(options, ours) != getattr(defaults, ours)}
