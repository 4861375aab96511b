"""The folder that `sghatecheck build` writes, shaped like a dataset repository on the Hub: Parquet files, a README.md that names them, an eval.yaml.

A file's name holds a digest of its content, since datasets caches a local folder by file names. README.md is replaced last, and only then the files
that it no longer names go: whenever a build is cut off, the folder holds a whole suite, the old one or the new one.
"""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sghc import __version__
from sghc.errors import InputError, first_few
from sghc.suite import benchmark
from sghc.suite.cases import ALL, CANARY, SPLITS
from sghc.suite.catalogue import LANGUAGES
from sghc.suite.suite import Suite

if TYPE_CHECKING:
    import pyarrow

METADATA = b"sghatecheck"  # the key, in each Parquet file's metadata, of a JSON object: suite, caution, canary, version


class About(NamedTuple):
    """What a built folder says of itself."""

    source: Path
    name: str
    caution: str  # why scores on it are not for reporting; "" where they are
    files: dict[tuple[str, str], Path]  # by (language, split)

    @property
    def languages(self) -> list[str]:
        return list(dict.fromkeys(language for language, _ in self.files))


# --- writing ---


def write(suite: Suite, card: str, out: Path) -> None:
    """Writes a suite and its card as a folder. The same suite gives the same bytes.

    Args:
        card: the dataset card, Markdown with a YAML head, to which configs and dataset_info are added.
        out: a new folder, an empty one, or one that a build wrote before, whose suite is replaced. Hidden files in it (.git) stay.

    Raises:
        InputError: `out` holds something else, or cannot be written; then it is left as it was.
    """
    out = out.resolve()  # a link to a folder stays a link
    try:
        check_ours(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
        try:
            files = {(language, split): write_table(suite, language, split, beside) for language, split in suite.tables}
            (beside / benchmark.NAME).write_text(benchmark.eval_yaml(suite), encoding="utf-8")
            (beside / "README.md").write_text(with_head(card, suite, files), encoding="utf-8")
            beside.chmod(0o755)
            swap_in(beside, out)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or error})") from error


def check_ours(out: Path) -> None:
    """Raises InputError where `out` is a file, or a folder with something in it that no build wrote."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: is a file, expected a folder to write the suite to")
    if out.is_dir() and any(not path.name.startswith(".") for path in out.iterdir()) and not is_built(out):
        raise InputError(f"{out}: holds files that no build wrote; name another folder with --out, or empty this one")


def is_built(source: Path) -> bool:
    readme = source / "README.md"
    return readme.is_file() and CANARY in readme.read_text(encoding="utf-8", errors="replace")


def write_table(suite: Suite, language: str, split: str, top: Path) -> Path:
    """Writes one table and returns its path relative to `top`."""
    import pyarrow.parquet as pq

    table = suite.tables[language, split]
    about = {"suite": suite.name, "caution": suite.caution, "canary": CANARY, "version": __version__}
    table = table.replace_schema_metadata({**table.schema.metadata, METADATA: json.dumps(about).encode()})
    place = top / "data" / language / f"{split}.parquet"
    place.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, place, compression="zstd")
    named = place.with_name(f"{split}-{hashlib.sha256(place.read_bytes()).hexdigest()[:12]}.parquet")
    return place.rename(named).relative_to(top)


def with_head(card: str, suite: Suite, files: dict[tuple[str, str], Path]) -> str:
    """The card, its YAML head completed with `configs` and `dataset_info` for each language and for all together."""
    from datasets import DatasetInfo, SplitDict, SplitInfo
    from datasets.info import DatasetInfosDict
    from datasets.utils.metadata import MetadataConfigs
    from huggingface_hub import DatasetCard

    from sghc.suite.cases import features

    configs, infos = {}, {}
    for config in (*suite.languages, ALL):
        languages = suite.languages if config == ALL else [config]
        splits = {split: [one for one in languages if (one, split) in files] for split in SPLITS}
        splits = {split: names for split, names in splits.items() if names}
        paths = {split: [files[one, split].as_posix() for one in names] for split, names in splits.items()}
        configs[config] = {"data_files": [{"split": split, "path": found} for split, found in paths.items()]}
        sizes = {split: [suite.tables[one, split] for one in names] for split, names in splits.items()}
        infos[config] = DatasetInfo(
            features=features(),
            splits=SplitDict(
                {split: SplitInfo(split, sum(table.nbytes for table in tables), sum(map(len, tables))) for split, tables in sizes.items()}
            ),
            dataset_size=sum(table.nbytes for tables in sizes.values() for table in tables),
        )
    configs[ALL]["default"] = True
    whole = DatasetCard(card)
    DatasetInfosDict(infos).to_dataset_card_data(whole.data)
    MetadataConfigs(configs).to_dataset_card_data(whole.data)
    return str(whole)


def swap_in(beside: Path, out: Path) -> None:
    """Puts the new folder in the place of the old one; see the module's docstring for the order."""
    try:
        beside.rename(out)
        return
    except OSError:
        if not out.is_dir():
            raise  # else a folder with files in it, or one that cannot be renamed over, as a mounted one: its files are replaced one by one
    with locked(out):
        new = {path.relative_to(beside) for path in beside.rglob("*.parquet")}
        for path in sorted(new):
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            (beside / path).replace(out / path)
        for name in (benchmark.NAME, "README.md"):
            (beside / name).replace(out / name)
        for path in out.glob("data/*/*.parquet"):
            if path.relative_to(out) not in new:
                path.unlink()
                if not any(path.parent.iterdir()):
                    path.parent.rmdir()


@contextlib.contextmanager
def locked(out: Path):
    """Keeps a second build out of a folder while its files are replaced: one would delete what the other has just named."""
    import fcntl

    handle = os.open(out, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


# --- reading ---


def describe(source: Path) -> About:
    """What is in a built folder, read from its README.md and the metadata of a Parquet file.

    Raises:
        InputError: no such folder, or none that a build wrote; a file that it names is missing, damaged or lies outside it.
    """
    import pyarrow.parquet as pq

    if not source.is_dir() or not is_built(source):
        raise InputError(f"{source}: no suite there; build one with `sghatecheck build official --out {source}` (or `build starter`)")
    files = {}
    for language, split, path in named_files(source / "README.md"):
        files[language, split] = inside(source, path)
    if not files:
        raise InputError(f"{source / 'README.md'}: names no data files; build the suite again")
    order = [*LANGUAGES]
    files = dict(sorted(files.items(), key=lambda item: order.index(item[0][0]) if item[0][0] in order else len(order)))
    with readable(source):
        about = json.loads((pq.read_schema(next(iter(files.values()))).metadata or {}).get(METADATA, b"{}"))
    return About(source, about.get("suite", "unknown"), about.get("caution", "it does not say where it comes from"), files)


def named_files(readme: Path) -> list[tuple[str, str, str]]:
    """(language, split, path) of each data file that a card's YAML head names."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the compiled one is ten times as fast
    try:
        head = yaml.load(readme.read_text(encoding="utf-8").split("---\n", 2)[1], loader)
        return [
            (config["config_name"], entry["split"], path)
            for config in head["configs"]
            if config["config_name"] != ALL
            for entry in config["data_files"]
            for path in ([entry["path"]] if isinstance(entry["path"], str) else entry["path"])
        ]
    except (yaml.YAMLError, ValueError, LookupError, TypeError, RecursionError) as error:  # whatever a card edited by hand may hold
        raise InputError(f"{readme}: its head is not what a build wrote ({type(error).__name__}); build the suite again") from None


@contextlib.contextmanager
def readable(source: Path):
    """Turns what pyarrow raises of a damaged file into one clear error."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{source}: a data file is not readable as Parquet ({type(error).__name__}); build the suite again") from None


def inside(source: Path, path: str) -> Path:
    """A data file's place; InputError where it is missing or the path leads out of the folder."""
    place = source / path
    if not place.resolve().is_relative_to(source.resolve()):
        raise InputError(f"{source / 'README.md'}: data file {path!r} lies outside the folder")
    if not place.is_file():
        raise InputError(f"{source}: {path}, which README.md names, is missing; build the suite again")
    return place


def wanted_languages(about: About, languages: Iterable[str] | None) -> list[str]:
    """The languages that are named, each once, or all. InputError for one that the folder does not have."""
    wanted = about.languages if languages is None else list(dict.fromkeys(languages))
    if unknown := [language for language in wanted if language not in about.languages]:
        raise InputError(f"{about.source}: no config {first_few(unknown)}; it has {first_few(about.languages, 20)}")
    return wanted


def read(source: "Path | About", split: str, languages: Iterable[str] | None = None, columns: list[str] | None = None) -> "pyarrow.Table":
    """The cases of a split, of some languages or of all, one language after the other.

    Args:
        source: a built folder, or what `describe` said of it, where that is at hand.

    Raises:
        InputError: a language or split that the folder does not have, or a file that is no Parquet.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    about = source if isinstance(source, About) else describe(source)
    source, wanted = about.source, wanted_languages(about, languages)
    if missing := [language for language in wanted if (language, split) not in about.files]:
        raise InputError(f"{source}: no split {split!r} for {first_few(missing)}; it has {first_few({split for _, split in about.files})}")
    with readable(source):
        files = [pq.ParquetFile(about.files[language, split]) for language in wanted]  # pq.read_table would import pandas, which takes 0.3 s
        if lacking := {column for file in files for column in columns or () if column not in file.schema_arrow.names}:
            raise InputError(f"{source}: a data file has no column {first_few(sorted(lacking))}; build the suite again")
        return pa.concat_tables(file.read(columns=columns) for file in files)
