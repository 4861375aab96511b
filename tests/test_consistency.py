"""Consistency of templates: tables worked out by hand, the width and coverage of its interval, and the released answers."""

from functools import partial

import numpy as np
import pytest
from identity_tables import joined, sections, spread

from sghatecheck_metric.consistency import TOO_FEW, consistency
from sghatecheck_metric.intervals import Design
from sghatecheck_metric.reading import code_column
from sghatecheck_metric.resampling import make_units, percentiles, replicate, wilson

EXACT = partial(pytest.approx, rel=1e-9, abs=1e-12)


# --- consistency, by hand ---

# four templates of at least three cases: alike; 1 of 3 differs; 2 of 4 differ; three kinds of answer. The fifth has two cases.
ALIKE_OR_NOT = "h 111; h 110; n 0011; n 01r; h 10"


def test_consistency_by_hand():
    functionality = [name for name, n in (("f1", 3), ("f1", 3), ("f2", 4), ("f2", 3), ("f1", 2)) for _ in range(n)]
    entry = sections(**spread(ALIKE_OR_NOT), functionality=functionality)["consistency"]["overall"]
    assert (entry["n_templates"], entry["share_consistent"]) == (4, 0.25)
    # of 3 pairs 2 differ; of 6 pairs 4; of 3 pairs 3
    assert entry["flip_rate"] == EXACT((0 + 2 / 3 + 4 / 6 + 1) / 4)
    assert entry["functionality"] == {
        "f1": {"n_templates": 2, "share_consistent": 0.5, "flip_rate": EXACT(1 / 3)},
        "f2": {"n_templates": 2, "share_consistent": 0, "flip_rate": EXACT(5 / 6)},
    }
    assert entry["most_inconsistent"] == [
        {"template": "template 3", "functionality": "f2", "n": 3, "hateful": EXACT(1 / 3), "flip_rate": EXACT(1)},
        {"template": "template 2", "functionality": "f2", "n": 4, "hateful": EXACT(1 / 2), "flip_rate": EXACT(2 / 3)},
        {"template": "template 1", "functionality": "f1", "n": 3, "hateful": EXACT(2 / 3), "flip_rate": EXACT(2 / 3)},
    ]


def test_rejected_outputs_alike_are_consistent_and_dropped_ones_are_no_cases():
    table = spread("h rrr; h 11r")
    assert sections(**table)["consistency"]["overall"]["share_consistent"] == 0.5
    result = sections(**table, invalid="drop")
    assert result["consistency"] == {"overall": None}
    assert result["notes"]["consistency.overall"] == TOO_FEW


def test_consistency_over_languages_is_the_plain_mean():
    columns = joined(x=spread("h 111; h 111; h 111; h 110"), y=spread("h 1000; h 110"))
    functionality = ["f1"] * 3 + ["f2"] * 9 + ["f1"] * 7
    result = sections(**columns, functionality=functionality, ci="bootstrap")["consistency"]
    assert (result["x"]["share_consistent"], result["y"]["share_consistent"]) == (0.75, 0)
    overall = result["overall"]
    assert (overall["n_templates"], overall["share_consistent"]) == (6, EXACT(0.375))
    assert overall["flip_rate"] == EXACT((1 / 6 + (1 / 2 + 2 / 3) / 2) / 2)
    assert overall["functionality"]["f1"] == {"n_templates": 3, "share_consistent": 0.5, "flip_rate": EXACT((0 + 7 / 12) / 2)}
    assert overall["functionality"]["f2"]["n_templates"] == 3
    assert [(row["language"], row["template"]) for row in overall["most_inconsistent"]] == [
        ("y", "template 1"),
        ("x", "template 3"),
        ("y", "template 0"),
    ]
    assert "language" not in result["x"]["most_inconsistent"][0]


def test_gold_labels_and_functionalities_of_one_template_are_told_apart():
    # hateful cases answered 1 and others answered 0, all under one template id: nothing flips
    table = {"answers": [1, 1, 1, 0, 0, 0], "gold": [1, 1, 1, 0, 0, 0], "template": ["one"] * 6}
    result = sections(**table, functionality=["f1", "f1", "f2", "f3", "f3", "f3"])["consistency"]["overall"]
    assert (result["n_templates"], result["share_consistent"], result["flip_rate"]) == (2, 1, 0)
    assert list(result["functionality"]) == ["f3"]  # the other template is of two functionalities
    assert result["most_inconsistent"] == []


def test_ten_templates_are_listed():
    entry = sections(**spread("; ".join(["h 110"] * 30)))["consistency"]["overall"]
    assert [row["template"] for row in entry["most_inconsistent"][:3]] == ["template 0", "template 1", "template 10"]
    assert len(entry["most_inconsistent"]) == 10


def test_template_ids_may_be_numbers():
    table = spread("h 110")
    entry = sections(**table | {"template": [7] * 3})["consistency"]["overall"]
    assert entry["most_inconsistent"][0]["template"] == 7


def consistency_table(seed: int, n_strata=12, n_clusters=8) -> dict:
    """Two templates of three cases in each cluster, whose consistency depends on the stratum and on the cluster."""
    rng = np.random.default_rng(seed)
    columns = {"answers": [], "gold": [], "functionality": [], "template": [], "cluster": []}
    for stratum in range(n_strata):
        for cluster in range(n_clusters):
            chance = np.clip(rng.normal(0.2 + 0.6 * stratum / n_strata, 0.3), 0, 1)
            for template in range(2):
                columns["answers"] += [1, 1, int(rng.random() < chance)]
                columns["gold"] += [1] * 3
                columns["functionality"] += [f"f{stratum:02}"] * 3
                columns["template"] += [f"{stratum}-{cluster}-{template}"] * 3
                columns["cluster"] += [f"{stratum}-{cluster}"] * 3
    return columns


def test_the_interval_of_the_share_is_as_wide_as_the_bootstraps():
    columns = consistency_table(0)
    result = sections(**columns, ci="bootstrap")
    entry = result["consistency"]["overall"]
    coded = {name: code_column(columns[name], name, len(columns["gold"])) for name in ("functionality", "cluster")}
    units = make_units(len(columns["gold"]), [coded["functionality"]], coded["cluster"])
    same = np.repeat(np.reshape(columns["answers"], (-1, 3))[:, 2], 3)[::3]
    per_unit = np.stack([np.bincount(units.of_case[::3], same), np.bincount(units.of_case[::3])], axis=1)[:, None]
    drawn = replicate(per_unit, [(np.arange(len(per_unit)), np.array([0]))], units.stratum, 4000, 1)[:, 0]
    low, high = percentiles((drawn[:, 0] / drawn[:, 1])[:, None], 0.95)[:, 0]
    assert entry["share_consistent"] == EXACT(same.mean())
    assert entry["share_consistent_ci"][1] - entry["share_consistent_ci"][0] == pytest.approx(high - low, rel=0.08)
    assert "effective" in result["notes"]["consistency.overall.share_consistent_ci"]


def test_the_interval_of_the_share_covers_it():
    # 12 functionalities of 4 clusters, each with four templates that share the cluster's chance to flip, which is .5 on average
    rng, n = np.random.default_rng(1), 12 * 4 * 4
    names = {size: [f"{number:03}" for number in range(size)] for size in (12, 48, n)}
    coded = {"template": (np.repeat(np.arange(n), 3), names[n]), "functionality": (np.repeat(np.arange(12), 48), names[12])}
    units = make_units(3 * n, [coded["functionality"]], (np.repeat(np.arange(48), 12), names[48]))
    design, ones = Design("bootstrap", 100, 0.95, 0, units), np.ones(3 * n, np.int8)
    covered, naively = 0, 0
    for _ in range(500):
        chance = np.clip(rng.normal(np.repeat(np.linspace(0.2, 0.8, 12), 4), 0.4), 0, 1)
        answers = ones.copy()
        answers[2::3] = rng.random(n) >= np.repeat(chance, 4)
        entry = consistency(answers, ones, ones > 0, coded, np.zeros(3 * n, np.int64), [None], design, {})["overall"]
        covered += entry["share_consistent_ci"][0] <= 0.5 <= entry["share_consistent_ci"][1]
        low, high = wilson(entry["share_consistent"], n, 0.95)
        naively += low <= 0.5 <= high
    assert 0.93 < covered / 500 < 0.98
    assert naively / 500 < 0.9  # templates of a cluster are not independent


def test_modes_of_the_share():
    columns = consistency_table(1)
    assert "share_consistent_ci" not in sections(**columns)["consistency"]["overall"]
    result = sections(**columns, ci="wilson")
    assert result["notes"]["consistency.overall.share_consistent_ci"] == "Wilson's interval over 96 clusters (ci='wilson')"


# --- the released files ---


def test_released_answers_give_the_known_shares_of_consistent_templates(released):
    entries = sections(**released, ci="bootstrap")["consistency"]
    found = {name: (entry["n_templates"], round(entry["share_consistent"], 3)) for name, entry in entries.items()}
    assert found == {"singlish": (226, 0.389), "malay": (169, 0.361), "mandarin": (203, 0.823), "tamil": (189, 0.444), "overall": (787, 0.504)}
    for entry in entries.values():
        low, high = entry["share_consistent_ci"]
        assert low < entry["share_consistent"] < high
