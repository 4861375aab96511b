"""Shared by the tests: where the released files lie, and a small neutral release of the same layout, made up for the purpose.

The toy release holds sentences about tea and rain under the release's functionality names; every trap of the real files has a row in it.
"""

import csv
import os
import tempfile
from pathlib import Path

import pytest

# before any test imports datasets or evaluate: nothing is fetched, and the user's own cache is left alone
os.environ["HF_HOME"] = tempfile.mkdtemp(prefix="sghc-tests-")
if "PYTEST_XDIST_WORKER" in os.environ:  # as many processes as cores: one thread each, here and in what tests start
    os.environ["OMP_NUM_THREADS"] = "1"
os.environ["HF_HUB_OFFLINE"] = os.environ["HF_EVALUATE_OFFLINE"] = os.environ["HF_DATASETS_DISABLE_PROGRESS_BARS"] = "1"

ROOT = Path(__file__).parents[1]
CASE = ("p_label", "p_value", "p_target", "c_testcase", "t_case_local", "t_function", "t_gold", "t_direction", "t_id")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data sets beside the checkout; tests that need it skip where it is absent."""
    place = Path(os.environ.get("SGHC_DATA", ROOT.parent / "shared" / "data"))
    if not (place / "sghatecheck").is_dir():
        pytest.skip(f"released files absent: no {place}/sghatecheck (set SGHC_DATA to a folder that holds it)")
    return place


@pytest.fixture(scope="session")
def released(shared_data) -> dict:
    """Columns of the released test cases with Mistral-MultiSet's answers; a case without one is missing."""
    from sghatecheck_metric.reading import MISSING
    from sghc.paper.predictions import Run, read_folder
    from sghc.suite import release
    from sghc.suite.sources import official

    test_sets = {"singlish": "sghc_en", "malay": "sghc_ms", "mandarin": "sghc_zh", "tamil": "sghc_ta"}
    experiments = read_folder(shared_data / "sghatecheck" / "experiments")
    suite = official(release.local_copy(shared_data / "sghatecheck"))
    keys = {
        "gold": "label",
        "language": "language",
        "functionality": "functionality",
        "target": "target",
        "template": "template_id",
        "cluster": "cluster",
    }
    columns = {"answers": []} | {name: [] for name in keys}
    for language, test_set in test_sets.items():
        table, answers = suite.tables[language, "test"], experiments.answers[Run("mistral", "multiset", test_set)]
        columns["answers"] += [answers.get(c_id, MISSING) for c_id in table["c_id"].to_pylist()]
        for name, key in keys.items():
            columns[name] += table[key].to_pylist()
    return columns


@pytest.fixture(scope="session")
def starter(tmp_path_factory) -> Path:
    """The starter suite, built."""
    from sghc.suite import folder
    from sghc.suite.sources import STARTER, card_of, from_templates

    suite, out = from_templates(STARTER, "starter"), tmp_path_factory.mktemp("starter") / "starter"
    folder.write(suite, card_of(suite, "starter"), out)
    return out


@pytest.fixture(scope="session")
def suite(tmp_path_factory) -> Path:
    """What leaderboards are tested with: two small languages."""
    from boards import make_suite

    return make_suite(tmp_path_factory.mktemp("board"))


@pytest.fixture(scope="session")
def ground(suite):
    from sghc.leaderboard.ground import open_ground

    return open_ground(suite)


@pytest.fixture
def toy(tmp_path) -> "ToyRelease":
    return ToyRelease(tmp_path / "release")


class ToyRelease:
    """Four languages of a made-up release. Tests change `cases` and `annotations` (by language code), then `write()` gives the folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.cases = {code: [] for code in ("ss", "ms", "zh", "ta")}
        self.annotations = {code: [] for code in self.cases}
        self.columns = {}  # a file's columns, where a test wants others than those of its first row
        for code in self.cases:
            self.add(code, 1, "{ID} like tea", "derog_neg_emote_h", values=["bakers", "tailors"], votes=("hateful",) * 3)
            self.add(code, 2, "It rains", "profanity_nh", votes=("non-hateful",) * 3)

    def add(self, code, t_id, template, functionality, values=(), votes=None, label="{ID}", targets=("Women", "seniors"), **changes):
        """Adds the cases of one template, and their annotations where there are votes."""
        hateful = functionality.endswith("_h")
        for target, value in zip(targets, values, strict=False) if values else [("", "")]:
            row = dict.fromkeys(CASE, "")
            row |= {"p_label": label if values else "", "p_value": value, "p_target": target, "t_case_local": template}
            row |= {"c_testcase": template.replace(label, value) if values else template, "t_function": functionality, "t_id": str(t_id)}
            row |= {"t_gold": "hateful" if hateful else "non-hateful", "t_direction": "general" if hateful else "-"} | changes
            self.cases[code].append(row)
            if votes:
                self.annotate(code, row, votes)

    def annotate(self, code, row, votes, **changes):
        annotators = (1, 3) if code == "ta" else (1, 2, 3)
        given = {f"annotator_{name}": vote for name, vote in zip(annotators, votes, strict=False)}
        common = {"c_id": str(len(self.annotations[code])), "annotation_selected": votes[0]}
        self.annotations[code].append({**row, **given, **common, **changes})

    def write(self) -> Path:
        for code in self.cases:
            self.write_file(f"testcases/{code}_testcases_all.csv", self.cases[code])
            self.write_file(f"annotations/{code}_annotations.csv", self.annotations[code])
        return self.folder

    def write_file(self, name: str, rows: list[dict]) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, self.columns.get(name, list(rows[0])), lineterminator="\n", extrasaction="ignore", restval="7")
            writer.writeheader()
            writer.writerows(rows)
