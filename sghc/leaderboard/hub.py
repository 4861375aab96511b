"""The leaderboard's repository on the Hub: a submission goes there as a pull request, and what was merged comes back as a folder.

The client uploads with retries of its own but sends a commit once. Here what may pass (a conflict, 429, 5xx, a connection cut off) is tried again,
and every try looks first whether the one before has come through, though its answer was lost: nothing is lost, and nothing stands twice.
No more is told of an error than its kind and HTTP status: a message may hold a signed address. The token is the client's own affair.
"""

import contextlib
import glob
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from sghc.errors import InputError, shown
from sghc.leaderboard.bounded import MAX_DOCUMENT, MAX_PARQUET
from sghc.leaderboard.submission import FOLDER, MODEL

REPO = MODEL
WAITS = (1, 2, 4, 8, 16, 32)  # seconds before another try
LONGEST_WAIT = 120  # of a Retry-After
MAY_PASS = {408, 409, 412, 425, 429}  # HTTP statuses of 400 to 499 that another try may not meet
VERIFIED = "verified.yaml"
MAX_RANKED = 1 << 26  # bytes of a file that `rank` has written; those of 1,000 submissions take 3.3 MiB
LIMITS = {"submission.json": MAX_DOCUMENT, "predictions.parquet": MAX_PARQUET}
WANTED = re.compile(rf"{FOLDER}/[A-Za-z0-9][A-Za-z0-9._-]*/[0-9a-f]{{12}}/({'|'.join(map(re.escape, LIMITS))})")
ADVICE = {
    401: "the token is refused; log in with `hf auth login`, or set HF_TOKEN",
    403: "the token may not do this; pull requests need write access to discussions, a push needs write access to the repository",
    404: "no such dataset repository or revision, or one that the token may not see",
    413: "too large for the Hub",
}


class Sent(NamedTuple):
    """`state` is opened, open, draft, merged or closed; but for the first, it was there before."""

    url: str
    state: str


class Fetched(NamedTuple):
    """A snapshot. `within` is the folder that its links may lead to, `left` says why files were not downloaded, by path."""

    folder: Path
    within: Path
    revision: str
    left: dict[str, str]


def send(repo: str, files: dict[str, bytes], title: str, description: str) -> Sent:
    """Opens a pull request with some files, unless there is one with the same or they have been merged.

    Args:
        repo: ORG/NAME of a dataset repository.
        files: by path; a path that is named by what its file holds.
        title: of the pull request; the same for the same files.

    Raises:
        InputError: no token, no such repository, no right to it, or the Hub does not come back.
    """
    from huggingface_hub import CommitOperationAdd, HfApi

    check_may_send(repo)
    api = HfApi()

    def attempt() -> Sent:
        if found := sent_before(api, repo, list(files), title):
            return found
        operations = [CommitOperationAdd(path, content) for path, content in files.items()]
        commit = api.create_commit(repo, operations, commit_message=title, commit_description=description, repo_type="dataset", create_pr=True)
        return Sent(commit.pr_url or commit.commit_url, "opened" if commit.pr_url else "merged")

    return persist(attempt, repo)


def sent_before(api, repo: str, paths: list[str], title: str) -> Sent | None:
    """Where the files are already: merged, or in a pull request of this title that holds them."""
    if holds(api, repo, paths, None):
        return Sent(f"{api.endpoint}/datasets/{repo}/tree/main/{paths[0].rpartition('/')[0]}", "merged")
    for one in api.get_repo_discussions(repo, repo_type="dataset", discussion_type="pull_request"):
        if one.title == title and holds(api, repo, paths, f"refs/pr/{one.num}"):
            return Sent(one.url, one.status)
    return None


def holds(api, repo: str, paths: list[str], revision: str | None) -> bool:
    from huggingface_hub.errors import RevisionNotFoundError

    try:
        return len(api.get_paths_info(repo, paths, repo_type="dataset", revision=revision)) == len(paths)
    except RevisionNotFoundError:  # a pull request whose branch is gone
        return False


def check_repo(repo: str) -> None:
    if not REPO.fullmatch(repo):
        raise InputError(f"{shown(repo)}: expected a dataset repository ORG/NAME")


def check_may_send(repo: str) -> None:
    """Raises InputError where nothing could be sent, before anything is asked: a name that is none, or no token."""
    from huggingface_hub import get_token

    check_repo(repo)
    if not get_token():
        raise InputError("no token of the Hugging Face Hub; log in with `hf auth login`, or set HF_TOKEN")


def fetch(repo: str, revision: str | None = None, also: tuple[str, ...] = ()) -> Fetched:
    """The merged submissions of a repository, and what its maintainers have verified, at one commit.

    Args:
        also: other files of its root that are wanted, of MAX_RANKED bytes at most.

    Raises:
        InputError: no such repository or revision, or the Hub does not come back.
    """
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.hf_api import RepoFile

    check_repo(repo)
    api = HfApi()

    def attempt() -> Fetched:
        commit = api.repo_info(repo, repo_type="dataset", revision=revision).sha
        tree = [one for one in api.list_repo_tree(repo, recursive=True, revision=commit, repo_type="dataset") if isinstance(one, RepoFile)]
        left = {one.path: why for one in tree if (why := unwanted(one.path, one.size))}
        left |= {one.path: f"larger than {MAX_RANKED:,} bytes" for one in tree if one.path in also and one.size > MAX_RANKED}
        folder = Path(
            snapshot_download(
                repo,
                repo_type="dataset",
                revision=commit,
                allow_patterns=[f"{FOLDER}/*", VERIFIED, *also],
                ignore_patterns=[glob.escape(path) for path in left],
            )
        )
        return Fetched(folder, folder.parents[1], commit, left)  # the cache's snapshots link to its blobs beside them

    return persist(attempt, repo)


def unwanted(path: str, size: int) -> str | None:
    """Why a file of the repository's submissions is not downloaded; None where it is, or belongs to no submission."""
    if not path.startswith(f"{FOLDER}/"):
        return None
    if not (named := WANTED.fullmatch(path)):
        return f"not a file of a submission ({FOLDER}/ORG__NAME/DIGEST/ with {' and '.join(LIMITS)})"
    return f"larger than {LIMITS[named[1]]:,} bytes" if size > LIMITS[named[1]] else None


# --- what may pass ---


def persist(attempt: Callable, repo: str):
    """What an attempt gives, tried again where what it raised may pass. InputError where it does not, or where the attempt raises it."""
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    # an upload that failed is a RuntimeError of the client, an answer that is not the Hub's (a proxy's page) a ValueError or a KeyError
    failures = (HfHubHTTPError, httpx2.HTTPError, LocalEntryNotFoundError, RuntimeError, ConnectionError, TimeoutError, ValueError, KeyError)

    with quiet():
        for wait in (*WAITS, None):
            try:
                return attempt()
            except InputError:  # an attempt's own, which another try would not change
                raise
            except OfflineModeIsEnabled:
                raise InputError(f"{repo}: HF_HUB_OFFLINE is set, so the Hub is not asked") from None
            except failures as error:
                if wait is None or not may_pass(error):
                    raise InputError(f"{repo}: {advice(error)} ({told(error)})") from None
                time.sleep(max(wait, retry_after(error)))


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the client's own lines, which repeat addresses as they are, and without its progress bars."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars, logging

    before, bars = logging.get_verbosity(), not are_progress_bars_disabled()
    logging.set_verbosity(logging.CRITICAL)
    disable_progress_bars()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            enable_progress_bars()


def response_of(error: BaseException | None):
    """The answer of the Hub that an error, or one that it came from, is about."""
    while error is not None:
        if (response := getattr(error, "response", None)) is not None:
            return response
        error = error.__cause__
    return None


def may_pass(error: BaseException) -> bool:
    response = response_of(error)
    return response is None or response.status_code >= 500 or response.status_code in MAY_PASS


def retry_after(error: BaseException) -> float:
    response = response_of(error)
    value = response.headers.get("retry-after", "") if response is not None else ""
    return min(int(value), LONGEST_WAIT) if value.isdecimal() else 0


def told(error: BaseException) -> str:
    response = response_of(error)
    return type(error).__name__ if response is None else f"{type(error).__name__}, HTTP {response.status_code}"


def advice(error: BaseException) -> str:
    response = response_of(error)
    if response is None:
        return "the Hub cannot be reached; nothing was changed that the same command would not find"
    return ADVICE.get(response.status_code, "the Hub does not take this now; run the same command again later")
