"""Tables 7, 8 and 9 and the totals that the text states: what can be counted in the released cases and annotations."""

import re
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from sghc.paper.cells import Unknown, mean
from sghc.paper.scores import by_id
from sghc.suite import release, votes
from sghc.suite.catalogue import LABELS, LANGUAGES
from sghc.suite.csvfile import read_rows
from sghc.suite.templates import Tables, Template, fill

HAN = re.compile("[\u4e00-\u9fff]")
CLASSES = {"Threatening language": "Threat. language"}  # as Table 9 shortens it
PEOPLE = Unknown("annotators are numbered within a language, so the files do not say how many people they were")


class Language(NamedTuple):
    """One language of the release, as `release.read_language` gives it."""

    templates: list[Template]
    tables: Tables
    rows: list[dict]


def read(files: dict[str, Path]) -> dict[str, Language]:
    """Each language of the release by name. InputError as `release.read_language`."""
    return {name: Language(*release.read_language(language, files, Counter())) for name, language in LANGUAGES.items()}


def table7(languages: dict[str, Language]) -> dict:
    """How the votes were compiled. Two annotators cannot be two of three, so Tamil has no such cell."""
    table = {LANGUAGES[name].title: votes.compilation(named(one.rows)) for name, one in languages.items()}
    table["Tamil"]["two_of_three"] = None
    return table


def named(rows: list[dict]) -> list[dict]:
    return [{**row, "label_name": None if row["label"] is None else LABELS[row["label"]]} for row in rows]


def table8(languages: dict[str, Language], files: dict[str, Path], level: str = "interval") -> dict[str, float | None]:
    """Krippendorff's alpha. The paper took votes as numbers on a scale, and for Tamil the mean over its three pairs of annotators (`c_group`)."""
    table = {LANGUAGES[name].title: votes.alpha([row["votes"] for row in one.rows], level) for name, one in languages.items()}
    if level == "interval":
        table["Tamil"] = mean(votes.alpha(pair, level) for pair in pairs(languages["tamil"].rows, files).values())
    return table


def pairs(rows: list[dict], files: dict[str, Path]) -> dict[str, list]:
    """The votes of each pair of Tamil annotators, by c_group."""
    group = {int(row["c_id"]): row["c_group"] for row in read_rows(files["annotations/ta_annotations.csv"], ("c_id", "c_group"))}
    by_group: dict[str, list] = {}
    for row in rows:
        by_group.setdefault(group[row["c_id"]], []).append(row["votes"])
    return by_group


def table9(languages: dict[str, Language]) -> dict:
    """Annotated cases by functionality. The sums by gold label are those of the cases that the release selected, as the printed ones are; the last
    row counts every annotated case."""
    tests = by_id()
    found = {LANGUAGES[name].code.upper(): one.rows for name, one in languages.items()}
    counts = {code: Counter(row["paper_functionality_id"] for row in rows) for code, rows in found.items()}
    selected = {code: Counter(row["label"] for row in rows if row["released_selection"] in LABELS) for code, rows in found.items()}
    table = {}
    for id, test in tests.items():
        head = {"class": CLASSES.get(test.functional_class, test.functional_class), "gold": "hateful" if test.gold == "hateful" else "non-hate"}
        table[id] = {**head, **{code: counts[code][id] or None for code in found}}
    table["Total_non-hate"] = {code: selected[code][0] for code in found}
    table["Total_hate"] = {code: selected[code][1] for code in found}
    table["Total_Total"] = {code: len(rows) for code, rows in found.items()}
    return table


def totals(languages: dict[str, Language], files: dict[str, Path], compiled: dict) -> dict:
    """The numbers in the paper's text (Sections 2.3 to 2.5, A.1 and A.3).

    As there, Tamil is counted by its annotated cases, and those whose gold label is blank in the file of test cases are taken for hateful.

    Args:
        compiled: Table 7.
    """
    texts = {name: texts_of(name, one) for name, one in languages.items()}
    every = [text for of_language in texts.values() for text in of_language]
    stated = Counter(row["t_gold"] for row in read_rows(files["testcases/ta_testcases_all.csv"], ("t_gold",)))
    non_hateful = stated["non-hateful"] + sum(golds(one)[0] for name, one in languages.items() if name != "tamil")
    annotated = sum(len(one.rows) for one in languages.values())
    tests = {LANGUAGES[name].title: len({template.functionality for template in one.templates}) for name, one in languages.items()}
    return {
        "all": len(every),
        "hateful": len(every) - non_hateful,
        "non_hateful": non_hateful,
        "Singlish": len(texts["singlish"]),
        "Tamil": len(texts["tamil"]),
        "avg_words": Fraction(sum(map(words, every)), len(every)),
        "avg_chars": Fraction(sum(map(len, every)), len(every)),
        "annotated_sec2.5": annotated,
        "annotated_concl_A.1": annotated,
        "retained": sum(row["retained"] for row in compiled.values()),
        "excluded": sum(row["excluded"] for row in compiled.values()),
        "annotators_sec2.5": PEOPLE,
        "annotators_A.3": PEOPLE,
        "functional_tests": {title: tests[title] for title in ("Singlish", "Mandarin", "Malay", "Tamil")},
    }


def texts_of(name: str, language: Language) -> list[str]:
    if name == "tamil":
        return [row["text"] for row in language.rows]
    return [text for _, _, text in fill(language.templates, language.tables)]


def golds(language: Language) -> tuple[int, int]:
    """The test cases of a language by gold label: (non-hateful, hateful)."""
    count = Counter(template.gold for template, _, _ in fill(language.templates, language.tables))
    return count["non-hateful"], count["hateful"]


def real_split(languages: dict[str, Language]) -> dict[str, int]:
    """The released test cases by the gold label that they have, in the place of the paper's 15,052 and 6,100."""
    non_hateful, hateful = (sum(column) for column in zip(*map(golds, languages.values()), strict=True))
    return {"all": non_hateful + hateful, "hateful": hateful, "non_hateful": non_hateful}


def words(text: str) -> int:
    """Words between blanks, where each Chinese character is one (by blanks alone the average would be 6.5)."""
    return len(HAN.findall(text)) + len(HAN.sub(" ", text).split())


NOT_RELEASED = {
    "table1": Unknown("which translation each template came from was not released"),
    "table2": Unknown("neither the trained models nor their answers to the held-out posts were released"),
}
