"""Why some printed cells are not what the release gives. A cause belongs to one computed value: where that changes, it is unknown again."""

TWICE = "the released Mandarin rows are another choice among the cases that were annotated twice"
UNDER_F4 = "144 Singlish rows of F2, F3, F23, F26 and F27 are printed under F4"
UNDER_F19 = "240 Mandarin rows of F3, F7, F18, F32, F33 and F34 are printed under F19"
RUNS = "printed are the cases that the models were run on, whose copies of texts annotated twice are not all those of the release"
TESTS = "Table 9 itself prints cases of as many functionalities as the release holds"

_BY_CAUSE = {
    TWICE: {
        **{
            ("table7", "Mandarin", column): value
            for column, value in {
                "unanimous": 2290,
                "two_of_three": 554,
                "undetermined": 4,
                "mismatch": 72,
                "retained": 2772,
                "excluded": 76,
            }.items()
        },
        ("table8", "Mandarin"): 0.673,
        ("totals", "retained"): 10389,
        ("totals", "excluded"): 537,
    },
    UNDER_F4: {("table9", id, "SS"): value for id, value in {"F2": 112, "F3": 145, "F4": 159, "F23": 164, "F26": 148, "F27": 142}.items()},
    UNDER_F19: {
        ("table9", id, "ZH"): value for id, value in {"F3": 140, "F7": 20, "F18": 122, "F19": 122, "F32": 196, "F33": 145, "F34": 132}.items()
    },
    RUNS: {("table9", "Total_hate", "SS"): 2300, ("table9", "Total_hate", "ZH"): 2089},
    "a misprint: the functionality's gold label is hateful, in the release as in Table 4": {("table9", "F11", "gold"): "hateful"},
    "the paper gives two numbers, and the release holds that of Section 2.5": {("totals", "annotated_concl_A.1"): 10926},
    TESTS: {
        ("totals", "functional_tests", language): value for language, value in {"Singlish": 27, "Mandarin": 25, "Malay": 22, "Tamil": 22}.items()
    },
}
CAUSES = {path: (value, cause) for cause, values in _BY_CAUSE.items() for path, value in values.items()}

NO_CAUSE = "no known cause"
NO_CASE = "no case to compute it from"


def cause_of(path: tuple[str, ...], found: int | float | str | None) -> str:
    """Why the cell at `path` (table, row, column) has the value `found`, as it would be printed."""
    if found is None:
        return NO_CASE
    value, cause = CAUSES.get(path, (None, NO_CAUSE))
    return cause if found == value else NO_CAUSE
