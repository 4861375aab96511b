"""The prompt's bytes, and its tokens with both kinds of tokenizer: byte-level BPE, and a sentencepiece-like one with bytes to fall back on."""

import json

import pytest
from tokenizers_made import CASE, trained

from sghc.errors import InputError
from sghc.models.prompt import TAIL, Prompter, answered, ask


def decoded(tokenizer, row: dict) -> str:
    return tokenizer.decode([token for token in row["input_ids"] if token not in tokenizer.all_special_ids])


KINDS = ["bytes", "pieces", "pieces with an end"]


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request):
    return trained(request.param)


def test_the_bytes_of_the_prompt():
    expected = b"Label the given Input as 0 or 1, where 0 is not hateful and 1 is hateful.\n### Input:\nbakers like tea\n### Label:\n"
    assert ask(CASE).encode() == expected
    assert answered(CASE, 0).encode() == expected + b"0"
    assert answered(CASE, 1).encode() == expected + b"1"


def test_the_prompt_is_what_was_run(shared_data):
    """The release's rejected outputs hold the prompt as the authors' code wrote it."""
    rejected = json.loads((shared_data / "sghatecheck" / "experiments" / "sealion-multiset-sghc_ta-bad.json").read_text(encoding="utf-8"))
    head, tail = ask("|").split("|")
    assert all(head in record["output"] and tail in record["output"] for record in rejected)


def test_training_and_asking_share_their_tokens(tokenizer):
    prompter = Prompter(tokenizer, 128)
    asked = prompter.encode(CASE)
    for label in (0, 1):
        row, cut = prompter.row(CASE, label)
        answer = [prompter.label_ids[label], tokenizer.eos_token_id]
        assert row["input_ids"] == asked.ids + answer
        assert row["labels"] == [-100] * len(asked.ids) + answer
        assert not cut
        assert decoded(tokenizer, row) == answered(CASE, label)
    assert not asked.cut


def test_the_labels_token_is_that_in_context():
    """Alone, a sentencepiece digit carries the mark of a word's beginning, and is another token than behind a line break."""
    tokenizer = trained("pieces")
    alone = tokenizer("0", add_special_tokens=False)["input_ids"]
    zero, one = Prompter(tokenizer, 128).label_ids
    assert alone != [zero]
    assert tokenizer.convert_ids_to_tokens([zero, one]) == ["0", "1"]


def test_a_bos_stands_once_and_no_end_of_text_before_the_label(tokenizer):
    row, _ = Prompter(tokenizer, 128).row(CASE, 1)
    assert row["input_ids"].count(tokenizer.eos_token_id) == 1
    if tokenizer.bos_token_id is not None:
        assert row["input_ids"].count(tokenizer.bos_token_id) == 1
        assert row["input_ids"][0] == tokenizer.bos_token_id


@pytest.mark.parametrize("length", [64, 100])
@pytest.mark.parametrize("case", ["bakers like tea " * 100, "茶" * 300, "tea" * 500, "\n\n0\n1" * 200, "e\u0301🍵 " * 200])
def test_a_long_case_is_cut_inside_the_case(tokenizer, case, length):
    prompter = Prompter(tokenizer, length)
    row, cut = prompter.row(case, 1)
    text = decoded(tokenizer, row)
    head, tail = ask("|").split("|")
    assert cut
    assert len(row["input_ids"]) <= length
    assert text.startswith(head)
    assert text.endswith(tail + "1")
    kept = text.removeprefix(head).removesuffix(tail + "1")
    assert case.startswith(kept)
    assert len(kept) > 0
    assert prompter.rows([case, CASE, case], [1, 0, 1])[1] == 2


def test_a_case_that_just_fits_is_not_cut(tokenizer):
    whole = len(tokenizer(ask(CASE * 3), add_special_tokens=False)["input_ids"]) + (tokenizer.bos_token_id is not None)
    assert not Prompter(tokenizer, whole + 2).encode(CASE * 3).cut
    assert Prompter(tokenizer, whole + 1).encode(CASE * 3).cut


def test_what_cannot_work_is_said():
    tokenizer = trained("bytes")
    with pytest.raises(InputError, match="max_length is 20"):
        Prompter(tokenizer, 20)
    with pytest.raises(InputError, match="no end-of-text token"):
        Prompter(trained("bytes", eos_token=None), 128)
    with pytest.raises(InputError, match="not a fast tokenizer"):
        Prompter(object(), 128)


def test_a_tokenizer_that_swallows_the_digit():
    """Where the line break before the label and the digit are one token, the digit's own token is put behind the prompt."""
    from tokenizers import Tokenizer, decoders, models, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.decoder = decoders.Fuse()
    tokenizer.train_from_iterator([answered(CASE, label) for label in (0, 1)] * 50, trainers.BpeTrainer(vocab_size=300, special_tokens=["</s>"]))
    swallowing = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>")
    assert len(swallowing.convert_ids_to_tokens(swallowing(answered(CASE, 1))["input_ids"])[-1]) > 1
    prompter = Prompter(swallowing, 128)
    assert swallowing.convert_ids_to_tokens(prompter.label_ids) == ["0", "1"]
    row, _ = prompter.row(CASE, 1)
    assert decoded(swallowing, row).endswith(TAIL + "1")
