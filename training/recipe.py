"""Recipes: YAML files in which every choice of a training run stands, read into dataclasses; and what the scripts' command lines share.

    python training/classifier.py --config training/recipes/mbert-engset.yaml --data data --seed 2

A key that no dataclass has is an error. What stands on the command line goes before the recipe.
"""

import difflib
import importlib.util
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import corpora
from sghc.errors import InputError, first_few, plain

PACKAGED = "package:"
UNWRITTEN = re.compile(r"\(os error \d+\)|inline_container|PytorchStreamWriter")


@dataclass
class Data:
    """What is trained on, and what is held out."""

    corpus: str = field(default="multiset", metadata={"help": "engset, multiset, or sources with commas, such as hatexplain:val,cold:train,hatem"})
    data: str = field(
        default="data", metadata={"help": "the folder with hatexplain, cold, hatem and waseem_hovy, laid out as upstream's repositories"}
    )
    without: list[str] = field(default_factory=list, metadata={"help": "sources to leave out; the record says so"})
    hydrated: str | None = field(default=None, metadata={"help": "the tweets of waseem_hovy: a CSV with columns id and text"})
    suites: list[str] = field(default_factory=list, metadata={"help": "built test suites whose texts must not be trained on"})
    sample: int | None = field(default=None, metadata={"help": "train on so many rows, stratified by source and label"})
    sample_each: list[str] = field(default_factory=list, metadata={"help": "or on so many of each source, SOURCE=N for every one"})
    balanced: bool = field(default=False, metadata={"help": "with sample_each: as many hateful rows as others of each source"})
    held_out: list[str] = field(default_factory=lambda: [*corpora.TESTS], metadata={"help": "held-out sets to score the model on"})
    held_out_sample: int | None = field(default=None, metadata={"help": "score on so many rows of each held-out set"})
    sample_seed: int = field(default=0, metadata={"help": "which rows a sample takes"})


def open_data(data: Data) -> tuple[corpora.Corpus, dict]:
    """What to train on, told on stderr, and held-out set -> pyarrow table of its rows. InputError as `corpora.training`."""
    folder, suites = Path(data.data), [Path(one) for one in data.suites]
    hydrated = Path(data.hydrated) if data.hydrated else None
    if data.sample_each and data.sample is not None:
        raise InputError("sample and sample_each are two ways to say how many rows are trained on; give one")
    if data.balanced and not data.sample_each:
        raise InputError("balanced goes with sample_each, which says how many rows of each source are taken")
    corpus = corpora.training(data.corpus, folder, without=data.without, hydrated=hydrated, suites=suites, held_out=data.held_out)
    print("\n".join(corpora.told(corpus.counts)), file=sys.stderr)
    if data.sample is not None or data.sample_each:
        rows = (
            corpora.sample_each(corpus.rows, data.sample_each, data.sample_seed, data.balanced)
            if data.sample_each
            else corpora.sample(corpus.rows, data.sample, data.sample_seed)
        )
        corpus = corpora.Corpus(rows, corpus.counts | {"sampled": len(rows), "sampled_hateful": sum(rows["label"].to_pylist())})
    tests = {name: corpora.held_out(name, folder).rows for name in data.held_out}
    if data.held_out_sample is not None:
        tests = {name: corpora.sample(rows, min(data.held_out_sample, len(rows)), data.sample_seed) for name, rows in tests.items()}
    return corpus, tests


# what is nothing, or less, makes no training
POSITIVE = (
    "effective_batch_size",
    "per_device_train_batch_size",
    "per_device_eval_batch_size",
    "lora_r",
    "lora_alpha",
    "learning_rate",
    "max_length",
)


def parse(kinds: Sequence[type], argv: Sequence[str] | None = None) -> tuple:
    """The command line, and the recipe that it names with --config, as one instance of each dataclass.

    Raises:
        InputError: no such recipe, no YAML, a key that is none, or values that do not go together. Wrong usage of the command line ends the process.
    """
    from trl import TrlParser

    argv = list(sys.argv[1:] if argv is None else argv)
    parser = TrlParser(kinds)
    if argv[-1:] == ["--config"]:
        raise InputError("--config: expected the path of a recipe")
    place = argv[argv.index("--config") + 1] if "--config" in argv[:-1] else None
    if place:
        check_keys(place, {action.dest for action in parser._actions})
    try:
        *parsed, rest = parser.parse_args_and_config(argv, return_remaining_strings=True)
    except (ValueError, TypeError) as error:  # values that do not go together, such as two strategies
        raise InputError(f"{place or 'the command line'}: {error}") from None
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    values = {name: getattr(part, name) for part in parsed for name in POSITIVE if getattr(part, name, None) is not None}
    if wrong := [name for name, value in values.items() if value <= 0]:
        raise InputError(f"{place or 'the command line'}: {wrong[0]} is {values[wrong[0]]}, expected more than 0")
    return tuple(parsed)


def check_keys(place: str, known: set[str]) -> None:
    """Raises InputError where a recipe is none, or has a key that no dataclass has."""
    import yaml

    try:
        keys = yaml.safe_load(Path(place).read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{place}: cannot be read ({error.strerror})") from None
    except (ValueError, yaml.YAMLError) as error:
        mark = getattr(error, "problem_mark", None)
        raise InputError(f"{place}: not readable as YAML{f' (line {mark.line + 1})' if mark else ''}") from None
    if not isinstance(keys, dict):
        raise InputError(f"{place}: expected keys and values, such as `seed: 1`")
    if unknown := [str(key) for key in keys if key not in known]:
        near = [difflib.get_close_matches(key, known, 1) for key in unknown]
        names = [plain(key) + (f" (meant: {found[0]}?)" if found else "") for key, found in zip(unknown, near, strict=True)]
        raise InputError(f"{place}: no such key: {first_few(names)}")


def as_used(*parts) -> dict:
    """Every choice as a recipe that can be read again: our own dataclasses whole, of the trainer's arguments what is not their default."""
    recipe = {}
    for part in parts:
        if hasattr(part, "to_dict"):
            defaults = type(part)(output_dir="", use_cpu=True).to_dict() | {"use_cpu": False}  # TRL's own ask for a GPU
            recipe |= {key: value for key, value in part.to_dict().items() if key == "output_dir" or value != defaults.get(key)}
        else:
            recipe |= asdict(part)
    return {key: value for key, value in recipe.items() if not key.endswith("_token")}


def located(model: str) -> str:
    """A model's folder or hub id as given; for `package:NAME/PATH`, weights inside an installed package, the path. InputError if not there."""
    if not model.startswith(PACKAGED):
        return model
    package, _, below = model.removeprefix(PACKAGED).partition("/")
    found = importlib.util.find_spec(package) if package.isidentifier() else None
    for top in (found and found.submodule_search_locations) or ():
        if (Path(top) / below).exists():
            return str(Path(top) / below)
    raise InputError(f"{model}: no {plain(below)} in a package {plain(package)} that is installed here; pip install it first")


def main(run: Callable[[], Mapping]) -> None:
    """Runs a script: exit status 0 done, 1 the input is at fault (one message on stderr), 2 wrong usage, 130 interrupted."""
    try:
        run()
    except InputError as error:
        print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print(f"{Path(sys.argv[0]).name}: stopped; the checkpoints written so far stay, and --resume goes on from the last", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        if not is_unwritten(error):
            raise
        lines = (getattr(error, "strerror", None) or str(error)).splitlines()
        print(
            f"{Path(sys.argv[0]).name}: cannot write ({lines[0] if lines else type(error).__name__}); checkpoints that are whole stay",
            file=sys.stderr,
        )
        sys.exit(1)


def is_unwritten(error: Exception) -> bool:
    """Whether an error is of a file that could not be written, as on a full disk: safetensors and torch have their own words for it."""
    return isinstance(error, OSError) or bool(UNWRITTEN.search(str(error)))
