"""What the detectors that run a model of transformers on this machine share: loading it whole or not at all, and batches of like length."""

import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from sghc.errors import InputError, first_few

PASSES = 8  # forward passes in one call of `answer`: enough to sort by length, few enough to lose to a crash
SAMPLED = 1024  # values of each weight that its digest is made of
SECRET = re.compile(r"\bhf_[A-Za-z0-9]{20,}|\bsk-[\w-]{20,}|(?<=//)[^/@\s]+@|\?\S+")  # tokens, credentials and queries of addresses


def load(
    auto_class: str,
    name: str,
    revision: str | None,
    dtype: str | None,
    device: str | None,
    trust_remote_code: bool,
    harmless: str = "$^",
    quantization=None,
):
    """A model with every weight it has a place for, its tokenizer, and the hub's commit that both are of (None for a local one).

    transformers fills what a checkpoint lacks with random numbers, and leaves what it has no place for, with no more than a note: an architecture
    that is not the checkpoint's, or a head that was never trained, would answer all the same.

    Args:
        auto_class: AutoModelForCausalLM or AutoModelForSequenceClassification.
        name: a folder, a hub id, or the path of a GGUF file.
        dtype: a name such as "bfloat16"; None is the stored one on a GPU, float32 on a CPU.
        device: "cpu", "cuda", "cuda:1", "auto" (spread by accelerate), None for a GPU where there is one.
        harmless: a pattern of weights that may stand in a checkpoint without a place.
        quantization: a quantization_config of transformers, for a model that is loaded onto a GPU with fewer bits a weight.

    Raises:
        InputError: an unknown model, no network, a broken file, missing or unexpected weights, code of its own that was not asked for.
    """
    try:
        import torch
        import transformers
    except ImportError as error:
        raise InputError(f"running a model here needs torch and transformers ({error}): pip install 'sghatecheck[train]'") from None
    if trust_remote_code and not revision:
        raise InputError(f"{shown_name(name)}: trust_remote_code runs code of the model's authors and needs a revision, so that it is known which")
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    source, options = where(name)
    commit = pinned(source, revision)  # once, so that every file is of one commit, and the record says which
    options |= {"revision": commit} if commit else {}
    own_code = {"trust_remote_code": trust_remote_code} | ({"code_revision": commit} if trust_remote_code else {})
    weights = {"dtype": dtype or ("float32" if device == "cpu" else "auto"), "output_loading_info": True}
    weights |= {"device_map": "auto"} if device == "auto" else {}
    weights |= {"quantization_config": quantization, "device_map": {"": device}} if quantization else {}
    tokenizer = attempt(name, lambda: transformers.AutoTokenizer.from_pretrained(source, trust_remote_code=trust_remote_code, **options))
    model, report = attempt(name, lambda: getattr(transformers, auto_class).from_pretrained(source, **options, **own_code, **weights))
    if getattr(model, "_hf_peft_config_loaded", False):
        raise InputError(f"{shown_name(name)}: holds an adapter, not a model; give it as the adapter")
    refuse_gaps(name, report, harmless)
    if device != "auto" and not quantization:
        model = attempt(name, lambda: model.to(device))
    return model.eval(), tokenizer, commit


def where(name: str) -> tuple[str, dict]:
    """What from_pretrained is given: a GGUF file is named apart from its folder. InputError for a path at which nothing is."""
    path = Path(name).expanduser()
    if path.suffix == ".gguf" and path.is_file():
        return str(path.parent), {"gguf_file": path.name}
    looks_local = name.startswith(("/", "./", "../", "~")) or path.suffix == ".gguf"
    if looks_local and not path.is_dir():
        raise InputError(f"{shown_name(name)}: no such folder or file")
    return (str(path) if path.is_dir() else name), {}


def pinned(name: str, revision: str | None) -> str | None:
    """The hub's commit that a name and revision stand for now; the revision as given where the hub cannot be asked; None for a folder."""
    from transformers.utils.hub import resolve_revision

    if Path(name).is_dir():
        return None
    found = resolve_revision(name, revision)
    return getattr(found, "resolved", found)


def attempt(name: str, step: Callable):
    """What a step of loading gives; whatever it raises becomes one InputError. Models, hubs and file formats raise errors of many kinds."""
    try:
        return step()
    except InputError:
        raise
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        raise InputError(f"{shown_name(name)}: cannot be loaded ({type(error).__name__}: {SECRET.sub('…', lines[0])[:300]})") from None


def refuse_gaps(name: str, report: dict, harmless: str) -> None:
    """InputError unless checkpoint and model fit each other, `harmless` weights of the checkpoint aside."""
    lacking = sorted({*report["missing_keys"], *(key for key, *_ in report["mismatched_keys"])})
    if lacking:
        raise InputError(f"{shown_name(name)}: {len(lacking):,} weights are not in the checkpoint and would be random: {first_few(lacking, 3)}")
    spare = sorted(key for key in report["unexpected_keys"] if not re.search(harmless, key))
    if spare:
        raise InputError(f"{shown_name(name)}: {len(spare):,} weights of the checkpoint have no place in the model: {first_few(spare, 3)}")
    if report["error_msgs"]:
        raise InputError(f"{shown_name(name)}: {len(report['error_msgs'])} weights could not be read")


def shown_name(name: str) -> str:
    """A model's name or path, without credentials that an address may hold."""
    return SECRET.sub("…", name)


def digest(model) -> str:
    """A short hash of the weights, from the first values of each: two runs of one folder whose model was trained anew in between differ."""
    sha = hashlib.sha256()
    for key, weight in sorted(model.state_dict().items()):
        sha.update(key.encode())
        if not weight.is_meta:  # a part that accelerate keeps on disk
            sha.update(weight.flatten()[:SAMPLED].detach().float().cpu().numpy().tobytes())
    return sha.hexdigest()[:16]


class Batches:
    """Rows through a function in batches of like length, so that little is padding; results in the order of the rows.

    Where a batch does not fit into memory, accelerate (if it is installed) tries smaller ones; what was found stays for later calls.
    """

    def __init__(self, size: int):
        if size < 1:
            raise InputError(f"batch_size is {size}, expected 1 or more")
        self.size = size

    def run(self, function: Callable[[list], list], rows: Sequence, length: Callable = len) -> list:
        """`function` of batches of rows, one result a row. InputError where not even one row fits into memory."""
        longest_first = sorted(range(len(rows)), key=lambda i: -length(rows[i]))  # what does not fit shows at once
        results = [None] * len(rows)
        done = 0

        def go(size: int) -> None:  # called again with a smaller size; what is done stays done
            nonlocal done
            self.size = size
            while done < len(rows):
                chosen = longest_first[done : done + size]
                for i, result in zip(chosen, function([rows[i] for i in chosen]), strict=True):
                    results[i] = result
                done += len(chosen)

        try:
            from accelerate.utils import find_executable_batch_size
        except ImportError:
            go(self.size)
            return results
        try:
            find_executable_batch_size(go, starting_batch_size=self.size)()
        except RuntimeError as error:
            if "No executable batch size" in str(error):
                raise InputError("the model does not fit into memory even with one case at a time") from None
            raise
        return results
