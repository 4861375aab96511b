"""A result as tables for a terminal: languages, the weakest functionalities, targets, and what the score rests on."""

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from sghc.suite.catalogue import FUNCTIONALITIES, LANGUAGES
from sghc.terminal import titled

RATES = {"accuracy": "accuracy", "accuracy_hateful": "hateful", "accuracy_non_hateful": "non-hateful", "macro_f1": "macro F1", "coverage": "coverage"}
WORSE_THAN_CHANCE = 0.5


def render(result: dict, weakest: int = 10):
    """The tables of a result, as things that a `rich` console prints. `weakest` functionalities are shown, weakest first; 0 for all."""
    if reason := result["notes"].get("suite"):
        yield Text(f"{result['signature'].split('|')[0]}: {reason}", style="bold yellow")
    yield languages(result)
    yield from functionalities(result, weakest)
    yield from targets(result)
    yield from remarks(result)
    yield Text(result["signature"], style="dim")


def languages(result: dict) -> Table:
    table = titled("Overall and by language", "", "cases", *RATES.values())
    rows = [("overall", result["overall"])]
    if len(result.get("language", ())) > 1:
        rows.append(("shared functionalities", result["shared"]))
    for name, values in (*rows, *result.get("language", {}).items()):
        table.add_row(name, f"{values['n']:,}", *(shown(values[rate]) for rate in RATES), style="bold" if name == "overall" else "")
    return table


def functionalities(result: dict, weakest: int) -> Iterator[Table]:
    """Accuracy for each functionality, its mean over languages first, then each language's own."""
    if not (slices := result.get("functionality")):
        return
    order = sorted((name for name in slices if slices[name]["accuracy"] is not None), key=lambda name: slices[name]["accuracy"])
    shown_names = order[:weakest] if weakest else order
    title = f"Weakest functionalities ({len(shown_names)} of {len(slices)}), accuracy"
    spoken = [*result["language"]] if len(result.get("language", ())) > 1 else []  # the columns after the mean
    table = titled(
        title, "", "functionality", "gold", "cases", "coverage", "mean" if spoken else "accuracy", *map(short, spoken), left=("functionality", "gold")
    )
    for name in shown_names:
        known, values = FUNCTIONALITIES.get(name), slices[name]
        gold = "hateful" if values["accuracy_hateful"] is not None else "non-hateful"
        own = [result["language_functionality"].get(f"{language}/{name}") for language in spoken]
        numbers = [shown(values["coverage"]), shown(values["accuracy"]), *(shown(one["accuracy"]) if one else Text("–", style="dim") for one in own)]
        table.add_row(known.id if known else "", name, gold, f"{values['n']:,}", *numbers)
    yield table


def short(language: str) -> str:
    """The two letters of a language that has them: four columns of numbers fit on a line."""
    return LANGUAGES[language].code if language in LANGUAGES else language


def targets(result: dict) -> Iterator[Table]:
    """The 14 targets, the one whose hate is missed most first."""
    if not (slices := result.get("target")):
        return
    table = titled("Targets, most hate missed first", "", "cases", *RATES.values())
    for name in sorted(slices, key=lambda name: (slices[name]["accuracy_hateful"] is None, slices[name]["accuracy_hateful"])):
        table.add_row(name, f"{slices[name]['n']:,}", *(shown(slices[name][rate]) for rate in RATES))
    yield table


def remarks(result: dict) -> Iterator[Text]:
    overall = result["overall"]
    if overall["n_rejected"]:
        yield Text(f"{overall['n_rejected']:,} outputs name neither label and were rejected; see `invalid` in the signature for what they count as.")
    if overall["n_missing"]:
        yield Text(f"{overall['n_missing']:,} cases have no answer and are left out: this is not a score of the whole suite.", style="bold yellow")


def shown(value: float | None) -> Text:
    """A proportion with three decimals, red where it is worse than chance; a dash where there is none."""
    if value is None:
        return Text("–", style="dim")
    return Text(f"{value:.3f}", style="red" if value < WORSE_THAN_CHANCE else "")
