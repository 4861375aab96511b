"""What a model's output says: the paper's reading by the last character, or, for chat and guard models, words on the first line.

A rejected output is kept as it came; nothing is guessed. Echoes are told from answers, since an echoed case may end in a digit.
"""

from collections.abc import Mapping, Sequence

from sghatecheck_metric.reading import LABELS, REJECTED, read_output
from sghc.errors import InputError, shown


def new_text(output: str, prompt: str = "", special_tokens: Sequence[str] = ()) -> str:
    """What a model added: without the prompt before it, and without white space and special tokens (an end of text, padding) behind it."""
    text = output.removeprefix(prompt)
    trimmed = None
    while trimmed != text:
        trimmed = text
        text = text.rstrip()
        for token in filter(None, special_tokens):
            text = text.removesuffix(token)
    return text


def read_label(output: str, prompt: str = "", special_tokens: Sequence[str] = ()) -> int:
    """0, 1 or REJECTED, by the last character of what a model added (the paper's appendix D.1 and D.2).

    Rejected are: nothing; another last character, also a digit of another script; the prompt or a part of it said again without an answer.

    Args:
        output: new text, or the prompt and new text.
        prompt: what the model was asked, where the output may repeat it.
        special_tokens: those that may stand behind the answer, such as the tokenizer's end of text.
    """
    text = new_text(output, prompt, special_tokens)
    return REJECTED if is_echo(text, prompt) else read_output(text)


def is_echo(text: str, prompt: str) -> bool:
    """Whether a text of more than one character is said again from the prompt: an answer of one character may stand in it by chance."""
    return len(text.strip()) > 1 and text.strip() in prompt


def read_words(output: str, words: Mapping[str, int], special_tokens: Sequence[str] = ()) -> int:
    """0, 1 or REJECTED, by the first line of an output, which must be one of the words, in any case and with a final stop or not."""
    lines = new_text(output, special_tokens=special_tokens).strip().splitlines()
    return words.get(folded(lines[0]), REJECTED) if lines else REJECTED


def answer_words(text: str) -> dict[str, int]:
    """The words of `--answers hateful=unsafe,non-hateful=safe`, each with its label's code.

    Raises:
        InputError: a label that is none, one without a word, or a word for both.
    """
    words: dict[str, int] = {}
    for part in text.split(","):
        label, equals, word = part.partition("=")
        if not equals or label.strip() not in LABELS or not folded(word):
            raise InputError(f"answers: {shown(part)}, expected for example hateful=unsafe,non-hateful=safe")
        if words.setdefault(folded(word), LABELS.index(label.strip())) != LABELS.index(label.strip()):
            raise InputError(f"answers: {shown(folded(word))} stands for both labels")
    if len(set(words.values())) < len(LABELS):
        raise InputError("answers: expected a word for each label, such as hateful=unsafe,non-hateful=safe")
    return words


def folded(word: str) -> str:
    return word.strip().rstrip(".").strip().casefold()
