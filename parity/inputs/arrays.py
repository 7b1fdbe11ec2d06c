"""Arrays that the command line names: of a .npz or .npy file, or drawn in a shape."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from parity.arrays import Array
from parity.errors import UsageError
from parity.model import Inputs


def read_inputs(file: str) -> Inputs:
    """The arrays of a .npz or .npy file; never unpickles anything.

    One array is the input, whatever its name. Several are positional where they are named as
    `np.savez` names them (arr_0, arr_1, ...), else they go by their names.

    Raises:
        UsageError: the file is not there, is damaged, or holds something else.
    """
    path = Path(file)
    try:
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, np.lib.npyio.NpzFile):
            return loaded
        with loaded:
            arrays = {name: loaded[name] for name in loaded.files}
    except FileNotFoundError:
        raise UsageError(f"There is no file {file}.") from None
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        # NumPy takes whatever it does not know for a pickle, and advises to load it as one
        why = "it holds Python objects, or is damaged" if "pickle" in str(error) else str(error)
        raise UsageError(
            f"{file} cannot be read as arrays: {why}. Save plain arrays with numpy.savez."
        ) from error
    not_arrays = [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]
    if not arrays or not_arrays:
        what = f"{not_arrays[0]!r}, which is no array" if not_arrays else "no arrays"
        raise UsageError(f"{file} holds {what}. Save plain arrays with numpy.savez.")
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    positions = [f"arr_{index}" for index in range(len(arrays))]
    if sorted(arrays) == sorted(positions):
        return tuple(arrays[name] for name in positions)
    return arrays


def random_inputs(shapes: Sequence[str], seed: int) -> Inputs:
    """Random float32 arrays, signed and distinct.

    Args:
        shapes: of each input its shape, as `5,4,84,84`, or `name=5,4,84,84` for one that goes by
            name.
        seed: of the numbers.

    Raises:
        UsageError: a shape that is none, or names for some inputs only.
    """
    rng = np.random.default_rng(seed)
    drawn: list[tuple[str, Array]] = []
    for text in shapes:
        name, _, shape = text.rpartition("=")
        drawn.append((name, _draw(rng, text, shape)))
    names = [name for name, _ in drawn]
    if not any(names):
        arrays = tuple(array for _, array in drawn)
        return arrays[0] if len(arrays) == 1 else arrays
    if not all(names) or len(set(names)) < len(names):
        raise UsageError("--random: give every input a name of its own, or none of them.")
    return dict(drawn)


def _draw(rng: np.random.Generator, text: str, shape: str) -> Array:
    try:
        sizes = [int(size) for size in shape.split(",")]
    except ValueError:
        sizes = [0]
    if min(sizes) < 1:
        raise UsageError(
            f"--random: {text!r} is no shape; give sizes with commas between, as in 5,4,84,84."
        )
    try:
        return rng.standard_normal(sizes, dtype=np.float32)
    except (MemoryError, ValueError) as error:
        raise UsageError(f"--random: an array of shape {shape} cannot be made: {error}.") from None
