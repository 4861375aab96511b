"""Templates and placeholders: read back from a list of cases, and filled to give cases."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sghc.suite.catalogue import FUNCTIONALITIES, LABELS, PROTECTED_GROUPS, Language


class Template(NamedTuple):
    """A sentence with at most one placeholder. Cases of one `cluster` come from one original template and are not independent."""

    language: Language
    cluster: str
    text: str
    placeholder: str | None
    functionality: str | None  # None, with gold, in the 11 Tamil rows that belong to no functionality
    gold: str | None
    direction: str | None
    paper_functionality_id: str | None

    @property
    def template_id(self) -> str:
        """The cluster and a digest of the exact template, since one cluster may hold several."""
        return f"{self.cluster}-{digest(self.placeholder or '', self.text)}"


class Value(NamedTuple):
    """One entry of a placeholder's table."""

    target: str | None
    value: str


NO_VALUE = Value(None, "")
Tables = dict[str, list[Value]]  # placeholder -> its entries, in order


def digest(*parts: str, length: int = 8) -> str:
    """The first characters of the SHA-256 over parts joined by tabs."""
    return hashlib.sha256("\t".join(parts).encode()).hexdigest()[:length]


def derive(uses: Iterable[tuple[Template, Value]]) -> tuple[list[Template], Tables]:
    """Templates in order of first appearance, and each placeholder's table, from the (template, value) pairs of a list of cases.

    The table of a placeholder is what its first template was filled with, doubled entries included (the release fills Mandarin's slur tables
    with one entry twice). Whether the others were filled alike shows when `fill` is compared with the list.
    """
    filled: dict[Template, list[Value]] = {}
    for template, value in uses:
        filled.setdefault(template, []).append(value)
    tables: Tables = {}
    for template, values in filled.items():
        if template.placeholder:
            tables.setdefault(template.placeholder, values)
    return list(filled), tables


def fill(templates: Iterable[Template], tables: Tables) -> Iterator[tuple[Template, Value, str]]:
    """(template, value, text) for every template and every entry of its placeholder's table; a template without one gives a single text."""
    for template in templates:
        if not template.placeholder:
            yield template, NO_VALUE, template.text
            continue
        for value in tables[template.placeholder]:
            yield template, value, template.text.replace(template.placeholder, value.value)


def case(case_id: str, template: Template, value: Value, text: str) -> dict:
    """A generated case as a row of the data set (see `cases.features`); nobody has annotated it."""
    known = FUNCTIONALITIES.get(template.functionality)
    return {
        "case_id": case_id,
        "c_id": None,
        "language": template.language.name,
        "text": text,
        "label": None if template.gold is None else LABELS.index(template.gold),
        "functionality": template.functionality,
        "functionality_id": known and known.id,
        "functional_class": known and known.functional_class,
        "target": value.target,
        "protected_group": PROTECTED_GROUPS.get(value.target),
        "direction": template.direction,
        "cluster": template.cluster,
        "template_id": template.template_id,
        "template": template.text,
        "placeholder": template.placeholder,
        "placeholder_value": value.value or None,
        "votes": None,
        "majority": None,
        "status": "unannotated",
        "paper_functionality_id": template.paper_functionality_id,
        "released_selection": None,
        "choices": list(LABELS),
    }


def generate(templates: Iterable[Template], tables: Tables) -> Iterator[dict]:
    """The cases of one language, named by their place: `ms-g0`, `ms-g1`, …"""
    for row, (template, value, text) in enumerate(fill(templates, tables)):
        yield case(f"{template.language.code}-g{row}", template, value, text)
