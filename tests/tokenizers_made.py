"""Tokenizers trained on the spot, of both kinds: byte-level BPE, and a sentencepiece-like one with bytes to fall back on."""

from sghc.models.prompt import answered

CASE = "bakers like tea"


def trained(kind: str, **special):
    """A tokenizer trained on the prompt itself, so that its pieces are merged wherever they may be."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    corpus = [answered(CASE, 0), answered("it rains 1", 1), "1\n\n0\n", "\n\n"] * 50
    if kind == "bytes":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=400, special_tokens=["</s>"], initial_alphabet=alphabet))
        return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **{"eos_token": "</s>", **special})
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    tokenizer.decoder = decoders.Sequence(steps)
    special_tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=420, special_tokens=special_tokens))
    single = "<s> $A </s>" if kind == "pieces with an end" else "<s> $A"
    tokenizer.post_processor = processors.TemplateProcessing(single=single, special_tokens=[("<s>", 1), ("</s>", 2)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **{"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", **special})
