"""What an OpenAI-compatible endpoint replies: the text that a model wrote, and the probabilities of its tokens where they are given."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from sghc.models.prompt import LABELS


class Reply(NamedTuple):
    text: str
    refused: bool  # the text is a refusal, which the API keeps apart from an answer
    logprobs: object  # as they came, of any shape or None


def reply_of(data, api: str) -> Reply:
    """The JSON of `chat/completions` or `completions` -> its first choice. No content is "", an answer of nothing.

    Raises:
        ValueError: not a reply of this API. Some gateways give status 200 and an error in the body.
    """
    try:
        choice = data["choices"][0]
        holder = choice["message"] if api == "chat" else choice
        refusal = holder.get("refusal") if api == "chat" else None
        text = refusal or holder.get("content" if api == "chat" else "text") or ""
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError("not a reply of this API") from None
    if not isinstance(text, str):
        raise ValueError("a reply that is no text")
    text = text.encode("utf-8", "replace").decode()  # half of a surrogate pair, where a model was stopped, is no text that a file can hold
    return Reply(text, bool(refusal), choice.get("logprobs"))


def score_of(reply: Reply, label: int) -> tuple[float, float] | tuple[None, None]:
    """(probability of hateful among the two labels, probability of both), where the label that was read was written as a token of its own.

    Read at the last such token; (None, None) without probabilities there, or where one of the labels is not among the likeliest tokens. Odd shapes
    cost the score, not the answer.
    """
    try:
        at_label = [likeliest for token, likeliest in positions(reply.logprobs) if token.strip() == LABELS[label]]
        return shares(at_label[-1])
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError):
        return None, None


def positions(logprobs) -> list[tuple[str, list[tuple[str, float]]]]:
    """Each token written, with the likeliest tokens there and their logarithms; a chat's and a completion's differ in shape."""
    if "content" in logprobs:
        return [(one["token"], [(other["token"], other["logprob"]) for other in one["top_logprobs"]]) for one in logprobs["content"]]
    return [(token, list(likeliest.items())) for token, likeliest in zip(logprobs["tokens"], logprobs["top_logprobs"], strict=True)]


def shares(likeliest: Iterable[tuple[str, float]]) -> tuple[float, float]:
    """(share of hateful, both labels' probability). A label may be several tokens, with a space or without. ValueError where one is absent."""
    found: dict[str, float] = {}
    for token, logprob in likeliest:
        if (label := token.strip()) in LABELS:
            found[label] = found.get(label, 0.0) + math.exp(logprob)
    mass = sum(found.values())
    if len(found) < len(LABELS) or not 0 < mass < 1.01:  # NaN is not; rounding may go a little beyond 1
        raise ValueError("no probability of both labels")
    return found[LABELS[1]] / mass, min(mass, 1.0)
