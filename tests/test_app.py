"""What the leaderboard's pages show: the numbers that rank wrote, the rows that were asked for, texts of strangers as texts; and what is refused."""

import json
from urllib.parse import unquote

import boards
import pyarrow.parquet as pq
import pytest
from bs4 import BeautifulSoup

from sghc.errors import InputError
from sghc.leaderboard import app, opened, packing, published, ranking, submit
from sghc.leaderboard.baselines import baselines
from sghc.leaderboard.view import PAGE, Choice, Place, group_of, options, select

HOSTILE = "<img src=https://example.org/x onerror=alert(1)><script>alert(2)</script>\"'${alert(3)}{{alert(4)}}[a](javascript:alert(5))"


def add(place, suite, ground, model, rows=None, wrong=0, **about):
    path = boards.write(place / f"{model.partition('/')[2]}.jsonl", boards.answers(suite, wrong) if rows is None else rows)
    packed = packing.pack(path, {**boards.ABOUT, "revision": boards.COMMIT, "model": model, **about}, ground)
    submit.write(packed, place / "board")
    return packed


@pytest.fixture(scope="module")
def place(tmp_path_factory, suite, ground):
    """Three that are ranked, two of them alike; one that is partial; one that is set aside; the paper's runs. A stranger's texts are hostile."""
    top = tmp_path_factory.mktemp("space")
    for model, wrong in (("org/fifth", 5), ("org/twin", 5), ("org/second", 2)):
        add(top, suite, ground, model, wrong=wrong)
    add(
        top,
        suite,
        ground,
        "org/malay",
        boards.answers(suite, 4, ["malay"]),
        **dict.fromkeys(("contact", "licence", "base", "training_data"), HOSTILE),
    )
    (top / "board" / "submissions" / "org__x" / "<b>no").mkdir(parents=True)
    where = ranking.open_place(str(top / "board"), None)
    ranking.write(ranking.rank(where, ground, baselines(None), top / "cache"), top / "board")
    return top / "board"


@pytest.fixture(scope="module")
def shown(place):
    return published.open_published(str(place))


def id_of(shown, model):
    return next(id for id, row in shown.submissions.items() if row["model"] == model)


def page(text: str) -> BeautifulSoup:
    return BeautifulSoup(text, "html.parser")


# --- the table ---


def test_the_table_has_what_rank_wrote(place, shown):
    board = json.loads((place / "leaderboard.json").read_text())
    table = page(app.board_html(shown, Choice())).select_one("table")
    rows = table.select("tbody tr")
    assert [row.a.get_text() for row in rows] == [row["model"] for row in board["rows"]] == ["org/fifth", "org/twin", "org/second"]
    for found, row in zip(rows, board["rows"], strict=True):
        numbers = [float(one["value"]) for one in found.select("data")]
        slices = [row, *row["language"].values()]
        expected = [number for one in slices for number in (one["macro_f1"], *one["macro_f1_ci"])]
        expected += [number for rate in ("accuracy_hateful", "accuracy_non_hateful") for number in (row[rate], *row[f"{rate}_ci"])]
        assert numbers == [*expected, row["coverage"]]
        assert unquote(found.a["href"]) == f"model?id={row['id']}"
        assert found.select("td")[-1].get_text() == "no"


def test_ties_are_shown(shown):
    lines = select(shown, Choice()).ranked
    assert [one.place for one in lines] == [Place(1, 1, 2, True), Place(1, 1, 2, True), Place(3, 3, 3, False)]
    cells = [row.select_one(".place").get_text(" ", strip=True) for row in page(app.board_html(shown, Choice())).select("tbody tr")[:3]]
    assert cells == ["1 could be 1–2", "1 could be 1–2", "3"]


def test_partial_ones_baselines_and_what_was_set_aside_are_apart_with_reasons(shown):
    text = page(app.board_html(shown, Choice())).get_text(" ", strip=True)
    view = select(shown, Choice())
    assert [one.row["model"] for one in view.partial] == ["org/malay"]
    assert len(view.baselines) == 10
    assert all(one.place is None for one in (*view.partial, *view.baselines))
    for said in (
        "Partial submissions, not ranked",
        "The paper's runs, not ranked",
        "printed tables",
        "labels are public",
        "not the name of a submission",
    ):
        assert said in text


def test_filters_by_language_cases_name_and_asking(shown):
    malay = select(shown, Choice(language="malay"))
    assert [one.row["model"] for one in malay.ranked][-1] == "org/second"
    for one in malay.ranked:
        assert one.numbers[0].value == one.row["language"]["malay"]["macro_f1"]
        assert one.place.rank == one.row["language"]["malay"]["rank"]
    assert [one.row["model"] for one in select(shown, Choice(search="SEC")).ranked] == ["org/second"]
    assert select(shown, Choice(search="nobody")).n == 0
    assert "No ranked submission" in app.board_html(shown, Choice(search="nobody"))
    assert select(shown, Choice(asked="verified")).n == 0
    assert select(shown, Choice(asked="paper")).n == 0  # none has a record of its run


@pytest.mark.parametrize("language", [None, "malay"])
def test_a_class_and_a_target_show_the_slices_of_the_results(place, shown, language):
    table = pq.read_table(place / "results.parquet").to_pylist()
    picked = [value for _, value in options(shown) if value]
    assert picked == ["functional_class:Derogation", "functional_class:Non-hateful group identifier"] + [
        f"target:{one}" for one in ("Malay", "Seniors", "Women")
    ]
    for one in picked:
        choice = Choice(language=language, **group_of(one))
        known = {row["id"]: row for row in table if (row["level"], row["language"], row["group"]) == (choice.level, language, choice.group)}
        for line in select(shown, choice).ranked:
            assert line.numbers[0].value == known[line.row["id"]]["accuracy"]
            assert line.numbers[0].limits is None


def test_sorting_puts_those_without_a_value_last_either_way(shown):
    for down in (False, True):
        lines = select(shown, Choice(sort="macro_f1", down=down))
        values = [one.numbers[0].value for one in lines.ranked]
        assert values == sorted(values, reverse=down)
        assert all(one.numbers[0].value is None for one in lines.baselines)
        lines = select(shown, Choice(sort="language:singlish", down=down)).partial
        assert lines[0].numbers[1].value is None
    assert [one.row["model"] for one in select(shown, Choice(sort="model", down=True)).ranked] == ["org/twin", "org/second", "org/fifth"]


def test_pages_of_a_long_ranking(shown):
    (row, *_), many = shown.board["rows"], 2 * PAGE + 5
    long = shown._replace(board=shown.board | {"rows": [row | {"id": f"org__a/{n:012x}", "rank": n + 1} for n in range(many)]})
    for start, first, n in ((0, 1, PAGE), (PAGE, PAGE + 1, PAGE), (2 * PAGE, 2 * PAGE + 1, 5), (10**8, 2 * PAGE + 1, 5), (-7, 1, PAGE)):
        view = select(long, Choice(start=start))
        assert (view.ranked[0].place.rank, len(view.ranked), view.n) == (first, n, many)
    assert len(page(app.board_html(long, Choice())).select("button[data-start]")) == 2


@pytest.mark.parametrize(
    "event", [{}, {"sort": 5}, {"sort": "__class__"}, {"start": "-1"}, {"start": "9" * 40}, {"start": [1]}, {"sort": "x", "down": "y"}]
)
def test_whatever_a_browser_sends_gives_a_table(shown, event):
    assert select(shown, app.stepped(Choice(), event)).n == 3


# --- a model, two models ---


def test_a_models_page_has_its_numbers_and_why_it_is_not_verified(shown):
    id = id_of(shown, "org/second")
    row, found = shown.submissions[id], page(app.model_html(shown, id))
    assert found.h1.get_text() == "org/second"
    overall = [float(one["value"]) for one in found.select_one("tr.whole").select("data")]
    assert overall[:3] == [row["macro_f1"], *row["macro_f1_ci"]]
    assert "labels are public" in found.get_text()
    assert "not ranked" in page(app.model_html(shown, "paper/mistral-multiset")).get_text()


def test_opening_computes_the_report_of_score(shown, suite, tmp_path):
    from sghc.leaderboard import scored

    opener = opened.Opener(shown.folder, shown.within, suite)
    frame = page(app.report_html(shown, opener, id_of(shown, "org/second"))).iframe
    assert frame["sandbox"] == ["allow-same-origin"]  # and no scripts
    report = page(frame["srcdoc"])
    expected = scored.score_file(boards.write(tmp_path / "p.jsonl", boards.answers(suite, 2)), suite)
    cards = [float(one["value"]) for one in report.select_one(".cards").select("data")]
    assert cards[:3] == [expected["overall"]["macro_f1"], *expected["overall"]["macro_f1_ci"]]
    assert len(report.select("table.heat tbody tr:not(.group)")) == 2
    assert expected["signature"] in report.get_text()
    assert not any(case["text"] in frame["srcdoc"] for case in boards.cases(suite))
    pair = page(page(app.report_html(shown, opener, id_of(shown, "org/fifth"), id_of(shown, "org/malay"))).iframe["srcdoc"])
    assert "B = org/malay" in pair.get_text()
    assert "120 cases" in pair.get_text()  # those of the one language that both answer


def test_what_cannot_be_opened_says_why(shown, suite, tmp_path):
    id = id_of(shown, "org/fifth")
    for opener, ids, said in (
        (opened.Opener(tmp_path, tmp_path, suite), (id,), "do not lie beside the ranking"),
        (opened.Opener(shown.folder, shown.within, tmp_path), (id,), "sghatecheck build"),
        (opened.Opener(shown.folder, shown.within, suite), ("../../etc/passwd",), "no such submission"),
    ):
        with pytest.raises(InputError, match=said) as raised:
            app.report_html(shown, opener, *ids)
        assert "Traceback" not in str(raised.value)
        assert "alert" in app.told(app.report_html, shown, opener, *ids)  # role=alert
    folder = tmp_path / "submissions" / id
    folder.mkdir(parents=True)
    (folder / "submission.json").write_bytes((shown.folder / "submissions" / id / "submission.json").read_bytes())
    (folder / "predictions.parquet").write_bytes(b"PAR1" * 9)
    with pytest.raises(InputError, match="not readable as Parquet"):
        app.report_html(shown, opened.Opener(tmp_path, tmp_path, suite), id)


def test_a_strangers_texts_are_texts(shown):
    """In every field of a row and of what was set aside, on the table and on the model's page."""
    row = shown.board["rows"][0] | dict.fromkeys(("model", "revision", "base", "training_data", "contact", "licence", "reading", "prompt"), HOSTILE)
    row |= {"marks": [HOSTILE], "remarks": [HOSTILE], "verified": True, "verification": {"by": HOSTILE, "on": HOSTILE, "note": HOSTILE}}
    aside = [{"path": HOSTILE, "reason": HOSTILE}]
    board = shown.board | {"rows": [row], "set_aside": aside, "notes": dict.fromkeys(shown.board["notes"], HOSTILE), "source": HOSTILE}
    hostile = shown._replace(board=board | {"suite": shown.board["suite"] | {"caution": HOSTILE}})
    for text in (app.board_html(hostile, Choice()), app.model_html(hostile, row["id"]), app.html("submit", repo=HOSTILE, suite=HOSTILE)):
        found = page(text)
        assert HOSTILE in found.get_text()
        assert not found.select("img, script, a[href^=javascript]")
        assert not [one for one in found.find_all() for name in one.attrs if name.startswith("on")]
    assert not page(app.html("document", title=HOSTILE, document=HOSTILE)).select("img, script")


def test_how_to_submit_has_the_command():
    text = page(app.html("submit", repo="org/board", suite="official")).get_text()
    for said in ("sghatecheck validate predictions.jsonl", "sghatecheck submit predictions.jsonl", "--repo org/board", "--dry-run", "public"):
        assert said in text


# --- what rank wrote, or did not ---


def copied(place, tmp_path, **changes):
    """A copy of the two files with a changed leaderboard.json."""
    board = json.loads((place / "leaderboard.json").read_text()) | changes
    (tmp_path / "results.parquet").write_bytes((place / "results.parquet").read_bytes())
    (tmp_path / "leaderboard.json").write_text(json.dumps(board))
    return tmp_path


def test_without_a_ranking_it_says_which_command_writes_one(tmp_path, suite, capsys):
    for name, said in ((tmp_path, f"sghatecheck rank {tmp_path}"), ("nowhere", "no such folder"), ("../../no/x", "no such folder")):
        status, _, err = boards.run(capsys, "serve", name, "--suite", suite)
        assert (status, said in err) == (1, True)


def test_results_that_were_changed_are_refused(place, tmp_path, suite, capsys):
    copied(place, tmp_path)
    content = bytearray((tmp_path / "results.parquet").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "results.parquet").write_bytes(content)
    status, _, err = boards.run(capsys, "serve", tmp_path, "--suite", suite)
    assert (status, "changed after the ranking" in err) == (1, True)


def test_a_board_of_another_shape_is_refused(place, tmp_path):
    board = json.loads((place / "leaderboard.json").read_text())
    row = board["rows"][0]
    for changes, said in (
        ({"format": "other"}, "not of the format"),
        ({"rows": [row | {"macro_f1": HOSTILE}]}, "macro_f1"),
        ({"rows": [row | {"id": "../../../etc/passwd"}]}, "no submission's"),
        ({"rows": [row, row]}, "twice"),
        ({"rows": None}, "rows"),
        ({"notes": {}}, "notes"),
    ):
        with pytest.raises(InputError, match=said) as raised:
            published.open_published(str(copied(place, tmp_path, **changes)))
        assert "alert" not in str(raised.value)


def test_no_suite_is_said_before_anything_is_served(place, tmp_path, capsys):
    status, _, err = boards.run(capsys, "serve", place, "--suite", tmp_path / "none")
    assert (status, "sghatecheck build" in err) == (1, True)
