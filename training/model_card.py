"""The card of a fine-tuned model: what it is, what it was trained on, how it did on held-out sets; with a content warning."""

import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from sghc.errors import first_few, plain
from sources import SOURCES

CODES = {"english": "en", "mandarin": "zh", "malay": "ms"}
HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")


def card(*, title: str, base: str, revision: str | None, method: str, use: str, recipe: Mapping, counts: Mapping, scores: Mapping, **head) -> str:
    """A model card: what it is, a content warning, what it was trained on, how it did on held-out sets, and how to ask it.

    Args:
        base: the model that was fine-tuned, as the recipe names it; `revision`, what that was resolved to, if anything.
        method: one sentence on how it was trained.
        use: a command that runs it over a suite.
        head: more keys of the card's YAML head, such as library_name and pipeline_tag.
    """
    languages = sorted({CODES[SOURCES[part.partition(":")[0]].language] for part in counts["sources"]})
    head |= {"base_model": base} if HUB_ID.fullmatch(base) and not Path(base).exists() else {}
    top = yaml.safe_dump({"language": languages, **head, "tags": ["hate-speech-detection", "sghatecheck"]}, sort_keys=False)
    return f"""---
{top}---

# {title}

> **Content warning.** This model was trained on hateful and offensive texts, to find such texts. It is often wrong, most of all in languages and
> about groups that its training data hardly has. It is made for research on detectors; do not let it alone decide what people may say.

{method} It starts from `{base}`{f" at revision `{revision}`" if revision else ""}. Labels: 0 non-hateful, 1 hateful.
`recipe.yaml` has every choice. The values in it are the project's own: the paper (SGHateCheck, WOAH 2024) gives none.

## Trained on

{corpus_table(counts)}

{corpus_remarks(counts)} Each source has a licence of its own: see its repository.

## Held-out scores

{scores_table(scores)}

F1, precision and recall are the hateful label's, as in the paper's Table 2; macro F1 is the mean of both labels'. An output that is neither label
is a wrong answer, and coverage is the share of outputs that are one. The last column is the macro F1 of always answering non-hateful. Nothing was
selected on these sets.

## Use

    {use}

Training: {key_facts(recipe)}.
"""


def corpus_table(counts: Mapping) -> str:
    lines = ["| source | rows read | used | hateful | the paper's rows | left out |", "|---|--:|--:|--:|--:|---|"]
    for name, one in counts["sources"].items():
        dropped = ", ".join(f"{n:,} {reason}" for reason, n in one["dropped"].items()) or "–"
        expected = "–" if one["expected"] is None else f"{one['expected']:,}"
        lines.append(f"| {name} | {one['read']:,} | {one['used']:,} | {one['hateful']:,} | {expected} | {dropped} |")
    return "\n".join(lines)


def corpus_remarks(counts: Mapping) -> str:
    """What else must be said of the rows, in one paragraph."""
    said = [f"In all {counts['rows']:,} rows, {counts['hateful']:,} of them hateful."]
    if counts.get("sampled"):
        said.append(f"Of these a stratified sample of {counts['sampled']:,} rows, {counts['sampled_hateful']:,} of them hateful, was trained on.")
    if counts.get("without"):
        said.append(f"Left out by choice: {first_few(map(plain, counts['without']))}.")
    if absent := counts.get("held_out", {}).get("absent"):
        said.append(f"Not there, so that nothing was held against them: {first_few(absent)}.")
    return " ".join(said)


def scores_table(scores: Mapping) -> str:
    names = ("accuracy", "f1", "precision", "recall", "macro_f1", "coverage")
    lines = ["| held-out set | n | accuracy | F1 | precision | recall | macro F1 | coverage | always non-hateful |", "|---|" + "--:|" * 8]
    for name, one in scores.items():
        values = [f"{one[score]:.3f}" for score in names]
        lines.append(f"| {name} | {one['n']:,} | {' | '.join(values)} | {one['always_non_hateful']['macro_f1']:.3f} |")
    return "\n".join(lines)


def key_facts(recipe: Mapping) -> str:
    names = ("num_train_epochs", "max_steps", "learning_rate", "effective_batch_size", "per_device_train_batch_size", "gradient_accumulation_steps")
    names += ("max_length", "seed")
    return ", ".join(f"{name.replace('_', ' ')} {recipe[name]}" for name in names if recipe.get(name) is not None) or "see recipe.yaml"
