"""Files that appear whole or not at all."""

from __future__ import annotations

import glob
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def write_json(path: str | os.PathLike[str], data: Any) -> None:
    write_whole(path, (json.dumps(data, indent=1, allow_nan=False) + "\n").encode())


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file that appears whole or not at all."""
    with whole(Path(path)) as place:
        place.write_bytes(data)


@contextmanager
def whole(target: Path) -> Iterator[Path]:
    """A place to write to; what is written there appears at `target` whole, or not at all.

    What is written may be several files whose names start with the place's, as TensorFlow's
    checkpoints are; an `.index` comes last, as it makes the others count.
    """
    # not tempfile's: what that makes nobody else may read, and a report is for others too
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")

    def written() -> list[Path]:
        return [*target.parent.glob(f"{glob.escape(temporary.name)}*")]

    try:
        yield temporary
        for file in sorted(written(), key=lambda file: file.suffix == ".index"):
            os.replace(file, target.with_name(target.name + file.name[len(temporary.name) :]))
    finally:
        for file in written():
            shutil.rmtree(file) if file.is_dir() else file.unlink()
