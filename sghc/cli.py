"""The command `sghatecheck`: one small function for each sub-command. What it does lives in the rooms; heavy imports stay inside the functions."""

import os
import sys
from pathlib import Path
from typing import Annotated, Literal, Optional

import typer

from sghc import __version__
from sghc.errors import InputError

app = typer.Typer(
    name="sghatecheck",
    help="Functional tests that show where a hate-speech detector is blind, in Singlish, Malay, Mandarin and Tamil.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,  # a traceback with locals would print the texts of cases
)

SuiteOption = Annotated[Path, typer.Option("--suite", help="A folder that `sghatecheck build` wrote.")]
SplitOption = Annotated[str, typer.Option("--split", help="test, annotated or generated.")]
InvalidOption = Annotated[Literal["wrong", "drop", "error"], typer.Option(help="What a rejected output counts as.")]
ReportOption = Annotated[Optional[Path], typer.Option("--report", help="Write a page to look at to this file, HTML.")]  # noqa: UP045
ABOUT = ("model", "revision", "parameters", "base", "training_data", "contact", "licence")
JsonOption = Annotated[Optional[Path], typer.Option("--json", help="Write the numbers to this file.")]  # noqa: UP045 (typer reads it at run time)


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False) -> None:
    if show:
        print(f"sghatecheck {__version__}")
        raise typer.Exit


@app.command()
def build(
    which: Annotated[str, typer.Argument(help="official, starter, or a folder with templates.csv and placeholders.csv.")] = "official",
    source: Annotated[Optional[Path], typer.Option(help="A local copy of the released repository, instead of the download.")] = None,  # noqa: UP045
    out: Annotated[Path, typer.Option(help="The folder to write.")] = Path("sghatecheck"),
    install: Annotated[bool, typer.Option("--install", help="Also let load_dataset find it from anywhere by the folder's bare name.")] = False,
    push: Annotated[Optional[str], typer.Option(metavar="ORG/NAME", help="Also upload it as this dataset repository, private and gated.")] = None,  # noqa: UP045
    public: Annotated[bool, typer.Option("--public", help="With --push: a public repository, still gated.")] = False,
    permitted: Annotated[bool, typer.Option("--i-have-permission", help="With --push: you may publish these cases.")] = False,
) -> None:
    """Build a suite as a folder that `load_dataset("sghatecheck", "malay")` loads."""
    if (public or permitted) and not push:
        raise typer.BadParameter("--public and --i-have-permission go with --push")
    from sghc.suite import folder, summary
    from sghc.suite.sources import card_of, download, open_suite
    from sghc.terminal import show

    if push:
        from sghc.leaderboard import push as pushing

        pushing.check_may_publish(push, which, permitted)
    suite = open_suite(which, source, download)
    tables = list(summary.render(suite, out))  # made before anything is written, should it fail
    folder.write(suite, card_of(suite, which), out)
    show(tables)
    if install:
        import sghatecheck_dataset

        configs = sghatecheck_dataset.install(out)
        print(f'installed: load_dataset("{out.resolve().name}", CONFIG) works from anywhere, with {", ".join(configs)}')
    if push:
        print(pushing.licence_warning(suite.name))
        print(pushing.push_suite(out, push, public).told())


@app.command()
def predict(
    model: Annotated[str, typer.Option(help="A folder, hub id or GGUF file; module:function; with --base-url a name at an endpoint.")],
    out: Annotated[Path, typer.Option(help="The predictions file, JSONL; run again, it goes on where it stopped.")],
    suite: SuiteOption = Path("sghatecheck"),
    config: Annotated[Optional[list[str]], typer.Option(help="A language to ask; repeat for more. Default: all.")] = None,  # noqa: UP045
    split: SplitOption = "test",
    limit: Annotated[Optional[int], typer.Option(min=1, help="Ask a sample, spread over languages and functionalities.")] = None,  # noqa: UP045
    batch_size: Annotated[Optional[int], typer.Option(min=1, help="How many texts go through at once.")] = None,  # noqa: UP045
    prompt: Annotated[Optional[Path], typer.Option(help="Jinja2 file with {{ text }}, instead of the paper's prompt.")] = None,  # noqa: UP045
    chat: Annotated[bool, typer.Option("--chat", help="Ask through the model's own chat template.")] = False,
    answers: Annotated[Optional[str], typer.Option(help="Words on the first line: hateful=unsafe,non-hateful=safe.")] = None,  # noqa: UP045
    decode: Annotated[Optional[Literal["argmax", "generate", "constrained"]], typer.Option(help="Default: argmax.")] = None,  # noqa: UP045
    max_new_tokens: Annotated[Optional[int], typer.Option(min=1, help="For --decode generate, and endpoints.")] = None,  # noqa: UP045
    hateful_label: Annotated[Optional[list[str]], typer.Option(help="A classifier's label that is hateful; may repeat.")] = None,  # noqa: UP045
    adapter: Annotated[Optional[str], typer.Option(help="A PEFT adapter on the model.")] = None,  # noqa: UP045
    base_model: Annotated[Optional[str], typer.Option(help="Where the adapter's base model has moved.")] = None,  # noqa: UP045
    adapter_revision: Annotated[Optional[str], typer.Option(help="The adapter's commit on the hub.")] = None,  # noqa: UP045
    revision: Annotated[Optional[str], typer.Option(help="The model's commit on the hub.")] = None,  # noqa: UP045
    max_length: Annotated[Optional[int], typer.Option(min=16, help="Tokens of a prompt; a longer case is cut inside the case.")] = None,  # noqa: UP045
    dtype: Annotated[Optional[str], typer.Option(help="Such as bfloat16. Default: as stored on a GPU, float32 on a CPU.")] = None,  # noqa: UP045
    device: Annotated[Optional[str], typer.Option(help="cpu, cuda, cuda:1 or auto.")] = None,  # noqa: UP045
    trust_remote_code: Annotated[bool, typer.Option("--trust-remote-code", help="Run the model's own code; needs --revision.")] = False,
    base_url: Annotated[Optional[str], typer.Option(help="An OpenAI-compatible endpoint, up to /v1; key in OPENAI_API_KEY.")] = None,  # noqa: UP045
    api: Annotated[Optional[Literal["chat", "completions"]], typer.Option(help="The endpoint's API. Default: chat.")] = None,  # noqa: UP045
    concurrency: Annotated[Optional[int], typer.Option(min=1, help="Calls to an endpoint at a time. Default: 8.")] = None,  # noqa: UP045
    engine: Annotated[Optional[Literal["transformers", "vllm"]], typer.Option(help="What runs a language model here.")] = None,  # noqa: UP045
    tensor_parallel: Annotated[Optional[int], typer.Option(min=1, help="GPUs that hold the model together, in vllm.")] = None,  # noqa: UP045
    shard: Annotated[Optional[str], typer.Option(help="K/N: as worker K of N on one folder, ask every N-th case; the last one joins.")] = None,  # noqa: UP045
) -> None:
    """Ask a detector for every case, and write its answers as they come."""
    said = {name: value for name, value in locals().items() if value is not None}
    from sghc.models import asked, run, shards
    from sghc.models.opening import Options, open_detector
    from sghc.terminal import progress

    run.check_out(out)
    cases, what = asked.cases_of(suite, split, config, limit)
    mine = shards.parse(shard, len(cases)) if shard else None
    detector = open_detector(model, Options(**{name: said[name] for name in Options.__dataclass_fields__ if name in said}))
    try:
        with progress(len(mine.of_cases(cases) if mine else cases), "asked") as told:
            done = shards.predict(detector, cases, what, out, mine, told) if mine else run.predict(detector, cases, what, out, told)
    except KeyboardInterrupt:
        print("sghatecheck: stopped; what is answered is kept, and the same command goes on from there", file=sys.stderr)
        raise typer.Exit(130) from None
    print(shards.summary(done, mine, out) if mine else run.summary(done, out))


@app.command()
def score(
    predictions: Annotated[Path, typer.Argument(help="JSONL, CSV or Parquet with case_id and prediction or output.")],
    suite: SuiteOption = Path("sghatecheck"),
    split: SplitOption = "test",
    config: Annotated[Optional[list[str]], typer.Option(help="A language that was asked; repeat for more. Default: those in the file.")] = None,  # noqa: UP045
    json: JsonOption = None,
    report: ReportOption = None,
    show_text: Annotated[bool, typer.Option("--show-text", help="Put texts of cases into the report, which is then not for sharing.")] = False,
    invalid: InvalidOption = "wrong",
    allow_partial: Annotated[bool, typer.Option("--allow-partial", help="Leave out cases without an answer, and count them.")] = False,
    threshold: Annotated[Optional[float], typer.Option(help="Read the answers from the scores: hateful from this probability on.")] = None,  # noqa: UP045
    ci: Annotated[Literal["bootstrap", "wilson", "none"], typer.Option(help="How intervals are made.")] = "bootstrap",
    n_resamples: Annotated[int, typer.Option(min=100, help="Replicates of the bootstrap.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 12345,
    fail_under: Annotated[Optional[Path], typer.Option(help="YAML of minimum values by result path; exit 1 where one is not reached.")] = None,  # noqa: UP045
    weakest: Annotated[int, typer.Option(min=0, help="How many functionalities to show, weakest first; 0 for all.")] = 10,
    eval_results: Annotated[Optional[Path], typer.Option(help="Write a file for .eval_results/ of the model's repository.")] = None,  # noqa: UP045
    model_index: Annotated[Optional[Path], typer.Option(help="Write a model-index for the head of its card.")] = None,  # noqa: UP045
    dataset: Annotated[Optional[str], typer.Option(help="With either: the suite's dataset repository, ORG/sghatecheck.")] = None,  # noqa: UP045
    model: Annotated[Optional[str], typer.Option(help="With --model-index: ORG/NAME. Default: as the run's record says.")] = None,  # noqa: UP045
) -> None:
    """Score a predictions file: overall, by language, functionality and target."""
    from sghc.leaderboard import gate, scored, tables
    from sghc.terminal import show, width

    if show_text and not report:
        raise typer.BadParameter("--show-text is for --report")
    if bool(eval_results or model_index) != bool(dataset):
        raise typer.BadParameter("--eval-results and --model-index go with --dataset ORG/NAME, the suite's repository on the Hub")
    minimums = gate.read_minimums(fail_under) if fail_under else {}
    options = {"allow_partial": allow_partial, "invalid": invalid, "ci": ci, "n_resamples": n_resamples, "seed": seed}
    held = scored.hold(predictions, suite, split, config, allow_partial=allow_partial, threshold=threshold)
    result = scored.score_held(held, **options)
    taken = read_by(suite, predictions)
    if dataset:
        from sghc.leaderboard import eval_results as for_hub

        scores = for_hub.tasks(held, result, invalid)
        index = model_index and for_hub.model_index(scores, dataset, model, predictions)  # may be refused, so before anything is written
        for path, content in ((eval_results, for_hub.eval_results(scores, dataset)), (model_index, index)):
            if path:
                write_file(path, content, *taken)
                taken.append(path)
    if json:
        write_json(json, result, *taken)
        taken.append(json)
    if report:
        from sghc.leaderboard.report.single import score_page

        write_file(report, score_page(held, result, invalid, show_text), *taken)
    show(tables.render(result, weakest, width()))
    if short := gate.shortfalls(result, minimums, fail_under):
        raise InputError("below the minimum:\n" + "\n".join(short))


@app.command()
def reproduce(
    source: Annotated[Path, typer.Option(help="A copy of the released repository, with testcases/, annotations/ and experiments/.")],
    hatecheck: Annotated[Optional[Path], typer.Option(help="A copy of hatecheck-data, for Table 6.")] = None,  # noqa: UP045
    mhc: Annotated[Optional[Path], typer.Option(help="A copy of multilingual-hatecheck, for Table 6.")] = None,  # noqa: UP045
    json: JsonOption = None,
) -> None:
    """Recompute the paper's tables from the released predictions and compare them cell by cell."""
    from sghc.paper import reproduction, summary
    from sghc.terminal import show

    report = reproduction.reproduce(source, hatecheck, mhc)
    if json:
        write_json(json, reproduction.to_json(report), *filter(None, (source, hatecheck, mhc)))
    show(summary.render(report))


@app.command()
def compare(
    predictions: Annotated[list[Path], typer.Argument(help="Two predictions files, A then B, or more for a ranking.", metavar="A B [MORE]...")],
    suite: SuiteOption = Path("sghatecheck"),
    split: SplitOption = "test",
    config: Annotated[Optional[list[str]], typer.Option(help="A language that was asked; repeat for more. Default: those in the files.")] = None,  # noqa: UP045
    json: JsonOption = None,
    report: ReportOption = None,
    invalid: InvalidOption = "wrong",
    allow_partial: Annotated[bool, typer.Option("--allow-partial", help="Leave out cases that a system has no answer for, for all.")] = False,
    fail_if_worse: Annotated[bool, typer.Option("--fail-if-worse", help="Exit 1 where B is significantly worse than A.")] = False,
    all_entries: Annotated[bool, typer.Option("--all", help="Also list what cannot be told.")] = False,
) -> None:
    """Compare two systems, or rank several: what is better, what is worse, what cannot be told."""
    from sghc.leaderboard import compare_tables, compared
    from sghc.terminal import show

    if len(predictions) < 2:
        raise typer.BadParameter("give two predictions files, or more")
    if fail_if_worse and len(predictions) > 2:
        raise typer.BadParameter("--fail-if-worse is for two files")
    if report and len(predictions) > 2:
        raise typer.BadParameter("--report is for two files")
    held = compared.hold_all(predictions, suite, split, config, allow_partial=allow_partial)
    result = compared.compare_held(held, allow_partial=allow_partial, invalid=invalid)
    if json:
        write_json(json, result, *read_by(suite, *predictions))
    if report:
        from sghc.leaderboard.report.double import compare_page

        write_file(report, compare_page(held, result, invalid), *read_by(suite, *predictions), *filter(None, [json]))
    show(compare_tables.render(result, all_entries) if len(predictions) == 2 else compare_tables.render_ranking(result))
    if fail_if_worse and (lines := compared.worse(result)):
        raise InputError(f"{result['b']} is worse than {result['a']}:\n" + "\n".join(lines))


@app.command()
def validate(
    files: Annotated[list[Path], typer.Argument(help="Predictions files, or submissions' folders.", metavar="FILE...")],
    suite: SuiteOption = Path("sghatecheck"),
    config: Annotated[Optional[list[str]], typer.Option(help="A language that was asked; repeat for more. Default: those in the file.")] = None,  # noqa: UP045
) -> None:
    """Check files as the leaderboard does, without sending anything."""
    from sghc.leaderboard import ground, submit

    cases, faults = ground.open_ground(suite), []
    for path in files:
        try:
            print(f"{path}: {submit.told(submit.validate(path, cases, config))}")
        except InputError as error:
            faults.append(str(error))
    if faults:
        raise InputError("\n".join(faults))


@app.command()
def submit(
    file: Annotated[Path, typer.Argument(help="A predictions file; the record of its run beside it is sent too.")],
    model: Annotated[Optional[str], typer.Option(help="ORG/NAME.")] = None,  # noqa: UP045
    revision: Annotated[Optional[str], typer.Option(help="The model's commit; a version where it has no commits.")] = None,  # noqa: UP045
    repo: Annotated[Optional[str], typer.Option(help="The leaderboard's dataset repository, ORG/sghatecheck-leaderboard.")] = None,  # noqa: UP045
    about: Annotated[Optional[Path], typer.Option(help="YAML with model, revision, parameters, licence and so on; options win.")] = None,  # noqa: UP045
    parameters: Annotated[Optional[int], typer.Option(min=1, help="How many the model has.")] = None,  # noqa: UP045
    base: Annotated[Optional[str], typer.Option(help="What it was fine-tuned from.")] = None,  # noqa: UP045
    training_data: Annotated[Optional[str], typer.Option(help="What it was fine-tuned on.")] = None,  # noqa: UP045
    contact: Annotated[Optional[str], typer.Option(help="Who can be asked about it; it is published.")] = None,  # noqa: UP045
    licence: Annotated[Optional[str], typer.Option(help="The model's licence, such as apache-2.0.")] = None,  # noqa: UP045
    suite: SuiteOption = Path("sghatecheck"),
    config: Annotated[Optional[list[str]], typer.Option(help="A language that was asked; repeat for more. Default: those in the file.")] = None,  # noqa: UP045
    redact: Annotated[bool, typer.Option("--redact", help="Replace outputs that may not be published.")] = False,
    out: Annotated[Optional[Path], typer.Option(help="Also write the submission into this folder, a leaderboard's.")] = None,  # noqa: UP045
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check, score and show what would be sent, and send nothing.")] = False,
) -> None:
    """Pack predictions, check and score them here, and send them to the leaderboard as a pull request."""
    options = {name: value for name, value in locals().items() if name in ABOUT}
    from sghc.leaderboard import board_tables, ground, packing, submission
    from sghc.leaderboard import submit as on_its_way
    from sghc.terminal import show

    if not (repo or out or dry_run):
        raise typer.BadParameter("give --repo to send it, --out to write it to a folder, or --dry-run")
    cases = ground.open_ground(suite)
    packed = packing.pack(file, submission.read_about(about, options), cases, config, redact)
    show(board_tables.render_packed(packed, on_its_way.entry_of(packed.submission, packed.checked, cases)))
    if out:
        on_its_way.write(packed, out)
        print(f"written to {out / packed.folder}")
    if repo and not dry_run:
        print(on_its_way.send(packed, repo))
    elif dry_run:
        print("nothing was sent")


@app.command()
def rank(
    place: Annotated[str, typer.Argument(help="A leaderboard's folder, or its dataset repository ORG/NAME.", metavar="DIR|ORG/NAME")],
    suite: SuiteOption = Path("sghatecheck"),
    out: Annotated[Optional[Path], typer.Option(help="Where results.parquet and leaderboard.json go. Default: the folder; ./NAME.")] = None,  # noqa: UP045
    source: Annotated[Optional[Path], typer.Option(help="A copy of the released repository, for the paper's runs.")] = None,  # noqa: UP045
    revision: Annotated[Optional[str], typer.Option(help="The repository's commit or branch.")] = None,  # noqa: UP045
    cache: Annotated[Optional[Path], typer.Option(help="Where scores are kept, so that only new submissions are scored.")] = None,  # noqa: UP045
    push: Annotated[bool, typer.Option("--push", help="Also commit both files to the repository.")] = False,
) -> None:
    """Check, score and rank every merged submission, and write results.parquet and leaderboard.json."""
    if push and revision:
        raise typer.BadParameter("--push commits the board of the newest commit; leave --revision out")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported: the products are small, and threads wait for each other
    from sghc.leaderboard import baselines, board_tables, ground, ranking
    from sghc.leaderboard import push as pushing
    from sghc.terminal import show

    cases, found = ground.open_ground(suite), ranking.open_place(place, revision)
    if push:
        pushing.check_may_push(found)
    ranked = ranking.rank(found, cases, baselines.baselines(source), cache)
    into = out or (found.folder if found.revision is None else Path(place.rpartition("/")[2]))
    ranking.write(ranked, into)
    show(board_tables.render(ranked.board))
    print(f"{ranked.scored:,} newly scored; written to {into / ranking.RESULTS} and {into / ranking.BOARD}")
    if push:
        print(pushing.push_board(found, into).told())


@app.command()
def serve(
    place: Annotated[
        str, typer.Argument(help="A leaderboard's folder, or its dataset repository ORG/NAME, that rank has written to.", metavar="DIR|ORG/NAME")
    ],
    suite: SuiteOption = Path("sghatecheck"),
    revision: Annotated[Optional[str], typer.Option(help="The repository's commit or branch.")] = None,  # noqa: UP045
    port: Annotated[Optional[int], typer.Option(min=1, max=65535, help="Default: the first free one from 7860.")] = None,  # noqa: UP045
) -> None:
    """Show a leaderboard in the browser, on this machine alone."""
    from sghc.leaderboard import app, published

    app.serve(published.open_published(place, revision), suite, port=port)


def read_by(suite: Path, *predictions: Path) -> list[Path]:
    """What a command reads, and so must not write over: the suite, the predictions and their run records."""
    return [suite, *predictions, *(one.with_name(f"{one.stem}.run.json") for one in predictions)]


def write_json(path: Path, content: dict, *inputs: Path) -> None:
    import json

    write_file(path, (json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode(), *inputs)


def write_file(path: Path, content: bytes, *inputs: Path) -> None:
    """Writes beside and renames, so that a file is whole or not there; through a link, and straight into what is no file, such as a pipe."""
    from sghc.files import write_whole

    place = path.resolve()
    if taken := [one for one in inputs if place == one.resolve() or (one.is_dir() and place.is_relative_to(one.resolve()))]:
        raise InputError(f"{path}: is, or lies in, what is read ({taken[0]}); name another file for the results")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
            return
        write_whole(place, content)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def main() -> None:
    """Runs the command: exit status 0 done, 1 the input is at fault (one message on stderr), 2 wrong usage, 130 interrupted."""
    try:
        app()
    except InputError as error:
        print(f"sghatecheck: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:  # the reader of our output has left, as `head` does; what is still in the buffer goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:  # a full disk behind the output
        print(f"sghatecheck: cannot write ({error.strerror or error})", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
