"""Files that appear whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any


def write_json(path: str | os.PathLike[str], data: Any) -> None:
    """Writes JSON to a file that appears whole or not at all."""
    write_whole(path, (json.dumps(data, indent=1, allow_nan=False) + "\n").encode())


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes a file that appears whole or not at all."""
    target = Path(path)
    # not tempfile's: what that makes nobody else may read, and a report is for others too
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
