"""A result as tables for a terminal: languages, the weakest functionalities, targets, contrasts, and what the score rests on.

A number stands with its interval; it is dim where the interval holds the overall value of its column, so that the difference may be noise.
"""

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from sghc.suite.catalogue import FUNCTIONALITIES, LANGUAGES
from sghc.terminal import plain, titled

RATES = {"accuracy": "accuracy", "accuracy_hateful": "hateful", "accuracy_non_hateful": "non-hateful", "macro_f1": "macro F1"}
ERRORS = {"false_negative": "hate missed, most / least", "false_positive": "harmless flagged, most / least"}
WIDE = 120  # columns; from there on each language's number has its interval beside it


def render(result: dict, weakest: int = 10, width: int = 80):
    """The tables of a result, as things that a `rich` console of this width prints; `weakest` functionalities, or all of them for 0."""
    if reason := result["notes"].get("suite"):
        yield Text(f"{result['signature'].split('|')[0]}: {reason}", style="bold yellow")
    yield languages(result)
    yield from functionalities(result, weakest, width >= WIDE)
    yield from targets(result)
    yield from contrasts(result)
    yield from gaps(result)
    yield from consistency(result)
    yield from remarks(result)
    yield Text(result["signature"], style="dim")


def languages(result: dict) -> Table:
    table = titled("Overall and by language", "", "cases", *RATES.values(), "coverage")
    rows = [("overall", result["overall"])]
    if len(result.get("language", ())) > 1:
        rows.append(("shared", result["shared"]))
    for name, values in (*rows, *result.get("language", {}).items()):
        table.add_row(
            name, f"{values['n']:,}", *(number(values, rate) for rate in RATES), coverage(values), style="bold" if name == "overall" else ""
        )
    return table


def functionalities(result: dict, weakest: int, wide: bool) -> Iterator[Table]:
    """Accuracy for each functionality, its mean over languages first, then each language's own."""
    if not (slices := result.get("functionality")):
        return
    order = sorted((name for name in slices if slices[name]["accuracy"] is not None), key=lambda name: slices[name]["accuracy"])
    shown_names = order[:weakest] if weakest else order
    title = f"Weakest functionalities ({len(shown_names)} of {len(slices)}), accuracy"
    spoken = [*result["language"]] if len(result.get("language", ())) > 1 else []  # the columns after the mean
    table = titled(title, "", "functionality", "cases", "coverage", "mean" if spoken else "accuracy", *map(short, spoken), left=("functionality",))
    for name in shown_names:
        known, values = FUNCTIONALITIES.get(name), slices[name]
        numbers = [number(values, "accuracy", beside=result["overall"])]
        for language in spoken:
            own = result["language_functionality"].get(f"{language}/{name}", {})
            numbers.append(number(own, "accuracy", beside=result["language"][language], interval=wide))
        table.add_row(known.id if known else "", name, f"{values['n']:,}", coverage(values), *numbers)
    yield table


def short(language: str) -> str:
    """The two letters of a language that has them: four columns of numbers fit on a line."""
    return LANGUAGES[language].code if language in LANGUAGES else language


def targets(result: dict) -> Iterator[Table]:
    """The targets, the one whose hate is missed most first."""
    if not (slices := result.get("target")):
        return
    table = titled("Targets, most hate missed first", "", "cases", *RATES.values(), "coverage")
    for name in sorted(slices, key=lambda name: (slices[name]["accuracy_hateful"] is None, slices[name]["accuracy_hateful"])):
        values = slices[name]
        table.add_row(name, f"{values['n']:,}", *(number(values, rate, beside=result["overall"]) for rate in RATES), coverage(values))
    yield table


def contrasts(result: dict) -> Iterator[Table]:
    """Hateful tests beside their harmless neighbours; .5 is what always saying the same gives."""
    if not (found := {name: values for name, values in result.get("contrast", {}).items() if "/" not in name}):
        return
    table = titled("Hateful against harmless neighbours", "", "cases", "balanced accuracy", "hateful", "non-hateful")
    for name, values in found.items():
        sides = [number(values, rate) for rate in ("balanced_accuracy", "accuracy_hateful", "accuracy_non_hateful")]
        table.add_row(name.replace("_", " "), f"{values['n']:,}", *sides)
    yield table


def gaps(result: dict) -> Iterator[Table]:
    """The largest gaps between targets on matched templates, by language: hate missed, and harmless mentions flagged."""
    entries = {name: entry for name, entry in result.get("bias", {}).items() if entry}
    if not entries:
        return
    table = titled("Largest gaps between targets, on templates that hold all of them", "", "templates", *ERRORS.values(), left=(*ERRORS.values(),))
    for name, entry in sorted(entries.items(), key=lambda item: item[0] != "overall"):
        table.add_row(name, f"{entry['n_templates']:,}", *(gap(entry[f"{error}_gap"]) for error in ERRORS))
    yield table


def gap(values: dict | None) -> Text:
    """`.697 .63–.77 Seniors / Muslim`: a gap, its interval, and the two targets that make it."""
    if values is None or values["most"] is None:
        return Text("–", style="dim")
    text = number(values | {"value_ci": values.get("ci")}, "value", chance=None, interval="ci" in values)
    return text.append(f" {values['most']} / {values['least']}", style="")


def consistency(result: dict) -> Iterator[Table]:
    """How often all cases of a template, which differ in the group named alone, get one answer."""
    entries = {name: entry for name, entry in result.get("consistency", {}).items() if entry}
    if not entries:
        return
    table = titled("One answer for all cases of a template", "", "templates", "consistent", "chance that two cases differ")
    for name, entry in sorted(entries.items(), key=lambda item: item[0] != "overall"):
        share = number(entry, "share_consistent", chance=None, interval="share_consistent_ci" in entry)
        table.add_row(name, f"{entry['n_templates']:,}", share, plain(entry["flip_rate"], 3))
    yield table


def remarks(result: dict) -> Iterator[Text]:
    overall = result["overall"]
    if "accuracy_ci" in overall:
        yield Text("Dim: the interval holds the overall value, so the difference may be noise. Red: below .5, beyond noise.", style="dim")
    if overall["n_rejected"]:
        yield Text(f"{overall['n_rejected']:,} outputs name neither label and were rejected; see `invalid` in the signature for what they count as.")
    if overall["n_missing"]:
        yield Text(f"{overall['n_missing']:,} cases have no answer and are left out: this is not a score of the whole suite.", style="bold yellow")


def number(values: dict, rate: str, beside: dict | None = None, interval: bool = True, chance: float | None = 0.5) -> Text:
    """A proportion and its interval, `.610 .56–.66`: red below `chance`, dim where the interval holds the same rate of `beside`; a dash for none."""
    value, limits = values.get(rate), values.get(f"{rate}_ci")
    if value is None:
        return Text("–", style="dim")
    noise = beside is not None and limits and beside.get(rate) is not None and limits[0] <= beside[rate] <= limits[1]
    text = Text(plain(value, 3), style="dim" if noise else "red" if chance and (limits or [0, value])[1] < chance else "")
    if interval and limits:
        text.append(f" {plain(limits[0], 2)}–{plain(limits[1], 2)}", style="dim")
    elif interval and f"{rate}_ci" in values:
        text.append(" no interval", style="dim")
    return text


def coverage(values: dict) -> Text:
    """Valid answers of the cases asked, marked where some are lacking."""
    value = values["coverage"]
    return Text("–", style="dim") if value is None else Text(plain(value, 3), style="yellow" if value < 1 else "")
