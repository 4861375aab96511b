"""A causal language model of transformers as a detector: the next token of a prompt is its answer, or, where more is asked for, the next few."""

import hashlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from sghc.errors import InputError
from sghc.models import adapters, asking, encoding, head, local, prompt, reader
from sghc.models.asking import Ask
from sghc.models.detector import Answer

DECODES = ("argmax", "generate", "constrained")
LONGEST = 1024  # tokens of a row unless asked otherwise: the longest case has about 300


class Row(NamedTuple):
    """A case as it is asked: its text in the prompt, and the tokens of that."""

    asked: str
    ids: list[int]
    cut: bool


class CausalDetector:
    """A causal language model, with an adapter of PEFT where one is given.

    Decoding:
        argmax       the most probable next token after one forward pass, which is greedy generation of one token
        generate     greedy generation of up to `max_new_tokens`; what the model's own generation settings say of sampling or penalties is left out
        constrained  the more probable of the two labels' tokens, whatever else the model would have said: nothing is ever rejected

    `score` is the probability of the label 1 among the tokens of both labels, `mass` that of both, at the first new token.

    Args:
        model: a folder, a hub id or a GGUF file; or a folder that holds an adapter alone, whose configuration names the model.
        adapter: a folder or hub id of a PEFT adapter.
        base_model: what the adapter sits on, where it is not where the adapter's configuration says.
        ask: the prompt (asking.py); None is the paper's. `prompt_name` is its name in the record.
        chat: puts the prompt into the model's own chat template.
        words: what to read on the output's first line instead of a label at its end (reader.answer_words); for decode="generate", without scores.
        batch_size: texts in one forward pass; None is 64 on a GPU and 8 on a CPU. Fewer are tried where they do not fit into memory.
        max_length: tokens of a prompt and its answer; a longer case is cut inside the case. None is 1,024 or the model's own limit.
        dtype, device, revision, trust_remote_code: as local.load. The revision is the model's, `adapter_revision` the adapter's.

    Raises:
        InputError: whatever is wrong with these, or with the model.
    """

    def __init__(
        self,
        model: str,
        *,
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
        device: str | None = None,
        trust_remote_code: bool = False,
    ):
        check(decode, max_new_tokens, words)
        name, adapter = adapters.base_and_adapter(model, adapter, base_model)
        self.model, self.tokenizer, commit = local.load("AutoModelForCausalLM", name, revision, dtype, device, trust_remote_code)
        if self.tokenizer.eos_token_id is None:
            raise InputError(f"{local.shown_name(name)}: its tokenizer has no end-of-text token")
        self.decode, self.max_new_tokens, self.words = decode, max_new_tokens if decode == "generate" else 1, words
        self.max_length = allowed_length(self.model.config, max_length)
        self.set_prompt(ask, chat)
        self.accepted = inspect.signature(self.model.forward).parameters
        self.ends = plain_generation(self.model, self.tokenizer.eos_token_id)
        pad = self.tokenizer.pad_token_id
        self.pad = self.ends[0] if pad is None else pad  # whatever it is, the attention mask hides it
        self.batches = local.Batches(batch_size or (8 if self.model.device.type == "cpu" else 64))
        if adapter:
            trial = [self.encode("It rains, and the bakers like tea.").ids]
            look = lambda model: self.next_logits(trial, model=model)  # noqa: E731
            self.model, adapter_revision = adapters.put_on(self.model, adapter, adapter_revision, look)
        self.find_head()
        self.identity = {
            "kind": "causal",
            "model": local.shown_name(name),
            "revision": commit,
            "adapter": adapter and local.shown_name(adapter),
            "adapter_revision": adapter_revision,
            "weights": local.digest(self.model),
            "prompt": {"name": name_of_prompt(ask, prompt_name, chat), "sha256": hashlib.sha256(self.ask("|").encode()).hexdigest()},
            "reading": dict(words) if words else "last-character",
            "decode": decode,
            "max_new_tokens": self.max_new_tokens,
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "max_length": self.max_length,
        }

    @property
    def batch_size(self) -> int:
        return self.batches.size * local.PASSES

    def set_prompt(self, ask: Ask | None, chat: bool) -> None:
        """Sets `ask`, `encode` and `label_ids`, by the paper's prompter or for any other prompt."""
        self.ask = ask or prompt.ask
        room_for = max(self.max_new_tokens, 2)  # two tokens are left free in training: the label and the end of text
        if ask is None and not chat:
            prompter = prompt.Prompter(self.tokenizer, self.max_length - room_for + 2)
            self.encode, self.label_ids = prompter.encode, prompter.label_ids
            return
        if chat:
            self.ask = asking.through_chat(self.ask, self.tokenizer)
        encoder = encoding.Encoder(self.tokenizer, self.ask, self.max_length - room_for, specials=not chat)
        self.encode, self.label_ids = encoder.encode, None if self.words else encoder.label_ids()

    def find_head(self) -> None:
        """Sets `head`, of the model as it now is."""
        self.head = head.found(lambda text: self.encode(text).ids, self.model, self.accepted, self.next_logits)

    @contextmanager
    def bare(self) -> Iterator[None]:
        """Answers without the adapter for a while; the shared head, too, is then the base's own."""
        try:
            with self.model.disable_adapter():
                self.find_head()
                yield
        finally:
            self.find_head()

    def answer(self, texts: Sequence[str]) -> list[Answer]:
        rows = [Row(self.ask(text), *self.encode(text)) for text in texts]
        return self.batches.run(self.generate if self.decode == "generate" else self.one_token, rows, length=lambda row: len(row.ids))

    def one_token(self, rows: list[Row]) -> list[Answer]:
        """Answers from one forward pass."""
        ids = [row.ids for row in rows]
        logits = self.next_logits(ids, self.head_of(ids))
        chosen = logits.argmax(-1).tolist()
        if self.decode == "constrained":
            chosen = [self.label_ids[code] for code in logits[:, self.label_ids].argmax(-1).tolist()]
        return [self.read(row, [token], *told) for row, token, told in zip(rows, chosen, self.scores(logits), strict=True)]

    def generate(self, rows: list[Row]) -> list[Answer]:
        """Answers from greedy generation."""
        import torch
        from transformers import LogitsProcessorList

        first, ids = First(), [row.ids for row in rows]
        shared = self.head_of(ids)
        with torch.inference_mode():
            tokens = self.model.generate(
                **self.batch(ids, shared),
                **({"cache": shared.copies(len(ids))} if shared else {}),
                max_new_tokens=self.max_new_tokens,
                do_sample=False,
                pad_token_id=self.pad,
                eos_token_id=self.ends,
                logits_processor=LogitsProcessorList([first]),
            )
        longest = max(map(len, ids))
        told = self.scores(first.logits)
        return [self.read(row, new, *of_it) for row, new, of_it in zip(rows, tokens[:, longest:].tolist(), told, strict=True)]

    def head_of(self, rows: list[list[int]]) -> head.Head | None:
        """The shared head, if all rows begin with it."""
        return self.head if self.head and all(map(self.head.starts, rows)) else None

    def batch(self, rows: list[list[int]], shared: head.Head | None = None) -> dict:
        """Rows of tokens -> int64 tensors (n, longest): `input_ids`, and the `attention_mask` that hides padding, left of what is not shared."""
        import torch

        longest, kept = max(map(len, rows)), len(shared.ids) if shared else 0
        ids = [row[:kept] + [self.pad] * (longest - len(row)) + row[kept:] for row in rows]
        mask = [[1] * kept + [0] * (longest - len(row)) + [1] * (len(row) - kept) for row in rows]
        device = self.model.get_input_embeddings().weight.device
        return {"input_ids": torch.tensor(ids, device=device), "attention_mask": torch.tensor(mask, device=device)}

    def next_logits(self, rows: list[list[int]], shared: head.Head | None = None, model=None):
        """Rows of tokens -> float32 logits (n, vocabulary) of the token after the last; all rows begin with the shared head, where one is given."""
        import torch

        inputs = self.batch(rows, shared)
        # positions count from the first real token, so that a case answers alike in every batch; models without (ALiBi) need none
        inputs |= {"position_ids": (inputs["attention_mask"].cumsum(-1) - 1).clamp(min=0), "logits_to_keep": 1, "use_cache": False}
        if shared:
            rest = {name: inputs[name][:, len(shared.ids) :] for name in ("input_ids", "position_ids")}
            inputs |= rest | {"cache": shared.copies(len(rows)), "use_cache": True}
        taken = {"input_ids", "attention_mask"} | self.accepted.keys()
        with torch.inference_mode():
            return (model or self.model)(**{name: value for name, value in inputs.items() if name in taken}).logits[:, -1].float()

    def scores(self, logits) -> list[tuple[float | None, float | None]]:
        """Logits (n, vocabulary) -> (score, mass) of each row, as the class says. InputError where the logits are no numbers."""
        if logits.isnan().any():
            raise InputError(f"{self.identity['model']}: answers are not numbers in {self.identity['dtype']}; try another dtype, such as float32")
        if self.words:
            return [(None, None)] * len(logits)
        both = logits.log_softmax(-1)[:, self.label_ids]
        return list(zip(both.softmax(-1)[:, 1].tolist(), both.exp().sum(-1).clamp(max=1).tolist(), strict=True))

    def read(self, row: Row, new: list[int], score: float | None, mass: float | None) -> Answer:
        """New tokens as an answer: up to an end of text, and without special tokens."""
        end = min((new.index(token) for token in self.ends if token in new), default=len(new))
        output = self.tokenizer.decode(new[:end], skip_special_tokens=True, clean_up_tokenization_spaces=False)
        code = reader.read_words(output, self.words) if self.words else reader.read_label(output, row.asked)
        return Answer(None if code == reader.REJECTED else code, output, score, mass, cut=row.cut)


class First:
    """Keeps the logits (n, vocabulary) of the first new token, and changes nothing. A logits processor of transformers."""

    logits = None

    def __call__(self, input_ids, scores):
        if self.logits is None:
            self.logits = scores.float().clone()
        return scores


def check(decode: str, max_new_tokens: int, words: Mapping[str, int] | None) -> None:
    if decode not in DECODES:
        raise InputError(f"decode is {decode!r}, expected {', '.join(DECODES)}")
    if max_new_tokens < 1:
        raise InputError(f"max_new_tokens is {max_new_tokens}, expected 1 or more")
    if decode != "generate" and max_new_tokens > 1:
        raise InputError(f"decode {decode} looks at one token; max_new_tokens is for decode generate")
    if words and decode != "generate":
        raise InputError("answers in words are read from generated text: give decode generate and max_new_tokens enough for a word")


def allowed_length(config, asked: int | None) -> int:
    """Tokens of a row: as asked, up to the model's own limit."""
    limits = [getattr(config, name, None) for name in ("max_position_embeddings", "max_seq_len", "n_positions")]
    limit = min((limit for limit in limits if isinstance(limit, int) and limit > 0), default=None)
    if asked and limit and asked > limit:
        raise InputError(f"max_length is {asked}, and the model takes {limit} tokens")
    return asked or min(LONGEST, limit or LONGEST)


def plain_generation(model, eos: int) -> list[int]:
    """Leaves greedy generation and nothing else of a model's generation settings, and returns the tokens that end an answer."""
    from transformers import GenerationConfig

    own = getattr(model.generation_config, "eos_token_id", None)
    own = own if isinstance(own, list) else [own]
    ends = list(dict.fromkeys([eos, *(token for token in own if token is not None)]))
    model.generation_config = GenerationConfig(eos_token_id=ends)
    return ends


def name_of_prompt(ask: Ask | None, name: str | None, chat: bool) -> str:
    """paper, the given name, or own; chat where that stands in a chat template, chat:NAME where it is not the paper's."""
    name = name or ("paper" if ask is None else "own")
    return ("chat" if name == "paper" else f"chat:{name}") if chat else name
