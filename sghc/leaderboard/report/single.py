"""The report of one predictions file (`sghatecheck score … --report`)."""

from typing import NamedTuple

from sghc.errors import InputError
from sghc.leaderboard.report import cases, charts, findings
from sghc.leaderboard.report.heatmap import heat_map
from sghc.leaderboard.report.page import render
from sghc.leaderboard.report.reference import models, reference
from sghc.leaderboard.report.values import ERRORS, Gap, Number, gap, number, remarks
from sghc.leaderboard.scored import Held
from sghc.models import record
from sghc.suite.cases import CANARY


class Target(NamedTuple):
    name: str
    n_hateful: int
    n_non_hateful: int
    errors: list[Number]  # in the order of ERRORS


class Targets(NamedTuple):
    """The error rates of the targets on the templates that hold all of them, in one language or their mean, the most missed first."""

    entry: str
    rows: list[Target]
    gaps: list[Gap]
    n_templates: int


def score_page(held: Held, result: dict, invalid: str = "wrong", show_text: bool = False, run: dict | None = None) -> bytes:
    """The page of a score, HTML in UTF-8.

    Args:
        held: the answers that were scored.
        result: what score_held made of them.
        invalid: what a rejected output counted as.
        show_text: whether texts of cases and rejected outputs stand in it; without, it holds ids alone.
        run: what is known of the run; by default what the record beside the predictions says.
    """
    weak = cases.weakest(held, result, invalid, show_text)
    return render(
        "score.html.j2",
        name=held.path.name,
        run=run or run_of(held),
        result=result,
        caution=held.about.caution,
        show_text=show_text,
        canary=CANARY,
        weakest_language=findings.language(result),
        weakest_functionality=findings.functionality(result),
        whom=findings.whom(result),
        heat=heat_map(result),
        contrasts=[name for name in result.get("contrast", {}) if "/" not in name],
        targets=target_tables(result),
        untested=untested(result),
        curves=[*filter(None, [charts.curve(result)])],
        models=models(),
        reference=reference(result),
        official=held.about.name == "official",
        weak=weak,
        examples=examples(held, result) if show_text else {},
        rejected=cases.rejected(held, result),
        outputs=cases.rejected_texts(held) if show_text else [],
        remarks=remarks(result),
    )


def target_tables(result: dict) -> list[Targets]:
    """The mean over languages first, then each language; those that have a comparison."""
    entries = {name: entry for name, entry in (result.get("bias") or {}).items() if entry}
    names = sorted(entries, key=lambda name: name != "overall")
    if len(names) == 2:
        names.remove("overall")  # the mean of one language is that language
    return [target_table(result, name) for name in names]


def untested(result: dict) -> dict[str, str]:
    """Why there is no comparison of targets, by language, or at all."""
    if not (entries := result.get("bias")):
        return {"overall": "no case names a target"}
    return {name: number(result, "bias", name).why for name, entry in entries.items() if entry is None}


def target_table(result: dict, entry: str) -> Targets:
    found = result["bias"][entry]
    rows = []
    for name, one in found["targets"].items():
        errors = [number(result, "bias", entry, "targets", name, f"{error}_rate") for error in ERRORS]
        rows.append(Target(name, one["n_hateful"], one["n_non_hateful"], errors))
    rows.sort(key=lambda one: -(one.errors[0].value or 0))
    return Targets(entry, rows, [gap(result, entry, error) for error in ERRORS], found["n_templates"])


def examples(held: Held, result: dict) -> dict[str, cases.Text]:
    """A text for each template that the result lists as inconsistent."""
    overall = (result.get("consistency") or {}).get("overall") or {}
    return {one["template"]: cases.example_of(held, one["template"]) for one in overall.get("most_inconsistent", ())}


def run_of(held: Held) -> dict | str:
    """What the record beside the predictions says was run, or why there is nothing to say."""
    place = record.path_of(held.path)
    if not place.exists():
        return f"no run record ({place.name}) lies beside the predictions"
    try:
        found = record.read(held.path)
    except InputError:
        return f"{place.name} is not a record of a run"
    return told_of(found, held.data)


def told_of(found: record.RunRecord, data: str) -> dict:
    """A record's content, and whether its cases are those with the fingerprint `data`."""
    asked = {f"asked: {name}": value for name, value in found.asked.items() if name != "data"}
    same = {"cases": "those scored here" if found.asked.get("data") == data else "not just those scored here"}
    return {**found.identity, **asked, **same, **found.counts, "started": found.started, "finished": found.finished, **found.versions}
