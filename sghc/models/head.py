"""The head that all prompts of a run share, computed once: its keys and values stand in for its tokens in every batch."""

import copy
from collections.abc import Callable, Sequence

LEAST = 2  # tokens of a head that is worth a cache: more than what a tokenizer puts before every text
TRIAL = ("", "It rains.", "Rain, " * 60, "茶", "மழை", " 1", "\n- tea", "#tea", "“Tea”")  # what may stand behind a head, and merge with its last token
CLOSE = {"float32": 1e-3, "float64": 1e-6}  # how far logits may lie apart, in standard deviations of them; elsewhere ROUGH
ROUGH = 0.1


def shared(rows: Sequence[Sequence[int]]) -> list[int]:
    """The tokens that all rows begin with, so that one token at least is left of each."""
    first, last = min(rows), max(rows)  # what the least and the greatest share, all share
    same = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return list(first[: min(same, min(map(len, rows)) - 1)])


class Head:
    """Keys and values of a head's tokens, for a batch of any size.

    Args:
        ids: the head's tokens.
        model: a causal model of transformers that takes a cache.
    """

    def __init__(self, ids: list[int], model):
        import torch

        self.ids = ids
        device = model.get_input_embeddings().weight.device
        with torch.inference_mode():
            self.cache = model(input_ids=torch.tensor([ids], device=device), use_cache=True, logits_to_keep=1).cache

    def starts(self, ids: Sequence[int]) -> bool:
        return ids[: len(self.ids)] == self.ids and len(ids) > len(self.ids)

    def copies(self, n: int):
        """A cache for n rows of one batch, which the model may write into."""
        cache = copy.deepcopy(self.cache)
        cache.batch_repeat_interleave(n)
        return cache


def found(encode: Callable[[str], list[int]], model, accepted: Sequence[str], next_logits: Callable) -> Head | None:
    """The head of a prompt, if the model answers the same with it as without.

    What a model does with a cache and a gap of padding is its own affair: one that counts positions in its own way, slides a window or keeps a
    state has to show that nothing changes, with rows of very different lengths; else None, and every prompt is computed whole.

    Args:
        encode: a case's text -> the tokens of its prompt.
        accepted: the names of the arguments of the model's forward.
        next_logits: (rows of tokens, head or None) -> logits (n, vocabulary) of the next token.
    """
    rows = [encode(text) for text in TRIAL]
    ids = shared(rows)
    if len(ids) < LEAST or not {"position_ids", "logits_to_keep", "cache"} <= set(accepted):
        return None
    plain = next_logits(rows, None)
    try:
        head = Head(ids, model)
        again = next_logits(rows, head)
    except (AttributeError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError):  # models refuse in many ways
        return None
    apart = (plain - again).abs().max() / plain.std()
    return head if apart <= CLOSE.get(str(model.dtype).removeprefix("torch."), ROUGH) else None
