"""A sequence classifier of transformers as a detector, once it is known which of its labels are hateful."""

from collections.abc import Sequence

from sghc.errors import InputError, first_few, plain
from sghc.models import local
from sghc.models.detector import Answer

# Label names that leave no doubt. "LABEL_1", "1", "toxic" or "offensive" are not among them: which of two numbers is hateful cannot be seen from
# them, and what is offensive or toxic need not be hate.
CLEAR = {"hate", "hateful", "hate speech", "hatespeech"}
# Parts of a pretrained encoder that a classifier's checkpoint may keep without using them.
UNUSED = r"(^|\.)(pooler|lm_head|position_ids|cls\.(predictions|seq_relationship)|lm_predictions|mask_predictions)(\.|$)"
THRESHOLD = 0.5


class ClassifierDetector:
    """A sequence classifier. `score` is the probability of hateful, and from 0.5 on a case is hateful.

    Labels that exclude each other (softmax): the probabilities of the hateful ones add up. Labels that do not (sigmoid, where the model's
    configuration says multi_label_classification): the largest counts.

    Args:
        model: a folder or hub id.
        hateful_labels: names or numbers of the labels that are hateful; None finds them by name where the name leaves no doubt.
        batch_size: texts in one forward pass; None is 64 on a GPU and 16 on a CPU.
        max_length: tokens of a text; a longer one is cut at its end. None is the model's own limit.
        dtype, device, revision, trust_remote_code: as local.load.

    Raises:
        InputError: whatever is wrong with these, or with the model: also a head that was never trained, and labels of which none is clearly hateful.
    """

    def __init__(
        self,
        model: str,
        *,
        hateful_labels: Sequence[str | int] | None = None,
        revision: str | None = None,
        batch_size: int | None = None,
        max_length: int | None = None,
        dtype: str | None = None,
        device: str | None = None,
        trust_remote_code: bool = False,
    ):
        name = local.shown_name(model)
        loaded = local.load("AutoModelForSequenceClassification", model, revision, dtype, device, trust_remote_code, harmless=UNUSED)
        self.model, self.tokenizer, commit = loaded
        config = self.model.config
        self.independent = are_independent(name, config)
        self.hateful = find_hateful(name, config.id2label, hateful_labels)
        if not self.independent and len(self.hateful) == len(config.id2label):
            raise InputError(f"{name}: every label is said to be hateful, so every case would be")
        self.max_length = allowed_length(self.model, self.tokenizer, max_length)
        batch_size = batch_size or (16 if self.model.device.type == "cpu" else 64)
        self.batches = local.Batches(1 if self.tokenizer.pad_token_id is None else batch_size)  # nothing to pad with: one at a time
        if self.tokenizer.pad_token_id is not None and config.pad_token_id is None:
            config.pad_token_id = self.tokenizer.pad_token_id  # decoders look for the last token before the padding
        self.identity = {
            "kind": "classifier",
            "model": name,
            "revision": commit,
            "weights": local.digest(self.model),
            "hateful_labels": [config.id2label[i] for i in self.hateful],
            "labels": "independent" if self.independent else "exclusive",
            "threshold": THRESHOLD,
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "max_length": self.max_length,
        }

    @property
    def batch_size(self) -> int:
        return self.batches.size * local.PASSES

    def answer(self, texts: Sequence[str]) -> list[Answer]:
        rows = list(zip(self.encode(texts), self.encode(texts, truncation=True, max_length=self.max_length), strict=True))
        return self.batches.run(self.classify, rows, length=lambda row: len(row[1]))

    def encode(self, texts: Sequence[str], **options) -> list[list[int]]:
        return self.tokenizer(list(texts), verbose=False, **options)["input_ids"] if texts else []

    def classify(self, rows: list[tuple[list[int], list[int]]]) -> list[Answer]:
        """(whole, cut) tokens of some texts -> answers."""
        import torch

        batch = {"input_ids": [ids for _, ids in rows]}
        if len(rows) > 1:
            batch = self.tokenizer.pad(batch, padding_side="right")
        else:
            batch["attention_mask"] = [[1] * len(ids) for ids in batch["input_ids"]]
        device = self.model.get_input_embeddings().weight.device
        with torch.inference_mode():
            logits = self.model(**{key: torch.tensor(values, device=device) for key, values in batch.items()}).logits.float()
        if logits.isnan().any():
            raise InputError(f"{self.identity['model']}: answers are not numbers in {self.identity['dtype']}; try another dtype, such as float32")
        scores = hateful_scores(logits, self.hateful, self.independent).tolist()
        return [Answer(int(score >= THRESHOLD), score=score, cut=len(whole) > len(ids)) for (whole, ids), score in zip(rows, scores, strict=True)]


def hateful_scores(logits, hateful: Sequence[int], independent: bool):
    """Logits (n, labels) -> probability of hateful (n,): the largest of independent labels, the sum of exclusive ones."""
    if independent:
        return logits.sigmoid()[:, hateful].amax(-1)
    return logits.softmax(-1)[:, hateful].sum(-1).clamp(max=1)


def are_independent(name: str, config) -> bool:
    """Whether each label has a probability of its own. InputError where the outputs are no probabilities."""
    if config.problem_type == "regression":
        raise InputError(f"{name}: gives numbers, not labels (problem_type regression)")
    independent = config.problem_type == "multi_label_classification"
    if len(config.id2label) == 1 and not independent:
        raise InputError(f"{name}: has one label, and does not say that it is a probability (problem_type multi_label_classification)")
    return independent


def find_hateful(name: str, labels: dict[int, str], chosen: Sequence[str | int] | None) -> list[int]:
    """The numbers of the hateful labels: those that were chosen, by name (in any case) or number, else those whose name leaves no doubt.

    Raises:
        InputError: a chosen label that is none, or no label with a clear name.
    """
    there = first_few((f"{i} {plain(str(label))}" for i, label in sorted(labels.items())), 12)
    if not chosen:
        found = [i for i, label in sorted(labels.items()) if folded(label) in CLEAR]
        if not found:
            raise InputError(f"{name}: cannot tell which label is hateful; choose from its labels with --hateful-label: {there}")
        return found
    found = set()
    for choice in chosen:
        by_name = [i for i, label in labels.items() if str(label) == str(choice)]
        by_name = by_name or [i for i, label in labels.items() if folded(label) == folded(choice)]
        by_name = by_name or [i for i in labels if str(i) == str(choice)]
        if not by_name:
            raise InputError(f"{name}: has no label {plain(str(choice))}; its labels: {there}")
        found.update(by_name)
    return sorted(found)


def folded(label) -> str:
    return str(label).strip().casefold().replace("_", " ").replace("-", " ")


def allowed_length(model, tokenizer, asked: int | None) -> int:
    """Tokens of a text: as asked, up to what model and tokenizer say they take."""
    limits = [tokenizer.model_max_length] if tokenizer.model_max_length < 1_000_000 else []  # a huge number stands for none
    positions = getattr(model.config, "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0:
        limits.append(positions - reserved_positions(model))
    limit = min(limits, default=None)
    if asked and limit and asked > limit:
        raise InputError(f"max_length is {asked}, and the model takes {limit} tokens")
    return asked or min(limit or 512, 4096)


def reserved_positions(model) -> int:
    """Positions that no token has: RoBERTa and its kin count from behind the padding's."""
    paddings = [
        module.padding_idx for name, module in model.named_modules() if name.endswith("position_embeddings") and hasattr(module, "padding_idx")
    ]
    return max((padding + 1 for padding in paddings if padding is not None), default=0)
