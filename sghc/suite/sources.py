"""The three places a suite may come from: the release, a folder of templates, a folder that was built before; and the card that goes with it."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from sghc.errors import InputError, first_few, plain
from sghc.suite import card, cases, folder, own, release
from sghc.suite.catalogue import FUNCTIONALITIES, LANGUAGES, PROTECTED_GROUPS
from sghc.suite.suite import Suite
from sghc.suite.templates import generate

NOT_REVIEWED = "no native speaker has reviewed these cases: not for reporting"
STARTER = Path(__file__).with_name("starter")


def official(files: dict[str, Path], languages: Iterable[str] = LANGUAGES) -> Suite:
    """SGHateCheck from the released files (see `release.download`, `release.local_copy`), with the splits test, annotated and generated."""
    import pyarrow.compute as pc

    suite = Suite("official")
    for name in languages:
        templates, placeholders, annotated = release.read_language(LANGUAGES[name], files, suite.counts)
        table = cases.table(annotated)
        suite.tables[name, "test"] = table.filter(pc.equal(table["status"], "retained"))
        suite.tables[name, "annotated"] = table
        suite.tables[name, "generated"] = cases.table(generate(templates, placeholders))
    if altered := release.altered(files):
        suite.name = "altered"
        suite.caution = f"not the release at {release.COMMIT[:12]} ({', '.join(altered)} differ from it), so scores do not compare with others"
    return suite


def from_templates(source: Path, name: str) -> Suite:
    """A suite of templates.csv and placeholders.csv. Nobody has annotated its cases: they are all asked in `test`, and stand in `generated` too."""
    suite = Suite(name, NOT_REVIEWED)
    for templates, placeholders in own.read(source):
        table = cases.table(generate(templates, placeholders))
        language = templates[0].language.name
        suite.tables[language, "test"] = suite.tables[language, "generated"] = table
    for column, known, what in (
        ("target", PROTECTED_GROUPS, "targets without a protected group"),
        ("functionality", FUNCTIONALITIES, "functionalities"),
    ):
        found = {value for table in suite.tables.values() for value in table[column].unique().to_pylist()} - {*known, None}
        if found:
            suite.remarks.append(f"{what} of your own: {first_few(map(plain, sorted(found)), 20)}")
    return suite


def own_name(source: Path) -> str:
    """A suite's name from its folder's, without what a signature cannot hold, and never one of ours."""
    name = re.sub(r"[^\w.-]+", "_", source.resolve().name)
    return f"own-{name}" if name in ("official", "altered", "starter") else name


def from_built(source: Path, languages: Iterable[str] | None = None) -> Suite:
    """A folder that `sghatecheck build` wrote, read again, in some languages or all. InputError as `folder.read`."""
    about = folder.describe(source)
    suite = Suite(about.name, about.caution)
    wanted = folder.wanted_languages(about, languages)
    suite.tables = {(language, split): folder.read(about, split, [language]) for language, split in about.files if language in wanted}
    return suite


def open_suite(which: str, source: Path | None, fetch: Callable[[list[str]], list[str]]) -> Suite:
    """The suite that `sghatecheck build WHICH --source SOURCE` names: official, starter, or a folder with templates.csv and placeholders.csv."""
    if which == "official":
        return official(release.local_copy(source) if source else release.download(fetch))
    if source:
        raise InputError(f"--source {source} names a copy of the release and goes with `build official`, not with {which}")
    if which == "starter":
        return from_templates(STARTER, "starter")
    if not Path(which).is_dir():
        raise InputError(f"{which}: expected official, starter, or a folder with templates.csv and placeholders.csv")
    return from_templates(Path(which), own_name(Path(which)))


def card_of(suite: Suite, which: str) -> str:
    """The dataset card that belongs to the suite `open_suite(which)` gave."""
    if which == "official":
        return card.official_card(suite)
    return card.plain_card(suite, STARTER if which == "starter" else Path(which))


def download(urls: list[str]) -> list[str]:
    """Downloads with datasets' download manager (its cache, its retries, its progress bar): URLs in, local paths out."""
    from datasets import DownloadConfig, DownloadManager

    return DownloadManager(dataset_name="sghatecheck", download_config=DownloadConfig(max_retries=2)).download(urls)
