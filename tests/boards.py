"""Small suites, submissions and leaderboards for tests, of neutral sentences about bakers and the weather."""

import json
from pathlib import Path

import command

from sghc.suite import folder
from sghc.suite.sources import card_of, from_templates

COMMIT = "0123456789abcdef0123456789abcdef01234567"
ABOUT = {"contact": "tester", "licence": "apache-2.0"}
GROUPS = {"Women": "bakers", "Seniors": "gardeners", "Malay": "tailors"}
LANGUAGES = ("singlish", "malay")
HATEFUL, HARMLESS = 24, 16  # templates of each language


def make_suite(place: Path) -> Path:
    """Two languages with 40 templates of three cases each: enough clusters for intervals. Builds it at `place`/sghatecheck."""
    source = place / "own"
    source.mkdir()
    templates = ["language,functionality,gold,template"]
    for language in LANGUAGES:
        templates += [f"{language},derog_neg_emote_h,hateful,Number {n} of the {language} {{ID}} sells cold tea on a wet day" for n in range(HATEFUL)]
        templates += [f"{language},ident_neutral_nh,non-hateful,House {n} of the {language} {{ID}} has a green door" for n in range(HARMLESS)]
    values = [f"{language},{{ID}},{target},{value}" for language in LANGUAGES for target, value in GROUPS.items()]
    (source / "templates.csv").write_text("\n".join(templates) + "\n", encoding="utf-8")
    (source / "placeholders.csv").write_text("\n".join(["language,placeholder,target,value", *values]) + "\n", encoding="utf-8")
    suite = from_templates(source, "own")
    folder.write(suite, card_of(suite, str(source)), place / "sghatecheck")
    return place / "sghatecheck"


def cases(suite: Path) -> list[dict]:
    return folder.read(suite, "test").to_pylist()


def answers(suite: Path, wrong: int = 0, languages=LANGUAGES) -> list[dict]:
    """Right answers to all cases but every `wrong`-th."""
    found = [case for case in cases(suite) if case["language"] in languages]
    return [{"case_id": one["case_id"], "prediction": one["label"] ^ bool(wrong and not at % wrong)} for at, one in enumerate(found)]


def write(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def run(capsys, *arguments) -> tuple[int, str, str]:
    """(exit status, stdout in one line, stderr) of the command."""
    status, out, err = command.run(capsys, *arguments)
    return status, out.replace("\n", " "), err
