"""A failing observation on disk, with a script that runs the test on it and without hypothesis."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from parity.atomic import write_whole
from parity.model import Inputs, as_it_is, fields_of, flatten_inputs, is_record
from parity.tape import Array

_SCRIPT = '''\
"""Runs a test on the observation on which it failed, without hypothesis.

The arrays lie beside this file; parity.observations.saved.load(path) reads them.
"""
import os
import sys
from pathlib import Path

import pytest

TEST = {test!r}
HERE = Path(__file__).resolve()
os.chdir(HERE.parent / {root!r})
option = "--parity-observation=" + str(HERE.with_suffix(".npz"))
sys.exit(pytest.main([TEST, option, *sys.argv[1:]]))
'''


def save(folder: Path, test: str, root: Path, observation: Inputs, random: Inputs | None) -> Path:
    """Writes `observation.npz` and `observation.py`, each whole or not at all.

    Args:
        test: pytest's name of it, relative to `root`.
        random: random inputs of the same shapes, which go with it.

    Returns:
        The script.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kept = (observation,) if random is None else (observation, random)
    arrays = {f"array_{index}": array for index, array in enumerate(flatten_inputs(kept).values())}
    buffer = BytesIO()
    structure = json.dumps(_structure(kept, iter(range(len(arrays)))))
    np.savez_compressed(buffer, allow_pickle=False, structure=np.array(structure), **arrays)
    write_whole(folder / "observation.npz", buffer.getvalue())
    script = folder / "observation.py"
    relative = os.path.relpath(root, folder)
    write_whole(script, _SCRIPT.format(test=test, root=relative).encode())
    return script


def load(path: str | os.PathLike[str]) -> tuple[Inputs, ...]:
    """The observation that `save` wrote, and the random inputs that go with it, if there are any.

    Raises:
        FileError: it cannot be read, or is none of these files.
    """
    from parity.weights.files.safe_io import guarded

    with guarded(Path(path), "holds no observation that parity saved", ""):
        with np.load(path, allow_pickle=False) as saved:
            arrays = {name: saved[name] for name in saved.files}
        structure = json.loads(str(arrays.pop("structure")))
        found: tuple[Inputs, ...] = _filled(structure, arrays)
    return found


def _structure(inputs: Inputs, numbers: Iterator[int]) -> Any:
    """Numbers for arrays; `{"tuple": [..]}`, `{"dict": [[key, ..], ..]}`, `{"given": ..}`."""
    if inputs is None:
        return None
    if as_it_is(inputs):
        return {"given": inputs}
    if is_record(inputs):  # of a class that a file cannot hold: fields by name, as a dict
        inputs = fields_of(inputs)
    if isinstance(inputs, Mapping):
        return {"dict": [[key, _structure(item, numbers)] for key, item in inputs.items()]}
    if isinstance(inputs, tuple):
        return {"tuple": [_structure(item, numbers) for item in inputs]}
    return next(numbers)


def _filled(structure: Any, arrays: Mapping[str, Array]) -> Any:
    if structure is None:
        return None
    if isinstance(structure, int):
        return arrays[f"array_{structure}"]
    if "given" in structure:
        return structure["given"]
    if "dict" in structure:
        return {key: _filled(item, arrays) for key, item in structure["dict"]}
    return tuple(_filled(item, arrays) for item in structure["tuple"])
