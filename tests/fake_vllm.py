"""A stand-in for vLLM, which needs a GPU: its documented signatures and checks, with a small model of transformers behind them, one prompt at a time.

What a caller may say, of what vLLM documented in September 2026, is written out, and anything else is a TypeError, as there; what its validation
refuses is a ValueError. It stands for the interface alone: vLLM's own numbers, kernels and LoRA are not tested by it.
`installed` puts it where `import vllm` finds it.
"""

import sys
import types
from dataclasses import dataclass
from typing import TypedDict

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)


class TokensPrompt(TypedDict):
    prompt_token_ids: list[int]


@dataclass
class SamplingParams:
    n: int = 1
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    seed: int | None = None
    stop: list[str] | None = None
    stop_token_ids: list[int] | None = None
    ignore_eos: bool = False
    max_tokens: int | None = 16
    min_tokens: int = 0
    logprobs: int | None = None
    prompt_logprobs: int | None = None
    logprob_token_ids: list[int] | None = None
    detokenize: bool = True
    skip_special_tokens: bool = True
    allowed_token_ids: list[int] | None = None

    def __post_init__(self):
        if self.max_tokens is not None and self.max_tokens < 1:
            raise ValueError("max_tokens must be at least 1")
        if self.temperature != 0:
            raise NotImplementedError("the stand-in is greedy")
        if self.logprobs is not None and self.logprobs > 20:
            raise ValueError("greater than max allowed: 20")
        if self.logprobs is not None and self.logprob_token_ids is not None and self.logprobs != len(self.logprob_token_ids):
            raise ValueError("logprobs must equal len(logprob_token_ids)")
        if self.allowed_token_ids == []:
            raise ValueError("allowed_token_ids is not None and empty!")


@dataclass
class LoRARequest:
    lora_name: str
    lora_int_id: int
    lora_path: str = ""

    def __post_init__(self):
        if self.lora_int_id < 1 or not self.lora_path:
            raise ValueError("id must be > 0, and lora_path cannot be empty")


@dataclass
class Logprob:
    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


@dataclass
class CompletionOutput:
    index: int
    text: str
    token_ids: list[int]
    cumulative_logprob: float | None
    logprobs: list[dict[int, Logprob]] | None
    finish_reason: str | None = None
    stop_reason: int | str | None = None


@dataclass
class RequestOutput:
    request_id: str
    prompt: str | None
    prompt_token_ids: list[int]
    outputs: list[CompletionOutput]
    finished: bool = True


class LLM:
    """What it was made with, and every SamplingParams that it was asked with, stay in `made` and `asked` for tests to look at."""

    def __init__(
        self,
        model,
        *,
        tokenizer=None,
        tokenizer_mode="auto",
        skip_tokenizer_init=False,
        trust_remote_code=False,
        tensor_parallel_size=1,
        dtype="auto",
        quantization=None,
        revision=None,
        tokenizer_revision=None,
        seed=0,
        gpu_memory_utilization=0.92,
        enforce_eager=False,
        # of EngineArgs
        code_revision=None,
        max_model_len=None,
        generation_config="auto",
        logprobs_mode="raw_logprobs",
        enable_prefix_caching=None,
        enable_lora=False,
        max_lora_rank=16,
        max_loras=1,
    ):
        import torch
        from transformers import AutoModelForCausalLM

        self.made = {name: value for name, value in locals().items() if name not in ("self", "torch", "AutoModelForCausalLM")}
        self.asked = []
        if max_lora_rank not in RANKS:
            raise ValueError(f"max_lora_rank must be one of {RANKS}")
        if tensor_parallel_size > 2:
            raise ValueError("World size (4) is larger than the number of available GPUs (2)")
        if dtype not in ("auto", "half", "float16", "bfloat16", "float", "float32"):
            raise ValueError(f"Unknown dtype: {dtype}")
        self.base = AutoModelForCausalLM.from_pretrained(model, dtype=dtype).eval()
        self.adapted = {}
        self.model_config = types.SimpleNamespace(dtype=self.base.dtype, max_model_len=max_model_len)
        self.torch = torch

    def generate(self, prompts, sampling_params=None, *, use_tqdm=True, lora_request=None, priority=None, tokenization_kwargs=None):
        self.asked.append(sampling_params)
        return [self.one(str(number), prompt, sampling_params, lora_request) for number, prompt in enumerate(prompts)]

    def one(self, number, prompt, params, lora_request):
        if set(prompt) != {"prompt_token_ids"} or not all(type(token) is int for token in prompt["prompt_token_ids"]):
            raise TypeError("expected token ids")
        ids, limit = list(prompt["prompt_token_ids"]), self.made["max_model_len"]
        if len(ids) + 1 > limit:
            raise ValueError("the prompt is longer than the maximum model length")
        model, new, told = self.with_lora(lora_request), [], []
        while len(new) < params.max_tokens and len(ids) + len(new) < limit:
            with self.torch.inference_mode():
                logits = model(self.torch.tensor([ids + new])).logits[0, -1].float()
            raw = logits.log_softmax(-1)
            if params.allowed_token_ids is not None:
                allowed = self.torch.full_like(logits, float("-inf"))
                allowed[params.allowed_token_ids] = logits[params.allowed_token_ids]
                logits = allowed
            if self.made["logprobs_mode"] == "processed_logprobs":
                raw = logits.log_softmax(-1)
            new.append(int(logits.argmax()))
            wanted = params.logprob_token_ids or (raw.topk(params.logprobs).indices.tolist() if params.logprobs else [])
            told.append({token: Logprob(float(raw[token])) for token in [new[-1], *wanted]})
            if new[-1] in (params.stop_token_ids or []):
                break
        given = told if params.logprobs is not None or params.logprob_token_ids else None
        return RequestOutput(number, None, ids, [CompletionOutput(0, "", new, None, given)])

    def with_lora(self, request):
        if request is None:
            return self.base
        if not self.made["enable_lora"]:
            raise ValueError("Call to add_lora failed: LoRA is not enabled")
        if request.lora_int_id not in self.adapted:
            from peft import PeftConfig, PeftModel
            from transformers import AutoModelForCausalLM

            if PeftConfig.from_pretrained(request.lora_path).r > self.made["max_lora_rank"]:
                raise ValueError("LoRA rank is greater than max_lora_rank")
            fresh = AutoModelForCausalLM.from_pretrained(self.made["model"], dtype=self.made["dtype"])
            self.adapted[request.lora_int_id] = PeftModel.from_pretrained(fresh, request.lora_path).eval()
        return self.adapted[request.lora_int_id]


def installed(monkeypatch) -> types.ModuleType:
    """The stand-in as the module `vllm`, until the test ends."""
    vllm, lora, request = types.ModuleType("vllm"), types.ModuleType("vllm.lora"), types.ModuleType("vllm.lora.request")
    vllm.LLM, vllm.SamplingParams, vllm.TokensPrompt, vllm.__version__ = LLM, SamplingParams, TokensPrompt, "0.33.0"
    request.LoRARequest = LoRARequest
    vllm.lora, lora.request = lora, request
    for module in (vllm, lora, request):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return vllm
