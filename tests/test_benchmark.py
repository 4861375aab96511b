"""`eval.yaml` of a built folder, as inspect-ai reads it: each language is a task that runs as it stands."""

import huggingface_hub
import pytest
import yaml
from datasets import load_dataset
from inspect_ai import eval as run_tasks
from inspect_ai._eval.task import hf
from inspect_ai.dataset import MemoryDataset
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from sghc.suite import folder, release
from sghc.suite.cases import features
from sghc.suite.sources import card_of, official

LANGUAGES = ["singlish", "malay", "mandarin", "tamil"]


@pytest.fixture
def built(toy, tmp_path):
    """A made-up release in which two of three Malay cases in `test` are hateful."""
    suite = official(release.local_copy(toy.write()))
    folder.write(suite, card_of(suite, "official"), tmp_path / "sghatecheck")
    return tmp_path / "sghatecheck"


def read(place) -> dict:
    return yaml.safe_load((place / "eval.yaml").read_text(encoding="utf-8"))


def test_each_language_is_a_task_that_inspect_ai_takes(built):
    content = read(built)
    assert list(content) == ["name", "description", "evaluation_framework", "tasks"]
    assert content["evaluation_framework"] == "inspect-ai"
    tasks = [hf.HFTask.model_validate(one) for one in content["tasks"]]
    assert [(one.id, one.config, one.split) for one in tasks] == [(name, name, "test") for name in LANGUAGES]
    for one in tasks:
        named = [one.field_spec.input, one.field_spec.target, one.field_spec.choices, *one.field_spec.metadata]
        assert set(named) <= set(features())
        assert "text" not in one.field_spec.metadata


def test_inspect_ai_runs_the_tasks_and_reads_the_letters_as_the_labels(built, tmp_path, monkeypatch):
    """A model that always says B, hateful, is right in two of three Malay cases; one that never answers in none."""

    def local(path, revision, name, split, sample_fields):
        assert path == "org/sghatecheck"
        return MemoryDataset([sample_fields(row) for row in load_dataset(str(built), name, split=split)])

    monkeypatch.setattr(hf, "hf_dataset", local)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", lambda **asked: built / asked["filename"])
    tasks = hf.task_create_from_hf("hf/org/sghatecheck/malay")
    assert [one.name for one in tasks] == ["hf/org/sghatecheck/malay/malay"]
    for said, expected in (("It is so.\nANSWER: B", 2 / 3), ("ANSWER: A", 1 / 3), ("I will not say", 0)):
        asked = []

        def answer(messages, *_, said=said, asked=asked):
            asked.append(messages[-1].text)
            output = ModelOutput.from_content("mockllm/model", said)
            output.usage = ModelUsage()  # else inspect-ai downloads a tokenizer to count with
            return output

        (log,) = run_tasks(tasks, model=get_model("mockllm/model", custom_outputs=answer), log_dir=str(tmp_path), display="none")
        assert log.status == "success", log.error
        assert log.results.scores[0].metrics["accuracy"].value == pytest.approx(expected)
        assert len(asked) == 3
        assert all("A) non-hateful\nB) hateful" in one and "Input:" in one for one in asked)


def test_a_caution_stands_first_and_the_name_says_which_suite(built, starter):
    assert read(built)["description"].startswith("Not the release at ")  # made up, so not the pinned release
    assert read(starter)["name"] == "SGHateCheck, suite starter"
    assert read(starter)["description"].startswith("No native speaker has reviewed these cases: not for reporting. Functional tests")
