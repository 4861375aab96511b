"""Intervals: each formula against a library or arithmetic by hand, coverage by simulation, and what happens where there is nothing to draw."""

import json
import math

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.proportion import proportion_confint

from sghatecheck_metric import resampling
from sghatecheck_metric.counting import measure
from sghatecheck_metric.intervals import BOUNDED
from sghatecheck_metric.resampling import FEW, draw, effective, make_units, of_mean, percentiles, replicate, student, wilson
from sghatecheck_metric.scoring import REJECTED, flatten, read_gold, score


def clustered(seed=0, strata=9, clusters=12, size=8, rho=0.3, language="malay"):
    """Columns of a made-up suite: beta-binomial clusters in strata of one gold label, cluster sizes from 1 to `size`."""
    rng = np.random.default_rng(seed)
    columns = {name: [] for name in ("answer", "gold", "language", "functionality", "cluster", "target")}
    for stratum in range(strata):
        p = rng.uniform(0.2, 0.9)
        for cluster in range(clusters):
            q = rng.beta(p * (1 / rho - 1), (1 - p) * (1 / rho - 1))
            n = rng.integers(1, size + 1)
            gold = int(stratum % 3 != 2)
            right = rng.random(n) < q
            columns["answer"] += np.where(right, gold, 1 - gold).tolist()
            columns["gold"] += [gold] * n
            columns["language"] += [language] * n
            columns["functionality"] += [f"test {stratum}"] * n
            columns["cluster"] += [f"{language}-{stratum}-{cluster}"] * n
            columns["target"] += [f"group {one}" for one in rng.integers(0, 3, n)]
    return columns


def joined(*tables):
    return {name: [value for table in tables for value in table[name]] for name in tables[0]}


def scored(columns, **options):
    columns = dict(columns)
    return score(np.array(columns.pop("answer"), np.int8), read_gold(columns.pop("gold")), **columns, **options)


# --- the parts ---


def test_weights_keep_each_strata_total_and_give_the_unbiased_variance():
    stratum = np.repeat([0, 1, 2], [1, 2, 5])
    weights = draw(stratum, 20_000, np.random.default_rng(1))
    for code, size in ((0, 1), (1, 2), (2, 5)):
        np.testing.assert_allclose(weights[:, stratum == code].sum(axis=1), size, rtol=1e-6)
    assert (weights[:, 0] == 1).all()  # a single cluster is kept
    values = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
    means = weights[:, stratum == 2] @ values / 5
    assert means.mean() == pytest.approx(values.mean(), abs=0.02)
    assert means.var() == pytest.approx(values.var(ddof=1) / 5, rel=0.03)


def test_units_are_clusters_within_strata_whatever_the_order_of_rows():
    names = (["b", "a"], ["y", "x", "z"])
    units = make_units(5, [(np.array([0, 1, 1, 0, 1]), names[0])], (np.array([0, 1, 1, 0, 2]), names[1]))
    assert units.of_case.tolist() == [2, 0, 0, 2, 1]  # a-x, a-z, b-y
    assert units.stratum.tolist() == [0, 0, 1]
    assert make_units(3, [], None).of_case.tolist() == [0, 1, 2]
    assert len(make_units(0, [], None).stratum) == 0


def test_replicates_are_weights_times_counts_in_chunks_too(monkeypatch):
    rng = np.random.default_rng(2)
    counts, stratum = rng.integers(0, 9, (7, 4, 2)), np.repeat([0, 1], [3, 4])
    blocks = [(np.arange(3), np.array([0, 2])), (np.arange(3, 7), np.array([1, 3]))]
    counts[3:, [0, 2]] = counts[:3, [1, 3]] = 0
    monkeypatch.setattr(resampling, "CHUNK", 7 * 300)
    found = replicate(counts, blocks, stratum, 1000, 3)
    generator = np.random.default_rng(3)
    weights = np.concatenate([draw(stratum, n, generator) for n in (300, 300, 300, 100)])
    np.testing.assert_allclose(found, np.einsum("bk,ksf->bsf", weights, counts), rtol=1e-5)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_percentiles_are_numpys_quantiles(confidence):
    values = np.random.default_rng(4).normal(size=(501, 3))
    tails = ((1 - confidence) / 2, (1 + confidence) / 2)
    np.testing.assert_allclose(percentiles(values, confidence), np.quantile(values, tails, axis=0), atol=1e-12)
    values[::50, 1] = np.nan  # 2 % undefined: the others decide
    values[::10, 2] = np.nan  # 10 %: none
    found = percentiles(values, confidence)
    np.testing.assert_allclose(found[:, 1], np.nanquantile(values[:, 1], tails), atol=1e-12)
    assert np.isnan(found[:, 2]).all()
    assert np.isnan(percentiles(np.ones((100, 1)), confidence)).all()  # never of zero width


@pytest.mark.parametrize(("right", "n"), [(0, 1), (0, 10), (3, 10), (10, 10), (417, 1000)])
def test_wilson_is_statsmodels(right, n):
    for confidence in (0.9, 0.95):
        expected = proportion_confint(right, n, alpha=1 - confidence, method="wilson")
        np.testing.assert_allclose(wilson(right / n, n, confidence), expected, atol=1e-12)


def test_students_quantile_is_scipys():
    df = np.array([1, 2, 3, 4, 5, 9, 29, 240, 10_000])
    for confidence in (0.9, 0.95, 0.99):
        np.testing.assert_allclose(student(df, confidence), scipy.stats.t.ppf((1 + confidence) / 2, df), rtol=0.004 if confidence < 0.99 else 0.02)


def test_the_effective_number_of_cases_by_hand():
    # .2 (1 - .2) / .01 = 16 cases, times (1.960 / 2.262)^2 = .7507 for 9 degrees of freedom; at most n; n where nothing varies
    found = effective(np.array([0.2, 0.2, 0.5]), np.array([0.01, 0.0001, 0.0]), np.array([100, 40, 7]), np.array([9, 9, 9]), 0.95)
    np.testing.assert_allclose(found, [16 * 0.7507, 40 * 0.7507, 7 * 0.7507], rtol=2e-3)


def test_a_mean_of_intervals_by_hand():
    # values .5 and .9 with [.3, .6] and [.8, .95]: .7 - sqrt(.2^2 + .1^2) / 2 = .588, .7 + sqrt(.1^2 + .05^2) / 2 = .756
    np.testing.assert_allclose(of_mean(np.array([0.5, 0.9]), np.array([[0.3, 0.8], [0.6, 0.95]])), [0.588197, 0.755902], atol=1e-6)


# --- the whole, against other people's formulas ---


def errors(result):
    """Standard errors that the percentile limits stand for, were the replicates normal."""
    z = 2 * scipy.stats.norm.ppf(0.975)
    return {
        path.removesuffix("_ci.high"): (high - flat[path.replace("high", "low")]) / z
        for flat in [flatten(result)]
        for path, high in flat.items()
        if path.endswith(".high")
    }


def linearised(columns, stratified=True):
    """The textbook variance of a ratio over stratified clusters (Taylor linearisation)."""
    right = np.array(columns["answer"]) == np.array(columns["gold"])
    keys = list(zip(columns["functionality"] if stratified else [""] * len(right), columns["cluster"], strict=True))
    scores, n = {}, len(right)
    for key, one in zip(keys, right - right.mean(), strict=True):
        scores[key] = scores.get(key, 0) + one / n
    variance = 0
    for stratum in {key[0] for key in scores}:
        own = np.array([value for key, value in scores.items() if key[0] == stratum])
        variance += len(own) * own.var(ddof=1)
    return math.sqrt(variance)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_error_is_the_analytic_stratified_cluster_error(seed):
    columns = clustered(seed, strata=20, clusters=10)
    assert errors(scored(columns, n_resamples=20_000))["overall.accuracy"] == pytest.approx(linearised(columns), rel=0.05)
    assert errors(scored(columns, n_resamples=20_000, stratify=False))["overall.accuracy"] == pytest.approx(linearised(columns, False), rel=0.05)


def test_without_strata_the_error_is_inspect_ais():
    from inspect_ai.scorer import SampleScore, Score, stderr

    columns = clustered(5, strata=20, clusters=10)
    rows = zip(columns["answer"], columns["gold"], columns["cluster"], strict=True)
    samples = [SampleScore(score=Score(value=float(answer == gold)), sample_metadata={"cluster": cluster}) for answer, gold, cluster in rows]
    expected = stderr(cluster="cluster")(samples)
    assert errors(scored(columns, n_resamples=20_000, stratify=False))["overall.accuracy"] == pytest.approx(expected, rel=0.05)


def test_a_mean_over_languages_is_resampled_as_a_mean():
    tables = [clustered(seed, strata=20, clusters=n, language=name) for seed, (name, n) in enumerate((("malay", 4), ("tamil", 15)))]
    result = scored(joined(*tables), n_resamples=20_000)
    own = [linearised(one) for one in tables]
    assert errors(result)["overall.accuracy"] == pytest.approx(math.hypot(*own) / 2, rel=0.05)
    assert result["overall"]["accuracy"] == pytest.approx(sum(one["accuracy"] for one in result["language"].values()) / 2)


def test_the_order_of_the_rows_and_the_seed():
    columns = joined(clustered(1), clustered(2, language="tamil"))
    order = np.random.default_rng(0).permutation(len(columns["gold"]))
    shuffled = {name: [values[row] for row in order] for name, values in columns.items()}
    plain = flatten(scored(columns))
    again = flatten(scored(shuffled))
    assert {path: pytest.approx(value, abs=2e-6) for path, value in plain.items()} == again  # float32 sums in another order
    assert scored(columns) == scored(columns)
    other = flatten(scored(columns, seed=1))
    assert other["overall.accuracy_ci.low"] != plain["overall.accuracy_ci.low"]
    assert other["overall.accuracy"] == plain["overall.accuracy"]


# --- coverage, by simulation ---


def simulate(strata, clusters, size=10, datasets=2000, rho=0.4, seed=0):
    """Many data sets of one design as slices of one layout: (resampled counts, counts, the population's counts)."""
    rng = np.random.default_rng(seed)
    gold = (np.arange(strata) % 3 != 2).astype(int)
    p = rng.beta(2, 1.2, strata)
    spread = 1 / rho - 1
    each = np.repeat(np.arange(strata), clusters)
    right = rng.binomial(size, rng.beta(p[each, None] * spread, (1 - p[each, None]) * spread, (len(each), datasets)))
    counts, truth = np.zeros((len(each), datasets, 2, 4), np.int32), np.zeros((2, 4))
    for unit, label in enumerate(gold[each]):
        counts[unit, :, label, label], counts[unit, :, label, 1 - label] = right[unit], size - right[unit]
    for stratum, label in enumerate(gold):
        truth[label, [label, 1 - label]] += p[stratum], 1 - p[stratum]
    return replicate(counts, [(np.arange(len(each)), np.arange(datasets))], each, 1000, 1), counts.sum(axis=0), truth


def test_intervals_cover_what_they_promise_and_naive_ones_do_not():
    drawn, counts, truth = simulate(strata=27, clusters=10)
    replicates, values, true = measure(drawn, "wrong"), measure(counts, "wrong"), measure(truth, "wrong")
    for rate in ("accuracy", "macro_f1"):
        low, high = percentiles(replicates[rate], 0.95)
        assert 0.92 < ((low <= true[rate]) & (true[rate] <= high)).mean() < 0.97
    n = counts[0].sum()
    naive = 1.96 * np.sqrt(values["accuracy"] * (1 - values["accuracy"]) / n)
    assert (abs(values["accuracy"] - true["accuracy"]) <= naive).mean() < 0.8


def test_from_few_clusters_wilson_over_effective_cases_covers_where_percentiles_do_not():
    covered = {"percentiles": [], "wilson": []}
    for seed in range(4):
        drawn, counts, truth = simulate(strata=1, clusters=10, size=13, seed=seed)
        right, drawn_right = (measure(one, "wrong")["accuracy"] for one in (counts, drawn))
        true = measure(truth, "wrong")["accuracy"]
        size = effective(right, drawn_right.var(axis=0), np.full(len(right), 130), np.full(len(right), 9), 0.95)
        for name, (low, high) in (("percentiles", percentiles(drawn_right, 0.95)), ("wilson", wilson(right, size, 0.95))):
            covered[name].append(((low <= true) & (true <= high)).mean())
    assert np.mean(covered["percentiles"]) < 0.915
    assert 0.925 < min(covered["wilson"]) <= max(covered["wilson"]) < 0.98


# --- where resampling has nothing to say ---


def intervals(result):
    """(path, value, interval) of each rate that has an interval."""
    for part, values in result.items():
        if part not in ("notes", "signature"):
            entries = {part: values} if part in ("overall", "shared") else {f"{part}.{name}": one for name, one in values.items()}
            for path, entry in entries.items():
                for name, limits in entry.items():
                    if name.endswith("_ci"):
                        yield f"{path}.{name}", entry[name.removesuffix("_ci")], limits


def check(result):
    """Every interval has a width and its value inside; every value without one a reason; and all of it is JSON."""
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    for path, value, limits in intervals(result):
        if limits is None:
            assert path in result["notes"]
        else:
            assert 0 <= limits[0] < limits[1] <= 1
            assert limits[0] - 1e-6 <= value <= limits[1] + 1e-6
    return result


def test_a_functionality_of_few_clusters_has_wilsons_interval_and_says_so():
    columns = clustered(strata=3, clusters=10)
    result = check(scored(columns))
    entry = result["functionality"]["test 0"]
    note = result["notes"]["functionality.test 0.accuracy_ci"]
    assert "in 10 clusters" in note
    size = float(note.split("effective ")[1].split()[0])
    np.testing.assert_allclose(entry["accuracy_ci"], wilson(entry["accuracy"], size, 0.95), atol=0.01)  # the note rounds the size
    many = check(scored(clustered(strata=1, clusters=FEW + 1)))
    assert "functionality.test 0.accuracy_ci" not in many["notes"]


@pytest.mark.parametrize("answer", [0, 1, REJECTED])
def test_constant_answers(answer):
    columns = joined(clustered(1, clusters=4), clustered(2, language="tamil"))
    columns["answer"] = [answer] * len(columns["gold"])
    result = check(scored(columns))
    n = result["language"]["malay"]["n_clusters"]
    hateful = result["language"]["malay"]["accuracy_hateful_ci"]
    assert hateful == pytest.approx(wilson(float(answer == 1), n * 2 // 3, 0.95).tolist())
    assert f"over {n * 2 // 3} clusters" in result["notes"]["language.malay.accuracy_hateful_ci"]
    assert "not all are of the bootstrap" in result["notes"]["overall.accuracy_hateful_ci"]


def test_all_answers_right():
    columns = clustered(strata=4, clusters=10)
    columns["answer"] = columns["gold"]
    result = check(scored(columns))
    assert result["overall"]["accuracy_ci"] == pytest.approx(wilson(1.0, 40, 0.95).tolist())
    assert result["overall"]["macro_f1_ci"] is None
    assert "do not vary" in result["notes"]["overall.macro_f1_ci"]


@pytest.mark.parametrize("ci", ["bootstrap", "wilson"])
@pytest.mark.parametrize("absent", [(), ("cluster",), ("language",), ("functionality",), ("language", "functionality", "target", "cluster")])
def test_small_and_partial_tables(ci, absent):
    full = clustered(strata=3, clusters=2, size=3)
    for n in (1, 2, len(full["gold"])):
        columns = {name: values[:n] for name, values in full.items() if name not in absent}
        check(scored(columns, ci=ci))


def test_no_case_at_all():
    result = check(score([], []))
    assert result["overall"]["accuracy_ci"] is None
    assert result["notes"]["overall.accuracy_ci"] == "no case"


def test_the_signature_names_the_method():
    columns = clustered(strata=3, clusters=4)
    assert scored(columns)["signature"].endswith("|ci:cluster-bootstrap-2000|seed:12345")
    assert scored(columns, n_resamples=500, seed=7, confidence=0.9)["signature"].endswith("|ci:cluster-bootstrap-500|seed:7|confidence:0.9")
    assert scored(columns, ci="wilson")["signature"].endswith("|ci:wilson")
    assert "accuracy_ci" not in scored(columns, ci="none")["overall"]


def test_wilson_alone_gives_no_f1_interval():
    result = check(scored(clustered(), ci="wilson"))
    assert result["overall"]["accuracy_ci"] == pytest.approx(wilson(result["overall"]["accuracy"], 108, 0.95).tolist())
    assert result["notes"]["overall.macro_f1_ci"] == "ci='wilson' is for proportions"


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"ci": "jackknife"}, "ci: expected one of bootstrap, wilson, none"),
        ({"n_resamples": 0}, "n_resamples: expected a whole number of at least 100"),
        ({"n_resamples": 99.5}, "n_resamples"),
        ({"confidence": 95}, "confidence: expected a share"),
        ({"confidence": 1.0}, "confidence"),
        ({"seed": -1}, "seed"),
        ({"seed": None}, "seed"),
    ],
)
def test_faulty_options(options, match):
    with pytest.raises(ValueError, match=match):
        score([1, 0], [1, 0], **options)


# --- contrasts ---


def test_contrasts_by_hand():
    names = ["profanity_h"] * 4 + ["profanity_nh"] * 2 + ["negate_pos_h"] * 2
    result = score([1, 1, 1, 0, 0, 1, 1, 1], [1, 1, 1, 1, 0, 0, 1, 1], functionality=names, cluster=list("abcdefgh"), ci="none")
    # profanity: 3 of 4 found, 1 of 2 left alone; negation has no harmless side
    assert result["contrast"] == {"profanity": {"n": 6, "balanced_accuracy": 0.625, "accuracy_hateful": 0.75, "accuracy_non_hateful": 0.5}}


@pytest.mark.parametrize("answer", [0, 1])
def test_whoever_always_says_the_same_looks_good_in_no_contrast(answer):
    sides = {
        "profanity_h": 1,
        "profanity_nh": 0,
        "negate_pos_h": 1,
        "negate_neg_nh": 0,
        "derog_impl_h": 1,
        "ident_pos_nh": 0,
        "counter_ref_nh": 0,
        "target_obj_nh": 0,
    }
    rows = [(language, name, gold, f"{name}-{n}") for language in ("malay", "tamil") for name, gold in sides.items() for n in range(9)]
    language, names, gold, cluster = (list(column) for column in zip(*rows, strict=True))
    result = check(score([answer] * len(gold), gold, language=language, functionality=names, cluster=cluster))
    spoken = {
        f"{prefix}{name}"
        for prefix in ("", "malay/", "tamil/")
        for name in ("profanity", "negation", "identity_mention", "counter_speech", "abuse_of_others")
    }
    assert set(result["contrast"]) == spoken
    for entry in result["contrast"].values():
        assert entry["balanced_accuracy"] == 0.5
        assert entry["balanced_accuracy_ci"][0] < 0.5 < entry["balanced_accuracy_ci"][1]


def test_a_language_without_one_side_has_no_part_in_the_mean():
    rows = [("malay", "profanity_h", 1), ("malay", "profanity_nh", 0), ("tamil", "profanity_h", 1)]
    language, names, gold = (list(column) for column in zip(*rows, strict=True))
    result = score([1, 1, 0], gold, language=language, functionality=names, ci="none")
    assert list(result["contrast"]) == ["profanity", "malay/profanity"]
    assert result["contrast"]["profanity"]["balanced_accuracy"] == 0.5


# --- the released runs ---


def test_intervals_of_the_released_runs(shared_data):
    from sghc.paper.predictions import Run, read_folder
    from sghc.suite import release
    from sghc.suite.sources import official

    suite = official(release.local_copy(shared_data / "sghatecheck"))
    found = read_folder(shared_data / "sghatecheck" / "experiments")
    expected = {"singlish": (0.764, 0.836), "malay": (0.555, 0.663), "mandarin": (0.783, 0.876), "tamil": (0.361, 0.475)}
    for (language, limits), code in zip(expected.items(), ("sghc_en", "sghc_ms", "sghc_zh", "sghc_ta"), strict=True):
        answers = found.answers[Run("mistral", "multiset", code)]
        rows = [row for row in suite.tables[language, "test"].to_pylist() if row["c_id"] in answers]
        columns = {name: [row[name] for row in rows] for name in ("functionality", "cluster")}
        given = [answers[row["c_id"]] for row in rows], [row["label"] for row in rows]
        flat = score(*map(np.array, given), **columns, stratify=False)["overall"]["accuracy_ci"]
        assert flat == pytest.approx(limits, abs=0.006)
        strata = score(*map(np.array, given), **columns)["overall"]["accuracy_ci"]
        assert strata[1] - strata[0] < flat[1] - flat[0]
    assert set(BOUNDED) == {"accuracy", "accuracy_hateful", "accuracy_non_hateful", "macro_f1"}
