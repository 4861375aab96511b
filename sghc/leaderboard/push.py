"""Files put into a dataset repository's main branch: a built suite behind a gate, a leaderboard's results beside its submissions.

Whatever is pushed is one commit on the head that was looked at: the Hub takes all of it or nothing. Where another commit has come between (412), or
an answer was lost, the head is looked at again, and what is there already is not sent again.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sghc.errors import InputError
from sghc.leaderboard import hub
from sghc.leaderboard.ranking import BOARD, RESULTS, Place
from sghc.leaderboard.submission import FOLDER
from sghc.suite import benchmark, folder
from sghc.suite.cases import CANARY

GATE = "manual"  # a maintainer answers each request; one who wants it otherwise sets it in the repository, and a push leaves that
HUBS_OWN = {".gitattributes"}  # what a new repository holds
UPSTREAM = "The authors of SGHateCheck state no licence for their data, so publishing it, even behind a gate, takes their permission."
OTHERS = "The cases of this suite are hateful sentences that somebody wrote, so publishing them takes the right to do so."


class Pushed(NamedTuple):
    """`changed` is False where the repository held the same already, and nothing was sent."""

    url: str
    changed: bool

    def told(self) -> str:
        return f"pushed to {self.url}" if self.changed else f"{self.url} holds the same already; nothing was sent"


# --- a suite ---


def licence_warning(suite: str) -> str:
    """What whoever publishes a suite of this name should know."""
    return UPSTREAM if suite in ("official", "altered") else OTHERS


def check_may_publish(repo: str, which: str, permitted: bool) -> None:
    """Raises InputError, before anything is built or sent, where a suite may not be pushed: no permission, no such name, no token."""
    if not permitted:
        raise InputError(f"{repo}: nothing was sent. {licence_warning(which)} --i-have-permission says that you have it.")
    hub.check_may_send(repo)


def push_suite(built: Path, repo: str, public: bool) -> Pushed:
    """Makes a dataset repository hold a built folder, and no data file besides.

    The repository is made private and gated, or public and gated, before anything goes in; one that is there keeps a gate that it has.

    Raises:
        InputError: the repository is public and `public` is not given, or holds what no build wrote; the gate cannot be set; or the Hub does not come
            back. Nothing is uploaded then.
    """
    hub.check_may_send(repo)
    files = {path: (built / path).read_bytes() for path in paths_of(built)}
    try:
        hub.persist(lambda: prepare(repo, public), repo)
    except InputError as error:
        raise InputError(f"{error}; nothing was uploaded") from None

    def operations(api, info) -> list:
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        if not info.gated or info.private == public:
            raise InputError(f"{repo}: is not {visibility(public)} and gated, as it was told to be; nothing was uploaded")
        old = [path for path in sorted(names_of(info) - {*files}) if path.startswith("data/") and path.endswith(".parquet")]
        return [*map(CommitOperationDelete, old), *(CommitOperationAdd(path, content) for path, content in files.items())]

    return push(repo, operations, "Upload the suite that sghatecheck build wrote")


def paths_of(built: Path) -> list[str]:
    """What belongs to a built folder, by path in it. InputError as `folder.describe`."""
    data = [path.relative_to(built).as_posix() for path in folder.describe(built).files.values()]
    return [*dict.fromkeys(data), *(name for name in (benchmark.NAME, "README.md") if (built / name).is_file())]


def visibility(public: bool) -> str:
    return "public" if public else "private"


def prepare(repo: str, public: bool) -> None:
    """A repository with its gate shut: there, ours to write to, as visible as asked. InputError where it is not to be touched."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    api = HfApi()
    try:
        info = api.repo_info(repo, repo_type="dataset")
    except RepositoryNotFoundError:
        api.create_repo(repo, repo_type="dataset", private=True, exist_ok=True)  # private until the gate is shut
        info = api.repo_info(repo, repo_type="dataset")
    if not info.private and not public:
        raise InputError(f"{repo}: is public; make it private in its settings, or say --public")
    check_ours(api, repo, info)
    if not info.gated or info.private == public:
        api.update_repo_settings(repo, repo_type="dataset", gated=info.gated or GATE, private=not public)


def check_ours(api, repo: str, info) -> None:
    """Raises InputError where a repository holds files and its card is none that a build wrote, as `build --out` does of a folder."""
    names = names_of(info) - HUBS_OWN
    if names and ("README.md" not in names or CANARY.encode() not in read(api, repo, info, "README.md")):
        raise InputError(f"{repo}: holds files that no build wrote; name another repository")


# --- a leaderboard ---


def check_may_push(place: Place) -> None:
    """Raises InputError, before anything is ranked, where a board has nowhere to go: a folder, or no token."""
    if place.revision is None:
        raise InputError(f"{place.source}: is a folder; --push goes with a repository on the Hub, ORG/NAME")
    hub.check_may_send(place.source)


def push_board(place: Place, into: Path) -> Pushed:
    """Puts results.parquet and leaderboard.json, as `rank` wrote them into a folder, beside the submissions of the repository that they are of.

    A board that says the same of another commit of the repository is the same: else each push, which is a commit, would ask for the next.

    Raises:
        InputError: other submissions are there than were ranked, so that a newer board may be, too; or the Hub does not come back.
    """
    check_may_push(place)
    repo, files = place.source, {name: (into / name).read_bytes() for name in (RESULTS, BOARD)}

    def operations(api, info) -> list:
        from huggingface_hub import CommitOperationAdd

        if submitted(info) != submitted(api.repo_info(repo, repo_type="dataset", revision=place.revision)):
            raise InputError(f"{repo}: submissions were merged while others were ranked, and the board was not pushed; run the same command again")
        same = BOARD in names_of(info) and same_board(read(api, repo, info, BOARD), files[BOARD])
        return [CommitOperationAdd(name, content) for name, content in files.items() if not (same and name == BOARD)]

    return push(repo, operations, "Rank the submissions")


def submitted(info) -> set[str]:
    """The files of the submissions at a commit. A submission's path names its content."""
    return {name for name in names_of(info) if name.startswith(f"{FOLDER}/")}


def same_board(one: bytes, other: bytes) -> bool:
    """Whether two leaderboard.json say the same, each of its own commit. They name the digest of their results.parquet."""
    try:
        first, second = ({**json.loads(content), "revision": None} for content in (one, other))
    except (ValueError, TypeError, RecursionError):  # what somebody else put there
        return False
    return first == second


# --- any files ---


def push(repo: str, operations: Callable, title: str) -> Pushed:
    """One commit on the main branch, tried again where what went wrong may pass.

    Args:
        operations: (api, info of the repository's head) -> operations of huggingface_hub. The client drops what would change nothing, and sends no
            commit where nothing is left.
    """
    from huggingface_hub import HfApi

    api, before = HfApi(), []

    def attempt() -> Pushed:
        info = api.repo_info(repo, repo_type="dataset")
        before.append(info.sha)
        done = api.create_commit(repo, operations(api, info), commit_message=title, repo_type="dataset", parent_commit=info.sha)
        return Pushed(f"{api.endpoint}/datasets/{repo}", done.oid != before[0])  # a commit whose answer was lost has moved the head, too

    return hub.persist(attempt, repo)


def names_of(info) -> set[str]:
    return {one.rfilename for one in info.siblings or ()}


def read(api, repo: str, info, name: str) -> bytes:
    return Path(api.hf_hub_download(repo, name, repo_type="dataset", revision=info.sha)).read_bytes()
