"""Submissions opened from a leaderboard's page: what `score --report` and `compare --report` show, from the answers as they lie there.

    python -m sghc.leaderboard.opened FOLDER WITHIN SUITE ID [ID]

writes the page of one submission, or of a comparison of two, to stdout. Each page has a process of its own: the limit on the memory that reading a
stranger's file may take holds for a whole process, and a server has many threads.
"""

import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from sghc.errors import InputError, first_few
from sghc.leaderboard.gathering import Found, id_of, read_one, reason
from sghc.leaderboard.submission import FOLDER, digest_of

LONGEST = 120  # seconds that a page may take; one of 10,388 cases takes two or three
KEPT = 64  # pages that a server keeps
ROOT = Path(__file__).resolve().parents[2]  # of the packages, for a process that starts elsewhere


class Opener(NamedTuple):
    """Where submissions are opened from: the leaderboard's folder, what its links may lead to, and the suite that they are held against."""

    folder: Path
    within: Path
    suite: Path

    def page(self, *ids: str) -> str:
        """The HTML document of one submission, or of two compared, kept for who asks again.

        Raises:
            InputError: one of them is not there, or is no longer what was ranked.
        """
        return made(self, ids)


@lru_cache(KEPT)
def made(opener: Opener, ids: tuple[str, ...]) -> str:
    command = [sys.executable, "-m", "sghc.leaderboard.opened", *map(str, (opener.folder, opener.within, opener.suite)), *ids]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=LONGEST, env=environment)
    except subprocess.TimeoutExpired:
        raise InputError(f"{first_few(ids)}: takes longer than {LONGEST} s to open") from None
    if done.returncode == 1 and done.stderr.startswith(b"fault: "):
        raise InputError(done.stderr.decode(errors="replace").removeprefix("fault: ").strip())
    if done.returncode:
        raise InputError(f"{first_few(ids)}: cannot be opened (exit status {done.returncode})")
    return done.stdout.decode()


# --- in the process of its own ---


def report(folder: Path, within: Path, suite: Path, ids: list[str]) -> bytes:
    """The page. InputError as Opener.page."""
    from sghc.leaderboard.ground import open_ground

    ground = open_ground(suite)
    found = [read(folder / FOLDER / id, within) for id in ids]
    asked = [language for language in ground.languages if all(language in one.submission.suite.configs for one in found)]
    if not asked:
        raise InputError(f"{' and '.join(one.submission.model for one in found)}: answer no language in common")
    answered = [hold(one, ground, asked) for one in found]
    return single(found[0], answered[0]) if len(found) == 1 else double(found, answered)


def read(place: Path, within: Path) -> Found:
    try:
        return read_one(place, within)
    except FileNotFoundError:
        raise InputError(f"{id_of(place)}: its answers do not lie beside the ranking") from None
    except InputError as error:
        raise InputError(f"{id_of(place)}: {reason(error, place)}") from None


def hold(found: Found, ground, asked: list[str]):
    """A submission's answers to the cases of some languages, as `score` holds a file against them. InputError as the leaderboard's checks."""
    import numpy as np

    from sghc.leaderboard import checks, rows
    from sghc.leaderboard.scored import COLUMNS, Held
    from sghc.suite import folder

    checks.check_suite(found.submission, found.id, ground)
    given = rows.read(found.predictions, found.id, ground)
    answers = checks.check_asked(found.submission, given, found.id, ground)
    checks.check_address(digest_of(found.submission, rows.digest(given, ground.cases["case_id"])), found.id)
    scores = np.full(len(answers), np.nan)
    scores[given.place] = given.score
    cases = folder.read(ground.about, "test", None, COLUMNS).to_pydict()  # in the order of the ground's own cases
    places = [place for place, language in enumerate(cases["language"]) if language in asked]
    columns = {name: [column[place] for place in places] for name, column in cases.items()}
    return Held(Path(found.id), answers[places].tolist(), scores[places].tolist(), columns, ground.about, "test", ground.fingerprint(asked))


def single(found: Found, held) -> bytes:
    from sghc.leaderboard.report.single import score_page, told_of
    from sghc.leaderboard.scored import score_held

    one = found.submission
    run = {"model": one.model, "revision": one.revision} | (told_of(one.run, held.data) if one.run else {"run": "no record of it was sent"})
    return score_page(held, score_held(held, allow_partial=True), run=run)


def double(found: list[Found], held: list) -> bytes:
    from sghc.leaderboard.compared import compare_held
    from sghc.leaderboard.report.double import compare_page

    result = compare_held(held, allow_partial=True)
    models = [one.submission.model for one in found]
    names = models if len(set(models)) == 2 else [one.id for one in found]
    return compare_page(held, result | dict(zip("ab", names, strict=True)))


def main() -> None:
    folder, within, suite, *ids = sys.argv[1:]
    try:
        sys.stdout.buffer.write(report(Path(folder), Path(within), Path(suite), ids))
    except InputError as error:
        sys.exit(f"fault: {error}")
    except Exception as error:  # a file made to break its reader may raise anything
        sys.exit(f"fault: {first_few(ids)}: cannot be read ({type(error).__name__})")


if __name__ == "__main__":
    main()
