"""Fine-tunes a causal language model with LoRA on the paper's prompt and its answers: the paper's LLaMA-2, Mistral, SEA-LION, SeaLLM, or another one.

    python training/sft.py --config training/recipes/mistral-7b-multiset.yaml --data data --hydrated tweets.csv
    python training/sft.py --config training/recipes/llama-2-7b-engset.yaml --data data --without waseem_hovy --load_in_4bit --output_dir trained/x
    accelerate launch --config_file training/accelerate/fsdp.yaml training/sft.py --config training/recipes/mistral-7b-multiset.yaml --data data

The folder it leaves is an adapter (`sghatecheck predict --model FOLDER`) with its recipe, the corpus's counts and hashes, a card, and scores on
held-out sets with the adapter and without. Stopped, it goes on from its last checkpoint with --resume.
"""

import gc
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

import torch
from datasets import Dataset
from trl import SFTConfig
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

import corpora
import lora
import model_card
import outcome
import recipe
from answers import AnswerTrainer, writing
from sghc.errors import InputError
from sghc.models import adapters, local
from sghc.models.causal import CausalDetector, allowed_length
from sghc.models.prompt import Prompter

PLAIN = "{}, without the adapter"  # a held-out set's name in the scores of the base


@dataclass
class Options:
    """How it is trained beside what TRL's SFTConfig says. Rows are never packed: see share_prompt and train_sampling_strategy for speed."""

    effective_batch_size: int = field(default=32, metadata={"help": "rows of one step; gradients are accumulated over as many batches as that takes"})
    share_prompt: bool = field(default=False, metadata={"help": "compute what all rows of a batch begin with once; without activation_checkpointing"})
    validation: str | None = field(
        default=None, metadata={"help": "one of held_out, no test set, to evaluate on while training, as eval_strategy says"}
    )
    resume: bool = field(default=False, metadata={"help": "go on with the run that output_dir holds, if it holds one"})


def train(argv: Sequence[str] | None = None) -> dict:
    """Trains and scores as a recipe says. Returns held-out set -> scores (see outcome.py)."""
    options, base, data, arguments = recipe.parse((Options, lora.Base, recipe.Data, SFTConfig), argv)
    steps = checked(options, base, data, arguments)
    folder = Path(arguments.output_dir)
    corpus, tests = recipe.open_data(data)
    model, tokenizer, commit = lora.load(base, arguments.trust_remote_code, arguments.local_process_index)
    prompter = Prompter(tokenizer, allowed_length(model.config, arguments.max_length))
    rows, cut = tokenised(prompter, corpus.rows)
    held = tokenised(prompter, tests[options.validation])[0] if options.validation else None
    config = lora.config(base, model, commit)
    base = replace(base, revision=commit, lora_target_modules=sorted(config.target_modules))
    used, counts = recipe.as_used(options, base, data, arguments), corpus.counts | {"cut": cut}
    with arguments.main_process_first():
        first = arguments.process_index == 0
        checkpoint = outcome.begin(folder, used, counts, options.resume) if first else outcome.last_checkpoint(folder)
    if outcome.is_finished(folder):
        return outcome.loaded(folder / outcome.SCORES)
    if not (folder / adapters.CONFIG).exists():  # else it was trained, but not scored
        arguments.gradient_accumulation_steps = steps
        fit(model, tokenizer, rows, held, config, options, arguments, checkpoint)
    if arguments.world_size > 1:  # one process scores, on its own
        print(f"trained; for its scores: python training/sft.py --config {folder / outcome.RECIPE} --resume" if first else "", end="\n" * first)
        return {}
    del model
    gc.collect()
    torch.cuda.empty_cache()
    scores = score(base, folder, tests, arguments)
    outcome.write(folder, used, counts, scores, card(base, used, counts, scores))
    return scores


def checked(options: Options, base: lora.Base, data: recipe.Data, arguments: SFTConfig) -> int:
    """The batches of which gradients are accumulated in a step. InputError for options that do not go together."""
    lora.check(base)
    one = arguments.per_device_train_batch_size * arguments.world_size
    if options.effective_batch_size % one:
        many = f" on each of {arguments.world_size} devices" if arguments.world_size > 1 else ""
        raise InputError(
            f"effective_batch_size is {options.effective_batch_size}, expected a multiple of {one}: batches of "
            f"{arguments.per_device_train_batch_size}{many}"
        )
    if options.share_prompt and (arguments.activation_checkpointing or arguments.world_size > 1):
        raise InputError("share_prompt goes with one process and activation_checkpointing: false")
    if (arguments.eval_strategy != "no") != bool(options.validation):
        raise InputError("eval_strategy and validation, a held-out set to evaluate on, go together")
    if options.validation and (options.validation in corpora.TESTS or options.validation not in data.held_out):
        raise InputError("validation: expected one of held_out that is no test set, such as cold_dev")
    if arguments.packing or arguments.padding_free:
        raise InputError(
            "packing and padding_free are not for rows of a prompt and its answer; train_sampling_strategy: batch_rebalance saves padding"
        )
    return options.effective_batch_size // one


def tokenised(prompter: Prompter, rows) -> tuple[Dataset, int]:
    """Rows to train on, {input_ids, labels}, and how many texts were cut. InputError where an answer would be lost."""
    made, cut = prompter.rows(rows["text"].to_pylist(), rows["label"].to_pylist())
    longest = prompter.room + 2
    if lost := sum(row["labels"][-2] == -100 or row["labels"][-1] == -100 or len(row["labels"]) > longest for row in made):
        raise InputError(f"{lost:,} of {len(made):,} rows would lose their label within max_length {longest}")
    return Dataset.from_list(made), cut


def fit(model, tokenizer, rows: Dataset, held: Dataset | None, config, options: Options, arguments: SFTConfig, checkpoint: Path | None) -> None:
    """Trains an adapter and writes it into the run's folder."""
    arguments.dataset_kwargs = {"skip_prepare_dataset": True}  # rows go through as they are, none is shortened or dropped
    pad = tokenizer.eos_token_id if tokenizer.pad_token_id is None else tokenizer.pad_token_id  # hidden by the mask; labels say what is learned
    trainer = local.attempt(
        model.name_or_path,
        lambda: AnswerTrainer(
            model=model,
            args=arguments,
            train_dataset=rows,
            eval_dataset=held,
            data_collator=DataCollatorForLanguageModeling(pad_token_id=pad),
            processing_class=tokenizer,
            peft_config=config,
            share_prompt=options.share_prompt,
        ),
    )
    try:
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    except torch.OutOfMemoryError:
        smaller = "a smaller per_device_train_batch_size, activation_checkpointing or load_in_4bit"
        raise InputError(f"does not fit into the GPU's memory: try {smaller}") from None
    save(trainer, Path(arguments.output_dir))


def save(trainer: AnswerTrainer, folder: Path) -> None:
    """Writes the adapter; every process takes part, since each may hold a part of it."""

    def write(place: Path) -> None:
        trainer.save_model(str(place), _internal_call=True)
        for path in place.iterdir() if place.exists() else ():
            if not path.name.startswith("adapter_"):  # the tokenizer is the base's; the arguments, which Trainer pickles, stand in the recipe
                path.unlink()

    if trainer.args.process_index:
        write(folder / ".not-written")
        return
    with writing(str(folder)):
        outcome.put_model(folder, write)
        trainer.save_state()


def score(base: lora.Base, folder: Path, tests: dict, arguments: SFTConfig) -> dict:
    """Scores on held-out sets with the adapter and without, read from the folder and asked as `sghatecheck predict` does.

    Raises:
        InputError: the adapter changes nothing (sghc.models.adapters).
    """
    detector = CausalDetector(
        recipe.located(base.model),
        adapter=str(folder),
        revision=base.revision,
        dtype=base.dtype,
        device="cpu" if arguments.use_cpu else None,
        max_length=arguments.max_length,
        batch_size=arguments.per_device_eval_batch_size,
        trust_remote_code=arguments.trust_remote_code,
    )
    scores = {}
    for name, rows in tests.items():
        for shown, adapted in ((name, nullcontext), (PLAIN.format(name), detector.bare)):
            with adapted():
                answers = detector.answer(rows["text"].to_pylist())
            scores[shown] = outcome.held_out_scores([answer.prediction for answer in answers], rows["label"].to_pylist())
    return scores


def card(base: lora.Base, used: dict, counts: dict, scores: dict) -> str:
    name = Path(used["output_dir"]).name
    with_what = ", ".join(f"{library} {version(library)}" for library in ("trl", "peft", "transformers", "torch"))
    return model_card.card(
        title=f"{base.model.rstrip('/').rpartition('/')[2]} with LoRA on {counts['name']}",
        base=base.model,
        revision=base.revision,
        method=f"LoRA matrices of rank {base.lora_r} beside a language model, trained on the prompt of the paper's appendix D.1 ({with_what}).",
        use=f"sghatecheck predict --model {name} --suite sghatecheck --out predictions.jsonl",
        recipe=used,
        counts=counts,
        scores=scores,
        library_name="peft",
        pipeline_tag="text-generation",
    )


def report() -> None:
    for name, one in train().items():
        shown = f"accuracy {one['accuracy']:.3f}, F1 {one['f1']:.3f}, macro F1 {one['macro_f1']:.3f}"
        print(f"{name}: n {one['n']:,}, {one['n_rejected']:,} rejected, {shown}")


if __name__ == "__main__":
    recipe.main(report)
