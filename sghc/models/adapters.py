"""Adapters of PEFT: which model one sits on, and putting it there so that it does something."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path

from sghc.errors import InputError
from sghc.models.local import attempt, pinned, shown_name

CONFIG = "adapter_config.json"


def base_and_adapter(model: str, adapter: str | None, base_model: str | None) -> tuple[str, str | None]:
    """The model to load and the adapter to put on it.

    Args:
        model: a model; or a folder that holds an adapter alone, whose configuration names the model.
        adapter: an adapter for it.
        base_model: what goes before that name, since a path in it is that of the machine which trained the adapter.

    Raises:
        InputError: an adapter that does not say what it sits on, or names a path at which nothing is; a `base_model` for no adapter.
    """
    folder = Path(model).expanduser()
    if adapter:
        return base_model or model, adapter
    if not (folder / CONFIG).is_file() or (folder / "config.json").is_file():
        if base_model:
            raise InputError(f"{shown_name(model)}: base_model goes with an adapter, and this is none")
        return model, None
    base = base_model or attempt(model, lambda: json.loads((folder / CONFIG).read_bytes()).get("base_model_name_or_path"))
    if not base:
        raise InputError(f"{shown_name(model)}: does not say which model it adapts; give base_model")
    if base.startswith(("/", ".")) and not Path(base).exists():
        raise InputError(f"{shown_name(model)}: adapts {shown_name(base)}, where nothing is; give base_model")
    return base, model


def put_on(model, adapter: str, revision: str | None, look: Callable):
    """The model with the adapter on it, and the hub's commit of the adapter (None for a folder).

    PEFT leaves out weights whose names it does not know, with no more than a warning.

    Args:
        look: a model -> its logits for some prompt, which an adapter must change.

    Raises:
        InputError: no such adapter, one for another model, or one without effect.
    """

    def load():
        from peft import PeftModel

        return PeftModel.from_pretrained(model, adapter, **({"revision": commit} if commit else {}))

    before, commit = look(model), pinned(adapter, revision)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*Found missing adapter keys")
        adapted = attempt(adapter, load).eval()
    if bool((before == look(adapted)).all()):
        raise InputError(f"{shown_name(adapter)}: an adapter without effect, the model answers as it does without it")
    return adapted, commit
