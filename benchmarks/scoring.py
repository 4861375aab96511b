"""Every breakdown of 21,141 cases: the metric's scoring against pandas groupby with scikit-learn, in one process, on the same answers.

    python benchmarks/scoring.py

The cases are synthetic and shaped like the suite (4 languages, 22 to 27 functionalities each, 14 targets, clusters of a few templates); 2 %
of the answers are rejected. `score` is timed from Python lists of strings, coding of the columns included; reading the predictions is
timed apart. The other side gets a ready DataFrame, building it is not timed. Both must agree to 1e-12 before a time is printed.
"""

import statistics
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, f1_score

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # a checkout runs without an install
from sghatecheck_metric.scoring import LABELS, REJECTED, read_answers, read_gold, score

SIZES = {"singlish": 7023, "malay": 5367, "mandarin": 5911, "tamil": 2840}
FUNCTIONALITIES = {"singlish": 27, "malay": 22, "mandarin": 25, "tamil": 22}
RATES = ("accuracy", "accuracy_hateful", "accuracy_non_hateful", "macro_f1", "coverage")


def make_cases(seed: int = 0) -> dict[str, list]:
    """Columns of the synthetic cases; a functionality has one gold label, a cluster lies in one functionality, a group in some targets."""
    rng = np.random.default_rng(seed)
    cases = {name: [] for name in ("output", "label", "language", "functionality", "target", "protected_group", "cluster", "template")}
    for language, n in SIZES.items():
        functionality = np.sort(rng.integers(0, FUNCTIONALITIES[language], n))
        gold = (functionality % 3 != 2).astype(int)
        target = rng.integers(-1, 14, n)
        cluster = functionality * 25 + rng.integers(0, 25, n)
        answer = np.where(rng.random(n) < 0.7, gold, 1 - gold)
        rejected = rng.random(n) < 0.02
        cases["output"] += ["cannot say" if bad else f"the label is {a}" for bad, a in zip(rejected, answer, strict=True)]
        cases["label"] += gold.tolist()
        cases["language"] += [language] * n
        cases["functionality"] += [f"functionality_{f}_{'h' if g else 'nh'}" for f, g in zip(functionality, gold, strict=True)]
        cases["target"] += [None if t < 0 else f"target {t}" for t in target]
        cases["protected_group"] += [None if t < 0 else f"group {t // 3}" for t in target]
        cases["cluster"] += [f"{language}-{c}" for c in cluster]
        cases["template"] += [f"{language}-{c}-{t}" for c, t in zip(cluster, rng.integers(0, 2, n), strict=True)]
    return cases


def with_pandas(frame: pd.DataFrame) -> dict:
    """The same result by groupby and scikit-learn: (breakdown, name) -> numbers."""
    result = {("overall", None): _mean(within := _by(frame, ["language"]))}
    result |= {("language", name): row for name, row in within.to_dict("index").items()}
    counts = frame.groupby("functionality")["language"].nunique()
    shared = frame[frame["functionality"].isin(counts.index[counts == frame["language"].nunique()])]
    result["shared", None] = _mean(_by(shared, ["language"]))
    for column in ("functionality", "target", "protected_group"):
        within = _by(frame, ["language", column])
        for name, rows in within.groupby(level=column):
            result[column, name] = _mean(rows)
        if column != "protected_group":
            result |= {(f"language_{column}", "/".join(key)): row for key, row in within.to_dict("index").items()}
    return result


def _by(frame: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame({key if len(columns) > 1 else key[0]: _slice(rows) for key, rows in frame.groupby(columns)}).T.rename_axis(columns)


def _slice(rows: pd.DataFrame) -> dict:
    gold, answer = rows["gold"], rows["answer"]
    hateful, non_hateful = rows[gold == 1], rows[gold == 0]
    return {
        "n": len(rows),
        "n_templates": rows["template"].nunique(),
        "n_clusters": rows["cluster"].nunique(),
        "accuracy": accuracy_score(gold, answer),
        "accuracy_hateful": accuracy_score(hateful["gold"], hateful["answer"]) if len(hateful) else np.nan,
        "accuracy_non_hateful": accuracy_score(non_hateful["gold"], non_hateful["answer"]) if len(non_hateful) else np.nan,
        "macro_f1": f1_score(gold, answer, labels=[0, 1], average="macro") if gold.nunique() == 2 else np.nan,
        "coverage": (answer != REJECTED).mean(),
        "n_rejected": (answer == REJECTED).sum(),
    }


def _mean(within: pd.DataFrame) -> dict:
    return {name: within[name].mean() if name in RATES else within[name].sum() for name in within}


def check_equal(result: dict, expected: dict) -> int:
    """Compares every number to 1e-12 and returns how many there were."""
    compared = 0
    for (breakdown, name), numbers in expected.items():
        entry = result[breakdown] if name is None else result[breakdown][name]
        for field, value in numbers.items():
            found = np.nan if entry[field] is None else entry[field]
            assert np.isclose(found, value, rtol=0, atol=1e-12, equal_nan=True), (breakdown, name, field, found, value)
            compared += 1
    parts = (part for name, part in result.items() if name not in ("overall", "shared", "contrast", "consistency", "bias", "notes", "signature"))
    assert sum(len(part) for part in parts) + 2 == len(expected)
    return compared


def median_time(function, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    cases = make_cases()
    outputs, labels = cases.pop("output"), [LABELS[label] for label in cases.pop("label")]
    answers, gold = read_answers(outputs), read_gold(labels)
    frame = pd.DataFrame({**cases, "gold": gold, "answer": answers})
    compared = check_equal(score(answers, gold, ci="none", **cases), with_pandas(frame))
    ours = median_time(lambda: score(answers, gold, ci="none", **cases), 31)
    reading = median_time(lambda: (read_answers(outputs), read_gold(labels)), 31)
    theirs = median_time(lambda: with_pandas(frame), 3)
    print(f"{len(gold):,} cases, {compared:,} numbers, all equal to 1e-12")
    print(f"score, coding of six string columns included   {ours * 1e3:8.1f} ms   (aim: under 20 ms)")
    print(f"read_answers and read_gold, before it          {reading * 1e3:8.1f} ms")
    print(f"pandas groupby with scikit-learn               {theirs * 1e3:8.1f} ms")
    print(f"ratio                                          {theirs / ours:8.0f} x    (aim: 50 x)")
    print(f"ratio with reading the predictions             {theirs / (ours + reading):8.0f} x")


if __name__ == "__main__":
    main()
