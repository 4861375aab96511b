"""The paper, reproduced: its tables from the released data and predictions, compared cell by cell with the printed ones."""

import json
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from sghc.paper import counts, others, scores
from sghc.paper.cells import Cell, Lacks, Unknown
from sghc.paper.comparison import Difference, Gap, TableReport, compare, shown
from sghc.paper.predictions import Experiments, read_folder
from sghc.suite import release

PRINTED = Path(__file__).with_name("printed.json")


@dataclass
class Report:
    """What came out.

    `computed` has the tables as cells (see `cells.Cell`), `printed` the paper's, `tables` how they compare; `beside` holds further figures that a
    reader should see next to them; `read` and `set_aside` say what became of the files of predictions and of their records.
    """

    computed: dict
    printed: dict
    tables: dict[str, TableReport]
    beside: dict
    read: list[str]
    set_aside: list[str]


def reproduce(source: Path, hatecheck: Path | None = None, mhc: Path | None = None) -> Report:
    """Recomputes Tables 3 to 9, D.2 and the totals from whatever predictions are there, and compares.

    Args:
        source: a folder laid out as SGHateCheck's repository; without its experiments/ the cells that need them are reported as lacking.
        hatecheck: a folder laid out as HateCheck's repository, for Table 6.
        mhc: a folder laid out as Multilingual HateCheck's, for Table 6.

    Raises:
        InputError: a file is missing from a folder that was named, or is not what it should be.
    """
    files = release.local_copy(source)
    languages = counts.read(files)
    experiments = read_folder(source / "experiments")
    board = scores.board(experiments, frames_of(languages, hatecheck, mhc))
    computed = compute(board, languages, files)
    printed = read_printed()
    beside = {
        "Table 8 with the nominal alpha, which suits labels without an order": counts.table8(languages, files, "nominal"),
        "Totals: the released test cases by the gold label that they have": counts.real_split(languages),
    }
    return Report(computed, printed, compare(computed, printed), beside, runs_read(experiments), set_aside(board, release.altered(files)))


def frames_of(languages: dict[str, counts.Language], hatecheck: Path | None, mhc: Path | None) -> dict[str, scores.Frame]:
    frames = {test_set: scores.released_frame(languages[name].rows) for test_set, name in scores.SETS.items()}
    if hatecheck is not None:
        frames["hatecheck"] = scores.frame(*others.read_hatecheck(hatecheck))
    if mhc is not None:
        frames["cn"] = scores.frame(*others.read_mandarin(mhc))
    return frames


def compute(board: scores.Board, languages: dict[str, counts.Language], files: dict[str, Path]) -> dict:
    """Every table, by the name that it has in `printed.json`. Nothing printed is read here."""
    compiled = counts.table7(languages)
    return {
        **counts.NOT_RELEASED,
        "table3": scores.table3(board),
        "table4": scores.table4(board),
        "table5": scores.table5(board),
        "table6": scores.table6(board),
        "table7": compiled,
        "table8": counts.table8(languages, files),
        "table9": counts.table9(languages),
        "D2": scores.rejected(board),
        "totals": counts.totals(languages, files, compiled),
    }


def read_printed() -> dict:
    """The printed figures; only the comparison looks at them."""
    return json.loads(PRINTED.read_text(encoding="utf-8"))


# --- what became of the predictions ---


def runs_read(experiments: Experiments) -> list[str]:
    """The runs whose files were read, one line for those with the same test sets."""
    sets: dict[tuple[str, str], list[str]] = {}
    for run in sorted({*experiments.answers, *experiments.rejected}):
        only = "" if run in experiments.answers else " (rejected outputs only)"
        strange = "" if run.test_set in scores.SET_TITLES else " (in no table)"
        sets.setdefault((run.model, run.training), []).append(run.test_set + only + strange)
    alike: dict[str, list[str]] = {}
    for (model, training), found in sets.items():
        strange = "" if model in scores.MODELS and training in scores.TRAINING else " (in no table)"
        alike.setdefault(", ".join(found), []).append(f"{model}-{training}{strange}")
    return [f"{', '.join(runs)}: {found}" for found, runs in alike.items()]


def set_aside(board: scores.Board, altered: list[str]) -> list[str]:
    """What no table counts and why: one line for each test set, kind and number of cases, then one for each strange or altered file."""
    alike: Counter[tuple[str, str, int]] = Counter()
    for run, found in board.outcomes.items():
        for what, number in (
            ("answers to ids that the suite does not have", found.unknown),
            ("answers to cases that the paper left out", found.outside),
            ("cases that the release selected, without an answer", found.unanswered),
            ("answers whose output was rejected", board.experiments.both.get(run, 0)),
        ):
            if number:
                alike[scores.SET_TITLES[run.test_set], what, number] += 1
    lines = []
    for (title, what, number), runs in sorted(alike.items()):
        lines.append(f"{title}, {what}: {number:,} in {'1 run' if runs == 1 else f'each of {runs} runs'}")
    lines += [f"experiments/{name} is no file of predictions" for name in board.experiments.others]
    return lines + [f"{path} is not the file that was released, so the paper's figures need not come out" for path in altered]


# --- JSON ---


def to_json(report: Report) -> dict:
    """The recomputed tables in the shape of the printed ones, each number as its table would print it and null where it is lacking; and under
    `comparison` how they compare, with the full values."""
    tables = {name: rendered(name, table, exact=False) for name, table in report.computed.items()}
    tables |= {name: emptied(report.printed[name]) for name, table in report.computed.items() if isinstance(table, Unknown)}
    comparison = {
        "tables": {name: table_json(table) for name, table in report.tables.items()},
        "values": {name: rendered(name, table, exact=True) for name, table in report.computed.items()},
        "beside": report.beside,
        "read": report.read,
        "set_aside": report.set_aside,
    }
    return {**tables, "comparison": comparison}


def emptied(printed: dict) -> dict:
    """A table of which nothing can be recomputed, in the shape of the printed one."""
    return {key: emptied(value) if isinstance(value, dict) else None for key, value in printed.items()}


def rendered(name: str, cell: dict | Cell, exact: bool, path: tuple[str, ...] = ()):
    if isinstance(cell, dict):
        return {key: rendered(name, below, exact, (*path, key)) for key, below in cell.items()}
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, Lacks | Unknown):
        return None
    return plain(cell) if exact else shown(name, path, cell)


def plain(cell: Cell) -> int | float | str | None:
    return float(cell) if isinstance(cell, Fraction) else cell


def table_json(table: TableReport) -> dict:
    return {
        "rule": table.rule,
        "printed": table.printed,
        "recomputed": table.recomputed,
        "equal": table.equal,
        "differing": [difference_json(one) for one in table.differing],
        "labels": [difference_json(one) for one in table.labels],
        "lacking": [gap_json(one) for one in table.lacking],
        "not_recomputable": [gap_json(one) for one in table.unknown],
    }


def difference_json(one: Difference) -> dict:
    return {"path": list(one.path), "printed": one.printed, "computed": plain(one.computed), "cause": one.cause}


def gap_json(one: Gap) -> dict:
    return {"path": list(one.path), **({"wants": list(one.wants)} if one.wants else {"reason": one.reason})}
