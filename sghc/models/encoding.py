"""Any prompt in the tokens of one tokenizer, as prompt.Prompter has the paper's: a long case is cut inside the case, the label's token is found."""

from sghc.errors import InputError
from sghc.models.asking import MARK, Ask
from sghc.models.prompt import LABELS, LEAST, Encoded, name_of


class Encoder:
    """What `ask` gives, in tokens.

    Args:
        tokenizer: a fast tokenizer of transformers.
        ask: the prompt of a case, which shows the case once and as it is (asking.py sees to that).
        room: tokens that a prompt may have.
        specials: whether the tokenizer puts its own tokens (a BOS) before the text; a chat template has them in it.

    Raises:
        InputError: not a fast tokenizer, or `room` leaves none for a case.
    """

    def __init__(self, tokenizer, ask: Ask, room: int, specials: bool = True):
        if not getattr(tokenizer, "is_fast", False):
            raise InputError(f"{name_of(tokenizer)}: not a fast tokenizer, which is needed to know where a case may be cut")
        self.tokenizer, self.ask, self.room, self.specials = tokenizer, ask, room, specials
        self.head = len(ask(MARK).partition(MARK)[0])
        if room < (least := len(self.tokens(ask("x"))) + LEAST):
            raise InputError(f"the prompt may have {room} tokens, expected room for {least}: give a larger max_length or a shorter prompt")

    def tokens(self, prompt: str) -> list[int]:
        """A prompt's tokens, without what the tokenizer puts behind a text (an EOS) where it puts its own around it."""
        ids = self.tokenizer(prompt, add_special_tokens=self.specials)["input_ids"]
        while self.specials and ids and ids[-1] == self.tokenizer.eos_token_id:
            ids.pop()
        return ids

    def encode(self, text: str) -> Encoded:
        """The tokens to ask with."""
        ids, cut = self.tokens(self.ask(text)), False
        while len(ids) > self.room and text:
            text = text[: self.keep(text, len(ids) - self.room)]
            ids, cut = self.tokens(self.ask(text)), True
        return Encoded(ids, cut)

    def keep(self, text: str, excess: int) -> int:
        """How many characters of a case to keep so that `excess` tokens go: whole tokens, counted from the case's end; always fewer than it has."""
        offsets = self.tokenizer(self.ask(text), add_special_tokens=self.specials, return_offsets_mapping=True)["offset_mapping"]
        inside = [start - self.head for start, end in offsets if self.head <= start < end <= self.head + len(text)]
        return inside[-min(excess, len(inside))] if inside else 0

    def label_ids(self) -> list[int]:
        """The token that each label is behind the prompt. InputError where it is none of its own."""
        ids = []
        for label in LABELS:
            in_context = self.tokenizer(self.ask("x") + label, add_special_tokens=False)
            start, end = in_context.token_to_chars(0, len(in_context["input_ids"]) - 1)
            alone = in_context["input_ids"][-1] if end - start == 1 else self.tokenizer.convert_tokens_to_ids(label)
            if alone is None or alone == self.tokenizer.unk_token_id:
                raise InputError(f"{name_of(self.tokenizer)}: no single token for the label {label}")
            ids.append(alone)
        return ids
