"""A suite, and a leaderboard's results, pushed with the real client to a server on loopback: behind the gate or not at all, whole, once."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import boards
import hub_server
import pytest
from huggingface_hub import HfApi, snapshot_download

from sghc.errors import InputError
from sghc.leaderboard import push, ranking
from sghc.suite import folder

REPO = "org/sghatecheck"
BOARD = "org/sghatecheck-leaderboard"
MANUAL = (True, "manual")  # private, and who wants in asks


@pytest.fixture(scope="module")
def at_work():
    with hub_server.running() as server:
        yield server


@pytest.fixture
def server(at_work, monkeypatch, tmp_path):
    at_work.reset()
    hub_server.use(at_work, monkeypatch, tmp_path / "hub")
    return at_work


@pytest.fixture
def source(suite, tmp_path):
    """Templates of one's own, to be changed at will."""
    return shutil.copytree(suite.parent / "own", tmp_path / "own")


def build(capsys, source, *more):
    return boards.run(capsys, "build", source, "--out", source.parent / "sghatecheck", "--push", REPO, *more)


def build_permitted(capsys, source, *more):
    status, out, err = build(capsys, source, "--i-have-permission", *more)
    assert (status, err) == (0, "")
    return out


def add_template(source, thing: str) -> None:
    with (source / "templates.csv").open("a", encoding="utf-8") as file:
        file.write(f"malay,ident_neutral_nh,non-hateful,The {{ID}} have a new {thing}\n")


def drop_template(source) -> None:
    lines = (source / "templates.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (source / "templates.csv").write_text("".join(lines[:-1]), encoding="utf-8")


def contents(place) -> dict[str, bytes]:
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def held(server, repo=REPO) -> dict[str, bytes]:
    return {path: file.content for path, file in server.repos[repo].files("main").items()}


def commits(server, repo=REPO) -> list:
    """(private, gated) as they were at each commit but the empty first."""
    return server.repos[repo].seen[1:]


# --- a suite ---


def test_a_suite_goes_up_whole_private_and_gated(server, source, tmp_path, capsys):
    out = build_permitted(capsys, source)
    assert f"pushed to {server.url}/datasets/{REPO}" in out
    assert commits(server) == [MANUAL]  # one commit, made when the gate was shut
    assert server.repos[REPO].seen[0][0]  # private from the first
    assert held(server) == contents(tmp_path / "sghatecheck")
    assert {"README.md", "eval.yaml"} < {*held(server)}
    assert all(file.lfs == path.endswith(".parquet") for path, file in server.repos[REPO].files("main").items())
    snapshot_download(REPO, repo_type="dataset", local_dir=tmp_path / "back")
    assert len(folder.read(tmp_path / "back", "test")) == 240


def test_hidden_files_and_those_that_the_build_did_not_write_stay_at_home(server, source, tmp_path, capsys):
    boards.run(capsys, "build", source, "--out", tmp_path / "sghatecheck")
    (tmp_path / "sghatecheck" / ".git").mkdir()
    (tmp_path / "sghatecheck" / ".git" / "config").write_text("url = x")
    (tmp_path / "sghatecheck" / "notes.txt").write_text("mine")
    push.push_suite(tmp_path / "sghatecheck", REPO, public=False)
    assert not {".git/config", "notes.txt"} & {*held(server)}
    assert len(held(server)) == 2 + 2 * 2


@pytest.mark.parametrize("public", [[], ["--public"]])
def test_without_permission_nothing_is_sent(server, source, toy, tmp_path, capsys, public):
    for which, says in ((["official", "--source", toy.write()], "state no licence"), ([source], "somebody wrote"), (["starter"], "somebody wrote")):
        status, out, err = boards.run(capsys, "build", *which, "--out", tmp_path / "out", "--push", REPO, *public)
        assert (status, out) == (1, "")
        assert err.count("\n") == 1
        assert says in err
        assert "nothing was sent" in err
        assert "--i-have-permission" in err
    assert server.calls.total() == 0
    assert not (tmp_path / "out").exists()


def test_with_permission_the_licence_is_still_spoken_of(server, toy, tmp_path, capsys):
    for more in ([], ["--public"]):
        options = ["--source", toy.write(), "--out", tmp_path / "out", "--push", REPO, "--i-have-permission", *more]
        status, out, _ = boards.run(capsys, "build", "official", *options)
        assert status == 0
        assert "state no licence" in out


def test_without_a_token_or_a_name_nothing_is_built(server, source, tmp_path, capsys, monkeypatch):
    assert boards.run(capsys, "build", source, "--out", tmp_path / "out", "--push", "no-org", "--i-have-permission")[0] == 1
    monkeypatch.delenv("HF_TOKEN")
    status, _, err = boards.run(capsys, "build", source, "--out", tmp_path / "out", "--push", REPO, "--i-have-permission")
    assert status == 1
    assert "hf auth login" in err
    assert (server.calls.total(), (tmp_path / "out").exists()) == (0, False)


def test_options_of_a_push_without_one_are_wrong_usage(capsys):
    assert boards.run(capsys, "build", "starter", "--public")[0] == 2
    assert boards.run(capsys, "build", "starter", "--i-have-permission")[0] == 2


def test_the_same_content_is_not_sent_twice(server, source, capsys):
    build_permitted(capsys, source)
    sent = server.calls["commit"], server.calls["lfs-put"]
    assert "holds the same already; nothing was sent" in build_permitted(capsys, source)
    assert (server.calls["commit"], server.calls["lfs-put"]) == sent
    assert len(commits(server)) == 1


def test_a_changed_suite_replaces_its_files_in_one_commit_and_no_others(server, source, tmp_path, capsys):
    build_permitted(capsys, source)
    server.repos[REPO].write("LICENSE.txt", b"ask us")
    before = {*held(server)}
    add_template(source, "boat")
    assert "pushed to" in build_permitted(capsys, source)
    assert held(server) == {**contents(tmp_path / "sghatecheck"), "LICENSE.txt": b"ask us"}
    gone = before - {*held(server)}
    assert sorted(path.rpartition("-")[0] for path in gone) == ["data/malay/generated", "data/malay/test"]
    assert len(commits(server)) == 3


def test_public_only_when_asked_and_gated_all_the_same(server, source, capsys):
    build_permitted(capsys, source, "--public")
    assert server.repos[REPO].seen == [(True, False), (False, "manual")]


def test_what_was_pushed_privately_can_be_made_public_but_not_the_other_way(server, source, capsys):
    build_permitted(capsys, source)
    assert not build(capsys, source, "--i-have-permission", "--public")[0]
    assert not server.repos[REPO].private
    calls = server.calls["commit"], server.calls["settings"]
    status, _, err = build(capsys, source, "--i-have-permission")
    assert status == 1
    assert "is public" in err
    assert "nothing was uploaded" in err
    assert (server.calls["commit"], server.calls["settings"]) == calls


def test_a_gate_that_somebody_chose_stays(server, source, capsys):
    HfApi().create_repo(REPO, repo_type="dataset", private=True)
    server.repos[REPO].gated = "auto"
    build_permitted(capsys, source)
    assert commits(server) == [(True, "auto")]


def test_a_repository_of_something_else_is_left_alone(server, source, capsys):
    HfApi().create_repo(REPO, repo_type="dataset", private=True)
    for path, content in ((".gitattributes", b"*.parquet lfs"), ("README.md", b"# tides of the harbour"), ("data/tides.parquet", b"PAR1")):
        server.repos[REPO].write(path, content)
        if path == ".gitattributes":
            continue
        before = held(server)
        status, _, err = build(capsys, source, "--i-have-permission")
        assert status == 1
        assert "no build wrote" in err
        assert held(server) == before
        assert not server.repos[REPO].gated
    assert server.calls["commit"] == server.calls["lfs-put"] == 0


@pytest.mark.parametrize("trouble", [[403], [400], [500] * 20, ["cut"] * 20, "said and not done"])
def test_where_the_gate_cannot_be_shut_nothing_is_uploaded(server, source, capsys, monkeypatch, trouble):
    if isinstance(trouble, str):
        monkeypatch.setattr(HfApi, "update_repo_settings", lambda *_, **__: None)
    else:
        server.script["settings"] = list(trouble)
    status, _, err = build(capsys, source, "--i-have-permission")
    assert status == 1
    assert err.count("\n") == 1
    assert "nothing was uploaded" in err
    assert (held(server), server.objects) == ({}, {})
    assert server.calls["commit"] == server.calls["preupload"] == 0
    assert server.repos[REPO].private


@pytest.mark.parametrize(
    ("kind", "troubles"),
    [
        ("create", [429]),
        ("create", ["cut", 500]),
        ("create", ["lost"]),
        ("settings", [429]),
        ("settings", ["cut", 500]),
        ("settings", ["lost"]),
        ("info", [None, "html", 500]),
        ("commit", [412, 412]),
        ("commit", [429]),
        ("commit", [500, 503]),
        ("commit", ["cut"]),
        ("commit", ["lost"]),
        ("lfs-put", ["cut"]),
        ("lfs-put", ["lost"]),
        ("lfs-put", [None, 500]),
        ("lfs-batch", [429]),
        ("lfs-verify", ["cut"]),
        ("preupload", [500]),
        ("validate-yaml", [503]),
    ],
)
def test_what_passes_is_tried_again_and_lands_once(server, suite, kind, troubles):
    server.script[kind] = list(troubles)
    assert push.push_suite(suite, REPO, public=False).changed
    assert server.script[kind] == []
    assert held(server) == contents(suite)
    assert commits(server) == [MANUAL]


def test_a_conflict_is_tried_again_on_the_head_that_it_met(server, source, tmp_path, capsys):
    """Two suites at once: the first commit takes until the second has come. In the end the card names every data file, and no other is there."""
    builts = [tmp_path / name / "sghatecheck" for name in ("one", "two")]
    for out, thing in ((builts[0], "boat"), (builts[1], "barn")):
        build_permitted(capsys, source)  # what both have to start from, the second time with nothing new
        add_template(source, thing)
        boards.run(capsys, "build", source, "--out", out)
        drop_template(source)
    assert len(commits(server)) == 1
    server.meet = server.arrived + 2
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda built: push.push_suite(built, REPO, public=False), builts))
    assert [one.changed for one in done] == [True, True]
    assert len(commits(server)) == 3
    assert server.calls["commit"] >= 4  # one of them met the other, and tried again
    assert held(server) in [contents(built) for built in builts]


def test_a_commit_between_the_look_and_the_push_is_looked_at(server, suite, monkeypatch):
    create_commit, stray = HfApi.create_commit, "data/malay/test-000000000000.parquet"

    def meanwhile(*asked, **more):
        if server.calls["commit"] == 0:
            server.repos[REPO].write(stray, b"PAR1", lfs=True)
        return create_commit(*asked, **more)

    monkeypatch.setattr(HfApi, "create_commit", meanwhile)
    assert push.push_suite(suite, REPO, public=False).changed
    assert held(server) == contents(suite)
    assert server.calls["commit"] == 2


@pytest.mark.parametrize(("kind", "troubles"), [("resolve", ["half"]), ("resolve", [500, "cut"]), ("head", ["cut", 429])])
def test_the_card_of_what_is_there_survives_a_bad_line(server, suite, kind, troubles):
    push.push_suite(suite, REPO, public=False)
    server.script[kind] = list(troubles)
    assert not push.push_suite(suite, REPO, public=False).changed
    assert server.script[kind] == []
    assert held(server) == contents(suite)


def test_a_hub_that_stays_down_leaves_nothing_half_and_the_next_push_goes_on(server, source, tmp_path, capsys):
    server.script["commit"] = [500] * 20
    status, _, err = build(capsys, source, "--i-have-permission")
    assert status == 1
    assert "HTTP 500" in err
    assert hub_server.TOKEN not in err
    assert held(server) == {}
    server.script["commit"], puts = [], server.calls["lfs-put"]
    build_permitted(capsys, source)
    assert server.calls["lfs-put"] == puts  # what was uploaded is not uploaded again
    assert held(server) == contents(tmp_path / "sghatecheck")


@pytest.mark.parametrize(("status", "advice"), [(401, "HF_TOKEN"), (403, "write access to the repository"), (413, "too large")])
def test_refusals_say_what_to_do_and_are_not_repeated(server, source, capsys, status, advice):
    server.script["commit"] = [status] * 2
    code, _, err = build(capsys, source, "--i-have-permission")
    assert code == 1
    assert advice in err
    assert server.calls["commit"] == 1
    assert held(server) == {}


# --- a leaderboard ---


@pytest.fixture
def ranked(server, suite, tmp_path, capsys):
    """A leaderboard's repository with one merged submission, and how to rank it."""
    HfApi().create_repo(BOARD, repo_type="dataset")
    merge(server, suite, tmp_path, capsys, "org/detector", 5)
    return lambda *more: boards.run(
        capsys, "rank", BOARD, "--suite", suite, "--out", tmp_path / "board", "--cache", tmp_path / "cache", "--push", *more
    )


def merge(server, suite, place, capsys, model, wrong):
    file = boards.write(place / "predictions.jsonl", boards.answers(suite, wrong))
    about = ["--model", model, "--revision", boards.COMMIT, "--contact", "tester", "--licence", "mit"]
    assert boards.run(capsys, "submit", file, "--suite", suite, *about, "--repo", BOARD)[0] == 0
    HfApi().merge_pull_request(BOARD, len(server.repos[BOARD].pulls), repo_type="dataset")


def pushed(server) -> list[dict]:
    """The files of each commit in which results were new."""
    states = [{path: content for path, content in files.items() if "/" not in path} for files in server.repos[BOARD].commits.values()]
    return [now for before, now in zip([{}, *states], states, strict=False) if now != before]


def test_a_board_is_pushed_beside_its_submissions_in_one_commit(server, ranked, tmp_path):
    head, before = server.repos[BOARD].refs["main"], held(server, BOARD)
    status, out, err = ranked()
    assert status == 0, err
    assert f"pushed to {server.url}/datasets/{BOARD}" in out
    assert held(server, BOARD) == {**before, **contents(tmp_path / "board")}
    assert {*contents(tmp_path / "board")} == {"results.parquet", "leaderboard.json"}
    assert len(pushed(server)) == 1
    board = json.loads(held(server, BOARD)["leaderboard.json"])
    assert (board["revision"], len(board["rows"])) == (head, 1)


def test_a_board_is_pushed_again_when_it_says_something_else(server, ranked, suite, tmp_path, capsys):
    ranked()
    _, out, _ = ranked()  # of another commit, that of the push before, and with the same rows
    assert "holds the same already; nothing was sent" in out
    assert len(pushed(server)) == 1
    merge(server, suite, tmp_path, capsys, "org/other", 4)
    assert "pushed to" in ranked()[1]
    assert len(pushed(server)) == 2
    assert len(json.loads(held(server, BOARD)["leaderboard.json"])["rows"]) == 2
    for name, content in (("results.parquet", b"PAR1"), ("leaderboard.json", b"[1]")):  # somebody else's hand
        server.repos[BOARD].write(name, content)
        assert "pushed to" in ranked()[1]
        assert held(server, BOARD)[name] != content


def test_a_board_is_not_pushed_over_submissions_that_it_does_not_know(server, ranked, suite, tmp_path, capsys):
    """Whoever ranked them may have pushed a newer one meanwhile."""
    place = ranking.open_place(BOARD, None)
    ranked()
    merge(server, suite, tmp_path, capsys, "org/other", 4)
    ranked()
    before = held(server, BOARD)
    with pytest.raises(InputError, match="run the same command again"):
        push.push_board(place, tmp_path / "board")
    assert held(server, BOARD) == before


@pytest.mark.parametrize(
    ("kind", "troubles"), [("commit", [412, 412]), ("commit", [429]), ("commit", [500, "cut"]), ("commit", ["lost"]), ("lfs-put", ["cut"])]
)
def test_a_board_lands_once_whatever_passes(server, ranked, tmp_path, kind, troubles):
    server.script[kind] = list(troubles)
    status, out, err = ranked()
    assert status == 0, err
    assert "pushed to" in out
    assert server.script[kind] == []
    assert len(pushed(server)) == 1
    assert contents(tmp_path / "board").items() <= held(server, BOARD).items()


def test_a_folder_or_an_old_commit_has_nowhere_to_push_to(server, ranked, suite, tmp_path, capsys, monkeypatch):
    assert ranked("--revision", server.repos[BOARD].refs["main"])[0] == 2
    (tmp_path / "local" / "submissions").mkdir(parents=True)
    status, _, err = boards.run(capsys, "rank", tmp_path / "local", "--suite", suite, "--push")
    assert status == 1
    assert "is a folder" in err
    monkeypatch.delenv("HF_TOKEN")
    status, out, err = ranked()
    assert (status, out) == (1, "")  # before anything is ranked
    assert "hf auth login" in err
    assert pushed(server) == []
