"""A predictions file on its way to the leaderboard: checked and scored at home first, and then sent, or only shown."""

from pathlib import Path

from sghc.errors import InputError
from sghc.files import write_whole
from sghc.leaderboard import hub
from sghc.leaderboard.board import Entry, row_of
from sghc.leaderboard.checks import SHORT, Checked, check, check_address
from sghc.leaderboard.gathering import read_one
from sghc.leaderboard.ground import Ground
from sghc.leaderboard.packing import Packed, folder_of, named, pack, run_of
from sghc.leaderboard.standing import standing
from sghc.leaderboard.submission import FOLDER, Submission
from sghc.terminal import plain

STATES = {
    "opened": "opened",
    "open": "is open already, with the same answers; nothing was sent",
    "draft": "is there as a draft already, with the same answers; nothing was sent",
    "closed": "had the same answers and was closed; nothing was sent, ask there",
    "merged": "has been merged already, with the same answers; nothing was sent",
}
NOBODY = {"model": "nobody/nothing", "revision": "0" * 40, "contact": "-", "licence": "-"}  # where `validate` sees predictions alone


def entry_of(one: Submission, checked: Checked, ground: Ground) -> Entry:
    """A submission as the leaderboard would show it."""
    place = folder_of(one, checked.digest).removeprefix(f"{FOLDER}/")
    return Entry(place, "submission", one, checked.digest, standing(ground, checked.answers), None, ground)


def validate(path: Path, ground: Ground, configs: list[str] | None = None) -> Entry:
    """Checks a submission's folder, or its submission.json, or a predictions file as `submit` would pack it.

    Raises:
        InputError: what the leaderboard would refuse.
    """
    if path.is_dir() or path.name == "submission.json":
        folder = (path if path.is_dir() else path.parent).resolve()
        found = read_one(folder, folder)
        checked = check(found.submission, found.predictions, folder / "predictions.parquet", ground)
        check_address(checked.digest, found.id)
        return entry_of(found.submission, checked, ground)
    run = run_of(path)
    packed = pack(path, NOBODY | (named(run) if run else {}), ground, configs)
    return entry_of(packed.submission, packed.checked, ground)


def told(entry: Entry) -> str:
    """One line on a submission that passes."""
    row = row_of(entry)
    asked = ", ".join(entry.submission.suite.configs)
    f1 = "none" if row["macro_f1"] is None else plain(row["macro_f1"], 3)
    partial = "" if entry.complete else "; partial, so it would not be ranked"
    return f"passes: {asked}; macro F1 {f1}, coverage {plain(row['coverage'], 3)}{partial}"


def write(packed: Packed, folder: Path) -> None:
    """Puts a submission's files into a leaderboard's folder. InputError where that cannot be written."""
    try:
        for path, content in packed.files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            write_whole(place, content)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from None


def send(packed: Packed, repo: str) -> str:
    """Opens a pull request, unless the same answers are there; one line on what became of it. InputError as `hub.send`."""
    one, digest = packed.submission, packed.checked.digest
    title = f"Submit {one.model[:150]} {digest[:SHORT]}"  # the Hub takes 200 characters
    description = f"`{one.model}` at `{one.revision}`, packed by `sghatecheck submit`. Answers: `{digest}`."
    sent = hub.send(repo, packed.files, title, description)
    return f"{sent.url} {STATES[sent.state]}"
