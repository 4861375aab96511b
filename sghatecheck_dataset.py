"""SGHateCheck as a `datasets` builder: configs singlish, malay, mandarin, tamil and all; splits test, annotated and generated.

    from sghatecheck_dataset import SGHateCheck

    builder = SGHateCheck(config_name="malay", data_dir="path/to/SGHateCheck")  # without data_dir: downloaded at the pinned commit
    builder.download_and_prepare()
    cases = builder.as_dataset(split="test")

`sghatecheck build` writes the same rows as a folder, which `load_dataset("sghatecheck", "malay")` loads from beside it.
Source: Ng et al. (2024), SGHateCheck: Functional Tests for Detecting Hate Speech in Low-Resource Languages of Singapore.
"""

import os
from pathlib import Path
from typing import ClassVar

import datasets

from sghc import __version__
from sghc.suite import cases, folder, release, sources
from sghc.suite.catalogue import LANGUAGES

VERSION = datasets.Version("1.0.0")
CITATION = """@inproceedings{ng-etal-2024-sghatecheck,
  title = {{SGHateCheck}: Functional Tests for Detecting Hate Speech in Low-Resource Languages of Singapore},
  author = {Ng, Ri Chi and Prakash, Nirmalendu and Hee, Ming Shan and Choo, Kenny Tsu Wei and Lee, Roy Ka-Wei},
  booktitle = {Proceedings of the 8th Workshop on Online Abuse and Harms},
  year = {2024},
  eprint = {2405.01842},
  archivePrefix = {arXiv}
}"""


class SGHateCheck(datasets.ArrowBasedBuilder):
    """Builds from the released files: downloaded and checked, or from `data_dir`, a folder laid out as their repository or one built before.

    The cache is keyed by the content of the source, so that a changed source never gives old rows.
    """

    VERSION = VERSION
    BUILDER_CONFIGS: ClassVar = [datasets.BuilderConfig(name=name, version=VERSION) for name in (*LANGUAGES, cases.ALL)]
    DEFAULT_CONFIG_NAME = cases.ALL

    def __init__(self, *args, hash: str | None = None, data_dir: str | os.PathLike | None = None, **kwargs):
        source = None if data_dir is None else os.fspath(data_dir)
        super().__init__(*args, hash=hash or source_hash(source), data_dir=source, **kwargs)

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(
            description=__doc__.splitlines()[0],
            features=cases.features(),
            homepage="https://github.com/Social-AI-Studio/SGHateCheck",
            citation=CITATION,
        )

    def _split_generators(self, dl_manager) -> list[datasets.SplitGenerator]:
        source = self.config.data_dir and Path(self.config.data_dir)
        if source and folder.is_built(source):
            tables = sources.from_built(source, None if self.config.name == cases.ALL else [self.config.name]).tables
        else:
            languages = LANGUAGES if self.config.name == cases.ALL else [self.config.name]
            files = release.local_copy(source) if source else release.download(dl_manager.download)
            tables = sources.official(files, languages).tables
        splits = [split for split in cases.SPLITS if any(found == split for _, found in tables)]
        return [datasets.SplitGenerator(split, {"tables": [table for (_, found), table in tables.items() if found == split]}) for split in splits]

    def _generate_tables(self, tables):
        for place, table in enumerate(tables):
            yield datasets.builder.Key(place, 0), table.replace_schema_metadata(None)


def source_hash(source: str | None) -> str:
    """A digest of what the rows are made from: the pinned sums, the files of a local copy, or the file names of a built folder."""
    if source is None:
        return datasets.fingerprint.Hasher.hash([__version__, release.pins()])
    if folder.is_built(Path(source)):
        return datasets.fingerprint.Hasher.hash(sorted(path.name for path in folder.describe(Path(source)).files.values()))
    return datasets.fingerprint.Hasher.hash({path: release.file_hash(place) for path, place in release.local_copy(Path(source)).items()})


def install(built: Path, cache_dir: str | None = None) -> list[str]:
    """Prepares a built folder's rows in datasets' cache, so that `load_dataset(name, config)` finds them by the folder's bare name from anywhere.

    datasets takes what was prepared last, so a folder whose rows are in the cache already is marked as the latest.

    Returns:
        the names of the configs that can now be loaded.
    """
    source = built.resolve()
    configs = [*folder.describe(source).languages, cases.ALL]

    class Installed(SGHateCheck):  # the source stands in the configs: as an argument it would become part of their names
        BUILDER_CONFIGS: ClassVar = [datasets.BuilderConfig(name=name, version=VERSION, data_dir=str(source)) for name in configs]

    for name in configs:
        builder = Installed(config_name=name, dataset_name=source.name, hash=source_hash(str(source)), cache_dir=cache_dir)
        builder.download_and_prepare()
        os.utime(builder.cache_dir)
    return configs
