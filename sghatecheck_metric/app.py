"""The metric's page: paste or upload a CSV of predictions and gold labels, see where the detector is blind. Run: python app.py

The Space runs this file from its own folder. No text of a case is needed, shown, kept or sent anywhere.
"""

import csv
import io
import json
import os
import re
from pathlib import Path

import gradio as gr

os.environ.setdefault("HF_EVALUATE_OFFLINE", "1")  # the metric lies beside this file: evaluate has nothing to look up

NEEDED = ("prediction", "reference")
OPTIONAL = ("functionality", "target", "protected_group", "language", "cluster", "template")
MAX_ROWS = 200_000
HEADERS = ("Cases", "Accuracy", "Hateful found", "Non-hateful left alone", "Macro F1", "Coverage", "Rejected", "No answer")
FIELDS = ("n", "accuracy", "accuracy_hateful", "accuracy_non_hateful", "macro_f1", "coverage", "n_rejected", "n_missing")
SAMPLE = """\
prediction,reference,functionality,target,language
1,hateful,derog_neg_emote_h,Women,malay
the label is 1,hateful,derog_neg_emote_h,Muslim,malay
1,non-hateful,ident_neutral_nh,Women,malay
0,non-hateful,ident_neutral_nh,Muslim,malay
cannot say,hateful,derog_neg_emote_h,Women,tamil
0,hateful,derog_neg_emote_h,Hindu,tamil
0,non-hateful,ident_neutral_nh,Hindu,tamil
0,non-hateful,ident_neutral_nh,Women,tamil
"""
INTRO = """\
# SGHateCheck metric
Functional tests show where a hate-speech detector is blind. Give one row per case, with the columns **prediction** (0, 1, a label name, or
the model's output, read by its last character) and **reference** (0, 1, `non-hateful`, `hateful`); optional columns are functionality,
target, protected_group, language, cluster and template. Other columns are ignored, no text of a case is needed. An empty prediction is a
case without an answer. Passing shows that no weakness was found, not that there is none.
"""


def read_table(text: str) -> dict[str, list]:
    """CSV with a header -> the columns that compute() takes. ValueError naming the line; what a cell holds is never shown."""
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        rows = [_checked(row, header, reader.line_num) for row in reader if any(row)]
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num} is no CSV: {error}") from None
    missing = [name for name in NEEDED if name not in header]
    if missing:
        raise ValueError(f"the first line must name the columns, separated by commas; missing: {', '.join(missing)}")
    used = [name for name in (*NEEDED, *OPTIONAL) if name in header]
    repeated = [name for name in used if header.count(name) > 1]
    if repeated:
        raise ValueError(f"the first line names a column twice: {', '.join(repeated)}")
    if not rows:
        raise ValueError("there is no row below the first line")
    if len(rows) > MAX_ROWS:
        raise ValueError(f"{len(rows):,} rows are more than this page takes ({MAX_ROWS:,}); use the metric from Python")
    table = {name: [row[header.index(name)] for row in rows] for name in used}
    labels = {"predictions": table.pop("prediction"), "references": table.pop("reference")}
    return {name: [_label(cell) for cell in cells] for name, cells in labels.items()} | table


def _checked(row: list[str], header: list[str], line: int) -> list[str]:
    if len(row) != len(header):
        raise ValueError(f"line {line} has {len(row)} fields, the first line has {len(header)}")
    return row


def _label(cell: str):
    """A cell of a label column. Numbers are read as numbers: tables often hold 1.0 for 1, whose last character would be another label."""
    number = cell.strip()
    if re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)", number):
        return float(number)
    return cell if number else None


def compute(text: str, invalid: str, allow_partial: bool) -> dict:
    """The metric's result for a CSV. Each call has a metric of its own, since one holds its batches and visitors come at once."""
    import evaluate

    table = read_table(text)
    metric = evaluate.load(str(Path(__file__).resolve().with_name("sghatecheck_metric.py")), keep_in_memory=True)
    return metric.compute(**table, invalid=invalid, allow_partial=allow_partial)


def rows(result: dict, *parts: str, weakest_first: bool = False) -> list[list]:
    """Table rows of some parts of a result: name, then FIELDS; a dash where a number is not defined."""
    entries = []
    for part in parts:
        values = result.get(part, {})
        entries += [(part, values)] if part in ("overall", "shared") and values else list(values.items())
    if weakest_first:
        entries.sort(key=lambda entry: (entry[1]["accuracy"] is None, entry[1]["accuracy"]))
    return [[name, *(_cell(entry[field]) for field in FIELDS)] for name, entry in entries]


def _cell(value) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def show(text: str, upload: bytes | None, invalid: str, allow_partial: bool) -> list:
    """What the button does: message, the three tables and the JSON, as updates of the page. An uploaded file goes before the text."""
    try:
        if upload is not None:
            text = upload.decode("utf-8")
        result = compute(text or "", invalid, allow_partial)
    except UnicodeDecodeError:
        return _failed("the file is no text in UTF-8")
    except ValueError as error:
        return _failed(str(error))
    overall = result["overall"]
    message = f"### Accuracy {_cell(overall['accuracy'])} · macro F1 {_cell(overall['macro_f1'])} · coverage {_cell(overall['coverage'])}"
    tables = [
        rows(result, "overall", "shared", "language"),
        rows(result, "functionality", weakest_first=True),
        rows(result, "target", "protected_group"),
    ]
    shown = [gr.update(value=table, visible=bool(table)) for table in tables]
    message += f"\n\n`{result['signature']}`\n\nA dash is a number that is not defined there; the notes in the whole result say why."
    return [message, *shown, gr.update(value=json.dumps(result, indent=1), visible=True)]


def _failed(why: str) -> list:
    return [f"### This table cannot be scored\n\n{why}", *[gr.update(value=None, visible=False)] * 4]


def build() -> gr.Blocks:
    """The page."""
    with gr.Blocks(title="SGHateCheck metric", analytics_enabled=False) as page:
        gr.Markdown(INTRO)
        with gr.Row():
            text = gr.Textbox(SAMPLE, label="CSV", lines=10, max_lines=16, scale=3)
            with gr.Column(scale=2):
                upload = gr.File(label="or a CSV file, which goes before the text", type="binary", file_types=[".csv"], height=140)
                modes = [("wrong: counts as a wrong answer", "wrong"), ("drop: left out", "drop"), ("error: refused", "error")]
                invalid = gr.Radio(modes, value="wrong", label="An output that names neither label")
                partial = gr.Checkbox(False, label="Leave out cases without an answer")
                button = gr.Button("Score", variant="primary")
        message = gr.Markdown()
        names = ("Overall and languages", "Functionalities, weakest first", "Targets and protected groups")
        tables = [gr.Dataframe(headers=["", *HEADERS], label=name, interactive=False, visible=False, pinned_columns=1) for name in names]
        whole = gr.Code(label="The whole result", language="json", max_lines=20, interactive=False, visible=False)
        button.click(show, [text, upload, invalid, partial], [message, *tables, whole])
    return page


if __name__ == "__main__":
    build().launch(max_file_size="20mb", run_history=False)
