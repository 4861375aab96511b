"""Prompts of one's own and chat templates: used as they are, or refused."""

import pytest

from sghc.errors import InputError
from sghc.models.asking import PAPER, from_file, through_chat
from sghc.models.prompt import ask

CASE = 'bakers <like> "tea" {{ and }} rain\n'


def prompt_file(tmp_path, text):
    (tmp_path / "prompt.txt").write_text(text, encoding="utf-8")
    return tmp_path / "prompt.txt"


def test_the_papers_prompt_is_the_default():
    assert PAPER(CASE) == ask(CASE)


@pytest.mark.parametrize("text", ["Is this hateful?\n{{ text }}\nAnswer:", "{{ text }}\n", "{% if true %}{{ text }}{% endif %}", "இது {{text}} 吗？"])
def test_a_prompt_of_ones_own_shows_the_case_untouched(tmp_path, text):
    shown = from_file(prompt_file(tmp_path, text))(CASE)
    before, after = from_file(prompt_file(tmp_path, text))("|").split("|")
    assert shown == before + CASE + after


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("Is this hateful?", "0 times"),
        ("{{ text }} and {{ text }}", "2 times"),
        ("{{ text | upper }}", "0 times"),
        ("{{ text | lower }}", "0 times"),
        ("{{ text | e }}", "0 times"),
        ("{{ text[:120] }}", "0 times"),
        ("{{ text }", "not a valid prompt"),
        ("{{ txet }}", "not a valid prompt"),
        ("{{ text }}{{ 1 / 0 }}", "not a valid prompt"),
        ("{{ text }}{% include 'other' %}", "not a valid prompt"),
        ("{{ text.__class__.__mro__ }}", "not a valid prompt"),
        ("{{ text }}{{ ''.__class__.__mro__[1].__subclasses__() }}", "not a valid prompt"),
    ],
)
def test_a_faulty_or_hostile_prompt_is_refused(tmp_path, text, match):
    with pytest.raises(InputError, match=rf"prompt\.txt.*{match}"):
        from_file(prompt_file(tmp_path, text))


def test_a_prompt_file_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="absent"):
        from_file(tmp_path / "absent.txt")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9 {{ text }}")
    with pytest.raises(InputError, match="UTF-8"):
        from_file(tmp_path / "latin.txt")


def chatting(template):
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()), chat_template=template)


def test_a_chat_template_holds_the_prompt_and_ends_where_the_answer_begins():
    tokenizer = chatting("{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}")
    assert through_chat(ask, tokenizer)(CASE) == f"<user>{ask(CASE)}</><assistant>"


@pytest.mark.parametrize(
    ("template", "match"),
    [
        (None, "no chat template"),
        ("<user></><assistant>", "0 times"),
        ("{% for m in messages %}{{ m.content[:120] }}{% endfor %}", "0 times"),
        ("{% for m in messages %}{{ m.content }}{{ m.content }}{% endfor %}", "2 times"),
        ("{{ raise_exception('no users') }}", "cannot be filled"),
    ],
)
def test_a_chat_template_that_swallows_the_prompt_is_refused(template, match):
    with pytest.raises(InputError, match=match):
        through_chat(ask, chatting(template))
