"""A comparison as tables for a terminal: what is better, what is worse, what cannot be told. All fit into 80 columns."""

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from sghc.suite.catalogue import FUNCTIONALITIES
from sghc.terminal import plain, titled

STYLES = {"better": "green", "worse": "red", "undecided": "dim"}
NUMBERS = ("A", "B", "B - A", "interval", "p")
FAMILIES = {"functionality": "functionalities", "target": "targets"}


def render(result: dict, all_entries: bool = False) -> Iterator:
    """The tables of a comparison of two, as things that a `rich` console prints. `all_entries` also lists what cannot be told."""
    yield from warning(result)
    yield Text(f"A = {result['a']}\nB = {result['b']}", overflow="fold")
    yield overview(result, "accuracy")
    yield overview(result, "macro_f1")
    for part in FAMILIES:
        yield from family(result, part, all_entries)
    yield from remarks(result)
    yield Text(result["signature"], style="dim", overflow="fold")


def warning(result: dict) -> Iterator[Text]:
    if reason := result["notes"].get("suite"):
        yield Text(f"{result['signature'].split('|')[0]}: {reason}", style="bold yellow")


def overview(result: dict, rate: str) -> Table:
    """Overall and the languages in one rate. The verdict is on the accuracy, whose p in the languages is Holm's."""
    judged = rate == "accuracy"
    table = titled(f"{'Accuracy' if judged else 'Macro F1'}, overall and by language", "", *NUMBERS, *["verdict"] * judged)
    for name, entry in (("overall", result["overall"]), *result.get("language", {}).items()):
        p = entry.get("p_holm", entry[rate]["p"]) if judged else entry[rate]["p"]
        table.add_row(name, *cells(entry[rate], p), *[verdict(entry)] * judged, style="bold" if name == "overall" else "")
    return table


def family(result: dict, part: str, all_entries: bool) -> Iterator:
    """Accuracy in what B is better at, what it is worse at, and how often that cannot be told; the largest differences first."""
    if not (members := result.get(part)):
        return
    groups = {kind: [name for name, entry in members.items() if entry["verdict"] == kind] for kind in STYLES}
    counts = ", ".join(f"{len(names)} {kind}" for kind, names in groups.items())
    shown = ["better", "worse", *["undecided"] * all_entries]
    if not any(groups[kind] for kind in shown):
        yield Text(f"{FAMILIES[part].capitalize()}: B is {counts}", style="bold")
        return
    coded = [""] if part == "functionality" else []
    table = titled(f"{FAMILIES[part].capitalize()}: B is {counts}", *coded, part, *NUMBERS, "", left=(part,))
    for kind in shown:
        for name in sorted(groups[kind], key=lambda name: -abs(members[name]["accuracy"]["difference"] or 0)):
            known = FUNCTIONALITIES.get(name)
            code = [known.id if known else ""] if coded else []
            row = cells(members[name]["accuracy"], members[name]["p_holm"])
            table.add_row(*code, name, *row, verdict(members[name]), style="dim" if kind == "undecided" else "")
    yield table


def verdict(entry: dict) -> Text:
    return Text(entry["verdict"], style=STYLES[entry["verdict"]])


def cells(values: dict, p: float | None) -> list[str]:
    """A, B, their difference, its interval and a p-value; a dash where there is none."""
    limits = values["difference_ci"]
    interval = f"[{signed(limits[0])}, {signed(limits[1])}]" if limits else "–"
    return [share(values["a"]), share(values["b"]), signed(values["difference"]), interval, p_text(p)]


def share(value: float | None) -> str:
    return "–" if value is None else plain(value, 3)


def signed(value: float | None) -> str:
    return "–" if value is None else plain(value, 3, sign=True)


def p_text(p: float | None) -> str:
    """Three decimals; what is smaller as a bound."""
    return "–" if p is None else plain(p, 3) if p >= 0.0005 else "<.001"


def remarks(result: dict) -> Iterator[Text]:
    overall = result["overall"]
    yield Text(
        "p: cluster sign flips, two-sided; in the languages, functionalities and targets after Holm's adjustment (not in the macro F1). "
        "Undecided means that the suite cannot tell, not that there is no difference."
    )
    if few := sum(path.endswith(".p_holm") and "clusters" in word for path, word in result["notes"].items()):
        yield Text(f"{few:,} of them have too few clusters for any verdict in so large a family: see `notes` in the JSON.", style="yellow")
    test = overall["mcnemar"]
    yield Text(
        f"McNemar, exact, all cases pooled and taken as independent, which they are not: "
        f"A alone is right {test['only_a']:,} times, B alone {test['only_b']:,} times, p {p_relation(test['p'])}.",
        style="dim",
    )
    yield from left_out(overall["n"], overall["n_left_out"], "both")


def p_relation(p: float) -> str:
    return f"= {p_text(p)}" if p >= 0.0005 else "< .001"


def left_out(n: int, n_left_out: int, who: str) -> Iterator[Text]:
    if n_left_out:
        what = f"{n_left_out:,} cases are left out for {who}, {n:,} are compared: this is not a comparison on the whole suite."
        yield Text(what, style="bold yellow")


def render_ranking(result: dict) -> Iterator:
    """The order of several systems, and between each two neighbours whether they can be told apart."""
    yield from warning(result)
    by = result["by"].replace("_f1", " F1")
    table = titled(
        f"{len(result['systems'])} systems by overall {by}", "", "system", by, "interval", "ahead by", "interval", "p", "", left=("system",)
    )
    for place, entry in enumerate(result["systems"], 1):
        limits, following = entry["value_ci"], entry["next"]
        row = ["", "", "", ""]
        if following:
            ahead = following["difference_ci"]
            gap = f"[{signed(ahead[0])}, {signed(ahead[1])}]" if ahead else "–"
            tied = Text("tied", style="bold yellow") if entry["tied_with_next"] else ""
            row = [signed(following["difference"]), gap, p_text(following["p_holm"]), tied]
        own = f"[{share(limits[0])}, {share(limits[1])}]" if limits else "–"
        table.add_row(str(place), Text(entry["name"], overflow="fold"), share(entry["value"]), own, *row)
    yield table
    yield Text("Ahead by: of the next system, on the same cases; p: cluster sign flips after Holm's adjustment. Tied: they cannot be told apart.")
    yield from left_out(result["n"], result["n_left_out"], "every system")
    yield Text(result["signature"], style="dim", overflow="fold")
