"""Fine-tunes an encoder, whole, as a classifier of hateful texts: the paper's mBERT, or any other that AutoModelForSequenceClassification loads.

    python training/classifier.py --config training/recipes/mbert-multiset.yaml --data data --hydrated tweets.csv
    python training/classifier.py --config training/recipes/mbert-engset.yaml --data data --without waseem_hovy --seed 2 --output_dir trained/engset-2
    accelerate launch training/classifier.py --config training/recipes/mbert-multiset.yaml --data data --hydrated tweets.csv

The folder it leaves is a model (`sghatecheck predict --model FOLDER`) with its recipe, the corpus's counts and hashes, held-out scores and a card.
Stopped, it goes on from its last checkpoint with --resume.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from datasets import Dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer, TrainingArguments, set_seed

import model_card
import outcome
import recipe
from batches import ByLength
from sghc.errors import InputError
from sghc.models import local
from sghc.models.classifier import UNUSED, ClassifierDetector, allowed_length
from sghc.suite.catalogue import LABELS

HEAD = r"(^|\.)pooler\."  # part of the head where a checkpoint lacks it, though BERT has it inside


@dataclass
class Options:
    """The model, and how it is trained beside what transformers' TrainingArguments say."""

    model: str = field(metadata={"help": "an encoder: a folder, a hub id, or package:NAME/FOLDER for weights inside an installed package"})
    revision: str | None = field(default=None, metadata={"help": "of a hub id; the card says what it was resolved to"})
    max_length: int = field(default=256, metadata={"help": "tokens of a text; a longer one is cut at its end, in training and later"})
    resume: bool = field(default=False, metadata={"help": "go on with the run that output_dir holds, if it holds one"})


class ClassifierTrainer(ByLength, Trainer):
    pass


def train(argv: list[str] | None = None) -> dict:
    """Trains and scores as a recipe says. Returns held-out set -> scores (see outcome.py)."""
    options, data, arguments = recipe.parse((Options, recipe.Data, TrainingArguments), argv)
    folder = Path(arguments.output_dir)
    corpus, tests = recipe.open_data(data)
    set_seed(arguments.seed)  # before the head is made
    model, tokenizer, commit = load(options)
    rows, cut = tokenised(tokenizer, corpus.rows)
    used, counts = recipe.as_used(options, data, arguments), corpus.counts | {"cut": cut}
    with arguments.main_process_first():
        first = arguments.process_index == 0
        checkpoint = outcome.begin(folder, used, counts, options.resume) if first else outcome.last_checkpoint(folder)
    if outcome.is_finished(folder):
        return outcome.loaded(folder / outcome.SCORES)
    collator = DataCollatorWithPadding(tokenizer)
    parts = {"model": model, "args": arguments, "train_dataset": rows, "data_collator": collator, "processing_class": tokenizer}
    trainer = local.attempt(options.model, lambda: ClassifierTrainer(**parts))
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    if not first:
        return {}
    outcome.put_model(folder, lambda place: (model.save_pretrained(place), tokenizer.save_pretrained(place)))
    scores = score(folder, tests, "cpu" if arguments.use_cpu else None)
    outcome.write(folder, used, counts, scores, card(options, commit, used, counts, scores))
    return scores


def load(options: Options):
    """The encoder with a head of two labels, its tokenizer, and the hub's commit. Only the head may be new: whatever else a checkpoint lacks is an
    error, and so is what it has that the encoder has no place for."""
    name = options.model
    source, more = local.where(recipe.located(name))
    commit = local.pinned(source, options.revision)
    more |= {"revision": commit} if commit else {}
    labels = {"id2label": dict(enumerate(LABELS)), "label2id": {label: code for code, label in enumerate(LABELS)}}
    tokenizer = local.attempt(name, lambda: AutoTokenizer.from_pretrained(source, **more))
    kind = AutoModelForSequenceClassification
    model, report = local.attempt(name, lambda: kind.from_pretrained(source, **more, **labels, dtype="float32", output_loading_info=True))
    inside = f"{model.base_model_prefix}."
    new = {key for key in report["missing_keys"] if not key.startswith(inside) or re.search(HEAD, key)}
    local.refuse_gaps(name, report | {"missing_keys": set(report["missing_keys"]) - new}, UNUSED)
    if tokenizer.pad_token_id is None:
        raise InputError(f"{name}: its tokenizer has no padding token, so texts of several lengths make no batch")
    model.config.problem_type = "single_label_classification"
    tokenizer.model_max_length = allowed_length(model, tokenizer, options.max_length)  # is saved, and read again by ClassifierDetector
    return model, tokenizer, commit


def tokenised(tokenizer, rows) -> tuple[Dataset, int]:
    """Rows to train on, and how many texts were cut."""
    texts = rows["text"].to_pylist()
    encoded = tokenizer(texts, truncation=True)
    cut = sum(len(whole) > len(ids) for whole, ids in zip(tokenizer(texts, verbose=False)["input_ids"], encoded["input_ids"], strict=True))
    return Dataset.from_dict({**encoded, "labels": rows["label"].to_pylist()}), cut


def score(folder: Path, tests: dict, device: str | None) -> dict:
    """Scores on held-out sets of the model as it was written, read and asked as `sghatecheck predict` does."""
    detector = ClassifierDetector(str(folder), device=device) if tests else None
    scores = {}
    for name, rows in tests.items():
        answers = detector.answer(rows["text"].to_pylist())
        scores[name] = outcome.held_out_scores([answer.prediction for answer in answers], rows["label"].to_pylist())
    return scores


def card(options: Options, commit: str | None, used: dict, counts: dict, scores: dict) -> str:
    name = Path(used["output_dir"]).name
    return model_card.card(
        title=f"{options.model.rstrip('/').rpartition('/')[2]} fine-tuned on {counts['name']}",
        base=options.model,
        revision=commit,
        method="An encoder with a classification head, fine-tuned whole with transformers' Trainer.",
        use=f"sghatecheck predict --model {name} --suite sghatecheck --out predictions.jsonl",
        recipe=used,
        counts=counts,
        scores=scores,
        library_name="transformers",
        pipeline_tag="text-classification",
    )


def report() -> None:
    for name, one in train().items():
        print(f"{name}: n {one['n']:,}, accuracy {one['accuracy']:.3f}, F1 {one['f1']:.3f}, macro F1 {one['macro_f1']:.3f}")


if __name__ == "__main__":
    recipe.main(report)
