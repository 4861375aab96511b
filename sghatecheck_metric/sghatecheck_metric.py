"""The `evaluate` face of the metric: declares the inputs, brings them into one shape and hands them to scoring.

evaluate types a column by its first row, wants every column and writes each batch to a file before computing. So there is one schema,
strings and an int, and each batch is read (and refused, with its row) before it is stored: predictions as the text of their code, absent
columns as a sentinel. Of a dataset's rows only names and a hash are stored, never a text.
"""

from pathlib import Path

import datasets
import evaluate
import numpy as np

# evaluate copies the modules that lines of this form name, in this file only: what scoring imports must stand here too.
from .bias import SIDES as SIDES
from .consistency import LEAST as LEAST
from .contrasts import CONTRASTS as CONTRASTS
from .counting import RATES as RATES
from .intervals import BOUNDED as BOUNDED
from .matching import LEVEL as LEVEL
from .reading import as_list, case_lines, check_lengths, fingerprint_lines, read_answers, read_gold, shown
from .resampling import FEW as FEW
from .scoring import COLUMNS, check_options, score
from .thresholds import read_scores

_DESCRIPTION = """\
SGHateCheck puts functional tests in Singlish, Malay, Mandarin and Tamil to a hate-speech detector and shows where it is blind: accuracy and
macro F1 overall, per language, per functionality (what a test asks), per target group and per protected group, with coverage beside each
score. Outputs that name neither label are wrong answers by default, never left out silently. Passing shows that no weakness was found, not
that there is none.
"""

_CITATION = """\
@inproceedings{ng-etal-2024-sghatecheck,
    title = "{SGH}ate{C}heck: Functional Tests for Detecting Hate Speech in Low-Resource Languages of {S}ingapore",
    author = "Ng, Ri Chi and Prakash, Nirmalendu and Hee, Ming Shan and Choo, Kenny Tsu Wei and Lee, Roy Ka-Wei",
    booktitle = "Proceedings of the 8th Workshop on Online Abuse and Harms (WOAH 2024)",
    year = "2024",
    eprint = "2405.01842",
    archivePrefix = "arXiv"
}
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: one answer per case: 0/1, a label name ("non-hateful", "hateful"), or model output, read by its last character ("the label
        is 1"). None is a case without an answer.
    references: the gold labels, 0/1 or label names; or rows of the dataset (a `datasets.Dataset` or a list of dicts with `label`), which
        bring their own columns: functionality, target, protected_group, language, cluster and template_id.
    functionality, target, protected_group, language, cluster, template: optional lists of strings; an absent one gives no breakdown. None
        or "" in functionality, target or protected_group is a case that belongs to none.
    scores: optional probabilities of hateful, None where there is none; they give miss rate against false alarms over thresholds.
    invalid (compute only): what an output is that names neither label: "wrong" (default), "drop" (left out) or "error" (refused).
    allow_partial (compute only): leave out cases without an answer instead of refusing them.
    ci, n_resamples, confidence, seed (compute only): intervals by a "bootstrap" (default) over clusters, stratified by language and functionality, by
        "wilson" or "none"; 2,000 replicates, .95 and 12345 by default.

Returns:
    dict: `overall`, `shared`, then `language`, `functionality`, `target`, `protected_group`, `language_functionality`, `language_target`,
    as far as their columns were given: name -> {n, n_templates, n_clusters, accuracy, accuracy_hateful, accuracy_non_hateful, macro_f1,
    coverage, n_rejected, n_missing, and accuracy_ci, accuracy_hateful_ci, accuracy_non_hateful_ci, macro_f1_ci, [low, high]}; `contrast`;
    `thresholds` where there are scores. `notes` says why a number is null or how an interval was made; `signature` says what the score is a score of.

Raises:
    ValueError: naming column, row and, where it is no text, the value.

Examples:

    Four cases of two functionalities; the third answer names no label and counts as wrong.

    >>> import evaluate
    >>> metric = evaluate.load("sghatecheck_metric")
    >>> result = metric.compute(
    ...     predictions=["1", "the label is 0", "cannot say", 0],
    ...     references=["hateful", "hateful", "non-hateful", "non-hateful"],
    ...     functionality=["derog_neg_emote_h", "derog_neg_emote_h", "ident_neutral_nh", "ident_neutral_nh"],
    ... )
    >>> result["overall"]["accuracy"], result["overall"]["coverage"]
    (0.5, 0.75)
    >>> {name: entry["accuracy"] for name, entry in result["functionality"].items()}
    {'derog_neg_emote_h': 0.5, 'ident_neutral_nh': 0.5}
    >>> result["notes"]["functionality.ident_neutral_nh.macro_f1"]
    'one gold label only (non-hateful)'
    >>> print(result["signature"])
    sghatecheck|v:1.0.0|data:none|subset:given|invalid:wrong|ci:bootstrap-2000|seed:12345

    Batch by batch, the references as rows of a dataset.

    >>> rows = [{"label": 1, "language": "malay"}, {"label": 0, "language": "malay"}, {"label": 1, "language": "tamil"}]
    >>> metric.add_batch(predictions=[1, 1], references=rows[:2])
    >>> metric.add(prediction=1, reference=rows[2])
    >>> result = metric.compute()
    >>> {name: entry["accuracy"] for name, entry in result["language"].items()}, result["overall"]["accuracy"]
    ({'malay': 0.5, 'tamil': 1.0}, 0.75)
"""

_ABSENT = "\x00"  # a column that was not given: no name can be this
_ROW_KEYS = {"template": "template_id"}  # a row's `template` is its text; the key that tells templates apart is another column
_STRINGS = ("predictions", *COLUMNS, "case_line", "scores")


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class SghatecheckMetric(evaluate.Metric):
    def _info(self):
        features = {"predictions": datasets.Value("string"), "references": datasets.Value("int8")}
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features(features | {name: datasets.Value("string") for name in _STRINGS[1:]}),
            license="Apache-2.0",
            reference_urls=["https://arxiv.org/abs/2405.01842", "https://github.com/Social-AI-Studio/SGHateCheck"],
        )

    def compute(
        self,
        *,
        predictions=None,
        references=None,
        invalid="wrong",
        allow_partial=False,
        ci="bootstrap",
        n_resamples=2000,
        confidence=0.95,
        seed=12345,
        **columns,
    ):
        """Scores the cases given here, after those that add and add_batch have stored. See the inputs below.

        After an error the stored cases are gone unless an option was at fault, and the metric can be used again.
        """
        options = {
            "invalid": invalid,
            "allow_partial": allow_partial,
            "ci": ci,
            "n_resamples": n_resamples,
            "confidence": confidence,
            "seed": seed,
        }
        check_options(**options)
        if predictions is not None or references is not None or _given(columns):
            self.add_batch(predictions=predictions, references=references, **columns)
        if self.writer is None and self.cache_file_name is None:  # no case is stored
            if predictions is None:
                raise ValueError("nothing to score: give predictions and references, here or to add_batch before")
            return score([], [], **options)
        try:
            return super().compute(**options)
        finally:
            self._release()

    def add_batch(self, *, predictions=None, references=None, **columns):
        """Stores a batch of cases. See the inputs below; all batches must bring the same columns."""
        batch = _read_batch(predictions, references, columns)
        if batch["predictions"]:
            super().add_batch(**batch)

    def add(self, *, prediction=None, reference=None, **columns):
        """Stores one case: the inputs below, one value each. A prediction of None is a case without an answer."""
        self.add_batch(predictions=[prediction], references=[reference], **{name: [value] for name, value in columns.items()})

    def _compute(self, *, predictions, references, case_line, **given):
        answers = np.array(predictions).astype(np.int8)
        columns = {name: _stored(name, given.pop(name)) for name in COLUMNS}
        lines, scores = _stored("case_id and text", case_line), _stored("scores", given.pop("scores"))
        scores = None if scores is None else np.array(scores, float)
        return score(answers, np.array(references), **columns, scores=scores, **given, data=_data(lines))

    def _release(self):
        """Gives back what a failed computation leaves: evaluate removes its files and locks only when all went well."""
        for lock, path in zip(self.filelocks or [], self.file_paths or [], strict=True):
            if lock.is_locked:
                self.data = None
                Path(path).unlink()
                lock.release()
        self.filelocks = self.file_paths = self.buf_writer = None


def _given(columns: dict) -> list:
    return [name for name, values in columns.items() if values is not None]


def _read_batch(predictions, references, columns: dict) -> dict:
    """One batch in any accepted form -> the schema's columns. ValueError naming column and row."""
    unknown = [name for name in columns if name not in (*COLUMNS, "scores")]
    if unknown:
        raise ValueError(f"unknown inputs {', '.join(unknown)}; besides predictions and references there are {', '.join(COLUMNS)}, scores")
    scores = None if columns.get("scores") is None else read_scores(columns["scores"])
    columns = {name: values for name, values in columns.items() if name != "scores"}
    for name, values in (("predictions", predictions), ("references", references)):
        if values is None:
            raise ValueError(f"{name} are missing: predictions and references go together")
    answers, lines = read_answers(predictions), None
    if _is_rows(references := _sequence(references)):
        if _given(columns):
            raise ValueError(f"references are rows, which bring their own columns: leave out {', '.join(_given(columns))}")
        references, columns, lines = _read_rows(references)
    gold = read_gold(references)
    columns = {name: None if columns.get(name) is None else as_list(columns[name], name) for name in COLUMNS}
    check_lengths({"predictions": answers, "references": gold, **columns, "scores": scores})
    stored = {name: _storable(name, values, len(gold)) for name, values in {**columns, "case_line": lines}.items()}
    stored["scores"] = [_ABSENT] * len(gold) if scores is None else [repr(value) for value in scores.tolist()]
    return {"predictions": [str(answer) for answer in answers.tolist()], "references": gold.tolist(), **stored}


def _sequence(references):
    """A dataset, a dict of columns or an array as it is; any other iterable (a streamed dataset too) as a list."""
    sized = hasattr(references, "__len__") or not hasattr(references, "__iter__")
    return references if sized else list(references)


def _is_rows(references) -> bool:
    if isinstance(references, datasets.DatasetDict):
        raise ValueError(f"references: a DatasetDict holds several splits, give one of {', '.join(map(str, references))}")
    if isinstance(references, (datasets.Dataset, dict)):
        return True
    return isinstance(references, (list, tuple)) and len(references) > 0 and isinstance(references[0], dict)


def _read_rows(rows) -> tuple:
    """Rows of the dataset (Dataset, list of dicts, or dict of columns) -> (labels, {column: values}, case lines or None)."""
    keys = {name: _ROW_KEYS.get(name, name) for name in ("label", *COLUMNS, "case_id", "text")}
    if isinstance(rows, datasets.Dataset):
        rows = rows.with_format(None).select_columns([key for key in keys.values() if key in rows.column_names])[:]
    elif not isinstance(rows, dict):
        rows = _columns(rows, keys.values())
    found = {name: list(rows[key]) for name, key in keys.items() if key in rows}
    if "label" not in found:
        raise ValueError("references: rows without a column 'label'")
    case = [found.pop(name, None) for name in ("case_id", "label", "text")]
    return case[1], found, None if None in case else case_lines(*case)


def _columns(rows, keys) -> dict:
    """A list of dicts -> a dict of lists, for the keys that the rows have. ValueError where one row lacks a key that another has."""
    for row, values in enumerate(rows):
        if not isinstance(values, dict):
            raise ValueError(f"references: row {row} (counted from 0) holds {shown(values)}, expected a dict like the first")
    present = [key for key in keys if any(key in row for row in rows)]
    for key in present:
        for row, values in enumerate(rows):
            if key not in values:
                raise ValueError(f"references: row {row} (counted from 0) has no '{key}', which other rows have")
    return {key: [row[key] for row in rows] for key in present}


def _storable(column: str, values: list | None, n: int) -> list[str]:
    """A column as strings: an absent one as sentinels, no value as "". ValueError naming the row of what is no name; ids may be ints."""
    if values is None:
        return [_ABSENT] * n
    ids = (str, int) if column in ("cluster", "template") else str
    strings = ["" if value is None or value != value else value for value in values]
    for row, value in enumerate(strings):
        if not isinstance(value, ids) or value == _ABSENT:
            raise ValueError(f"{column}: row {row} (counted from 0) holds {shown(value)}, expected a string")
    return [str(value) for value in strings]


def _stored(column: str, values: list[str]) -> list[str] | None:
    absent = values.count(_ABSENT)
    if absent == len(values):
        return None
    if absent:
        raise ValueError(f"{column}: given for {len(values) - absent} of {len(values)} cases; every batch must bring the same columns")
    return values


def _data(lines: list[str] | None) -> str:
    """The fingerprint of the rows, or "none" for bare arrays. ValueError for a case that was added twice (as padded batches do)."""
    if lines is None:
        return "none"
    ids = [line.split("\t")[0] for line in lines]
    if len(set(ids)) < len(ids):
        seen = set()
        repeated = [case_id for case_id in ids if case_id in seen or seen.add(case_id)]
        raise ValueError(f"references: {len(repeated)} repeated case_ids, the first is {repeated[0][:40]!r}; each case counts once")
    return fingerprint_lines(lines)
