"""The shared head of all prompts: computed once, and no answer changes by it."""

import pytest

torch = pytest.importorskip("torch")

from tiny_models import TEXTS, same, saved  # noqa: E402

from sghc.models import head  # noqa: E402
from sghc.models.asking import from_file  # noqa: E402
from sghc.models.causal import CausalDetector  # noqa: E402


@pytest.fixture(scope="module", params=["llama", "mistral", "gpt2"])
def folder(request, tmp_path_factory):
    return saved(tmp_path_factory.mktemp(request.param), request.param)


@pytest.mark.parametrize(
    ("rows", "expected"), [([[1, 2, 3], [1, 2, 4]], [1, 2]), ([[1, 2], [1, 2, 4]], [1]), ([[5, 1], [6, 1]], []), ([[7, 8, 9]], [7, 8])]
)
def test_what_rows_share_leaves_a_token_of_each(rows, expected):
    assert head.shared(rows) == expected


@pytest.mark.parametrize("decode", [{}, {"decode": "constrained"}, {"decode": "generate", "max_new_tokens": 4}])
def test_answers_are_those_without_the_head(folder, decode):
    with_head = CausalDetector(folder, device="cpu", batch_size=6, **decode)
    without = CausalDetector(folder, device="cpu", batch_size=6, **decode)
    assert len(with_head.head.ids) >= head.LEAST
    without.head = None
    texts = [*TEXTS, "", " ", "rain " * 40, "\n\nrain"]
    same(with_head.answer(texts), without.answer(texts))
    same(with_head.answer(texts), with_head.answer(texts))  # nothing that one batch writes is left for the next


def test_only_what_stands_behind_the_head_goes_through_the_model(folder, monkeypatch):
    detector = CausalDetector(folder, device="cpu", batch_size=4)
    widths = []
    plain = detector.model.forward
    monkeypatch.setattr(detector.model, "forward", lambda **inputs: widths.append(inputs["input_ids"].shape[1]) or plain(**inputs))
    detector.answer(["rain", "tea"])
    assert widths == [max(len(detector.encode(text).ids) for text in ("rain", "tea")) - len(detector.head.ids)]


def test_a_prompt_that_does_not_begin_with_the_head_is_computed_whole(folder):
    detector = CausalDetector(folder, device="cpu", batch_size=4)
    expected = detector.answer(TEXTS[:4])
    detector.head.ids = [*detector.head.ids[:-1], detector.head.ids[-1] + 1]  # no prompt begins like this
    assert detector.head_of([detector.encode("rain").ids]) is None
    same(detector.answer(TEXTS[:4]), expected)


def test_a_prompt_that_begins_with_the_case_shares_at_most_what_the_tokenizer_puts_first(folder, tmp_path):
    (tmp_path / "last.txt").write_text("{{ text }}\nIs that hateful? 0 or 1:")
    detector = CausalDetector(folder, device="cpu", ask=from_file(tmp_path / "last.txt"))
    shared = detector.head.ids if detector.head else []
    assert all(shared == detector.tokenizer(text)["input_ids"][: len(shared)] for text in ("tea", "茶"))
    answers = detector.answer(TEXTS)
    detector.head = None
    same(answers, detector.answer(TEXTS))


def test_a_model_without_positions_is_asked_with_whole_prompts(tmp_path):
    detector = CausalDetector(saved(tmp_path, "mpt"), device="cpu")
    assert detector.head is None


@pytest.mark.parametrize("fault", ["other logits", "no numbers", "refuses"])
def test_a_head_that_would_change_an_answer_is_not_used(folder, fault):
    detector = CausalDetector(folder, device="cpu")

    def look(rows, shared):
        logits = detector.next_logits(rows, shared)
        if shared and fault == "refuses":
            raise NotImplementedError("no cache here")
        return logits if shared is None else logits * float("nan") if fault == "no numbers" else logits + 0.1

    assert head.found(lambda text: detector.encode(text).ids, detector.model, detector.accepted, look) is None
    assert head.found(lambda text: detector.encode(text).ids, detector.model, detector.accepted, detector.next_logits) is not None
