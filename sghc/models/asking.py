"""How a model is asked: with the paper's prompt, with a prompt of one's own, or through a model's own chat template."""

from collections.abc import Callable
from pathlib import Path

from sghc.errors import InputError
from sghc.models import prompt

Ask = Callable[[str], str]  # a case's text in, what the model is given out

PAPER: Ask = prompt.ask
# stands for a case while a prompt is tried out; no template holds it, and one that cuts, escapes or folds what it is given does not give it back
MARK = '\u2063Case <&" ' + "of tea, " * 60 + "\u2063"


def from_file(path: Path) -> Ask:
    """The prompt of a Jinja2 file, which says `{{ text }}` where the case goes. Nothing in the file can reach beyond it.

    Raises:
        InputError: no such file, no UTF-8, no valid template, or one that does not show the case once and as it is.
    """
    from jinja2 import StrictUndefined, TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    try:
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise InputError(f"{path}: cannot be read ({reason})") from None
    try:
        environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
        template = environment.from_string(source)
        shown = template.render(text=MARK)
    except (TemplateError, ArithmeticError, TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a valid prompt ({type(error).__name__}: {error})") from None
    if shown.count(MARK) != 1:
        raise InputError(f"{path}: shows the case {shown.count(MARK)} times, expected {{{{ text }}}} once, whole and unchanged")
    return lambda text: template.render(text=text)


def through_chat(ask: Ask, tokenizer) -> Ask:
    """What `ask` gives, as a user's message in the tokenizer's own chat template, up to where the model's answer begins.

    Raises:
        InputError: the tokenizer has no chat template, or one that does not show the message.
    """
    name = prompt.name_of(tokenizer)
    if not getattr(tokenizer, "chat_template", None):
        raise InputError(f"{name}: has no chat template; leave --chat out")

    def in_chat(text: str) -> str:
        return tokenizer.apply_chat_template([{"role": "user", "content": ask(text)}], tokenize=False, add_generation_prompt=True)

    try:
        shown = in_chat(MARK)
    except Exception as error:  # a template comes with the model and may raise whatever it likes
        raise InputError(f"{name}: its chat template cannot be filled ({type(error).__name__})") from None
    if shown.count(MARK) != 1:
        raise InputError(f"{name}: its chat template shows the case {shown.count(MARK)} times, expected once, whole and unchanged")
    return in_chat
