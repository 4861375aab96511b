"""What every submission is held against: the cases of a suite, in what slices they are counted, and how their clusters are drawn, once for all.

The weights of the bootstrap are those of `sghatecheck score` with the same seed, so a submission's intervals are those that its author sees.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sghatecheck_metric.counting import Layout, Level, count, lay_out
from sghatecheck_metric.intervals import Design, blocks
from sghatecheck_metric.reading import case_lines, code_column, fingerprint_lines
from sghatecheck_metric.resampling import draw, make_units
from sghatecheck_metric.scoring import signature
from sghc.errors import InputError, first_few, plain
from sghc.suite import folder

if TYPE_CHECKING:
    import pyarrow

SPLIT = "test"
COLUMNS = ["case_id", "text", "label", "language", "functionality", "functional_class", "target", "cluster", "template_id"]
WIDE = ("functional_class", "target")  # what the leaderboard filters by, besides languages
N_RESAMPLES, CONFIDENCE, SEED = 2000, 0.95, 12345
ECHO = 12  # bytes of a case's text, case and blanks aside, that no output may hold in a row: 12 letters, 4 Chinese or Tamil characters


@dataclass(frozen=True)
class Ground:
    """Cases in columns (COLUMNS), all with a gold label; `invalid` is what a rejected output counts as."""

    name: str
    caution: str
    cases: dict[str, list]
    about: folder.About | None = None
    ids: pyarrow.Array | None = None  # the column case_id, to find rows by
    invalid: str = "wrong"

    @cached_property
    def gold(self) -> np.ndarray:
        return np.array(self.cases["label"], np.int8)

    @cached_property
    def order(self) -> np.ndarray:
        """The place of each case among the sorted ids, int64 (n,)."""
        places = np.empty(len(self.gold), np.int64)
        places[sorted(range(len(places)), key=self.cases["case_id"].__getitem__)] = np.arange(len(places))
        return places

    @cached_property
    def language(self) -> tuple[np.ndarray, list[str]]:
        """(code of each case's language (n,), the languages)."""
        return code_column(self.cases["language"], "language", len(self.gold))

    @property
    def languages(self) -> list[str]:
        return self.language[1]

    # --- how it is counted and drawn ---

    @cached_property
    def narrow(self) -> Layout:
        """The slices that have intervals: each language, and their mean."""
        return lay_out([Level("overall", np.zeros(len(self.gold), np.int64), [None])], *self.language)

    @cached_property
    def wide(self) -> Layout:
        """All slices that a row has: `narrow`, and each functional class and target."""
        coded = {name: code_column(self.cases[name], name, len(self.gold)) for name in WIDE}
        whole = Level("overall", np.zeros(len(self.gold), np.int64), [None])
        return lay_out([whole, *(Level(name, *one) for name, one in coded.items() if one)], *self.language)

    @cached_property
    def design(self) -> Design:
        strata = [self.language, code_column(self.cases["functionality"], "functionality", len(self.gold))]
        clusters = code_column(self.cases["cluster"], "cluster", len(self.gold)) or code_column(self.cases["template_id"], "template", len(self.gold))
        return Design("bootstrap", N_RESAMPLES, CONFIDENCE, SEED, make_units(len(self.gold), [one for one in strata if one], clusters))

    @cached_property
    def weights(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """(units, slices, weights float32 (B, units)) of each language: every replicate's draw of its clusters, the same for every submission."""
        units = self.design.units
        drawn = draw(units.stratum, N_RESAMPLES, np.random.default_rng(SEED))
        pairs = blocks(self.narrow, count(self.narrow, self.gold, self.gold, units.of_case, len(units.stratum)))
        return [(rows, slices, np.ascontiguousarray(drawn[:, rows])) for rows, slices in pairs]

    # --- what it is ---

    @cached_property
    def lines(self) -> dict[str, list[str]]:
        """What the fingerprint is made of, by language."""
        lines = case_lines(*(self.cases[name] for name in ("case_id", "label", "text")))
        found: dict[str, list[str]] = {}
        for language, line in zip(self.cases["language"], lines, strict=True):
            found.setdefault(language, []).append(line)
        return found

    @cached_property
    def fingerprints(self) -> dict[frozenset, str]:
        return {}

    def fingerprint(self, languages: Iterable[str]) -> str:
        """SHA-256 of the cases of some languages, as every signature names it. InputError for a language that the suite does not have."""
        asked = frozenset(languages)
        if unknown := sorted(asked - set(self.languages)):
            raise InputError(f"{self.name}: no language {first_few(map(plain, unknown))}; it has {first_few(self.languages, 20)}")
        if asked not in self.fingerprints:
            self.fingerprints[asked] = fingerprint_lines(line for language in asked for line in self.lines[language])
        return self.fingerprints[asked]

    @property
    def suite(self) -> str:
        return "sghatecheck" if self.name == "official" else f"sghatecheck-{self.name}"

    @property
    def signature(self) -> str:
        data = self.fingerprint(self.languages)
        return signature(data, SPLIT, self.invalid, False, f"{self.suite}-leaderboard", self.design, True)

    # --- texts that must not be published ---

    @cached_property
    def folded(self) -> list[bytes]:
        return [fold(text) for text in self.cases["text"]]

    @cached_property
    def short_texts(self) -> dict[bytes, list[bytes]]:
        """Texts of all splits that an output could hold whole, by their first bytes."""
        texts = self.cases["text"]
        if self.about:
            others = [one for one in self.about.files if one[1] != SPLIT]
            texts = [
                *texts,
                *(text for language, split in others for text in folder.read(self.about, split, [language], ["text"])["text"].to_pylist()),
            ]
        found: dict[bytes, list[bytes]] = {}
        for text in {fold(one) for one in texts if len(one) <= 64}:
            if len(text) >= ECHO:
                found.setdefault(text[:ECHO], []).append(text)
        return found

    def echoes(self, output: str, place: int | None) -> bool:
        """Whether an output holds the text of a case, or a part of that of the case at `place`, which it answers."""
        said = fold(output)
        own = b"" if place is None else self.folded[place]
        for start in range(len(said) - ECHO + 1):
            part = said[start : start + ECHO]
            if part in own or any(said.startswith(text, start) for text in self.short_texts.get(part, ())):
                return True
        return False


def fold(text: str) -> bytes:
    return "".join(text.casefold().split()).encode(errors="replace")


def open_ground(suite: Path) -> Ground:
    """The test split of a folder that `sghatecheck build` wrote. InputError as `folder.read`."""
    about = folder.describe(suite)
    table = folder.read(about, SPLIT, None, COLUMNS)
    return Ground(about.name, about.caution, {name: table[name].to_pylist() for name in COLUMNS}, about, table["case_id"].combine_chunks())
