"""Bias between targets: tables worked out by hand, other libraries as oracles, and what cannot be computed."""

import math
from functools import partial

import numpy as np
import pytest
from identity_tables import joined, sections, spread
from scipy.stats import chi2
from sklearn.metrics import roc_auc_score
from statsmodels.stats.contingency_tables import cochrans_q

from sghatecheck_metric import scoring
from sghatecheck_metric.bias import ALIKE, Errors, gap_limits
from sghatecheck_metric.consistency import TOO_FEW
from sghatecheck_metric.matching import areas, chi_square_tail, cochran_q
from sghatecheck_metric.reading import REJECTED

EXACT = partial(pytest.approx, rel=1e-9, abs=1e-12)


# --- bias, by hand ---

# Of three targets, matched are the first four templates; the fifth lacks c, and would make b's false negative rate 2/4.
#   hateful: a is missed in 0 of 3, b in 1, c in 2; non-hateful: a is flagged, b and c are not
TABLE = "h 111; h 110; h 100; n 100; h 10."


def test_rates_are_of_matched_templates():
    result = sections(**spread(TABLE))
    assert list(result["bias"]) == ["overall"]
    entry = result["bias"]["overall"]
    assert (entry["n_templates"], entry["n_targets"]) == (4, 3)
    assert entry["targets"] == {
        "a": {"n_hateful": 3, "n_non_hateful": 1, "false_negative_rate": 0, "false_positive_rate": 1},
        "b": {"n_hateful": 3, "n_non_hateful": 1, "false_negative_rate": EXACT(1 / 3), "false_positive_rate": 0},
        "c": {"n_hateful": 3, "n_non_hateful": 1, "false_negative_rate": EXACT(2 / 3), "false_positive_rate": 0},
    }
    assert (entry["worst_target_false_negative"], entry["worst_target_false_positive"]) == ("c", "a")
    assert entry["false_negative_gap"] == {"value": EXACT(2 / 3), "most": "c", "least": "a"}
    assert entry["false_positive_gap"] == {"value": 1, "most": "a", "least": "b"}  # c is no worse than b, which comes first
    assert entry["fned"] == EXACT(1 / 3 + 0 + 1 / 3)  # the rate over all nine hateful cases is 3/9
    assert entry["fped"] == EXACT(2 / 3 + 1 / 3 + 1 / 3)  # 1/3 over all three
    # columns 3, 2, 1, rows 3, 2, 1: (2 (3·14 - 36)) / (3·6 - 14) = 3, and a chi-square with 2 degrees of freedom exceeds x with exp(-x / 2)
    assert entry["cochran_q"]["hateful"] == {"q": EXACT(3), "df": 2, "p": EXACT(math.exp(-1.5)), "n_templates": 3}
    assert entry["cochran_q"]["non_hateful"] == {"q": EXACT(2), "df": 2, "p": EXACT(math.exp(-1)), "n_templates": 1}


def test_a_rejected_output_is_an_error_of_its_side_or_unmatches_its_template():
    table = spread("h 1r; h 11; n 0r; n 00")
    entry = sections(**table)["bias"]["overall"]
    assert entry["targets"]["b"] == {"n_hateful": 2, "n_non_hateful": 2, "false_negative_rate": 0.5, "false_positive_rate": 0.5}
    dropped = sections(**table, invalid="drop")["bias"]["overall"]
    assert (dropped["n_templates"], dropped["targets"]["b"]["n_hateful"], dropped["targets"]["a"]["n_hateful"]) == (2, 1, 1)


def test_a_missing_answer_unmatches_its_template():
    entry = sections(**spread("h 10; h 1?; h 01"))["bias"]["overall"]
    assert (entry["n_templates"], entry["targets"]["a"]["n_hateful"]) == (2, 2)


def test_a_template_with_both_gold_labels_is_matched_label_by_label():
    table = {"answers": [1, 0, 0, 0, 1], "gold": [1, 1, 0, 0, 1], "target": ["a", "b", "a", "b", "a"], "template": ["one"] * 4 + ["two"]}
    entry = sections(**table)["bias"]["overall"]
    assert entry["n_templates"] == 2
    assert entry["cochran_q"]["hateful"]["n_templates"] == 1
    # of gold label h there is a alone, of n b alone: nothing to compare
    table = {"answers": [1, 0], "gold": [1, 0], "target": ["a", "b"], "template": ["one", "one"]}
    assert sections(**table)["bias"]["overall"] is None


def test_each_language_is_matched_by_its_own_targets_and_overall_is_the_plain_mean():
    # x names a, b and c, of which b is missed once in two, c always; y names a and b, of which b is missed once in four
    result = sections(**joined(x=spread("h 110; h 100"), y=spread("h 11; h 11; h 11; h 10")))["bias"]
    assert list(result) == ["x", "y", "overall"]
    assert result["x"]["false_negative_gap"] == {"value": 1, "most": "c", "least": "a"}
    assert result["y"]["false_negative_gap"] == {"value": 0.25, "most": "b", "least": "a"}
    overall = result["overall"]
    assert (overall["n_templates"], overall["n_targets"]) == (6, 2)
    assert overall["targets"]["b"]["false_negative_rate"] == EXACT((0.5 + 0.25) / 2)
    assert overall["targets"]["b"]["n_hateful"] == 6
    assert overall["false_negative_gap"]["value"] == EXACT(0.375)
    assert overall["fned"] == EXACT(0.375)  # over all cases of a and b: 1/4 in x, 1/8 in y, 3/16 on average; 3/16 + 3/16
    assert overall["cochran_q"]["hateful"] == {"q": EXACT(2), "df": 1, "p": EXACT(math.erfc(1)), "n_templates": 6}  # the first without c


def test_templates_of_two_languages_are_never_one():
    columns = joined(x=spread("h 1."), y=spread("h .0"))
    result = sections(**columns)
    assert result["bias"] == {"x": None, "y": None, "overall": None}
    assert result["notes"]["bias.x"] == "one target only"


def test_a_template_that_holds_a_target_twice_counts_but_is_not_in_cochrans_q():
    table = spread("h 10; h 11; h 00; h 10")
    doubled = {name: [*values, values[0]] for name, values in table.items()}  # the first case of the first template again
    result = sections(**doubled)
    entry = result["bias"]["overall"]
    assert entry["n_templates"] == 4
    assert entry["targets"]["a"]["n_hateful"] == 5
    assert entry["cochran_q"]["hateful"] == {"q": EXACT(1), "df": 1, "p": EXACT(math.erfc(math.sqrt(0.5))), "n_templates": 3}
    assert result["notes"]["bias.overall.cochran_q.hateful"] == "1 matched templates left out, which hold a target more than once"


def test_areas_by_hand():
    # hateful a .9 and b .4, non-hateful a .6 and b .4
    scores = np.array([0.9, 0.4, 0.6, 0.4])
    targets = sections(**spread("h 11; n 00"), scores=scores)["bias"]["overall"]["targets"]
    assert {name: targets["a"][name] for name in ("subgroup_auc", "bpsn_auc", "bnsp_auc")} == {
        "subgroup_auc": 1,  # .9 against .6
        "bpsn_auc": 0,  # hateful b .4 against a's .6
        "bnsp_auc": 1,  # a's .9 against b's .4
    }
    assert {name: targets["b"][name] for name in ("subgroup_auc", "bpsn_auc", "bnsp_auc")} == {"subgroup_auc": 0.5, "bpsn_auc": 1, "bnsp_auc": 0}


# --- bias, oracles ---


def random_table(seed: int, n_templates=40, n_targets=5, languages=("x", "y")) -> dict:
    """Columns of random templates: some targets are harder, some templates lack a target, some outputs are rejected, rows are in no order."""
    rng = np.random.default_rng(seed)
    rows = []
    for language in languages:
        for template in range(n_templates):
            gold, hard = int(rng.random() < 0.6), rng.random()
            for target in range(n_targets):
                if rng.random() < 0.97:
                    right = rng.random() < 0.3 + 0.5 * hard + 0.04 * target
                    answer = REJECTED if rng.random() < 0.02 else gold if right else 1 - gold
                    rows.append(
                        (answer, gold, language, f"f{gold}{template % 3}", f"t{target}", f"{language}-{template}", f"{language}-{template // 2}")
                    )
    rng.shuffle(rows)
    names = ("answers", "gold", "language", "functionality", "target", "template", "cluster")
    columns = {name: list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}
    return columns | {"answers": list(map(int, columns["answers"])), "gold": list(map(int, columns["gold"]))}


@pytest.mark.parametrize("seed", range(5))
def test_the_tests_of_random_tables_are_statsmodels(seed):
    columns = random_table(seed)
    result = sections(**columns)["bias"]
    for language, gold, side in (("x", 1, "hateful"), ("y", 0, "non_hateful")):
        table = {}
        for row, template in enumerate(columns["template"]):
            if columns["language"][row] == language and columns["gold"][row] == gold:
                table.setdefault(template, {})[columns["target"][row]] = columns["answers"][row] == gold
        whole = np.array([[held[f"t{target}"] for target in range(5)] for held in table.values() if len(held) == 5]).astype(int)
        expected = cochrans_q(whole)
        found = result[language]["cochran_q"][side]
        assert (found["q"], found["df"], found["p"], found["n_templates"]) == (EXACT(expected.statistic), 4, EXACT(expected.pvalue), len(whole))
        rates = [result[language]["targets"][f"t{target}"][f"false_{'negative' if gold else 'positive'}_rate"] for target in range(5)]
        assert rates == EXACT(list(1 - whole.mean(axis=0)))


def test_cochrans_q_is_statsmodels():
    rng = np.random.default_rng(1)
    for n, k in ((1, 2), (3, 2), (10, 3), (200, 14), (30, 40)):
        outcome = (rng.random((n, k)) < rng.random(k)).astype(float)
        outcome[0] = np.arange(k) % 2  # not all are constant
        expected = cochrans_q(outcome)
        assert cochran_q(outcome) == (EXACT(expected.statistic), k - 1, EXACT(expected.pvalue))
    assert cochran_q(np.ones((4, 3))) is None
    assert cochran_q(np.zeros((0, 3))) is None


def test_the_chi_square_tail_is_scipys():
    for df in (1, 2, 3, 4, 13, 14, 99, 1000):
        for x in (0, 1e-9, 0.3, 1, df - 0.5, df, 2 * df, 5 * df + 50, 700, 1400):
            assert chi_square_tail(x, df) == pytest.approx(chi2.sf(x, df), rel=1e-9, abs=1e-300)
    assert chi_square_tail(1e6, 13) == 0.0


@pytest.mark.parametrize("digits", [1, 8])
def test_areas_are_scikit_learns(digits):
    rng = np.random.default_rng(digits)
    scores, hateful, target = rng.random(300).round(digits), rng.random(300) < 0.5, rng.integers(0, 4, 300)
    found = areas(scores, hateful, target, 4)
    for one in range(4):
        own = target == one
        assert found[0, one] == EXACT(roc_auc_score(hateful[own], scores[own]))
        for row, positive in ((1, ~own), (2, own)):
            kept = (hateful & positive) | (~hateful & ~positive)
            assert found[row, one] == EXACT(roc_auc_score(hateful[kept], scores[kept]))


def test_the_order_of_the_rows_changes_nothing():
    columns = random_table(3)
    order = np.random.default_rng(0).permutation(len(columns["gold"]))
    shuffled = {name: [values[row] for row in order] for name, values in columns.items()}
    found, again = flat(sections(**columns, ci="bootstrap")), flat(sections(**shuffled, ci="bootstrap"))
    assert len(found) > 100
    assert found.keys() == again.keys()
    for path, value in found.items():  # replicates are summed in single precision, in the order of the rows
        assert value == (pytest.approx(again[path], abs=1e-6) if isinstance(value, float) else again[path]), path


def flat(result, path: str = "") -> dict:
    """The leaves of a result, by their path."""
    parts = result.items() if isinstance(result, dict) else enumerate(result) if isinstance(result, list) else ()
    leaves = {path: result} if not isinstance(result, dict | list) else {}
    return leaves | {key: leaf for name, one in parts for key, leaf in flat(one, f"{path}/{name}").items()}


# --- bias, intervals ---


def test_a_gap_has_the_percentiles_of_its_own_difference():
    columns = random_table(5, n_templates=160, languages=("x",))
    result = sections(**columns, ci="bootstrap")
    gap = result["bias"]["x"]["false_negative_gap"]
    targets, notes = result["bias"]["x"]["targets"], result["notes"]
    assert "bias.x.false_negative_gap.ci" not in notes
    low, high = gap["ci"]
    assert low < gap["value"] < high
    # the same templates ask both targets, so the difference is known better than two separate rates would tell
    widths = [np.diff(targets[gap[end]]["false_negative_rate_ci"])[0] for end in ("most", "least")]
    assert high - low < math.hypot(*widths)
    assert result["bias"]["overall"]["false_negative_gap"] == gap | {"ci": pytest.approx(gap["ci"], abs=1e-6)}


def test_an_error_rate_has_the_interval_of_its_accuracy():
    columns = random_table(6)
    matched = sections(**columns, ci="bootstrap")["bias"]["x"]["targets"]["t1"]
    low, high = matched["false_negative_rate_ci"]
    assert 0 <= low < matched["false_negative_rate"] < high <= 1


def test_a_gap_of_rates_at_their_edge_combines_their_intervals():
    result = sections(**spread("h 10; h 10; h 10; h 10; n 00"), ci="bootstrap")
    gap, targets = result["bias"]["overall"]["false_negative_gap"], result["bias"]["overall"]["targets"]
    assert (gap["value"], gap["most"], gap["least"]) == (1, "b", "a")
    # b's rate 1 lies d above its lower limit, a's rate 0 as much below its upper one
    d = 1 - targets["b"]["false_negative_rate_ci"][0]
    assert gap["ci"] == EXACT([1 - math.hypot(d, d), 1])
    assert "combined" in result["notes"]["bias.overall.false_negative_gap.ci"]


def test_a_difference_that_never_varies_has_no_interval():
    errors = bias_errors(rates=[0.5, 0.25], drawn=np.tile(np.float32([0.5, 0.25]), (100, 1)), words=["", ""])
    limits, word = gap_limits(errors, 0, 1, 0.95)
    assert np.isnan(limits).all()
    assert "do not vary" in word


def test_a_gap_without_its_rates_intervals_has_none():
    errors = bias_errors(rates=[0.5, 0.25], drawn=None, words=["no interval", ""], limits=[[np.nan, 0.1], [np.nan, 0.4]])
    limits, word = gap_limits(errors, 0, 1, 0.95)
    assert np.isnan(limits).all()
    assert word == "one of its two rates has no interval"


def bias_errors(rates, drawn, words, limits=((0.4, 0.1), (0.6, 0.4))) -> Errors:
    return Errors(np.array(rates), np.array(limits), words, drawn)


# --- what cannot be computed ---


@pytest.mark.parametrize("ci", ["bootstrap", "wilson", "none"])
@pytest.mark.parametrize(
    ("columns", "why"),
    [
        (spread("h 1; h 0", targets="a"), {"bias.overall": "one target only"}),
        (spread("h 1..; h .0.; n ..1"), {"bias.overall": "no template holds a scored case of each of the 3 targets"}),
        (spread("h ???; n ???"), {"bias.overall": "no template holds a scored case of each of the 3 targets", "consistency.overall": TOO_FEW}),
        (spread("h 1", targets="a"), {"bias.overall": "one target only", "consistency.overall": TOO_FEW}),
        (joined(x=spread("h 110; n 011")), {}),
        (joined(x=spread("h 110; n 011"), y=spread("h 1; n 1")), {"bias.y": "one target only", "bias.overall": "the mean of 1 of 2 languages"}),
        (
            joined(x=spread("h 110; n 011"), y=spread("h 10; n 01", targets="xy")),
            {
                "bias.overall": "no two targets that all languages name",
                "consistency.y": TOO_FEW,
                "consistency.overall": "the mean of 1 of 2 languages",
            },
        ),
        (
            joined(x=spread("h 1", targets="a"), y=spread("h 1", targets="a")),
            {"bias.x": "one target only", "bias.overall": "no language has a comparison"},
        ),
        (spread("h 111; h 111; n 111"), {"bias.overall.worst_target_false_negative": ALIKE, "bias.overall.false_positive_gap.most": ALIKE}),
        (
            spread("h 111; h 111; n 111"),
            {"bias.overall.cochran_q.hateful": "in each template the answers to all targets are right, or all are wrong"},
        ),
        (spread("h rrr; n rrr"), {"bias.overall.worst_target_false_negative": ALIKE}),
        (
            spread("h 110; h 011"),
            {"bias.overall.false_positive_gap": "no matched non-hateful template", "bias.overall.fped": "no matched non-hateful template"},
        ),
        (spread("n 110"), {"bias.overall.targets.a.false_negative_rate": "no matched hateful template"}),
        ({name: values * 3 for name, values in spread("h 110; n 010").items()}, {"bias.overall.cochran_q.hateful": "1 matched templates left out"}),
        ({name: values[:1] * 20 for name, values in spread("h 1").items()}, {"bias.overall": "one target only"}),
    ],
)
def test_a_reason_for_each_null(columns, why, ci):
    notes = sections(**columns, ci=ci)["notes"]  # sections checks that each null has a reason, and that nothing is NaN
    for path, word in why.items():
        assert notes[path].startswith(word) or word in notes[path]


@pytest.mark.parametrize("ci", ["bootstrap", "wilson", "none"])
def test_no_case_and_no_column(ci):
    nothing = {"answers": [], "gold": [], "ci": ci}
    assert sections(**nothing) == {"notes": {}}
    assert sections(**nothing, target=[], template=[]) == {"notes": {}}
    table = spread("h 110; n 010") | {"ci": ci}
    assert sorted(sections(**{name: values for name, values in table.items() if name != "target"})) == ["consistency", "notes"]
    assert sections(**{name: values for name, values in table.items() if name != "template"}) == {"notes": {}}
    no_target = sections(**table | {"target": [None] * 5 + ["a"]})
    assert no_target["notes"]["bias.overall"] == "one target only"
    partly = joined(x=spread("h 10; n 10"), y=spread("h 10"))
    partly["target"][4:] = [None, None]
    assert sections(**partly, ci=ci)["notes"]["bias.y"] == "no case names a target"


def test_areas_need_every_score_and_both_sides():
    table = spread("h 11; n 00")
    result = sections(**table, scores=np.array([0.9, np.nan, 0.1, 0.2]))
    assert result["bias"]["overall"]["targets"]["a"]["subgroup_auc"] is None
    assert result["notes"]["bias.overall.targets.a.subgroup_auc"] == "1 of 4 matched cases have no score"
    result = sections(**spread("h 11; h 10"), scores=np.array([0.9, 0.5, 0.1, 0.2]))
    assert result["notes"]["bias.overall.targets.a.bpsn_auc"] == "a side has no matched case"
    two = joined(x=table, y=table)
    result = sections(**two, scores=np.array([0.9, 0.4, 0.6, 0.4] + [np.nan] * 4))
    assert result["bias"]["overall"]["targets"]["b"]["subgroup_auc"] == 0.5
    assert result["notes"]["bias.overall.targets.b.subgroup_auc"] == "the mean of 1 of 2 languages: 4 of 4 matched cases have no score"
    assert "subgroup_auc" not in sections(**table, scores=np.full(4, np.nan))["bias"]["overall"]["targets"]["a"]
    infinite = sections(**table, scores=np.array([np.inf, 0.4, -np.inf, 0.4]))
    assert infinite["bias"]["overall"]["targets"]["a"]["subgroup_auc"] == 1


# --- the released files ---


def test_released_answers_on_matched_templates(released):
    entries = sections(**released, ci="bootstrap")["bias"]
    assert {name: (entry["n_templates"], entry["n_targets"]) for name, entry in entries.items()} == {
        "singlish": (162, 14),
        "malay": (134, 14),
        "mandarin": (134, 14),
        "tamil": (134, 14),
        "overall": (564, 14),
    }
    gap = entries["singlish"]["false_negative_gap"]
    assert (gap["most"], gap["least"], round(gap["value"], 3)) == ("Seniors", "Muslim", 0.697)
    assert 0.6 < gap["ci"][0] < gap["ci"][1] < 0.8
    assert entries["singlish"]["cochran_q"]["hateful"]["p"] < 1e-50


def test_released_answers_over_all_cases_of_a_target(released):
    given = {name: released[name] for name in ("language", "functionality", "target", "template", "cluster")}
    result = scoring.score(released["answers"], released["gold"], **given, allow_partial=True, ci="none")
    missed = {name: 1 - result["language_target"][f"singlish/{name}"]["accuracy_hateful"] for name in ("Muslim", "Seniors")}
    assert {name: round(share, 3) for name, share in missed.items()} == {"Muslim": 0.032, "Seniors": 0.704}
