"""Suites of one's own: templates.csv and placeholders.csv, as the starter suite's.

templates.csv has the columns language, functionality, gold and template (and direction, if wanted); placeholders.csv, which a suite without
placeholders does not need, language, placeholder, target and value. A template holds at most one placeholder, in braces, once.
"""

import re
from collections import defaultdict
from pathlib import Path

from sghc.errors import InputError, first_few, plain, shown
from sghc.suite.cases import ALL
from sghc.suite.catalogue import FUNCTIONALITIES, LABELS, Language, gold_of, language_named
from sghc.suite.csvfile import LINE, read_rows
from sghc.suite.templates import Tables, Template, Value, fill

TEMPLATE_COLUMNS = ("language", "functionality", "gold", "template")
PLACEHOLDER_COLUMNS = ("language", "placeholder", "target", "value")
PLACEHOLDER = re.compile(r"\{[^{}]*\}")
RESERVED = (ALL, "default", "overall")  # names that datasets and the metric use for something else
NAME = re.compile(r"\w[\w-]*")  # of a language: it becomes a folder's name and the prefix of case ids


def read(source: Path) -> list[tuple[list[Template], Tables]]:
    """Templates and placeholder tables of each language, in order of first appearance.

    Raises:
        InputError: a missing file or column; with file and line: an unknown label, a gold label against its functionality's ending, a placeholder
            that has no values, is in no template or stands twice in one, a template or a case that stands twice, an empty value, a functionality
            with both gold labels.
    """
    path, placeholders = source / "templates.csv", source / "placeholders.csv"
    tables = read_placeholders(placeholders) if placeholders.exists() or not path.exists() else defaultdict(dict)
    templates: dict[str, dict[Template, int]] = defaultdict(dict)  # by language, each with its line
    for row in read_rows(path, TEMPLATE_COLUMNS):
        language = language_of(path, row)
        lines = templates[language.name]
        lines[template_of(path, row, language, tables[language.name], len(lines))] = row[LINE]
    if not templates:
        raise InputError(f"{path}: no templates")
    check_golds(path, templates)
    check_used(placeholders, templates, tables)
    for language, lines in templates.items():
        check_cases_differ(source, lines, tables[language])
    return [(list(lines), tables[language]) for language, lines in templates.items()]


def read_placeholders(path: Path) -> dict[str, Tables]:
    """Each language's placeholder tables; a language without any has none."""
    tables: dict[str, Tables] = defaultdict(dict)
    for row in read_rows(path, PLACEHOLDER_COLUMNS):
        name, value = row["placeholder"], Value(row["target"] or None, row["value"])
        if not PLACEHOLDER.fullmatch(name):
            raise InputError(f"{path}: line {row[LINE]}: placeholder is {shown(name)}, expected a name in braces such as {{IDENTITY_P}}")
        if not value.value:
            raise InputError(f"{path}: line {row[LINE]}: placeholder {name} has an empty value")
        table = tables[language_of(path, row).name].setdefault(name, [])
        if value in table:
            raise InputError(f"{path}: line {row[LINE]}: the same target and value stand already under {name}")
        table.append(value)
    return tables


def language_of(path: Path, row: dict) -> Language:
    """The language of a row: one of the project's, by name or code, or one of the user's own."""
    name = row["language"]
    if not NAME.fullmatch(name) or name in RESERVED:
        raise InputError(
            f"{path}: line {row[LINE]}: language is {shown(name)}, expected a name of letters and digits, and none of {first_few(RESERVED)}"
        )
    if not language_named(name) and (meant := language_named(name.lower())):
        raise InputError(f"{path}: line {row[LINE]}: language is {shown(name)}, expected {meant.name} (or a name that is not so like it)")
    return language_named(name) or Language(name, name, "und", name)


def template_of(path: Path, row: dict, language: Language, tables: Tables, place: int) -> Template:
    """The template of one row, the `place`-th of its language. Its paper number is that of the paper's functionality of this name, if any."""
    where, functionality, gold = f"{path}: line {row[LINE]}", row["functionality"], row["gold"]
    if not functionality or not row["template"]:
        raise InputError(f"{where}: {'template' if functionality else 'functionality'} is empty")
    if gold not in LABELS:
        raise InputError(f"{where}: gold is {shown(gold)}, expected hateful or non-hateful")
    if gold_of(functionality) not in (gold, None):
        raise InputError(f"{where}: gold is {gold}, but the ending of {plain(functionality)} says {gold_of(functionality)}")
    known = FUNCTIONALITIES.get(functionality)
    return Template(
        language=language,
        cluster=f"{language.code}-t{place}",
        text=row["template"],
        placeholder=placeholder_in(where, row["template"], tables),
        functionality=functionality,
        gold=gold,
        direction=row.get("direction") or None,
        paper_functionality_id=known and known.id,
    )


def placeholder_in(where: str, template: str, tables: Tables) -> str | None:
    """The placeholder that a template holds, or None."""
    found = PLACEHOLDER.findall(template)
    if len(found) > 1:
        raise InputError(f"{where}: {len(found)} placeholders in one template, expected at most one")
    if set("{}") & set(PLACEHOLDER.sub("", template)):
        raise InputError(f"{where}: a brace that is not closed or not opened, expected a placeholder such as {{IDENTITY_P}}")
    if found and found[0] not in tables:
        raise InputError(f"{where}: placeholder {plain(found[0])} has no values for this language in placeholders.csv")
    return found[0] if found else None


def check_golds(path: Path, templates: dict[str, dict[Template, int]]) -> None:
    """Raises InputError where a functionality has both gold labels: inside one there is one right answer."""
    first: dict[str, tuple[str, int]] = {}
    for lines in templates.values():
        for template, line in lines.items():
            gold, other = first.setdefault(template.functionality, (template.gold, line))
            if template.gold != gold:
                raise InputError(f"{path}: line {line}: {plain(template.functionality)} is {template.gold}, but {gold} in line {other}")


def check_used(path: Path, templates: dict[str, dict[Template, int]], tables: dict[str, Tables]) -> None:
    """Raises InputError where a placeholder is in no template of its language: a slip in its name, or in the language's."""
    for language, own in tables.items():
        used = {template.placeholder for template in templates.get(language, ())}
        if idle := [plain(name) for name in own if name not in used]:
            raise InputError(f"{path}: no template of language {plain(language)} holds {first_few(idle)}")


def check_cases_differ(source: Path, lines: dict[Template, int], tables: Tables) -> None:
    """Raises InputError where a text comes twice in a language: from two templates, or from two values of one."""
    seen: dict[str, tuple[int, str | None]] = {}
    for template, value, text in fill(lines, tables):
        line, target = seen.setdefault(text, (lines[template], value.target))
        if line != lines[template]:
            raise InputError(f"{source / 'templates.csv'}: lines {line} and {lines[template]} give the same case twice")
        if target != value.target:
            both = f"{plain(target or '(none)')} and {plain(value.target or '(none)')}"
            raise InputError(
                f"{source / 'placeholders.csv'}: {plain(template.placeholder)} has one value for the targets {both}, which gives a case twice"
            )
