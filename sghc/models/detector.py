"""What every detector is: texts in, answers out, in the same order."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Answer(NamedTuple):
    """What a detector says of one case.

    A language model gives `output`, its new text as it came, and in `prediction` what the reading in use made of it (None: rejected); a classifier
    gives `prediction` alone. `score` is the probability of hateful; `mass`, of a language model, that of both labels together. `error` says why there
    is no answer, without text of the case and without secrets: such a case stays missing, and the next run asks it again.
    """

    prediction: int | None = None
    output: str | None = None
    score: float | None = None
    mass: float | None = None
    error: str | None = None
    cut: bool = False  # the case was shortened to fit


class Detector(Protocol):
    """Anything that answers.

    identity    what makes two runs the same: kind, model, resolved revision, prompt, reading, decoding …, as JSON-ready values without secrets
    batch_size  how many texts one call of `answer` is best given
    """

    identity: dict
    batch_size: int

    def answer(self, texts: Sequence[str]) -> list[Answer]:
        """One answer for each text, in order. InputError for what no later run would mend; anything that may pass is an `Answer` with an error."""
        ...
