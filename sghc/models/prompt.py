"""The paper's prompt (appendix D.1) as it was run, and the tokens of it that a language model is trained on and asked with.

The bytes are those of the release's rejected outputs: single line breaks, where the paper's layout prints blank lines.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sghc.errors import InputError

HEAD = "Label the given Input as 0 or 1, where 0 is not hateful and 1 is hateful.\n### Input:\n"
TAIL = "\n### Label:\n"
LABELS = ("0", "1")  # by code: non-hateful, hateful
LEAST = 8  # tokens that must be left for the case itself


def ask(text: str) -> str:
    """The evaluation form: what a model is asked about a case."""
    return HEAD + text + TAIL


def answered(text: str, label: int) -> str:
    """The training form: the question and its answer."""
    return ask(text) + LABELS[label]


class Encoded(NamedTuple):
    """`ids` end with the last token of the prompt; `cut` says whether the case was shortened to fit."""

    ids: list[int]
    cut: bool


class Prompter:
    """The prompt in the tokens of one tokenizer, the same for training and asking.

    Where the label's token begins depends on the tokenizer: byte-level BPE may merge line breaks, and a sentencepiece digit is another token alone
    than in context. So the prompt is tokenised without its label, and the label's token, as it stands in context, is put behind it: what is trained
    is what is read.

    Args:
        tokenizer: a fast tokenizer of transformers.
        max_length: tokens of a whole row, label and end of text included; a longer case is cut inside the case, never at the end of the prompt.

    Raises:
        InputError: the tokenizer is not a fast one, has no end-of-text token or no single token for a label; `max_length` leaves no room for a case.
    """

    def __init__(self, tokenizer, max_length: int):
        if not getattr(tokenizer, "is_fast", False):
            raise InputError(f"{name_of(tokenizer)}: not a fast tokenizer, which is needed to know where a case may be cut")
        if tokenizer.eos_token_id is None:
            raise InputError(f"{name_of(tokenizer)}: no end-of-text token, so the end of an answer cannot be learned")
        self.tokenizer = tokenizer
        self.room = max_length - 2  # for the label and the end of text
        if self.room < len(self.tokens(ask(""))) + LEAST:
            raise InputError(f"max_length is {max_length}, expected at least {len(self.tokens(ask(''))) + LEAST + 2} for the prompt and a few words")
        self.label_ids = [self.label_id(label) for label in LABELS]

    def tokens(self, prompt: str) -> list[int]:
        """A prompt's tokens, with what the tokenizer puts before a text (a BOS), without what it puts behind (an EOS)."""
        ids = self.tokenizer(prompt)["input_ids"]
        while ids and ids[-1] == self.tokenizer.eos_token_id:
            ids.pop()
        return ids

    def label_id(self, label: str) -> int:
        """The token that a label is behind the prompt."""
        tokenizer = self.tokenizer
        in_context = tokenizer(ask("x") + label, add_special_tokens=False)
        start, end = in_context.token_to_chars(0, len(in_context["input_ids"]) - 1)
        if end - start == 1:
            return in_context["input_ids"][-1]
        alone = tokenizer.convert_tokens_to_ids(label)  # the border token swallowed the digit; the digit's own token may still exist
        if alone is None or alone == tokenizer.unk_token_id:
            raise InputError(f"{name_of(tokenizer)}: no single token for the label {label}")
        return alone

    def encode(self, text: str) -> Encoded:
        """The tokens to ask with."""
        ids = self.tokens(ask(text))
        cut = False
        while len(ids) > self.room:
            text = text[: self.keep(text, len(ids) - self.room)]
            ids, cut = self.tokens(ask(text)), True
        return Encoded(ids, cut)

    def keep(self, text: str, excess: int) -> int:
        """How many characters of a case to keep so that `excess` tokens go: whole tokens, counted from the case's end."""
        offsets = self.tokenizer(ask(text), return_offsets_mapping=True)["offset_mapping"]
        inside = [start for start, end in offsets if len(HEAD) <= start < end <= len(HEAD) + len(text)]
        return max(0, inside[-min(excess, len(inside))] - len(HEAD)) if inside else 0

    def row(self, text: str, label: int) -> tuple[dict[str, list[int]], bool]:
        """A row to train on, `{"input_ids", "labels"}` with the labels masked (-100) over the prompt; and whether the case was cut."""
        ids, cut = self.encode(text)
        answer = [self.label_ids[label], self.tokenizer.eos_token_id]
        return {"input_ids": ids + answer, "labels": [-100] * len(ids) + answer}, cut

    def rows(self, texts: Sequence[str], labels: Sequence[int]) -> tuple[list[dict[str, list[int]]], int]:
        """Rows to train on, and how many cases were cut."""
        made = [self.row(text, label) for text, label in zip(texts, labels, strict=True)]
        return [row for row, _ in made], sum(cut for _, cut in made)


def name_of(tokenizer) -> str:
    return getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__
