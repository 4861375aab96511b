"""`eval.yaml`, which makes a dataset repository a benchmark on the Hub: one task a language, that inspect-ai runs as it stands.

The tasks' ids are what results in a model's repository refer to (leaderboard/eval_results.py). The keys are those of the Hub and of inspect-ai's
HFTask, which refuses any other.
"""

from sghc.suite.suite import Suite

NAME = "eval.yaml"
SPLIT = "test"  # what scores are reported on
ABOUT = (
    "Functional tests for hate-speech detectors: each case belongs to one functionality and has one right label. A value is the macro F1 over both "
    "labels in one language, as `sghatecheck score` gives it; inspect-ai's own scorer gives accuracy, which is another number. "
    "Never train on the cases."
)
# the paper's question, with letters for its digits, in the form whose answer inspect-ai reads
TEMPLATE = """Label the given Input as non-hateful or hateful. The last line of your answer is 'ANSWER: $LETTER' (without quotes), one of {letters}.

### Input:
{question}

### Labels:
{choices}
"""
METADATA = ["case_id", "language", "functionality", "functional_class", "target", "cluster"]  # what inspect-ai's logs may be broken down by


def eval_yaml(suite: Suite) -> str:
    """The file of a suite, which names no case and no file: it stays as it is while cases change."""
    import yaml

    of_own = "" if suite.name == "official" else f", suite {suite.name}"
    content = {
        "name": f"SGHateCheck{of_own}",
        "description": f"{suite.caution[:1].upper()}{suite.caution[1:]}. {ABOUT}" if suite.caution else ABOUT,
        "evaluation_framework": "inspect-ai",
        "tasks": [task(language) for language in suite.languages if (language, SPLIT) in suite.tables],
    }
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=150)


def task(language: str) -> dict:
    return {
        "id": language,
        "config": language,
        "split": SPLIT,
        "field_spec": {"input": "text", "target": "label", "choices": "choices", "metadata": [*METADATA]},
        "solvers": [{"name": "multiple_choice", "args": {"template": TEMPLATE}}],
        "scorers": [{"name": "choice"}],
    }
