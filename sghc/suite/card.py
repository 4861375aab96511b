"""The dataset card of a suite: what README.md of the built folder says above its YAML of configs."""

import importlib.metadata
from pathlib import Path

from sghc.errors import InputError
from sghc.suite.cases import CANARY
from sghc.suite.catalogue import LANGUAGES
from sghc.suite.suite import Suite


def official_card() -> str:
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
    text = readme.read_text(encoding="utf-8") if readme.is_file() else f"# {suite.name}\n\nFunctional tests built from templates.\n"
    tags = ["functional-tests", "not-reviewed", "not-for-reporting"]
    codes = [LANGUAGES[name].bcp47.split("-")[0].replace("cmn", "zh") for name in suite.languages if name in LANGUAGES]
    head = [
        "pretty_name: " + repr(f"SGHateCheck, suite {suite.name}"),
        *(["language:", *(f"- {code}" for code in codes)] if codes else []),
        "task_categories:",
        "- text-classification",
        "tags:",
        *(f"- {tag}" for tag in tags),
    ]
    note = f"> Not reviewed by native speakers and not for reporting. Never train on it. {CANARY}"
    return "---\n" + "\n".join(head) + f"\n---\n\n{note}\n\n{text}"
