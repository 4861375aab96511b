"""How far naive standard errors are off on the released runs: the clustered error of accuracy over the naive one, with strata and without.

python benchmarks/cluster_errors.py path/to/SGHateCheck      (a copy of the released repository, with experiments/)
"""

import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # a checkout runs without an install
from sghatecheck_metric.counting import Level, count, lay_out
from sghatecheck_metric.intervals import Design, estimate
from sghatecheck_metric.reading import code_column
from sghatecheck_metric.resampling import make_units
from sghc.paper.predictions import read_folder
from sghc.paper.scores import MODELS, SETS
from sghc.suite import release
from sghc.suite.catalogue import LANGUAGES


def clustered_error(answers, gold, rows, stratified: bool) -> float:
    """The standard deviation of the replicates of accuracy."""
    columns = {name: code_column([row[name] for row in rows], name, len(rows)) for name in ("functionality", "cluster")}
    units = make_units(len(rows), [columns["functionality"]] if stratified else [], columns["cluster"])
    everything = np.zeros(len(rows), np.int64)
    layout = lay_out([Level("overall", everything, [None])], everything, [None])
    counts = count(layout, answers, gold)
    found = estimate(layout, counts, answers, gold, "wrong", Design("bootstrap", 4000, 0.95, 12345, units))
    return float(found.drawn_within["accuracy"][:, 0].std(dtype=float))


def main(source: Path) -> None:
    files, experiments = release.local_copy(source), read_folder(source / "experiments")
    print(f"{'run':18} {'language':9} {'cases':>5} {'clusters':>8} {'accuracy':>8} {'naive':>6} {'over naive: clustered':>22} {'stratified too':>15}")
    for test_set, name in SETS.items():
        rows = [row for row in release.read_language(LANGUAGES[name], files, Counter())[2] if row["status"] == "retained"]
        for run, given in experiments.answers.items():
            if run.test_set != test_set or run.model not in MODELS:
                continue
            answered = [row for row in rows if row["c_id"] in given]
            answers, gold = np.array([given[row["c_id"]] for row in answered], np.int8), np.array([row["label"] for row in answered], np.int8)
            right = (answers == gold).mean()
            naive = np.sqrt(right * (1 - right) / len(gold))
            plain, strata = (clustered_error(answers, gold, answered, stratified) for stratified in (False, True))
            clusters = len({row["cluster"] for row in answered})
            title = f"{run.model}-{run.training}"
            print(f"{title:18} {name:9} {len(gold):5,} {clusters:8} {right:8.3f} {naive:6.4f} {plain / naive:22.2f} {strata / naive:15.2f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
