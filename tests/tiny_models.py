"""Tiny random models, built on the spot, for the tests of the detectors that run models of transformers."""

import pytest
import torch
from tokenizers_made import trained

torch.set_num_threads(1)  # models this small only wait for each other's threads
TEXTS = [f"{'bakers like tea ' * (n % 5)}it rains {n} times, 茶" for n in range(20)]
SIZE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "initializer_range": 0.5}


def saved(folder, architecture: str, **special):
    """A random model whose logits differ, in a folder with its tokenizer."""
    import transformers as t

    tokenizer = trained("bytes" if architecture == "mpt" else "pieces", **special)
    size = SIZE | {"vocab_size": len(tokenizer), "max_position_embeddings": 256, "eos_token_id": tokenizer.eos_token_id, "bos_token_id": None}
    torch.manual_seed(7)
    if architecture == "mpt":
        shape = {"d_model": 32, "n_heads": 4, "n_layers": 2, "max_seq_len": 256, "vocab_size": len(tokenizer), "initializer_range": 0.5}
        model = t.MptForCausalLM(t.MptConfig(**shape, eos_token_id=tokenizer.eos_token_id))
    elif architecture == "gpt2":  # learned positions, which show at once where padding shifts them
        shape = {"n_embd": 32, "n_head": 4, "n_layer": 2, "n_positions": 256, "vocab_size": len(tokenizer), "initializer_range": 0.5}
        model = t.GPT2LMHeadModel(t.GPT2Config(**shape, eos_token_id=tokenizer.eos_token_id, bos_token_id=None))
    elif architecture == "mistral":
        model = t.MistralForCausalLM(t.MistralConfig(**size, num_key_value_heads=2, sliding_window=None))
    else:
        model = t.LlamaForCausalLM(t.LlamaConfig(**size))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def encoder(folder, **changes):
    """A random encoder without a head, in a folder with its tokenizer."""
    import transformers as t

    tokenizer = trained("pieces", pad_token="<unk>")
    special = {"vocab_size": len(tokenizer), "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": None, "eos_token_id": None}
    torch.manual_seed(5)
    t.BertModel(t.BertConfig(**SIZE | special | {"initializer_range": 0.1} | changes)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def same(left, right):
    assert [(a.prediction, a.output, a.cut) for a in left] == [(a.prediction, a.output, a.cut) for a in right]
    assert [a.score for a in left] == pytest.approx([a.score for a in right], abs=1e-4)
    assert [a.mass for a in left] == pytest.approx([a.mass for a in right], abs=1e-4)
