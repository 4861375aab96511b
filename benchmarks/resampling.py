"""Every interval of 10,388 cases on one core: the metric's one matrix product against scipy.stats.bootstrap called for each breakdown.

    python benchmarks/resampling.py

The cases are synthetic and shaped like the suite's `test` split (see scoring.py beside this). scipy draws the same clusters in the same
strata: one sample of cluster indices a stratum, a vectorised statistic of counts summed beforehand (not timed), percentile method, 2,000
resamples. Three estimators: accuracy in each language, and in each functionality and target of a language; macro F1 in each language and target
of a language; and the gap between the two targets of a language whose hate is missed most and least.
`--coverage` prints how often intervals hold the truth, by simulation, for designs with many and few clusters.
"""

import os
import resource
import statistics
import sys
import time
from pathlib import Path

for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"  # before numpy is imported

import numpy as np
import scipy.stats

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # a checkout runs without an install
import scoring as cases_benchmark

from sghatecheck_metric.counting import measure
from sghatecheck_metric.intervals import EDGE, FEW_ERRORS
from sghatecheck_metric.resampling import FEW, effective, percentiles, replicate, wilson
from sghatecheck_metric.scoring import read_answers, read_gold, score

SIZES = {"singlish": 2933, "malay": 2207, "mandarin": 2772, "tamil": 2476}  # 10,388 cases
RESAMPLES = 2000


def make_cases() -> tuple[np.ndarray, np.ndarray, dict]:
    cases_benchmark.SIZES = SIZES
    cases = cases_benchmark.make_cases()
    cases["cluster"] = [
        f"{name}-{int(one.split('-')[1]) % 10}" for name, one in zip(cases["functionality"], cases["cluster"], strict=True)
    ]  # ten a test
    return read_answers(cases.pop("output")), read_gold(cases.pop("label")), cases


def time_of(run, times: int) -> tuple[float, object]:
    """(median seconds, the last outcome)."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        found = run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), found


# --- scipy, one call for each breakdown ---


def sums_by_cluster(answers, gold, strata, clusters, rows) -> tuple[np.ndarray, list[np.ndarray]]:
    """Counts (K, 2, 3) of a slice's clusters by gold label and answer (the last rejected), and the clusters of each stratum."""
    keys = sorted({(strata[row], clusters[row]) for row in rows})
    place = {key: number for number, key in enumerate(keys)}
    sums = np.zeros((len(keys), 2, 3))
    for row in rows:
        sums[place[strata[row], clusters[row]], gold[row], answers[row]] += 1
    names = sorted({stratum for stratum, _ in keys})
    return sums, [np.array([place[key] for key in keys if key[0] == name]) for name in names]


def accuracy(total):
    return (total[..., 0, 0] + total[..., 1, 1]) / total.sum(axis=(-2, -1))


def macro_f1(total):
    def f1(label):
        return 2 * total[..., label, label] / (total[..., :, label].sum(axis=-1) + total[..., label, :].sum(axis=-1))

    return (f1(0) + f1(1)) / 2


def job(sums, strata, statistic):
    """What scipy.stats.bootstrap is called with; None where no stratum has the two observations that it wants (the metric keeps single ones)."""

    def of_indices(*indices, axis):
        return statistic(sum(sums[one].sum(axis=one.ndim - 1) for one in indices))

    strata = [one for one in strata if len(one) > 1]
    return (strata, of_indices) if strata else None


def jobs(answers, gold, cases) -> list[tuple]:
    """One for each interval of the three estimators."""
    language, found = np.array(cases["language"]), []
    strata = list(zip(cases["language"], cases["functionality"], strict=True))
    for name in SIZES:
        own = np.flatnonzero(language == name)
        slices = {("language", name): own}
        for column in ("functionality", "target"):
            for row in own:
                if cases[column][row] is not None:
                    slices.setdefault((column, cases[column][row]), []).append(row)
        for (column, _), rows in slices.items():
            sums, clusters = sums_by_cluster(answers, gold, strata, cases["cluster"], rows)
            found += [job(sums, clusters, statistic) for statistic in ((accuracy,) if column == "functionality" else (accuracy, macro_f1))]
        found.append(gap(answers, gold, cases, strata, own))
    return [one for one in found if one]


def gap(answers, gold, cases, strata, own) -> tuple | None:
    """The difference between the miss rates of two targets of one language: those that are missed most and least."""
    rows = [row for row in own if cases["target"][row] is not None and gold[row] == 1]
    names = sorted({cases["target"][row] for row in rows})
    clusters = [(strata[row], cases["cluster"][row]) for row in rows]
    place = {key: number for number, key in enumerate(sorted(set(clusters)))}
    sums = np.zeros((len(place), len(names), 2))
    for row, key in zip(rows, clusters, strict=True):
        sums[place[key], names.index(cases["target"][row]), int(answers[row] == 1)] += 1
    rates = sums[..., 0].sum(axis=0) / sums.sum(axis=(0, 2))
    pair = sums[:, [rates.argmax(), rates.argmin()]]
    by_stratum = [np.array([number for key, number in place.items() if key[0] == one]) for one in sorted({key[0] for key in place})]
    return job(pair, by_stratum, lambda total: np.diff(total[..., 0] / total.sum(axis=-1), axis=-1)[..., 0])


def with_scipy(wanted: list[tuple]) -> None:
    for strata, statistic in wanted:
        scipy.stats.bootstrap(strata, statistic, n_resamples=RESAMPLES, method="percentile", vectorized=True, axis=-1, rng=1)


# --- coverage ---


def coverage() -> None:
    print("strata clusters share |  percentiles  as reported  Wilson, clusters  naive   (share of 4,000 95 % intervals that hold the truth)")
    for strata, clusters, share in (
        (27, 10, None),
        (27, 4, None),
        *((27, 10, share) for share in (0.9, 0.95, 0.98, 0.99, 0.995, 0.998)),
        *((5, 10, share) for share in (0.9, 0.95, 0.98, 0.99)),
        *((1, clusters, share) for clusters in (4, 6, 10, 15, 20, 30) for share in (0.5, 0.8, 0.95)),
    ):
        rng = np.random.default_rng(0)
        p = rng.beta(2, 1.2, strata) if share is None else np.full(strata, share)
        each, size, datasets, spread = np.repeat(np.arange(strata), clusters), 12, 4000, 1.5  # intra-cluster correlation .4
        right = rng.binomial(size, rng.beta(p[each, None] * spread, (1 - p[each, None]) * spread, (len(each), datasets)))
        counts = np.zeros((len(each), datasets, 2, 4), np.int32)
        counts[..., 1, 1], counts[..., 1, 0] = right, size - right
        drawn = measure(replicate(counts, [(np.arange(len(each)), np.arange(datasets))], each, 1000, 1), "wrong")["accuracy"]
        found, n, truth = right.sum(axis=0) / (size * len(each)), np.full(datasets, size * len(each)), p.mean()
        plain = wilson(found, np.full(datasets, len(each)), 0.95)
        df, lone = len(each) - strata, np.minimum((right > 0).sum(axis=0), (right < size).sum(axis=0))
        effective_n = effective(found, drawn.var(axis=0, dtype=float), n, np.full(datasets, df), 0.95)
        effective_n = np.where(lone < FEW_ERRORS, np.minimum(effective_n, len(each)), effective_n)
        few = (df < FEW) | (lone < FEW_ERRORS) | (len(each) * np.minimum(found, 1 - found) < EDGE)  # as intervals.limits_within decides
        fixed = drawn.var(axis=0) < 1e-10
        half = 1.96 * np.sqrt(found * (1 - found) / n)
        by_percentiles = np.where(fixed, plain, percentiles(drawn, 0.95))
        reported = np.where(few & ~fixed, wilson(found, effective_n, 0.95), by_percentiles)
        intervals = (by_percentiles, reported, plain, np.stack([found - half, found + half]))
        shares = [f"{((one[0] <= truth) & (truth <= one[1])).mean():.3f}" for one in intervals]
        print(f"{strata:6} {clusters:8} {p.mean():5.3f} |  {shares[0]:>11}  {shares[1]:>11}  {shares[2]:>16}  {shares[3]:>5}")


def main() -> None:
    if "--coverage" in sys.argv:
        return coverage()
    answers, gold, cases = make_cases()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ours, result = time_of(lambda: score(answers, gold, **cases), 7)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bare, _ = time_of(lambda: score(answers, gold, ci="none", **cases), 7)
    made = sum(
        field.endswith("_ci")
        for part in result.values()
        if isinstance(part, dict)
        for entry in part.values()
        if isinstance(entry, dict)
        for field in entry
    )
    wanted = jobs(answers, gold, cases)
    theirs, _ = time_of(lambda: with_scipy(wanted), 3)
    print(f"{len(gold):,} cases, {RESAMPLES:,} replicates, one core")
    print(f"score with every interval ({made:,} fields)      {ours * 1000:9.0f} ms   (aim: under 500 ms)")
    print(f"score without intervals                     {bare * 1000:9.0f} ms")
    print(f"peak memory of the process                  {memory / 1024:9.0f} MiB  ({(memory - before) / 1024:.0f} by score; aim: under 500 MB)")
    print(f"scipy.stats.bootstrap, {len(wanted)} calls            {theirs * 1000:9.0f} ms")
    print(f"ratio                                       {theirs / ours:9.0f} x    (aim: 10 x)")


if __name__ == "__main__":
    main()
