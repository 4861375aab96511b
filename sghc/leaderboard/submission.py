"""What a submission says of itself, `submission.json`: which model answered, how it was asked, and which cases. No score has a place in it.

Every text in it comes from a stranger: one line of limited length without control characters, kept as it is and never read as markup.
"""

import hashlib
import json
import re
import unicodedata
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from sghc.errors import InputError, first_few, plain
from sghc.leaderboard.bounded import MAX_DOCUMENT, parse_json, parse_yaml, read_bytes
from sghc.models import prompt
from sghc.models.record import RunRecord

FORMAT = "sghatecheck-submission-1"
FOLDER = "submissions"  # of the repository
PAPER = hashlib.sha256(prompt.ask("|").encode()).hexdigest()  # as detectors name a prompt
UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # categories of what a reader does not see
JOINERS = "\u200c\u200d"  # those among them that a script needs
MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
COMMIT = re.compile(r"[0-9a-f]{40}")
VERSION = re.compile(r"(?=.*[0-9])[A-Za-z0-9][A-Za-z0-9._-]{0,63}")  # of a model without commits; a branch, which moves, has no digit as a rule
MAX_TEXT = 1000  # characters


def one_line(text: str) -> str:
    """The text; ValueError where it is blank or holds what a reader cannot see: control characters, changes of direction, half characters."""
    if not text.strip():
        raise ValueError("is blank")
    if not text.isprintable() and any(unicodedata.category(one) in UNSEEN and one not in JOINERS for one in text):
        raise ValueError("holds control characters or line breaks")
    return text


def model_name(text: str) -> str:
    if not MODEL.fullmatch(text) or ".." in text or "--" in text:
        raise ValueError("expected ORG/NAME in letters, digits, '.', '_' and '-'")
    return text


def revision_name(text: str) -> str:
    if not COMMIT.fullmatch(text) and not VERSION.fullmatch(text):
        raise ValueError("expected a commit of 40 hexadecimal digits, or the version of a model that has none, such as 2026-05-01; never a branch")
    return text


def inert(value):
    """Texts, numbers, lists and objects of a record, each text one line. ValueError where one is not."""
    if isinstance(value, dict):
        return {inert(key): inert(one) for key, one in value.items()}
    if isinstance(value, list):
        return [inert(one) for one in value]
    if isinstance(value, str) and value:
        if len(value) > MAX_TEXT:
            raise ValueError(f"a text is longer than {MAX_TEXT} characters")
        return one_line(value)
    return value


def inert_record(record: RunRecord) -> RunRecord:
    inert(record.model_dump())
    return record


Line = Annotated[str, Field(max_length=200), AfterValidator(one_line)]
Text = Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(one_line)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Prompt(Strict):
    name: Line
    sha256: Digest  # of the prompt asked of the text `|`


class Asked(Strict):
    """The cases: whole languages of a suite's test split, and their fingerprint."""

    name: Line
    split: Literal["test"]
    configs: Annotated[list[Line], Field(min_length=1, max_length=100)]
    data: Digest


class About(Strict):
    """What only the submitter knows of a model."""

    model: Annotated[str, AfterValidator(model_name)]
    revision: Annotated[str, AfterValidator(revision_name)]
    parameters: Annotated[int, Field(gt=0, le=10**15)] | None = None
    base: Line | None = None
    training_data: Text | None = None
    contact: Line
    licence: Line
    prompt: Prompt | None = None
    reading: Line | Annotated[dict[Line, int], Field(max_length=100)] | None = None  # last-character, or words and the labels that they stand for


class Submission(About):
    format: Literal["sghatecheck-submission-1"] = FORMAT
    run: Annotated[RunRecord, AfterValidator(inert_record)] | None = None
    suite: Asked

    @property
    def folder(self) -> str:
        """The model's folder in the repository; the submission's own, in it, is named by the digest of what was answered."""
        return f"{FOLDER}/{self.model.replace('/', '__')}"


def parse(content: bytes, name) -> Submission:
    """A submission.json. InputError where it is none."""
    return validated(Submission, parse_json(content, name), name)


def to_bytes(submission: Submission) -> bytes:
    return (submission.model_dump_json(indent=2) + "\n").encode()


def validated(kind: type[Strict], values: dict, name):
    """A model of `kind`. InputError that names the fields at fault and why, never what stands in them."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        faults = [f"{'.'.join(plain(str(part)) for part in one['loc']) or 'it'}: {one['msg']}" for one in error.errors(include_input=False)]
        raise InputError(f"{name}: not what it should be: {first_few(faults)}") from None


def read_about(path: Path | None, options: dict) -> dict:
    """The fields of About in a YAML file (`--about`), each of which an option may give instead.

    Raises:
        InputError: the file is no YAML mapping of these fields.
    """
    found = {} if path is None else parse_yaml(read_bytes(path, MAX_DOCUMENT), path)
    if not isinstance(found, dict):
        raise InputError(f"{path}: expected a mapping such as `licence: apache-2.0`")
    if unknown := [key for key in found if key not in About.model_fields]:
        raise InputError(f"{path}: {first_few(map(plain, unknown))}: unknown, expected some of {first_few(About.model_fields, 20)}")
    if isinstance(found.get("parameters"), str):
        found["parameters"] = whole_number(found["parameters"], path)
    if isinstance(found.get("reading"), dict):
        found["reading"] = {key: whole_number(value, path) for key, value in found["reading"].items()}
    return {name: value for one in (found, options) for name, value in one.items() if value is not None}


def whole_number(text, path: Path) -> int:
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{1,3}([_,]?[0-9]{3})*|[0-9]{1,18}", text):
        raise InputError(f"{path}: {plain(str(text))} where a whole number is expected, such as 7_000_000_000")
    return int(re.sub("[_,]", "", text))


def digest_of(submission: Submission, rows: str) -> str:
    """SHA-256 of what was answered by what: the address of a submission.

    Contact, licence and other notes are no part of it, so that the same answers sent again with another note are known as the same.

    Args:
        rows: the digest of its rows (`rows.digest`).
    """
    parts = submission.model_dump(include={"format", "model", "revision", "prompt", "reading"})
    parts |= {"data": submission.suite.data, "rows": rows}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def marks(submission: Submission) -> list[str]:
    """In what a row differs from one that was asked as the paper asks: shown beside it, since such numbers do not compare as they stand."""
    run, identity = submission.run, submission.run.identity if submission.run else {}
    classifier = identity.get("kind") == "classifier"
    found = {
        "other prompt": submission.prompt is not None and submission.prompt.sha256 != PAPER,
        "prompt not stated": submission.prompt is None and not classifier,
        "other reading": submission.reading not in (None, "last-character"),
        "reading not stated": submission.reading is None and not classifier,
        "constrained decoding": identity.get("decode") == "constrained",
        "no run record": run is None,
        "revision is not a commit": not COMMIT.fullmatch(submission.revision),
    }
    return [mark for mark, holds in found.items() if holds]
