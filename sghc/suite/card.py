"""The dataset card of a suite: what README.md of the built folder says above its YAML of configs."""

import importlib.metadata
from pathlib import Path

from sghc.errors import InputError
from sghc.suite.cases import CANARY
from sghc.suite.catalogue import LANGUAGES
from sghc.suite.suite import Suite


def official_card(suite: Suite) -> str:
    """dataset_card.md, under a line of caution where the suite needs one."""
    head, rest = template().split("# SGHateCheck\n", 1)
    caution = f"\n> **Caution: {suite.caution}.**\n" if suite.caution else ""
    return f"{head}# SGHateCheck\n{caution}{rest}"


def template() -> str:
    """dataset_card.md: at the top of a checkout, else where the installation put it (share/sghatecheck)."""
    checkout = Path(__file__).parents[2] / "dataset_card.md"
    if checkout.is_file():
        return checkout.read_text(encoding="utf-8")
    for file in importlib.metadata.files("sghatecheck") or []:
        if file.name == "dataset_card.md" and (place := Path(file.locate())).is_file():
            return place.read_text(encoding="utf-8")
    raise InputError("dataset_card.md is missing from the installation; install the package again")


def plain_card(suite: Suite, source: Path) -> str:
    """The card of a suite made of templates: its own README.md, if it has one, under a head that says that nobody has reviewed it."""
    readme = source / "README.md"
    try:
        text = readme.read_text(encoding="utf-8") if readme.is_file() else f"# {suite.name}\n\nFunctional tests built from templates.\n"
    except UnicodeDecodeError:
        raise InputError(f"{readme}: not UTF-8 text; save the file as UTF-8") from None
    tags = ["functional-tests", "not-reviewed", "not-for-reporting"]
    codes = [LANGUAGES[name].bcp47.split("-")[0].replace("cmn", "zh") for name in suite.languages if name in LANGUAGES]
    head = [
        f"pretty_name: SGHateCheck, suite {suite.name}",  # a name of letters, digits, dots and dashes
        *(["language:", *(f"- {code}" for code in codes)] if codes else []),
        "task_categories:",
        "- text-classification",
        "tags:",
        *(f"- {tag}" for tag in tags),
    ]
    note = f"> Not reviewed by native speakers and not for reporting. Never train on it. {CANARY}"
    return "---\n" + "\n".join(head) + f"\n---\n\n{note}\n\n{text}"
