"""Files that are whole or not there."""

import os
from pathlib import Path


def write_whole(place: Path, content: bytes) -> None:
    """Writes beside and renames, so that a reader finds the old content or the new. OSError where that fails; then nothing is left beside."""
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        beside.write_bytes(content)
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)
