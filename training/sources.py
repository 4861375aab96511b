"""The corpora that the paper fine-tuned on, one reader each: public files as they are -> posts with a text and a label.

A folder holds them under `hatexplain`, `cold`, `hatem` and `waseem_hovy`, each laid out as its public repository:

    hatexplain/Data/dataset.json, post_id_divisions.json    github.com/hate-alert/HateXplain (Mathew et al. 2021)
    cold/COLDataset/train.csv, dev.csv, test.csv            github.com/thu-coai/COLDataset (Deng et al. 2022)
    hatem/HateMalay Dataset.csv                             github.com/MaityKrishanu/Hate_Malay (Maity et al. 2023)
    waseem_hovy/NAACL_SRW_2016.csv                          github.com/ZeerakW/hatespeech (Waseem and Hovy 2016): ids and labels, no texts

Two rows with one text are two posts, labelled apart: both are kept, as the paper had them, and counted (corpora.py). A post without a label of its
own (no majority of its annotators, a tweet id under both labels) and one without a text are dropped and counted.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sghc.errors import InputError, first_few, plain, shown
from sghc.suite.cases import CANARY
from sghc.suite.csvfile import LINE, read_rows

GUID = CANARY.rpartition(":")[2].encode()


class Absent(InputError):
    """A source, or the part of it that was asked for, is not there."""


class Read(NamedTuple):
    """What a reader found: (text, label) of each post that can be used, and what became of the others."""

    posts: list[tuple[str, int]]
    n: int  # rows, posts or ids of the split, used or not
    dropped: dict[str, int]  # reason -> rows
    files: dict[str, str]  # path below the folder -> SHA-256
    more: dict  # what else the record says


class Source(NamedTuple):
    """A corpus. `splits` gives the rows that the paper used of each, None where it gives no number."""

    language: str
    read: Callable[..., Read]  # (folder, split, hydrated)
    splits: dict[str, int | None]


def read(name: str, folder: Path, split: str, hydrated: Path | None = None) -> Read:
    """One split of one source.

    Args:
        name: a key of SOURCES.
        folder: where all sources lie, each in a folder of its own.
        hydrated: for waseem_hovy, a CSV with columns id and text.

    Raises:
        Absent: the source, or this split of it, is not there; the message says what is expected where.
        InputError: with file and row: a file that holds a test suite's canary, broken JSON or CSV, a missing column, an unknown label.
    """
    return SOURCES[name].read(folder, split, hydrated)


# --- the readers ---

HATEXPLAIN = {"hatespeech": 1, "offensive": 0, "normal": 0}  # the paper: "cases with the 'Hateful' label", all others are not hateful


def read_hatexplain(folder: Path, split: str, _hydrated=None) -> Read:
    """HateXplain: tokens joined by blanks; the label that at least two of the three annotators gave. Without such a label: dropped.

    The posts of a division must all be in dataset.json; where some are not, the file is not the whole one, and none is used.
    """
    files = files_of(folder, "hatexplain/Data/dataset.json", "hatexplain/Data/post_id_divisions.json")
    dataset, divisions = (folder / name for name in files)
    ids = load_json(divisions).get(split)
    if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
        raise InputError(f"{divisions}: no list of post ids under {split!r}")
    posts = load_json(dataset)
    if lacking := sum(one not in posts for one in ids):
        raise Absent(f"{dataset}: {lacking:,} of the {len(ids):,} posts of division {split} are not in it; get the whole file from its repository")
    found = [hatexplain_post(dataset, one, posts[one]) for one in ids]
    return finished([post for post in found if post], len(ids), Counter({"no majority": found.count(None)}), files)


def hatexplain_post(path: Path, post_id: str, post) -> tuple[str, int] | None:
    """(text, label) of a post, None without a majority."""
    where = f"{path}: post {plain(post_id)}"
    try:
        tokens, given = post["post_tokens"], [one["label"] for one in post["annotators"]]
        text = " ".join(tokens)
        text.encode()  # half a surrogate pair, which JSON can write, is no text
    except (KeyError, TypeError, UnicodeEncodeError):
        raise InputError(f"{where}: expected post_tokens (a list of texts) and annotators (each with a label)") from None
    if unknown := [label for label in given if not isinstance(label, str) or label not in HATEXPLAIN]:
        raise InputError(f"{where}: label is {shown(unknown[0])}, expected {first_few(HATEXPLAIN)}")
    ranked = Counter(given).most_common(1)
    return (text, HATEXPLAIN[ranked[0][0]]) if ranked and ranked[0][1] >= 2 else None


def read_cold(folder: Path, split: str, _hydrated=None) -> Read:
    """COLD: offensive (1) counts as hateful. The file decides the split: the column of that name is wrong for half of dev.csv."""
    return read_table(folder, f"cold/COLDataset/{split}.csv", "TEXT", "label", {"0": 0, "1": 1})


def read_hatem(folder: Path, split: str, _hydrated=None) -> Read:
    """HateM, whole: the paper trained on all of it."""
    return read_table(folder, "hatem/HateMalay Dataset.csv", "messages", "hate", {"no": 0, "yes": 1})


def read_table(folder: Path, name: str, text: str, label: str, codes: dict[str, int]) -> Read:
    """A CSV file with a column of texts and one of labels."""
    files = files_of(folder, name)
    rows = list(read_rows(folder / name, (text, label)))
    for row in rows:
        if row[label] not in codes:
            raise InputError(f"{folder / name}: line {row[LINE]}: {label} is {shown(row[label])}, expected {first_few(codes)}")
    return finished([(row[text], codes[row[label]]) for row in rows], len(rows), Counter(), files)


TWEETS = {"none": 0, "racism": 1, "sexism": 1}


def read_waseem_hovy(folder: Path, split: str, hydrated: Path | None = None) -> Read:
    """Waseem and Hovy: labels by tweet id, joined with the user's texts. Racism and sexism are hateful.

    An id is one tweet: where it stands under both a hateful label and none (58 of 16,849 do), it is dropped. Tweets that have no text any more are
    dropped too; `coverage` says which share of the ids has one.
    """
    files = files_of(folder, "waseem_hovy/NAACL_SRW_2016.csv")
    labels = tweet_labels(folder / "waseem_hovy/NAACL_SRW_2016.csv")
    if hydrated is None:
        raise Absent(
            "waseem_hovy: its public files hold ids and labels, no texts; give the tweets as a CSV with columns id and text (--hydrated FILE)"
        )
    files |= {hydrated.name: fingerprint(hydrated)}
    texts = tweet_texts(hydrated)
    both = {one for one, found in labels.items() if len(found) > 1}
    there = labels.keys() & texts.keys()
    if not there - both:
        raise InputError(
            f"{hydrated}: has the text of none of the {len(labels):,} tweets; give another file, or leave the source out (--without waseem_hovy)"
        )
    posts = [(texts[one], min(found)) for one, found in labels.items() if one in there and one not in both]
    dropped = Counter({"both labels": len(both), "no text": len(labels.keys() - there - both)})
    more = {"coverage": round(len(there) / len(labels), 4), "texts of unknown ids": len(texts.keys() - labels.keys())}
    return finished(posts, len(labels), dropped, files, more)


def tweet_labels(path: Path) -> dict[str, set[int]]:
    """The labels, as codes, that stand under each tweet id. The file has no header."""
    labels = defaultdict(set)
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text") from None
    for number, line in enumerate(lines, 1):
        tweet, _, label = line.partition(",")
        if not tweet.isdecimal():
            raise InputError(f"{path}: line {number} does not begin with a tweet id")
        if label not in TWEETS:
            raise InputError(f"{path}: line {number}: label is {shown(label)}, expected {first_few(TWEETS)}")
        labels[tweet].add(TWEETS[label])
    if not labels:
        raise InputError(f"{path}: no labels in it")
    return labels


def tweet_texts(path: Path) -> dict[str, str]:
    """The user's texts by tweet id."""
    texts = {}
    for row in read_rows(path, ("id", "text")):
        if not row["id"].isdecimal():  # as 5.7E+17, which a spreadsheet makes of it
            raise InputError(f"{path}: line {row[LINE]}: id is {shown(row['id'])}, expected the digits of a tweet id")
        if texts.setdefault(row["id"], row["text"]) != row["text"]:
            raise InputError(f"{path}: line {row[LINE]}: id {row['id']} stands there twice with two texts")
    return texts


SOURCES = {
    "waseem_hovy": Source("english", read_waseem_hovy, {"train": 16_038}),
    "hatexplain": Source("english", read_hatexplain, {"train": 15_383, "val": None, "test": None}),
    "cold": Source("mandarin", read_cold, {"train": 25_726, "dev": None, "test": None}),
    "hatem": Source("malay", read_hatem, {"train": 4_892}),
}


# --- what they share ---


def finished(posts: list[tuple[str, int]], n: int, dropped: Counter, files: dict[str, str], more: dict | None = None) -> Read:
    """What was read, posts without a text aside."""
    used = [post for post in posts if post[0].strip()]
    dropped["empty text"] += len(posts) - len(used)
    return Read(used, n, {reason: rows for reason, rows in dropped.items() if rows}, files, more or {})


def files_of(folder: Path, *names: str) -> dict[str, str]:
    """The SHA-256 of each file of a source. Absent where one is not there."""
    for name in names:
        if not (folder / name).is_file():
            raise Absent(f"{name.partition('/')[0]}: no file {folder / name}")
    return {name: fingerprint(folder / name) for name in names}


def fingerprint(path: Path) -> str:
    """A file's SHA-256. InputError where it cannot be read, or holds the canary that stands in every file of a test suite."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    if found := content.count(GUID):
        raise InputError(f"{path}: holds the canary of a test suite {found:,} times; what a suite asks must not be trained on")
    return hashlib.sha256(content).hexdigest()


def load_json(path: Path) -> dict:
    """A JSON object from a file."""
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        place = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else type(error).__name__
        raise InputError(f"{path}: not readable as JSON ({place}); is the file cut off?") from None
    if not isinstance(found, dict):
        raise InputError(f"{path}: expected a JSON object, found {shown(found)}")
    return found
