"""Which detector a name and its options stand for, and that no option is ignored."""

import json

import pytest

from sghc.errors import InputError
from sghc.models.opening import TAKES, Options, given, kind_of, open_detector


def folder_of(tmp_path, **config):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps({"model_type": "bert", **config}))
    return str(tmp_path / "model")


def test_the_kind_of_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert kind_of("mine:detect", Options()) == "callable"
    assert kind_of("package.mine:detect", Options()) == "callable"
    assert kind_of("gpt-x", Options(base_url="http://127.0.0.1:9/v1")) == "endpoint"
    assert kind_of("mine:detect", Options(base_url="http://127.0.0.1:9/v1")) == "endpoint"
    assert kind_of("model.gguf", Options()) == "causal"
    assert kind_of("org/model", Options(adapter="org/adapter")) == "causal"


@pytest.mark.parametrize(
    ("architectures", "kind"),
    [(["BertForSequenceClassification"], "classifier"), (["LlamaForCausalLM"], "causal"), ([], "causal"), (["BertForMaskedLM"], "causal")],
)
def test_a_models_configuration_tells_its_kind(tmp_path, architectures, kind):
    assert kind_of(folder_of(tmp_path, architectures=architectures), Options()) == kind


@pytest.mark.parametrize("name", ["org/nowhere", "./nowhere"])
def test_an_unknown_model_is_one_clear_error(name):
    with pytest.raises(InputError, match="nowhere"):
        open_detector(name, Options())


@pytest.mark.parametrize(
    ("model", "options", "flags"),
    [
        ("json:loads", Options(chat=True), "--chat"),
        ("json:loads", Options(hateful_label=["hate"], revision="abc"), "--hateful-label, --revision"),
        ("gpt-x", Options(base_url="http://127.0.0.1:9/v1", decode="argmax"), "--decode"),
        ("x.gguf", Options(hateful_label=["hate"]), "--hateful-label"),
    ],
)
def test_an_option_of_another_kind_is_refused(model, options, flags):
    with pytest.raises(InputError, match=f"{flags}: not for a detector of kind"):
        open_detector(model, options)


def test_every_option_belongs_to_some_kind():
    assert set().union(*TAKES.values()) | {"batch_size"} == set(Options.__dataclass_fields__)


def test_only_what_is_said_is_handed_on():
    assert given(Options(max_new_tokens=5), max_new_tokens="max_tokens", api="api") == {"max_tokens": 5}


def test_an_endpoint_gets_its_prompt_and_words(tmp_path):
    pytest.importorskip("openai")
    (tmp_path / "own.txt").write_text("Hateful?\n{{ text }}\n")
    options = Options(
        base_url="http://127.0.0.1:9/v1", prompt=tmp_path / "own.txt", answers="hateful=yes,non-hateful=no", concurrency=3, max_new_tokens=4
    )
    identity = open_detector("gpt-x", options).identity
    assert (identity["kind"], identity["model"], identity["max_tokens"]) == ("endpoint", "gpt-x", 4)
    assert identity["prompt"]["name"] == "own.txt"
    assert identity["reading"] == {"yes": 1, "no": 0}


def test_faulty_words_and_prompts_are_refused_before_anything_is_loaded(tmp_path):
    with pytest.raises(InputError, match="answers"):
        open_detector("x.gguf", Options(answers="yes"))
    with pytest.raises(InputError, match=r"absent\.txt"):
        open_detector("x.gguf", Options(prompt=tmp_path / "absent.txt"))


def test_a_language_model_is_asked_and_scored_by_the_command(starter, tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch")
    from tiny_models import saved

    from sghc import cli

    model = saved(tmp_path / "llama", "llama")
    told = ["--suite", starter, "--limit", 100]
    for arguments in (
        ["predict", "--model", model, *told, "--out", tmp_path / "p.jsonl", "--device", "cpu"],
        ["predict", "--model", model, *told, "--out", tmp_path / "c.jsonl", "--decode", "constrained", "--batch-size", 5],
        ["score", tmp_path / "c.jsonl", "--suite", starter, "--allow-partial", "--threshold", 0.5, "--json", tmp_path / "r.json"],
    ):
        monkeypatch.setattr("sys.argv", ["sghatecheck", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        assert not left.value.code, capsys.readouterr().err
    rows = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()]
    assert len(rows) == 100
    assert {row["output"] for row in rows} <= {"0", "1"}
    assert json.loads((tmp_path / "c.run.json").read_text())["identity"]["decode"] == "constrained"
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["overall"]["n"] == 100
    assert result["thresholds"]["n"] == 100
