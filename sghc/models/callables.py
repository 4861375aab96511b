"""A detector of one's own: any Python function, named `module:function`, that takes a list of texts and gives one answer for each."""

import importlib
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from sghatecheck_metric.reading import LABELS, REJECTED
from sghc.errors import InputError, shown
from sghc.models.detector import Answer
from sghc.models.reader import read_label

EXPECTED = "0, 1, a label name, model output as text, a (label, score) pair, or None for no answer"


class CallableDetector:
    """Wraps a function.

    An answer may be 0, 1 or a label name; a pair of one and the probability of hateful; other text, which is model output and is read by its last
    character; or None, where there is none.
    """

    def __init__(self, spec: str, function: Callable[[list[str]], Sequence], batch_size: int = 32):
        self.spec, self.function, self.batch_size = spec, function, batch_size
        self.identity = {"kind": "callable", "model": spec, "reading": "last-character"}

    def answer(self, texts: Sequence[str]) -> list[Answer]:
        given = self.call(list(texts))
        if len(given) != len(texts):
            raise InputError(f"{self.spec}: gave {len(given)} answers for {len(texts)} texts, expected one each")
        return [self.checked(one) for one in given]

    def call(self, texts: list[str]) -> list:
        """What the function gives. InputError where it raises: by kind and place alone, since a message may hold the text of a case."""
        try:
            given = self.function(texts)
            if not isinstance(given, str | bytes | dict) and hasattr(given, "__iter__"):
                return list(given)  # a generator runs only now
        except Exception as error:
            raise InputError(f"{self.spec}: raised {place_of(error)}") from None
        raise InputError(f"{self.spec}: gave a {type(given).__name__}, expected a list with one answer for each text")

    def checked(self, given) -> Answer:
        try:
            return self.read(given)
        except InputError:
            raise
        except (TypeError, ValueError):  # an array, a score that is no number, half a character; its own words may hold the text of a case
            raise InputError(f"{self.spec}: an answer is a {type(given).__name__} that cannot be read, expected {EXPECTED}") from None

    def read(self, given) -> Answer:
        if given is None:
            return Answer(error="the function gave None")
        label, score = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
        if score is not None and not 0 <= float(score) <= 1:
            raise InputError(f"{self.spec}: a score is {shown(float(score))}, expected a probability from 0 to 1")
        score = None if score is None else float(score)
        if isinstance(label, str) and label not in LABELS:
            label.encode()  # ValueError for half a character, which no file can hold
            code = read_label(label)
            return Answer(None if code == REJECTED else code, label, score)
        code = LABELS.index(label) if isinstance(label, str) else label
        if code not in (0, 1):
            raise InputError(f"{self.spec}: an answer is {shown(label)}, expected {EXPECTED}")
        return Answer(int(code), score=score)


def place_of(error: BaseException) -> str:
    """An error by kind and place alone, since a message may hold the text of a case."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {frame.filename}, line {frame.lineno}"


def from_spec(spec: str, batch_size: int = 32) -> CallableDetector:
    """The function `module:function`, found as Python finds modules, or in the folder that the command is run in.

    Raises:
        InputError: no such module or function, or something that cannot be called.
    """
    module, _, name = spec.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"{spec}: the module cannot be imported ({error})") from None
    except (Exception, SystemExit) as error:  # a module runs as it is imported
        raise InputError(f"{spec}: the module cannot be imported ({place_of(error)})") from None
    finally:
        sys.path.pop(0)
    function = getattr(found, name, None)
    if function is None:
        raise InputError(f"{spec}: {module} has no {name}")
    if not callable(function):
        raise InputError(f"{spec}: is a {type(function).__name__}, expected a function of a list of texts")
    return CallableDetector(spec, function, batch_size)
