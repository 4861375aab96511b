"""Two systems on the same cases: arithmetic by hand, oracles by brute force and from scipy, and what must hold whatever the data."""

import itertools
import json

import numpy as np
import pytest
from scipy.stats import permutation_test

from sghatecheck_metric.comparing import compare, rank
from sghatecheck_metric.reading import MISSING, REJECTED, read_gold
from sghatecheck_metric.scoring import score
from sghatecheck_metric.significance import mcnemar
from sghc.paper.predictions import Run, read_folder
from sghc.suite import release
from sghc.suite.sources import official

RATES = ("accuracy", "accuracy_hateful", "accuracy_non_hateful", "macro_f1")
PARTS = ("language", "functionality", "target", "protected_group")


def made_up(seed=0, languages=2, functionalities=4, clusters=12, size=5, skill=(0.7, 0.8), spread=3):
    """(answers of A, answers of B, gold, columns): in each cluster a system is right with a probability of its own, from a beta distribution."""
    rng = np.random.default_rng(seed)
    names = ("language", "functionality", "target", "protected_group", "cluster")
    columns, gold, right = {name: [] for name in names}, [], []
    for language, functionality, cluster in itertools.product(range(languages), range(functionalities), range(clusters)):
        chances = [rng.beta(mean * spread, (1 - mean) * spread) for mean in skill]
        for place in range(size):
            row = (f"language {language}", f"f{functionality}", ("tea", "rain", None)[place % 3], ("drinks", "weather", None)[place % 3])
            for name, value in zip(names, (*row, f"{language}-{functionality}-{cluster}"), strict=True):
                columns[name].append(value)
            gold.append(functionality % 2)
            right.append(rng.random(2) < chances)
    gold, right = np.array(gold), np.array(right).T
    return *np.where(right, gold, 1 - gold), gold, columns


def entries(result):
    yield from ((part, result[part]) for part in ("overall", "shared") if part in result)
    yield from ((f"{part}.{name}", entry) for part in PARTS for name, entry in result.get(part, {}).items())


def test_numbers_worked_out_by_hand():
    gold, a, b = [1, 1, 0, 0, 1, 0], [1, 0, 0, 1, 0, 0], [1, 1, 0, 0, 1, REJECTED]
    result = compare(a, b, gold, language=["x"] * 4 + ["y"] * 2, functionality=["f", "f", "g", "g", "f", "g"])
    assert [result["language"]["x"]["accuracy"][key] for key in ("a", "b", "difference")] == [0.5, 1, 0.5]
    assert [result["language"]["y"]["accuracy"][key] for key in ("a", "b", "difference")] == [0.5, 0.5, 0]
    assert result["overall"]["accuracy"]["difference"] == 0.25  # the plain mean of the languages
    assert result["overall"]["mcnemar"] == {"only_a": 1, "only_b": 3, "p": 2 * (1 + 4) / 2**4}  # the cases pooled
    assert result["language"]["y"]["mcnemar"] == {"only_a": 1, "only_b": 1, "p": 1}
    assert result["functionality"]["f"]["accuracy_hateful"]["b"] == 1
    assert (result["overall"]["n"], result["overall"]["n_clusters"], result["overall"]["n_left_out"]) == (6, 6, 0)
    assert result["functionality"]["f"]["macro_f1"] == {"a": None, "b": None, "difference": None, "difference_ci": None, "p": None}
    assert result["notes"]["functionality.f.macro_f1"] == "one gold label only (hateful)"
    assert result["signature"] == "sghatecheck-compare|v:1.0.0|data:none|subset:given|invalid:wrong|ci:bootstrap-2000|seed:12345"


def test_values_are_those_of_score():
    a, b, gold, columns = made_up()
    result = compare(a, b, gold, **columns, n_resamples=100)
    for side, answers in (("a", a), ("b", b)):
        expected = score(answers, gold, **columns, ci="none")
        for path, entry in entries(result):
            one = expected
            for key in path.split("."):
                one = one[key]
            assert entry["n"] == one["n"]
            assert [entry[rate][side] for rate in RATES] == [one[rate] for rate in RATES]


@pytest.mark.parametrize("rejected", [0, 0.2])
def test_identical_systems(rejected):
    a, _, gold, columns = made_up()
    a = np.where(np.random.default_rng(1).random(len(a)) < rejected, REJECTED, a)
    result = compare(a, a, gold, **columns, n_resamples=200)
    for path, entry in entries(result):
        assert entry["verdict"] == "undecided"
        assert entry.get("mcnemar", {"p": 1})["p"] == entry.get("p_holm", 1) == entry.get("q_bh", 1) == 1
        for rate in RATES:
            if entry[rate]["difference"] is not None:
                assert (entry[rate]["difference"], entry[rate]["p"], entry[rate]["difference_ci"]) == (0, 1, None)
                assert "equally well" in result["notes"][f"{path}.{rate}.difference_ci"]


def test_swapping_the_systems_turns_every_sign_and_keeps_every_p():
    a, b, gold, columns = made_up(skill=(0.6, 0.85))
    one, other = compare(a, b, gold, **columns, n_resamples=500), compare(b, a, gold, **columns, n_resamples=500)
    turned = {"better": "worse", "worse": "better", "undecided": "undecided"}
    assert one["overall"]["verdict"] == "better"
    for (_, entry), (_, mirror) in zip(entries(one), entries(other), strict=True):
        assert mirror["verdict"] == turned[entry["verdict"]]
        for rate in RATES:
            x, y = entry[rate], mirror[rate]
            assert (x["a"], x["b"], x["p"]) == (y["b"], y["a"], y["p"])
            if x["difference_ci"]:
                assert x["difference_ci"] == pytest.approx([-limit for limit in reversed(y["difference_ci"])], abs=1e-6)


def test_the_order_of_the_rows_does_not_matter():
    a, b, gold, columns = made_up()
    order = np.random.default_rng(3).permutation(len(gold))
    shuffled = compare(a[order], b[order], gold[order], **{name: [values[row] for row in order] for name, values in columns.items()}, n_resamples=200)
    result = compare(a, b, gold, **columns, n_resamples=200)
    for part in PARTS:
        for name, entry in result[part].items():
            assert entry["accuracy"]["p"] == shuffled[part][name]["accuracy"]["p"]
            assert entry["accuracy"]["difference_ci"] == pytest.approx(shuffled[part][name]["accuracy"]["difference_ci"], abs=1e-6)


# --- p ---


@pytest.mark.parametrize("clusters", [9, 30])
def test_p_is_scipys_permutation_test_on_the_clusters(clusters):
    a, b, gold, columns = made_up(5, languages=1, functionalities=1, clusters=clusters, skill=(0.7, 0.78))
    sums = [np.bincount(np.repeat(np.arange(clusters), 5), answers == gold) for answers in (a, b)]  # exact where there are few

    def gap(x, y, axis):
        return (y - x).sum(axis=axis)

    exact = permutation_test(sums, gap, permutation_type="samples", n_resamples=20000, rng=np.random.default_rng(0), vectorized=True).pvalue
    found = compare(a, b, gold, **columns, n_resamples=20000)["language"]["language 0"]["accuracy"]["p"]
    assert 0.02 < exact < 0.9
    assert found == pytest.approx(exact, abs=4 * np.sqrt(2 * exact * (1 - exact) / 20000))


def test_p_of_every_rate_is_the_share_of_all_swaps():
    a, b, gold, columns = made_up(2, functionalities=2, clusters=2, size=6, skill=(0.5, 0.8), spread=50)
    cluster = np.repeat(np.arange(8), 6)
    result = compare(a, b, gold, **columns, n_resamples=20000)

    def gaps(swap):
        x, y = np.where(swap[cluster], b, a), np.where(swap[cluster], a, b)
        one, other = (score(answers, gold, **columns, ci="none") for answers in (x, y))
        return [other["overall"][rate] - one["overall"][rate] for rate in RATES] + [
            other["target"]["tea"]["accuracy"] - one["target"]["tea"]["accuracy"]
        ]

    draws = np.array([gaps(np.array(swap)) for swap in itertools.product((False, True), repeat=8)])
    exact = (np.abs(draws) >= np.abs(draws[0]) - 1e-9).mean(axis=0)
    found = [result["overall"][rate]["p"] for rate in RATES] + [result["target"]["tea"]["accuracy"]["p"]]
    assert found == pytest.approx(exact, abs=0.015)
    assert len(set(exact)) > 2


def test_the_test_keeps_its_level_where_the_naive_one_does_not():
    wrong = naive = 0
    for seed in range(400):
        a, b, gold, columns = made_up(seed, languages=1, functionalities=2, clusters=12, size=10, skill=(0.7, 0.7))
        overall = compare(a, b, gold, **columns, n_resamples=199)["overall"]
        wrong += overall["accuracy"]["p"] <= 0.05
        naive += overall["mcnemar"]["p"] <= 0.05
    assert 0.02 <= wrong / 400 <= 0.09
    assert naive / 400 > 0.15


def test_families_are_adjusted_each_by_itself():
    a, b, gold, columns = made_up(4, functionalities=6, skill=(0.6, 0.7))
    result = compare(a, b, gold, **columns, n_resamples=500)
    for part in PARTS:
        plain = sorted(entry["accuracy"]["p"] for entry in result[part].values())
        adjusted = sorted(entry["p_holm"] for entry in result[part].values())
        assert adjusted[0] == pytest.approx(min(1, plain[0] * len(plain)))
        assert all(entry["accuracy"]["p"] <= entry["q_bh"] <= entry["p_holm"] for entry in result[part].values())
    one = compare([1, 0], [1, 1], [1, 1], functionality=["f", "f"], language=["x", "x"])
    assert one["functionality"]["f"]["p_holm"] == one["functionality"]["f"]["accuracy"]["p"] == 1


# --- intervals ---


def test_the_interval_is_that_of_the_stratified_clusters():
    a, b, gold, columns = made_up(6, languages=1, functionalities=3, clusters=60, size=4)
    entry = compare(a, b, gold, **columns, n_resamples=4000)["language"]["language 0"]["accuracy"]
    sums = ((b == gold).astype(int) - (a == gold)).reshape(3, 60, 4).sum(axis=2)
    error = np.sqrt((60 * sums.var(axis=1, ddof=1)).sum()) / len(gold)
    low, high = entry["difference_ci"]
    assert (low + high) / 2 == pytest.approx(entry["difference"], abs=0.1 * error)
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.05)


def test_pairing_makes_the_interval_shorter_than_two_apart():
    a, _, gold, columns = made_up(7, clusters=40)
    b = np.where(np.random.default_rng(0).random(len(a)) < 0.1, 1 - a, a)  # nearly the same system
    low, high = compare(a, b, gold, **columns)["overall"]["accuracy"]["difference_ci"]
    apart = score(a, gold, **columns)["overall"]["accuracy_ci"]
    assert high - low < 0.7 * (apart[1] - apart[0])


@pytest.mark.parametrize(("languages", "clusters", "size"), [(1, 8, 10), (1, 35, 4), (3, 8, 5)])
def test_intervals_cover(languages, clusters, size):
    covered = 0
    for seed in range(250):
        a, b, gold, columns = made_up(seed, languages, 1, clusters, size, (0.7, 0.8))
        low, high = compare(a, b, gold, **columns, n_resamples=400)["functionality"]["f0"]["accuracy"]["difference_ci"]
        covered += low <= 0.1 <= high
    assert 0.9 <= covered / 250 <= 0.98


def test_each_null_and_each_interval_of_another_kind_has_its_reason():
    a, b, gold, columns = made_up(8, clusters=12)
    b = np.where(np.array(columns["functionality"]) == "f1", gold, b)
    a = np.where(np.array(columns["functionality"]) == "f1", 1 - gold, a)
    result = compare(a, b, gold, **columns, n_resamples=200)
    notes = result["notes"]
    assert "Student's t with" in notes["functionality.f0.accuracy.difference_ci"]
    assert result["functionality"]["f1"]["accuracy"]["difference"] == 1
    low, high = result["functionality"]["f1"]["accuracy"]["difference_ci"]  # every cluster turns round: no replicate varies
    assert (0.5 < low < 0.9, high) == (True, 1)
    assert "bound" in notes["functionality.f1.accuracy.difference_ci"]
    for path, entry in entries(result):
        for rate in RATES:
            if entry[rate]["difference_ci"] is None:
                assert f"{path}.{rate}" in notes or f"{path}.{rate}.difference_ci" in notes
            else:
                assert entry[rate]["difference_ci"][0] < entry[rate]["difference_ci"][1]


# --- which cases, and bad input ---


def test_cases_that_one_system_lacks_are_left_out_for_both():
    a, b, gold, columns = made_up()
    gaps = {"a": np.array(a), "b": np.array(b)}
    gaps["a"][:7], gaps["b"][5:10] = MISSING, MISSING
    with pytest.raises(ValueError, match=r"answers of B: 5 of 480 cases .*rows 5, 6, 7, 8, 9"):
        compare(a, gaps["b"], gold, **columns)
    result = compare(gaps["a"], gaps["b"], gold, **columns, allow_partial=True, n_resamples=100)
    rest = compare(a[10:], b[10:], gold[10:], **{name: values[10:] for name, values in columns.items()}, n_resamples=100)
    assert (result["overall"]["n"], result["overall"]["n_left_out"]) == (470, 10)
    assert [result["overall"][rate]["difference"] for rate in RATES] == [rest["overall"][rate]["difference"] for rate in RATES]
    assert result["signature"].endswith("|partial:yes")


def test_what_rejected_outputs_count_as():
    a, b, gold, columns = made_up()
    a[:4], b[2:6] = REJECTED, REJECTED
    wrong = compare(a, b, gold, **columns, n_resamples=100)["overall"]
    dropped = compare(a, b, gold, **columns, n_resamples=100, invalid="drop")["overall"]
    assert (wrong["n"], dropped["n"], dropped["n_left_out"]) == (480, 474, 6)
    with pytest.raises(ValueError, match=r"answers of mine: 4 of 480 outputs name neither label"):
        compare(a, b, gold, invalid="error", names=("mine", "yours"))


@pytest.mark.parametrize("invalid", ["wrong", "drop"])
@pytest.mark.parametrize(
    ("a", "b", "gold"),
    [([], [], []), ([1], [0], [1]), ([1, MISSING], [MISSING, 0], [1, 0]), ([REJECTED] * 3, [REJECTED] * 3, [1, 0, 1]), ([1] * 9, [0] * 9, [1] * 9)],
)
def test_little_to_go_by_gives_nulls_with_reasons_and_no_warning(a, b, gold, invalid):
    columns = {"language": ["x"] * len(a), "functionality": ["f"] * len(a), "target": [None] * len(a)}
    for given in ({}, columns):
        result = compare(a, b, gold, **given, invalid=invalid, allow_partial=True)
        json.dumps(result, allow_nan=False)
        for path, entry in entries(result):
            missing = [rate for rate in RATES if entry[rate]["difference_ci"] is None]
            assert all(f"{path}.{rate}" in result["notes"] or f"{path}.{rate}.difference_ci" in result["notes"] for rate in missing)
        json.dumps(rank({"A": a, "B": b}, gold, **given, invalid=invalid, allow_partial=True), allow_nan=False)


def test_bad_input_is_refused_without_showing_it():
    for arguments in (([1, 0], [1], [1, 0]), ([1, 5], [1, 0], [1, 0]), (["tea", "rain"], [1, 0], [1, 0])):
        with pytest.raises(ValueError, match="answers of") as refused:
            compare(*arguments)
        assert "tea" not in str(refused.value)
    with pytest.raises(ValueError, match="n_resamples"):
        compare([1], [1], [1], n_resamples=3)
    with pytest.raises(ValueError, match="two systems or more"):
        rank({"A": [1]}, [1])
    with pytest.raises(TypeError, match="tagret"):
        rank({"A": [1], "B": [1]}, [1], tagret=["x"])


# --- more than two ---


def test_a_ranking_shows_who_is_tied():
    a, b, gold, columns = made_up(9, skill=(0.6, 0.9))
    near = b.copy()
    near[:3] = 1 - near[:3]
    result = rank({"a": a, "near": near, "b": b}, gold, **columns, n_resamples=1000)
    assert result["by"] == "macro_f1"
    assert {entry["name"] for entry in result["systems"][:2]} == {"b", "near"}
    assert [entry["tied_with_next"] for entry in result["systems"]] == [True, False, None]
    for entry, following in itertools.pairwise(result["systems"]):
        expected = score({"a": a, "b": b, "near": near}[entry["name"]], gold, **columns, n_resamples=1000)["overall"]
        assert (entry["value"], entry["value_ci"]) == (expected["macro_f1"], expected["macro_f1_ci"])
        assert entry["next"]["name"] == following["name"]
        assert entry["next"]["difference"] == pytest.approx(entry["value"] - following["value"])
    second = {"near": near, "b": b}[result["systems"][1]["name"]]
    pair = compare(a, second, gold, **columns, n_resamples=1000)["overall"]["macro_f1"]
    assert [result["systems"][1]["next"][key] for key in ("difference_ci", "p")] == [pytest.approx(pair["difference_ci"], abs=1e-6), pair["p"]]


def test_a_ranking_without_both_labels_goes_by_accuracy():
    result = rank({"low": [0, 0, 1], "high": [1, 1, 1], "same": [1, 1, 1]}, [1, 1, 1])
    assert (result["by"], [entry["name"] for entry in result["systems"]]) == ("accuracy", ["high", "same", "low"])
    assert result["systems"][0]["next"]["p_holm"] == 1
    assert "equally well" in result["notes"]["systems.0.next.difference_ci"]


# --- the released predictions ---


@pytest.fixture(scope="module")
def released(shared_data):
    """(system -> answers, gold, columns) of the test cases and the five MultiSet models."""
    suite = official(release.local_copy(shared_data / "sghatecheck"))
    languages = {"singlish": "en", "malay": "ms", "mandarin": "zh", "tamil": "ta"}
    cases = [case for language in languages for case in suite.tables[language, "test"].to_pylist()]
    runs = read_folder(shared_data / "sghatecheck" / "experiments")
    systems = {}
    for model in ("mistral", "seallm", "llama", "mbert", "sealion"):
        found = {language: Run(model, "multiset", f"sghc_{code}") for language, code in languages.items()}
        rejected = {language: set(runs.rejected.get(run, ())) for language, run in found.items()}
        answers = [runs.answers[found[case["language"]]].get(case["c_id"], MISSING) for case in cases]
        systems[model] = [REJECTED if case["c_id"] in rejected[case["language"]] else one for case, one in zip(cases, answers, strict=True)]
    columns = {name: [case[name] for case in cases] for name in ("language", "functionality", "target", "protected_group", "cluster")}
    return systems, read_gold([case["label"] for case in cases]), columns


def test_the_released_mistral_against_seallm(released):
    systems, gold, columns = released
    result = compare(systems["mistral"], systems["seallm"], gold, **columns, allow_partial=True)
    verdicts = {language: entry["verdict"] for language, entry in result["language"].items()}
    assert verdicts == {"singlish": "worse", "malay": "better", "mandarin": "worse", "tamil": "worse"}
    assert all(entry["p_holm"] < 0.02 for entry in result["language"].values())
    assert result["language"]["malay"]["accuracy"]["difference"] == pytest.approx(0.185, abs=0.001)
    overall = result["overall"]
    assert (overall["n"], overall["n_left_out"], overall["verdict"]) == (10132, 256, "undecided")
    assert overall["accuracy"]["p"] > 0.5
    assert overall["mcnemar"]["p"] < 0.05  # pooled cases taken as independent say otherwise
    assert (overall["mcnemar"]["only_a"], overall["mcnemar"]["only_b"]) == (988, 901)
    assert overall["mcnemar"]["p"] == mcnemar(988, 901)
    assert overall["macro_f1"]["difference_ci"][1] < 0
    assert result["target"]["Muslim"]["verdict"] == "worse"
    assert result["notes"].keys().isdisjoint({f"overall.{rate}.difference_ci" for rate in RATES})


def test_the_released_models_in_order(released):
    systems, gold, columns = released
    result = rank(systems, gold, **columns, allow_partial=True)
    assert [entry["name"] for entry in result["systems"]] == ["mistral", "seallm", "llama", "mbert", "sealion"]
    assert [entry["tied_with_next"] for entry in result["systems"][1:4]] == [False, False, False]
