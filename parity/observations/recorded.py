"""Recorded observations: `.npz`, RLlib's offline batches as JSON or Parquet, Minari's data sets.

Nothing in a file is ever executed. RLlib packs columns as pickles unless it is set not to; those
are refused.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from parity.errors import FileError, FrameworkMissing, UsageError
from parity.inputs.arrays import read_inputs
from parity.model import Inputs, map_arrays
from parity.observations.rollout import needed, stacked
from parity.safe_json import parsed

_MINARI = "minari:"
_OBSERVATIONS = "obs"
# From this one on it executes nothing that a file brings (CVE-2023-47248).
_PYARROW = (14, 0, 1)
_PACKED = (
    "is packed as a pickle, which parity never unpacks. Write it again with "
    "`output_compress_columns=[]` in config.offline_data(...)"
)


def recorded(
    source: str | os.PathLike[str], steps: int | None = None, policy: str | None = None
) -> Inputs:
    """The observations of a recording, as inputs for a comparison.

    Args:
        source: a `.npz` or `.npy` file with an array for each part of the observations; a `.json`
            or `.parquet` file that RLlib wrote, or a folder of them, whose column `obs` is taken;
            or `"minari:ID"`, a data set of Minari that was downloaded before.
        steps: how many observations, the first ones; None for all.
        policy: whose, where RLlib recorded several.

    Returns:
        Arrays (N, ..), or dicts or tuples of them. Of `.npz` the dtypes are the file's; JSON and
        Parquet know no float32, which floats become.

    Raises:
        UsageError: there is no such recording, or of several policies none was named.
        FileError: it is damaged, is no such file, or has pickles in it.
        FrameworkMissing: Parquet needs pyarrow, and Minari's data sets minari.
    """
    if steps is not None and steps < 1:
        raise UsageError(f"steps is {steps}; it must be 1 or more.")
    name = os.fspath(source)
    if name.startswith(_MINARI):
        return _listed(_minari(name.removeprefix(_MINARI)), steps, name)
    files = _files(Path(name))
    suffix = files[0].suffix
    if suffix not in _READERS:
        found = read_inputs(name)
        return found if steps is None else map_arrays(lambda array: array[:steps], found)
    rows = (row for file in files for row in _READERS[suffix](file, policy))
    return map_arrays(_narrow, _listed(rows, steps, name))


def _files(path: Path) -> list[Path]:
    """The file, or those of RLlib in a folder, in the order of their names."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix in _READERS)
    kinds = {file.suffix for file in files}
    if len(kinds) != 1:
        what = "both .json and .parquet" if kinds else "neither .json nor .parquet"
        raise UsageError(f"The folder {path} holds {what} files; name one with RLlib's batches.")
    return files


def _listed(rows: Iterator[Any], steps: int | None, name: str) -> Inputs:
    found = list(islice(rows, steps))
    if not found:
        raise FileError(f"{name} holds no observations.")
    return stacked(found, name)


def _narrow(array: Any) -> Any:
    return array.astype(np.float32) if array.dtype == np.float64 else array


# --- RLlib ---------------------------------------------------------------------------------------


def _from_json(file: Path, policy: str | None) -> Iterator[Any]:
    """A record on each line: a batch of many steps, or a single step."""
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield from _rows(parsed(line), policy, f"{file}, line {number}")
    except FileNotFoundError:
        raise UsageError(f"There is no file {file}.") from None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise FileError(
            f"{file} cannot be read as RLlib's JSON, a record a line: {error}"
        ) from error


def _from_parquet(file: Path, policy: str | None) -> Iterator[Any]:
    parquet = _pyarrow()
    if not file.is_file():
        raise UsageError(f"There is no file {file}.")
    try:
        table = parquet.ParquetFile(file)
        shapes = {field.name: _shape(field, file) for field in table.schema_arrow}
        for batch in table.iter_batches():
            for record in batch.to_pylist():
                for name, shape in shapes.items():
                    if shape is not None:
                        record[name] = np.reshape(record[name], shape)
                yield from _rows(record, policy, str(file))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise FileError(f"{file} cannot be read as Parquet: {error}") from error


def _pyarrow() -> Any:
    parquet = needed("pyarrow.parquet", "Parquet files are read by pyarrow", "pip install pyarrow")
    version = sys.modules["pyarrow"].__version__
    if tuple(int(part) for part in version.split(".")[:3] if part.isdigit()) < _PYARROW:
        raise FrameworkMissing(
            f"pyarrow {version} may execute what a file brings. "
            "Install a newer one: pip install 'pyarrow>=14.0.1'",
            "pyarrow",
        )
    return parquet


def _shape(field: Any, file: Path) -> tuple[int, ...] | None:
    """The shape of a tensor of Ray's, which it stores flat; None for other columns."""
    kept = field.metadata or {}
    name = kept.get(b"ARROW:extension:name", b"").decode()
    if not name:
        return None
    if not name.startswith("ray.data.arrow_tensor"):
        raise FileError(f"{file}: the column {field.name!r} is of type {name}, without one shape.")
    try:
        return tuple(int(size) for size in json.loads(kept[b"ARROW:extension:metadata"]))
    except (KeyError, ValueError, TypeError) as error:
        raise FileError(f"{file}: the shape of the column {field.name!r} {_PACKED}.") from error


_READERS = {".json": _from_json, ".parquet": _from_parquet}


def _rows(record: Any, policy: str | None, where: str) -> Iterator[Any]:
    """The single observations of a record: of a batch of one policy's or several's, or a step."""
    if not isinstance(record, Mapping):
        raise FileError(f"{where}: a record is {type(record).__name__}, not a batch of RLlib's.")
    kind = record.get("type")
    if kind == "MultiAgentBatch":
        record = _of_policy(record.get("policy_batches") or {}, policy, where)
    if _OBSERVATIONS not in record:
        raise FileError(f"{where}: there is no column 'obs', but: {', '.join(map(str, record))}.")
    found = _checked(record[_OBSERVATIONS], where)
    yield from _split(found) if kind in ("SampleBatch", "MultiAgentBatch") else [found]


def _of_policy(batches: Mapping[str, Any], policy: str | None, where: str) -> Any:
    if policy is None and len(batches) == 1:
        return next(iter(batches.values()))
    if policy is None or policy not in batches:
        raise UsageError(
            f"{where}: observations of {', '.join(map(repr, batches)) or 'no policy'} were "
            "recorded; name one of them: parity.observations.recorded(..., policy=...)."
        )
    return batches[policy]


def _checked(found: Any, where: str) -> Any:
    """An observation's parts, none of them packed."""
    if isinstance(found, str | bytes):
        raise FileError(f"{where}: the column 'obs' {_PACKED}.")
    if isinstance(found, Mapping):
        return {key: _checked(part, where) for key, part in found.items()}
    return found


def _split(batch: Any) -> list[Any]:
    """A batch as its rows."""
    if not isinstance(batch, Mapping):
        return list(batch)
    parts = {key: _split(part) for key, part in batch.items()}
    return [dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True)]


# --- Minari --------------------------------------------------------------------------------------


def _minari(name: str) -> Iterator[Any]:
    why = f"{_MINARI}{name} is a data set of Minari"
    minari = needed("minari", why, "pip install 'minari[hdf5]'")
    try:
        data = minari.load_dataset(name, download=False)
        for episode in data.iterate_episodes():
            yield from _split_episode(episode.observations)
    except (FileNotFoundError, ValueError, KeyError) as error:
        raise UsageError(
            f"Minari has no data set {name!r} here: {error}. "
            f"Download it first: minari download {name}"
        ) from error


def _split_episode(observations: Any) -> list[Any]:
    if isinstance(observations, tuple):
        return list(zip(*map(_split_episode, observations), strict=True))
    if isinstance(observations, Mapping):
        return _split({key: _split_episode(part) for key, part in observations.items()})
    return list(observations)
