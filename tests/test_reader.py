"""Reading answers: the last character, echoes, special tokens, and words on the first line."""

import pytest

from sghatecheck_metric.reading import REJECTED
from sghc.errors import InputError
from sghc.models.prompt import ask
from sghc.models.reader import answer_words, read_label, read_words

PROMPT = ask("route 1")  # a case that ends in a digit


@pytest.mark.parametrize(
    ("output", "label"),
    [
        ("1", 1),
        ("0\n", 0),
        (" 1 \t\n", 1),
        ("The label is 1", 1),
        ("1</s>", 1),
        ("0 </s> <pad><pad>\n", 0),
        (PROMPT + "0", 0),
        (PROMPT + "1</s>", 1),
        ("", REJECTED),
        ("\n", REJECTED),
        ("</s>", REJECTED),
        (PROMPT, REJECTED),
        (PROMPT + "</s>", REJECTED),
        (PROMPT.rstrip(), REJECTED),
        (PROMPT + PROMPT, REJECTED),
        ("### Input:\nroute 1", REJECTED),  # an echo that ends in a digit
        ("route 1", REJECTED),
        ("0 or 1", REJECTED),
        ("1.", REJECTED),
        ("hateful", REJECTED),
        ("2", REJECTED),
        ("１", REJECTED),
        ("०", REJECTED),
        ("²", REJECTED),
        ("probability 0.1", REJECTED),
    ],
)
def test_the_last_character_decides(output, label):
    assert read_label(output, PROMPT, ("</s>", "<pad>", "")) == label


def test_without_a_prompt_there_is_no_echo():
    assert read_label("route 1") == 1


@pytest.mark.parametrize(
    ("output", "label"),
    [
        ("unsafe", 1),
        ("safe", 0),
        ("Unsafe.\nS10: hate", 1),
        ("\n safe\n", 0),
        ("safe</s>", 0),
        ("it is unsafe", REJECTED),
        ("unsafely", REJECTED),
        ("", REJECTED),
        ("S10\nunsafe", REJECTED),
    ],
)
def test_words_on_the_first_line(output, label):
    assert read_words(output, answer_words("hateful=unsafe, non-hateful=safe"), ("</s>",)) == label


def test_several_words_may_stand_for_a_label():
    words = answer_words("hateful=unsafe,hateful=hate speech,non-hateful=safe")
    assert [read_words(output, words) for output in ("Hate speech.", "unsafe", "safe")] == [1, 1, 0]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "expected for example"),
        ("hateful=unsafe", "a word for each label"),
        ("hateful", "expected for example"),
        ("hate=unsafe,non-hateful=safe", "a text of 11 characters"),
        ("hateful=,non-hateful=safe", "a text of 8 characters"),
        ("hateful=yes,non-hateful=Yes.", "'yes' stands for both"),
    ],
)
def test_faulty_answer_words(text, match):
    with pytest.raises(InputError, match=match):
        answer_words(text)
