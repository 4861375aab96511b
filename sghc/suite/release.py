"""SGHateCheck as it was released: where its files come from, and how one language of them is read.

Source: https://github.com/Social-AI-Studio/SGHateCheck at the pinned commit, the files under testcases/ and annotations/. No licence is stated, so
nothing of it stands in this project: it is downloaded and checked against `pins.tsv`, or read from a folder laid out alike.
"""

import hashlib
from collections.abc import Callable, Iterable
from itertools import zip_longest
from pathlib import Path

from sghc.errors import InputError, first_few
from sghc.suite import repairs
from sghc.suite.catalogue import Language
from sghc.suite.csvfile import LINE, read_rows
from sghc.suite.repairs import Repairs
from sghc.suite.templates import Tables, Template, Value, case, derive, fill

COMMIT = "8f4284ac1d307a18d454477fd51f963ca3a76f95"
ORIGIN = f"https://raw.githubusercontent.com/Social-AI-Studio/SGHateCheck/{COMMIT}/"
HOME = "https://github.com/Social-AI-Studio/SGHateCheck"
ADVICE = f"name a local copy of {HOME} with --source DIR, or build the suite that ships here with `sghatecheck build starter`"

CASE_COLUMNS = ("p_label", "p_value", "p_target", "c_testcase", "t_case_local", "t_function", "t_gold", "t_direction", "t_id")
ANNOTATION_COLUMNS = (*CASE_COLUMNS, "c_id", "annotation_selected")
ANNOTATORS = {"tamil": ("annotator_1", "annotator_3")}  # elsewhere three
THREE = ("annotator_1", "annotator_2", "annotator_3")


def pins() -> dict[str, str]:
    """The released files by path, each with its SHA-256 at the pinned commit."""
    lines = Path(__file__).with_name("pins.tsv").read_text(encoding="utf-8").splitlines()
    return {path: sha256 for sha256, _size, path in (line.split("\t") for line in lines if not line.startswith("#"))}


def download(fetch: Callable[[list[str]], list[str]]) -> dict[str, Path]:
    """The released files by path, downloaded and each checked against its SHA-256.

    Args:
        fetch: URLs in, local paths out, such as `datasets.DownloadManager().download`.

    Raises:
        InputError: a file cannot be had, or is not the one that was pinned.
    """
    wanted = pins()
    try:
        local = fetch([ORIGIN + path for path in wanted])
    except Exception as error:  # networks, proxies and disks raise many kinds; a person needs to know what to do about it
        raise InputError(f"the released files cannot be downloaded from {ORIGIN} ({type(error).__name__}: {error}); {ADVICE}") from None
    files = {path: Path(place) for path, place in zip(wanted, local, strict=True)}
    for path, place in files.items():
        if (found := file_hash(place)) != wanted[path]:
            raise InputError(f"{ORIGIN}{path}: SHA-256 is {found}, expected {wanted[path]}; delete {place} to download it again, or {ADVICE}")
    return files


def local_copy(source: Path) -> dict[str, Path]:
    """The released files by path, in a folder laid out as the repository. InputError names those that are missing."""
    files = {path: source / path for path in pins()}
    if missing := [path for path, place in files.items() if not place.is_file()]:
        raise InputError(f"{source}: no file {first_few(missing, 8)}; expected a copy of the SGHateCheck repository (testcases/ and annotations/)")
    return files


def altered(files: dict[str, Path]) -> list[str]:
    """Those of the files that are not what they are at the pinned commit."""
    return [path for path, expected in pins().items() if file_hash(files[path]) != expected]


def file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_language(language: Language, files: dict[str, Path], counts: Repairs) -> tuple[list[Template], Tables, list[dict]]:
    """One language of the release, repaired: its templates, its placeholder tables and its annotated cases.

    Args:
        files: the released files by path, as `download` and `local_copy` give them.
        counts: receives how many rows each rule touched, under (rule, language).

    Returns:
        templates and tables, which `templates.generate` turns back into every released test case, row for row; and the annotated cases as rows of
        the data set, in the order of the annotation file.

    Raises:
        InputError: whatever no rule covers, with file, line and value.
    """
    cases_path = files[f"testcases/{language.code}_testcases_all.csv"]
    annotations_path = files[f"annotations/{language.code}_annotations.csv"]
    annotators = ANNOTATORS.get(language.name, THREE)
    cases = list(read_rows(cases_path, CASE_COLUMNS))
    annotations = list(read_rows(annotations_path, ANNOTATION_COLUMNS + annotators))
    for path, rows in ((cases_path, cases), (annotations_path, annotations)):
        if not rows:
            raise InputError(f"{path}: no rows; is the file cut off?")
    repairs.check_values(cases_path, cases, blank_functionality=False)
    repairs.check_values(annotations_path, annotations, blank_functionality=True)
    repairs.check_ids(annotations_path, annotations)

    repairs.check_templates(cases_path, cases)
    names = repairs.settle_functionalities(language, annotations_path, cases, annotations, counts)
    golds = repairs.settle_golds(language, cases_path, cases, names, counts)
    repairs.count_blank_directions(language, cases, counts)
    made = {}  # template by its key, made once
    for row in cases:
        if (key := repairs.template_key(row)) not in made:
            made[key] = template_of(language, row, names[key], golds[key])
    uses = [(made[repairs.template_key(row)], repairs.value_of(language, row, counts)) for row in cases]
    templates, tables = derive(uses)
    check_regeneration(cases_path, cases, uses, fill(templates, tables))

    by_key = repairs.first_of_doubled(language, cases, uses, counts)
    rows = [annotated_case(language, annotations_path, row, annotators, by_key, counts) for row in annotations]
    return templates, tables, rows


def template_of(language: Language, row: dict, functionality: str | None, gold: str | None) -> Template:
    text = row["t_case_local"]
    paper_id = repairs.paper_functionality_id(language, row["t_id"], text, functionality)
    return Template(
        language, f"{language.code}-{row['t_id']}", text, row["p_label"] or None, functionality, gold, repairs.direction_of(row, gold), paper_id
    )


def annotated_case(
    language: Language, path: Path, row: dict, annotators: tuple[str, ...], by_key: dict[tuple, tuple[Template, Value, str]], counts: Repairs
) -> dict:
    """The row of the data set for one row of an annotation file, joined to its test case by key (never by text, which may stand under two t_ids)."""
    if (found := by_key.get(repairs.case_key(row))) is None:
        repairs.check_unjoined(path, row)
        counts["annotation that belongs to no functionality", language.name] += 1
        found = template_of(language, row, None, None), repairs.value_of(language, row, counts), row["c_testcase"]
    template, value, text = found
    if repairs.TARGETS.get(row["p_target"]) != value.target or repairs.direction_of(row, template.gold) != template.direction:
        raise InputError(f"{path}: line {row[LINE]}: p_target or t_direction is not that of its test case")
    if text != row["c_testcase"]:
        raise InputError(f"{path}: line {row[LINE]}: c_testcase is not the text of its test case (same t_id, t_case_local, p_label, p_value)")
    if row["t_gold"] not in (template.gold, "", None):
        raise InputError(f"{path}: line {row[LINE]}: t_gold {row['t_gold']!r} contradicts functionality {template.functionality}")
    return {
        **case(f"{language.code}-{row['c_id']}", template, value, text),
        "c_id": int(row["c_id"]),
        **repairs.judgement(language, path, row, annotators, template.gold, counts),
        "released_selection": row["annotation_selected"],
    }


def check_regeneration(path: Path, cases: list[dict], uses: list[tuple[Template, Value]], filled: Iterable[tuple[Template, Value, str]]) -> None:
    """Raises InputError at the first row where filling the derived templates does not give the released rows back."""
    for row, use, made in zip_longest(cases, uses, filled):
        if row is None:
            raise InputError(f"{path}: {len(cases):,} rows, but its templates and placeholders give more; is the file cut off?")
        if made is None or (made[0], made[1], made[2]) != (*use, row["c_testcase"]):
            raise InputError(
                f"{path}: line {row[LINE]} (t_id {row['t_id']}) is not what its templates and placeholders give at this place; "
                f"expected every entry of placeholder {row['p_label'] or '(none)'} in the same order for each template"
            )
