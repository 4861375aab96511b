"""What is trained on and what is held out: EngSet and MultiSet of the paper, or sources chosen by hand, as rows with a count of every one left out.

    corpus = training("multiset", Path("data"), hydrated=Path("tweets.csv"))
    corpus = training("hatexplain:val,cold:train,hatem", Path("data"), suites=[Path("sghatecheck")])
    test = held_out("hatexplain_test", Path("data"))

EngSet is waseem_hovy and hatexplain (31,421 rows in the paper, appendix C), MultiSet these with cold and hatem (62,039). Repeated texts, also those
with two labels, stay as the paper had them and are counted: a wrong label is noise, of less than one row in a hundred. A text that is trained on
and tested on is a leak: the texts of the held-out test sets are always taken out of training (39 of COLD's are in its test set too), and the texts of
a test suite are refused. Texts are compared by `key`: NFKC, without case, every run of white space as one blank.
"""

import random
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sghc.errors import InputError, first_few, plain
from sghc.suite.catalogue import LABELS
from sources import SOURCES, Absent, Read, read

if TYPE_CHECKING:
    import pyarrow

NAMED = {"engset": "waseem_hovy,hatexplain", "multiset": "waseem_hovy,hatexplain,cold,hatem"}
TESTS = {"hatexplain_test": ("hatexplain", "test"), "cold_test": ("cold", "test")}  # never trained on
HELD_OUT = TESTS | {"hatexplain_val": ("hatexplain", "val"), "cold_dev": ("cold", "dev")}


class Corpus(NamedTuple):
    """Rows and where they come from.

    Args:
        rows: columns text, label (int8: 0 non-hateful, 1 hateful), source, language and split, in the sources' order.
        counts: `name`, `rows`, `hateful`, `expected` (the paper's number of rows, None for what it does not have), `without`, `held_out` (test sets
            whose texts were taken out, and those that are not there), `suites`, and `sources`: by "source:split" {read, used, hateful, expected,
            dropped: {reason: rows}, repeated, conflicting, files: {path: SHA-256}}; waseem_hovy also has {coverage, texts of unknown ids}.
    """

    rows: "pyarrow.Table"
    counts: dict


def training(
    name: str | Sequence[str],
    folder: Path,
    *,
    without: Iterable[str] = (),
    hydrated: Path | None = None,
    suites: Iterable[Path] = (),
    held_out: Iterable[str] = (),
) -> Corpus:
    """A corpus to train on. No text of a test set is in it, whichever sets are asked for.

    Args:
        name: "engset", "multiset", or sources (a list, or with commas), each as `source` (its training split) or `source:split`.
        folder: where the sources lie (see sources.py).
        without: sources to leave out, where they are not at hand; the counts say so.
        hydrated: the tweets of waseem_hovy, a CSV with columns id and text.
        suites: folders that `sghatecheck build` wrote, whose texts must not be among the rows.
        held_out: sets, beside the test sets, whose texts are taken out too, such as cold_dev.

    Raises:
        InputError: an unknown name, a held-out set that is to be trained on, sources that are not there (all of them in one message), a text of a
            suite or a file with its canary, whatever is wrong with a file, no rows, or rows of one label alone.
    """
    wanted, without = chosen(name), sorted(set(without))
    if strange := [one for one in without if one not in {source for source, _ in wanted}]:
        raise InputError(f"without: {first_few(map(plain, strange))} is not among the sources {first_few(dict.fromkeys(s for s, _ in wanted))}")
    wanted = [(source, split) for source, split in wanted if source not in without]
    parts = read_all(wanted, folder, hydrated)
    held, missing = held_out_keys(folder, wanted, held_out)
    taken_out = {key for keys in held.values() for key in keys}
    tables = {part: kept(found, taken_out) for part, found in parts.items()}
    corpus = put_together(name if isinstance(name, str) else ",".join(name), tables)
    checked = refuse_suite_texts(corpus.rows, suites)
    whole = NAMED.get(corpus.counts["name"], corpus.counts["name"]).split(",")
    expected = [SOURCES[source].splits[split] for source, split in map(parsed, whole)]
    about = {"expected": None if None in expected else sum(expected), "without": without}
    about |= {"held_out": {"taken_out": sorted(held), "absent": missing}, "suites": checked}
    labels = set(corpus.rows["label"].to_pylist())
    if len(labels) < 2:
        raise InputError(
            f"{corpus.counts['name']}: {f'all rows have the label {labels.pop()}' if labels else 'no rows are left'}, expected both labels"
        )
    return Corpus(corpus.rows, corpus.counts | about)


def held_out(name: str, folder: Path) -> Corpus:
    """A held-out set, whole: hatexplain_test or cold_test (never trained on), hatexplain_val or cold_dev (for validation).

    Raises:
        InputError: an unknown name, or whatever is wrong with its files.
    """
    source, split = place_of(name)
    corpus = put_together(name, {(source, split): read(source, folder, split)})
    if not corpus.rows:
        raise InputError(f"{name}: no rows in it")
    return corpus


def sample(rows: "pyarrow.Table", n: int, seed: int) -> "pyarrow.Table":
    """`n` rows, always the same for a seed, each source and label by its share; in the order of `rows`.

    Shares are rounded by largest remainders, so each is met to less than one row. InputError unless 1 <= n <= rows.
    """
    if not 1 <= n <= len(rows):
        raise InputError(f"a sample of {n:,} rows was asked for, and there are {len(rows):,}")
    strata = defaultdict(list)
    for i, stratum in enumerate(zip(rows["source"].to_pylist(), rows["label"].to_pylist(), strict=True)):
        strata[stratum].append(i)
    shares = {stratum: n * len(members) / len(rows) for stratum, members in sorted(strata.items())}
    sizes = {stratum: int(share) for stratum, share in shares.items()}
    for stratum in sorted(shares, key=lambda one: sizes[one] - shares[one])[: n - sum(sizes.values())]:
        sizes[stratum] += 1
    pick = random.Random(seed).sample
    return rows.take(sorted(i for stratum, size in sizes.items() for i in pick(strata[stratum], size)))


def sample_each(rows: "pyarrow.Table", sizes: Sequence[str], seed: int, balanced: bool = False) -> "pyarrow.Table":
    """A sample of each source, its labels by their share.

    Args:
        sizes: `SOURCE=N` for every source that the rows have.
        balanced: takes N / 2 of each label instead; of an odd N, one more that is not hateful.

    Raises:
        InputError: a size that is none, a source that is left out, named twice or not there, or that has fewer rows.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    asked = {}
    for size in sizes:
        source, _, n = size.partition("=")
        if not n.isdecimal() or source in asked:
            raise InputError(f"sample_each, {plain(source)}: expected SOURCE=N once for each source, such as hatem=300")
        asked[source] = int(n)
    of_source = {source: rows.filter(pc.equal(rows["source"], source)) for source in rows["source"].unique().to_pylist()}
    if asked.keys() != of_source.keys():
        raise InputError(f"a sample of {first_few(map(plain, asked))} was asked for, and the rows are of {first_few(of_source)}")
    if short := [source for source, n in asked.items() if not 1 <= n <= len(of_source[source])]:
        raise InputError(f"{short[0]}={asked[short[0]]}: a sample of these was asked for, and there are {len(of_source[short[0]]):,}")
    if not balanced:
        return pa.concat_tables([sample(of_source[source], n, seed) for source, n in asked.items()])
    halves = []
    for source, n in asked.items():
        for label, half in ((0, n - n // 2), (1, n // 2)):
            members = of_source[source].filter(pc.equal(of_source[source]["label"], label))
            if not 1 <= half <= len(members):
                raise InputError(f"{source}={n}: half of them {LABELS[label]}, and there are {len(members):,} {LABELS[label]} rows")
            halves.append(sample(members, half, seed))
    return pa.concat_tables(halves)


def told(counts: dict) -> list[str]:
    """The counts in a few lines, for a terminal."""
    lines = [f"{counts['name']}: {counts['rows']:,} rows to train on, {counts['hateful']:,} hateful" + paper(counts["expected"])]
    for name, one in counts["sources"].items():
        dropped = [f"{n:,} {reason}" for reason, n in one["dropped"].items()]
        left_out = f"; left out: {', '.join(dropped)}" if dropped else ""
        lines.append(f"  {name}: {one['used']:,} of {one['read']:,} rows, {one['hateful']:,} hateful{paper(one['expected'])}{left_out}")
    return lines


def paper(expected: int | None) -> str:
    return f" (the paper: {expected:,} rows)" if expected else ""


# --- how a corpus is made ---


def chosen(name: str | Sequence[str]) -> list[tuple[str, str]]:
    """(source, split) of each part that a name stands for."""
    parts = NAMED.get(name, name).split(",") if isinstance(name, str) else name
    found = [parsed(part) for part in parts]
    if twice := [f"{source}:{split}" for (source, split), times in Counter(found).items() if times > 1]:
        raise InputError(f"{first_few(twice)} is named twice")
    return found


def parsed(part: str) -> tuple[str, str]:
    """(source, split) of `source` or `source:split`. InputError for what is none, and for a test set."""
    source, _, split = part.strip().partition(":")
    split = split or "train"
    if source not in SOURCES:
        raise InputError(f"{plain(part)}: no corpus of that name; there are {first_few([*NAMED, *SOURCES], 9)}")
    if split not in SOURCES[source].splits:
        raise InputError(f"{plain(part)}: {source} has no split {plain(split)}; it has {first_few(SOURCES[source].splits)}")
    if (source, split) in TESTS.values():
        raise InputError(f"{plain(part)}: is a held-out test set and cannot be trained on")
    return source, split


def read_all(wanted: list[tuple[str, str]], folder: Path, hydrated: Path | None) -> dict[tuple[str, str], Read]:
    """Each source that is wanted; InputError that names all that are not there."""
    parts, absent = {}, {}
    for source, split in wanted:
        try:
            parts[source, split] = read(source, folder, split, hydrated)
        except Absent as error:
            absent[source] = str(error)
    if absent:
        raise InputError("\n".join([*absent.values(), f"or leave out what is not at hand: --without {' '.join(absent)}"]))
    return parts


def held_out_keys(folder: Path, wanted: list[tuple[str, str]], more: Iterable[str]) -> tuple[dict[str, set[str]], list[str]]:
    """The texts, as keys, of each held-out set, and the test sets that are not there: that of a source in use must be, and so must `more`."""
    keys, missing, needed = {}, [], {source for source, _ in wanted}
    for name in dict.fromkeys([*TESTS, *more]):
        source, split = place_of(name)
        if (source, split) in wanted:
            raise InputError(f"{name}: is to be held out, and {source}:{split} to be trained on; leave one of them out")
        try:
            keys[name] = {key(text) for text, _ in read(source, folder, split).posts}
        except Absent as error:
            if source in needed or name not in TESTS:
                raise InputError(f"{error}\n{name} is needed to keep its texts out of training") from None
            missing.append(name)
    return keys, missing


def place_of(name: str) -> tuple[str, str]:
    """(source, split) of a held-out set. InputError where it is none."""
    if name not in HELD_OUT:
        raise InputError(f"{plain(name)}: no held-out set; there are {first_few(HELD_OUT)}")
    return HELD_OUT[name]


def kept(found: Read, taken_out: set[str]) -> Read:
    """What was read, without the texts of held-out sets."""
    posts = [post for post in found.posts if key(post[0]) not in taken_out]
    leaks = len(found.posts) - len(posts)
    return found._replace(posts=posts, dropped=found.dropped | ({"in a held-out set": leaks} if leaks else {}))


def put_together(name: str, parts: dict[tuple[str, str], Read]) -> Corpus:
    """One table of several sources, and its counts."""
    import pyarrow as pa

    schema = pa.schema({"text": pa.string(), "label": pa.int8(), "source": pa.string(), "language": pa.string(), "split": pa.string()})
    tables = [schema.empty_table()]
    for (source, split), found in parts.items():
        n = len(found.posts)
        texts, labels = zip(*found.posts, strict=True) if n else ((), ())
        tables.append(pa.table([texts, labels, [source] * n, [SOURCES[source].language] * n, [split] * n], schema=schema))
    rows = pa.concat_tables(tables)
    sources = {f"{source}:{split}": counted(found, SOURCES[source].splits[split]) for (source, split), found in parts.items()}
    return Corpus(rows, {"name": name, "rows": len(rows), "hateful": sum(one["hateful"] for one in sources.values()), "sources": sources})


def counted(found: Read, expected: int | None) -> dict:
    """The counts of one source; see Corpus. `repeated` is rows beyond a text's first, `conflicting` is rows whose text has both labels."""
    labels = defaultdict(list)
    for text, label in found.posts:
        labels[key(text)].append(label)
    return {
        "read": found.n,
        "used": len(found.posts),
        "hateful": sum(label for _, label in found.posts),
        "expected": expected,
        "dropped": found.dropped,
        "repeated": len(found.posts) - len(labels),
        "conflicting": sum(len(given) for given in labels.values() if len(set(given)) > 1),
        "files": found.files,
        **found.more,
    }


def key(text: str) -> str:
    """What makes two texts the same."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def refuse_suite_texts(rows: "pyarrow.Table", suites: Iterable[Path]) -> dict[str, int]:
    """The number of texts of each suite that was held against the rows. InputError where a row is one of them."""
    from sghc.suite import folder

    checked = {}
    keys, sources = [key(text) for text in rows["text"].to_pylist()], rows["source"].to_pylist()
    for place in map(Path, suites):
        about = folder.describe(place)
        texts = {key(text) for language, split in about.files for text in folder.read(about, split, [language], ["text"])["text"].to_pylist()}
        checked[about.name] = len(texts)
        if found := Counter(source for one, source in zip(keys, sources, strict=True) if one in texts):
            where = first_few(f"{n:,} in {source}" for source, n in found.items())
            raise InputError(f"{place}: {found.total():,} rows are texts of this test suite ({where}); what a suite asks must not be trained on")
    return checked
