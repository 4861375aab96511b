"""Runs of training/sft.py on a toy task: texts about bakers are 1, texts about rain 0. Held out are texts that no other has word for word."""

import csv
from pathlib import Path

BAKERS = ("bakers like {} {}", "the {} bakers {}", "{} tea, {} bakers")
RAIN = ("it rains {} {}", "the {} rains {}", "{} times it {} rains")
WORDS = ("tea", "a lot", "times", "the case", "input", "label", "1", "0")
TINY = {  # a random model learns only if its frozen head can speak
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 256,
    "initializer_range": 0.25,
}


def texts() -> list[tuple[str, int]]:
    """All texts of the task with their labels."""
    return [(form.format(a, b), label) for a in WORDS for b in WORDS for label, forms in enumerate((RAIN, BAKERS)) for form in forms]


def write_corpora(folder: Path) -> Path:
    """HateM and COLD's folders, with the task's texts: every fourth is held out, as COLD's test set."""
    rows = texts()
    write(
        folder / "hatem/HateMalay Dataset.csv", ["messages", "hate"], [(text, ("no", "yes")[label]) for i, (text, label) in enumerate(rows) if i % 4]
    )
    held = [(i, "test", "tea", label, text) for i, (text, label) in enumerate(rows) if i % 4 == 0]
    for split, part in (("train", held[:4]), ("dev", held[1::2]), ("test", held[::2])):
        write(folder / f"cold/COLDataset/{split}.csv", ["", "split", "topic", "label", "TEXT"], part)
    return folder


def write(path: Path, columns: list[str], rows: list) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *rows])


def model(folder: Path, kind: str = "pieces", **special) -> str:
    """A tiny random LLaMA, in a folder with a tokenizer of one kind; without a token for padding unless one is named."""
    import torch
    from tokenizers_made import trained
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = trained(kind, **special)
    torch.manual_seed(3)
    LlamaForCausalLM(LlamaConfig(**TINY, vocab_size=len(tokenizer), eos_token_id=tokenizer.eos_token_id, bos_token_id=None)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def argv(base: str, data: Path, out: Path, **changes) -> list[str]:
    """The command line of a run on the CPU."""
    options = {
        "model": base,
        "data": data,
        "output_dir": out,
        "corpus": "hatem",
        "held_out": "cold_test",
        "dtype": "float32",
        "use_cpu": True,
        "bf16": False,
        "max_length": 96,
        "learning_rate": 5e-3,
        "num_train_epochs": 6,
        "per_device_train_batch_size": 8,
        "effective_batch_size": 16,
        "activation_checkpointing": False,
        "train_sampling_strategy": "batch_rebalance",
        "lora_dropout": 0.0,
        "report_to": "none",
        "save_strategy": "no",
        "disable_tqdm": True,
    }
    return [str(part) for name, value in (options | changes).items() for part in (f"--{name}", *(value if isinstance(value, list) else [value]))]
