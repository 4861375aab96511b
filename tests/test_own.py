"""Suites of templates and placeholders: the starter suite, and what is said of a faulty one."""

import unicodedata
from collections import Counter

import pytest

from sghc.errors import InputError
from sghc.suite import own
from sghc.suite.catalogue import FUNCTIONALITIES, PROTECTED_GROUPS
from sghc.suite.sources import STARTER, from_templates


@pytest.fixture(scope="module")
def starter():
    suite = from_templates(STARTER, "starter")
    return {language: suite.tables[language, "test"].to_pylist() for language in suite.languages}


def test_the_starter_suite_covers_every_functionality_of_each_language(starter):
    spelling = {name for name, known in FUNCTIONALITIES.items() if known.functional_class == "Spelling variations"}
    common = set(FUNCTIONALITIES) - spelling
    chinese = {"spell_homoph_h", "spell_char_comp_h", "spell_pinyin_h"}
    expected = {"singlish": common | (spelling - chinese), "malay": common, "mandarin": common | chinese, "tamil": common}
    for language, rows in starter.items():
        templates = Counter(functionality for functionality, _ in {(row["functionality"], row["template_id"]) for row in rows})
        assert set(templates) == expected[language]
        assert min(templates.values()) >= 3
        assert {row["target"] for row in rows} == {*PROTECTED_GROUPS, None}
    assert sum(len({row["template_id"] for row in rows}) for rows in starter.values()) == 291
    assert sum(map(len, starter.values())) == 3305 > 2000


def test_the_starter_suite_is_clean(starter):
    for rows in starter.values():
        for row in rows:
            text = row["text"]
            assert text == text.strip()
            assert text == unicodedata.normalize("NFC", text)
            assert not any(unicodedata.category(character) in ("Cf", "Cc", "Co", "Cn") for character in text)
            assert "{" not in text
            if row["functionality"] == "slur_h":
                assert row["target"]
                assert "**" in row["text"]  # masked stand-ins, no word


TEMPLATES = "language,functionality,gold,template\nmalay,derog_impl_h,hateful,{ID} like tea\nmalay,profanity_nh,non-hateful,Rain\n"
PLACEHOLDERS = "language,placeholder,target,value\nmalay,{ID},Women,bakers\nmalay,{ID},Seniors,tailors\n"


@pytest.mark.parametrize(
    ("templates", "placeholders", "words"),
    [
        (TEMPLATES.replace("non-hateful", "harmless"), PLACEHOLDERS, ["templates.csv", "line 3", "harmless"]),
        (TEMPLATES.replace("profanity_nh", "profanity_h"), PLACEHOLDERS, ["templates.csv", "line 3", "profanity_h"]),
        (TEMPLATES.replace("{ID}", "{IX}"), PLACEHOLDERS, ["templates.csv", "line 2", "{IX}"]),
        (TEMPLATES.replace("tea", "{ID}"), PLACEHOLDERS, ["templates.csv", "line 2", "2 placeholders"]),
        (TEMPLATES.replace("Rain", "Rain {X"), PLACEHOLDERS, ["templates.csv", "line 3", "brace"]),
        (TEMPLATES.replace("Rain", "Rain {that is long and wet and falls from clouds}"), PLACEHOLDERS, ["line 3", "a text of", "no values"]),
        (TEMPLATES.replace("malay,p", "Malay,p"), PLACEHOLDERS, ["templates.csv", "line 3", "'Malay'", "expected malay"]),
        (TEMPLATES.replace("malay,p", "default,p"), PLACEHOLDERS, ["templates.csv", "line 3", "default"]),
        (TEMPLATES + "malay,own,hateful,Sun\nmalay,own,non-hateful,Snow\n", PLACEHOLDERS, ["line 5", "own is non-hateful", "line 4"]),
        (TEMPLATES, PLACEHOLDERS + "malay,{OTHER},Women,smiths\n", ["placeholders.csv", "malay", "{OTHER}"]),
        (TEMPLATES, PLACEHOLDERS + "mallay,{ID},Women,smiths\n", ["placeholders.csv", "mallay", "{ID}"]),
        (TEMPLATES, PLACEHOLDERS + "malay,{ID},Hindu,bakers\n", ["placeholders.csv", "{ID}", "Women and Hindu"]),
        (TEMPLATES + "malay,derog_impl_h,hateful,bakers like tea\n", PLACEHOLDERS, ["templates.csv", "lines 2 and 4"]),
        (TEMPLATES + "malay,derog_impl_h,hateful,{ID} like tea\n", PLACEHOLDERS, ["templates.csv", "lines 2 and 4"]),
        (TEMPLATES.replace("Rain", ""), PLACEHOLDERS, ["templates.csv", "line 3", "template is empty"]),
        (TEMPLATES.replace("malay,p", "../x,p"), PLACEHOLDERS, ["templates.csv", "line 3", "../x"]),
        (TEMPLATES.replace("malay,p", ",p"), PLACEHOLDERS, ["templates.csv", "line 3", "language"]),
        (TEMPLATES.replace("malay,p", "all,p"), PLACEHOLDERS, ["templates.csv", "line 3", "all"]),
        (TEMPLATES.splitlines()[0] + "\n", PLACEHOLDERS, ["templates.csv", "no templates"]),
        (TEMPLATES.replace("gold", "label"), PLACEHOLDERS, ["templates.csv", "gold"]),
        (TEMPLATES, PLACEHOLDERS.replace("{ID},Women", "ID,Women"), ["placeholders.csv", "line 2", "'ID'"]),
        (TEMPLATES, PLACEHOLDERS.replace("bakers", ""), ["placeholders.csv", "line 2", "empty value"]),
        (TEMPLATES, PLACEHOLDERS + "malay,{ID},Women,bakers\n", ["placeholders.csv", "line 4", "{ID}"]),
    ],
)
def test_a_faulty_suite_is_refused_by_file_and_line(tmp_path, templates, placeholders, words):
    (tmp_path / "templates.csv").write_text(templates)
    (tmp_path / "placeholders.csv").write_text(placeholders)
    with pytest.raises(InputError) as error:
        own.read(tmp_path)
    assert all(word in str(error.value) for word in words)
    assert "like tea" not in str(error.value)


def test_a_suite_without_placeholders_needs_no_file_of_them(tmp_path):
    (tmp_path / "templates.csv").write_text("language,functionality,gold,template\nmalay,profanity_nh,non-hateful,Rain\n")
    assert [template.text for template in own.read(tmp_path)[0][0]] == ["Rain"]


def test_a_folder_without_templates(tmp_path):
    with pytest.raises(InputError, match=r"\.csv"):
        own.read(tmp_path)
