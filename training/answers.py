"""TRL's SFTTrainer for rows that end in an answer of two tokens, a label and the end of text, behind a prompt of which nothing is learned."""

import contextlib
import inspect

import torch
from safetensors import SafetensorError
from torch.nn import functional
from transformers.trainer_pt_utils import BatchRebalanceSampler
from trl import SFTTrainer

from batches import ByLength


class AnswerTrainer(ByLength, SFTTrainer):
    """Projects onto the vocabulary only where something is learned, logs the label's accuracy apart, and may compute what a batch begins with once.

    Rows are {input_ids, labels} as sghc.models.prompt.Prompter makes them, and go through TRL as they are. The loss is TRL's: the mean over the
    learned tokens of an optimizer step, or of a batch where it evaluates.

    Logged: `label_accuracy`, that of each row's first learned token, the label; and `token_accuracy`, with the end of text, which makes it look good.

    Args:
        share_prompt: computes the tokens that all rows of a batch begin with (31 of about 67 for the paper's prompt) once for all of them. Loss and
            gradients are the same, but dropout is drawn once for these tokens. Gradient checkpointing drops the cache that this needs.
    """

    def __init__(self, *args, share_prompt: bool = False, **kwargs):
        super().__init__(*args, **kwargs)
        self.share_prompt = share_prompt
        self.known = inspect.signature(self.accelerator.unwrap_model(self.model).get_base_model().forward).parameters
        self.model_accepts_loss_kwargs = True  # compute_loss wants the count of a whole step's tokens, whatever the model's own loss does
        self.right = {"train": [], "eval": []}  # the counts of each batch since the last log

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        """The mean loss over the learned tokens; beside it their logits (n, vocabulary) where outputs are asked for."""
        next_tokens = functional.pad(inputs["labels"][:, 1:], (0, 1), value=-100)
        learned = next_tokens != -100
        logits, targets = self.logits(model, inputs, learned), next_tokens[learned]
        loss = functional.cross_entropy(logits, targets, reduction="sum") / (len(targets) if num_items_in_batch is None else num_items_in_batch)
        if num_items_in_batch is not None and self.args.average_tokens_across_devices:
            loss = loss * self.accelerator.num_processes  # that count is of all of them, and gradients are averaged
        right = logits.argmax(-1) == targets
        first = learned.nonzero()[:, 0].diff(prepend=targets.new_tensor([-1])) > 0
        counts = [right[first].sum(), first.sum(), right.sum(), first.numel() + targets.new_tensor(0)]
        self.right["train" if self.model.training else "eval"].append(torch.stack(counts))
        return (loss, logits) if return_outputs else loss

    def logits(self, model, inputs, learned):
        """float32 logits (n, vocabulary) at the n learned places of a batch, row by row."""
        ids, mask, shared = inputs["input_ids"], inputs["attention_mask"], 0
        begun = {"use_cache": False}
        if self.share_prompt and len(ids) > 1:
            alike = (ids == ids[:1]).all(0) & ~learned.any(0)  # the last token of a prompt stays: the label is read from it
            shared = int(alike.long().cumprod(0).sum())
        if shared:
            cache = model(input_ids=ids[:1, :shared], use_cache=True, **self.only(1)).cache
            cache.batch_repeat_interleave(len(ids))
            begun = {"cache": cache}
        found = model(input_ids=ids[:, shared:], attention_mask=mask, **begun, **self.only(learned[:, shared:])).logits
        return (found if found.dim() == 2 else found[learned[:, shared:]]).float()

    def only(self, places) -> dict:
        """Has the model's forward project these places alone, where it can: code of a model's authors may not know how."""
        return {"logits_to_keep": places} if "logits_to_keep" in self.known else {}

    def log(self, logs, start_time=None):
        mode, prefix = ("train", "") if self.model.training else ("eval", "eval_")
        if self.right[mode]:
            right, n, right_tokens, tokens = self.accelerator.reduce(torch.stack(self.right[mode]).sum(0)).tolist()
            logs |= {f"{prefix}label_accuracy": right / n, f"{prefix}token_accuracy": right_tokens / tokens}
            self.right[mode].clear()
        super().log(logs, start_time)

    def _get_train_sampler(self, train_dataset=None):
        sampler = super()._get_train_sampler(train_dataset)
        if isinstance(sampler, BatchRebalanceSampler):
            sampler.seed = self.args.seed  # Trainer leaves it at 42
        return sampler

    def _save_checkpoint(self, model, trial):
        with writing(f"{self.args.output_dir}/checkpoint-{self.state.global_step}"):
            super()._save_checkpoint(model, trial)

    def create_model_card(self, *args, **kwargs):
        """Leaves out TRL's card, which would stand beside each checkpoint; the run's own comes at its end."""

    def _send_telemetry(self):
        """Leaves out what TRL would tell its makers of each run."""


@contextlib.contextmanager
def writing(place: str):
    """Makes an OSError of what torch and safetensors raise where a disk is full."""
    try:
        yield
    except (RuntimeError, SafetensorError) as error:
        raise OSError(f"{place}: {str(error).splitlines()[0]}") from error
