"""A causal language model run by vLLM: the engine for models and suites that outgrow one GPU. The same tokens are asked and the same answers are read
as with transformers (causal.py); what is computed in between is vLLM's.

Written against the API that vLLM documented in September 2026 (0.33 is out since); the oldest release with all that is used here is 0.20, whose
SamplingParams brought `logprob_token_ids`.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from sghc.errors import InputError
from sghc.models import adapters, local
from sghc.models.asking import Ask
from sghc.models.causal import CausalDetector, Row, allowed_length, check, name_of_prompt
from sghc.models.detector import Answer

INSTALL = "pip install vllm, on a machine with a GPU (docs.vllm.ai says which)"
OLDEST = "0.20"
NEEDED = ("allowed_token_ids", "detokenize", "logprob_token_ids", "logprobs", "max_tokens", "stop_token_ids", "temperature")
AT_ONCE = 512  # texts in one call: vLLM makes its own batches of them; a crash costs no more than these
RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)  # what max_lora_rank may be
LEFT_OUT = ("alpha_pattern", "layer_replication", "lora_bias", "modules_to_save", "rank_pattern", "use_dora")  # of an adapter's settings
TRIAL = "It rains, and the bakers like tea."
WEIGHTS = re.compile(r".*\.safetensors|(pytorch|adapter)_model.*\.bin")
SAMPLES, SAMPLE = 16, 65_536  # pieces of a file of weights that its digest is made of, and bytes of each


class VllmDetector(CausalDetector):
    """A causal language model in vLLM, with a LoRA adapter of PEFT where one is given; decoding, score and mass are those of CausalDetector.

    `score` and `mass` come from the log-probabilities of the two labels' tokens at the first new token, as the model gives them and before
    `constrained` masks the others; None where the engine does not tell them. Half precision and other kernels move probabilities a little, so that
    answers near a tie may differ from those of transformers, and with what else is in a batch (vLLM's VLLM_BATCH_INVARIANT=1 rules out the latter).
    vLLM's LoRA, too, has been seen to answer unlike PEFT (vllm#10798): settings of an adapter that it would leave out without a word are refused, and
    an adapter must change the model's probabilities. Whether a checkpoint fits its architecture is left to vLLM's own check.

    Args:
        model: a folder or hub id; or a folder that holds an adapter alone, whose configuration names the model.
        tensor_parallel: GPUs that hold the model together.
        batch_size: texts in one call of the engine; None is 512.
        dtype: a name such as "bfloat16"; None is the stored one.
        the others: as CausalDetector.

    Raises:
        InputError: vLLM absent, too old or unable to run the model here; whatever is wrong with the arguments or with the model.
    """

    def __init__(
        self,
        model: str,
        *,
        tensor_parallel: int = 1,
        adapter: str | None = None,
        base_model: str | None = None,
        revision: str | None = None,
        adapter_revision: str | None = None,
        ask: Ask | None = None,
        prompt_name: str | None = None,
        chat: bool = False,
        words: Mapping[str, int] | None = None,
        decode: str = "argmax",
        max_new_tokens: int = 1,
        batch_size: int | None = None,
        max_length: int | None = None,
        dtype: str | None = None,
        trust_remote_code: bool = False,
    ):
        check(decode, max_new_tokens, words)
        self.vllm = engine()
        name, adapter = adapters.base_and_adapter(model, adapter, base_model)
        self.name = local.shown_name(name)
        if trust_remote_code and not revision:
            raise InputError(f"{self.name}: trust_remote_code runs code of the model's authors and needs a revision, so that it is known which")
        source, commit, config, self.tokenizer, self.ends = described(name, revision, trust_remote_code)
        self.decode, self.max_new_tokens, self.words = decode, max_new_tokens if decode == "generate" else 1, words
        self.max_length = allowed_length(config, max_length)
        self.set_prompt(ask, chat)
        self.at_once = batch_size or AT_ONCE
        place, adapter_commit, rank = fetched(adapter, adapter_revision) if adapter else (None, None, None)
        pins = {"revision": commit, "tokenizer_revision": commit} if commit else {}
        pins |= {"trust_remote_code": True, "code_revision": commit} if trust_remote_code else {}
        lora = {"enable_lora": True, "max_lora_rank": rank} if adapter else {}
        self.llm = local.attempt(
            name,
            lambda: self.vllm.LLM(
                model=source,
                dtype=dtype or named(config.dtype) or "auto",
                tensor_parallel_size=tensor_parallel,
                max_model_len=self.max_length,
                generation_config="vllm",  # nothing of the model's own generation settings
                logprobs_mode="raw_logprobs",  # before `constrained` masks them
                **pins,
                **lora,
            ),
        )
        self.params = self.sampling()
        self.lora = self.put_on(adapter, place) if adapter else None
        self.identity = {
            "kind": "causal",
            "engine": {"name": "vllm", "version": self.vllm.__version__, "tensor_parallel": tensor_parallel},
            "model": self.name,
            "revision": commit,
            "adapter": adapter and local.shown_name(adapter),
            "adapter_revision": adapter_commit,
            "weights": digest([one for one in (source, place) if one and Path(one).is_dir()]),
            "prompt": {"name": name_of_prompt(ask, prompt_name, chat), "sha256": hashlib.sha256(self.ask("|").encode()).hexdigest()},
            "reading": dict(words) if words else "last-character",
            "decode": decode,
            "max_new_tokens": self.max_new_tokens,
            "dtype": named(self.llm.model_config.dtype),
            "max_length": self.max_length,
        }

    @property
    def batch_size(self) -> int:
        return self.at_once

    def sampling(self):
        """Greedy decoding, with the log-probabilities of the labels' tokens where answers are labels."""
        options = {"temperature": 0.0, "max_tokens": self.max_new_tokens, "stop_token_ids": self.ends, "detokenize": False}
        if not self.words:
            options |= {"logprobs": len(self.label_ids), "logprob_token_ids": self.label_ids}
        if self.decode == "constrained":
            options |= {"allowed_token_ids": self.label_ids}
        return self.vllm.SamplingParams(**options)

    def put_on(self, adapter: str, place: str):
        """The request that puts an adapter on the model. InputError where vLLM cannot load it, or it changes nothing."""
        from vllm.lora.request import LoRARequest

        request = LoRARequest("adapter", 1, place)
        trial = [Row("", self.encode(TRIAL).ids, False)]
        params = self.vllm.SamplingParams(temperature=0.0, max_tokens=1, logprobs=20, detokenize=False)

        def likeliest(lora) -> dict[int, float]:
            return {token: one.logprob for token, one in self.complete(trial, params, lora)[0].logprobs[0].items()}

        if likeliest(None) == local.attempt(adapter, lambda: likeliest(request)):
            raise InputError(f"{local.shown_name(adapter)}: an adapter without effect in vLLM, the model answers as it does without it")
        return request

    def answer(self, texts: Sequence[str]) -> list[Answer]:
        return self.generate([Row(self.ask(text), *self.encode(text)) for text in texts]) if texts else []

    def generate(self, rows: list[Row]) -> list[Answer]:
        try:
            done = self.complete(rows, self.params, self.lora)
        except Exception as error:  # of the engine's own process, by kind alone, since a message may hold a prompt
            raise InputError(f"{self.name}: vLLM stopped ({type(error).__name__}); what was written stays, run the same command again") from None
        return [self.read(row, list(one.token_ids), *self.told(one)) for row, one in zip(rows, done, strict=True)]

    def complete(self, rows: list[Row], params, lora) -> list:
        """What the engine makes of each row: vLLM's CompletionOutput."""
        prompts = [self.vllm.TokensPrompt(prompt_token_ids=row.ids) for row in rows]
        return [done.outputs[0] for done in self.llm.generate(prompts, params, use_tqdm=False, lora_request=lora)]

    def told(self, done) -> tuple[float | None, float | None]:
        """(score, mass) of a completion, as the class says. InputError where the model's answers are no numbers."""
        first = done.logprobs[0] if done.logprobs else {}
        if self.words or not all(token in first for token in self.label_ids):
            return None, None
        zero, one = (first[token].logprob for token in self.label_ids)
        if math.isnan(zero + one):
            raise InputError(f"{self.name}: answers are not numbers in {named(self.llm.model_config.dtype)}; try another dtype, such as float32")
        return (1 + math.tanh((one - zero) / 2)) / 2, min(math.exp(zero) + math.exp(one), 1.0)  # the logistic function, without overflow


def engine():
    """The module vllm. InputError where it is absent, broken or too old."""
    try:
        import vllm

        found = vllm.LLM, vllm.TokensPrompt, vllm.SamplingParams, vllm.__version__  # imported at their first use
    except ModuleNotFoundError as error:
        absent = "vLLM, which is not installed" if error.name == "vllm" else f"vLLM with all its parts, and {error.name} is missing"
        raise InputError(f"--engine vllm needs {absent}: {INSTALL}") from None
    except Exception as error:  # a driver or a library of CUDA that is not there may raise anything
        raise InputError(f"--engine vllm: vLLM is installed and cannot be imported ({type(error).__name__})") from None
    if lacking := [name for name in NEEDED if not hasattr(found[2], name)]:
        raise InputError(f"--engine vllm: vLLM {found[3]} has no SamplingParams.{lacking[0]}, expected {OLDEST} or newer")
    return vllm


def described(name: str, revision: str | None, trust_remote_code: bool):
    """A model without its weights: where it is, the hub's commit (None for a folder), configuration, tokenizer, and the tokens that end an answer."""
    from transformers import AutoConfig, AutoTokenizer, GenerationConfig

    shown = local.shown_name(name)
    source, more = local.where(name)
    if more:
        raise InputError(f"{shown}: a GGUF file, which --engine vllm does not take here; leave --engine out")
    commit = local.pinned(source, revision)
    options = {"revision": commit} if commit else {}
    config = local.attempt(name, lambda: AutoConfig.from_pretrained(source, trust_remote_code=trust_remote_code, **options))
    if any(one.endswith("ForSequenceClassification") for one in config.architectures or []):
        raise InputError(f"{shown}: a classifier, and --engine vllm is for language models; leave --engine out")
    tokenizer = local.attempt(name, lambda: AutoTokenizer.from_pretrained(source, trust_remote_code=trust_remote_code, **options))
    if tokenizer.eos_token_id is None:
        raise InputError(f"{shown}: its tokenizer has no end-of-text token")
    try:
        own = GenerationConfig.from_pretrained(source, **options).eos_token_id
    except OSError:  # it has none
        own = GenerationConfig.from_model_config(config).eos_token_id
    own = own if isinstance(own, list) else [own]
    return source, commit, config, tokenizer, list(dict.fromkeys([tokenizer.eos_token_id, *(token for token in own if token is not None)]))


def fetched(adapter: str, revision: str | None) -> tuple[str, str | None, int]:
    """An adapter's folder, the hub's commit of it (None for a folder), and the least rank that vLLM must allow for.

    Raises:
        InputError: no such adapter, or one whose settings vLLM does not apply.
    """
    from huggingface_hub import snapshot_download

    source, _ = local.where(adapter)
    commit = local.pinned(source, revision)
    place = source if Path(source).is_dir() else local.attempt(adapter, lambda: snapshot_download(source, revision=commit))
    settings = local.attempt(adapter, lambda: json.loads((Path(place) / adapters.CONFIG).read_bytes()))
    foreign = [key for key in LEFT_OUT if settings.get(key)]
    foreign += ["bias"] if settings.get("bias", "none") != "none" else []
    foreign += ["peft_type"] if settings.get("peft_type") != "LORA" else []
    rank = min((rank for rank in RANKS if rank >= settings.get("r", 0)), default=None)
    if foreign or rank is None:
        what = foreign[0] if foreign else f"rank {settings['r']}"
        raise InputError(f"{local.shown_name(adapter)}: vLLM does not apply an adapter's {what}; merge it into the model, or leave --engine out")
    return str(Path(place).absolute()), commit, rank


def named(dtype) -> str | None:
    return None if dtype is None else str(dtype).removeprefix("torch.")


def digest(folders: list[str]) -> str | None:
    """A short hash of the files of weights in some folders, from pieces of each: a model trained anew has another. None where there are none."""
    sha = hashlib.sha256()
    files = [path for folder in folders for path in sorted(Path(folder).iterdir()) if WEIGHTS.fullmatch(path.name)]
    for path in files:
        size = path.stat().st_size
        sha.update(f"{path.name} {size} ".encode())
        with path.open("rb") as file:
            for number in range(SAMPLES):
                file.seek(max(size - SAMPLE, 0) * number // (SAMPLES - 1))
                sha.update(file.read(SAMPLE))
    return sha.hexdigest()[:16] if files else None
