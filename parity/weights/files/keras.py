"""Keras 3's .keras: a zip with the config, read as JSON, and the weights, read as HDF5."""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from parity.errors import FileError
from parity.weights.files import hdf5, subprocess_probe
from parity.weights.files.contents import WeightFile
from parity.weights.files.keras_layers import parse_config
from parity.weights.files.safe_io import check_zip, need

CONFIG = "config.json"
WEIGHTS = "model.weights.h5"


def read(path: Path, part: str) -> WeightFile:
    need("h5py")
    with zipfile.ZipFile(path) as archive:
        check_zip(path, archive)
    found = subprocess_probe.survey("keras", path, part)
    return hdf5.weight_file({**found, "kind": "keras"}, path, partial(_opened, path))


def survey(path: Path, part: str) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        config = parse_config(json.loads(archive.read(CONFIG)))
    return hdf5.survey_of(partial(_opened, path), path, part, config)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """The weights inside the zip, read in place; a packed member is unpacked to the disk first."""
    with zipfile.ZipFile(path) as archive, archive.open(WEIGHTS) as member:
        if archive.getinfo(WEIGHTS).compress_type == zipfile.ZIP_STORED:
            with need("h5py").File(member, "r") as file:
                yield file
        else:
            with tempfile.TemporaryFile() as unpacked:
                shutil.copyfileobj(member, unpacked)
                unpacked.flush()
                with need("h5py").File(unpacked, "r") as file:
                    yield file


def write(path: Path, tensors: Mapping[str, Any], like: WeightFile | None, kind: str) -> None:
    if like is None:
        raise FileError(
            "A .keras file holds a model, not weights alone. Give like=, a .keras file of the "
            "same model, or write .weights.h5."
        )
    with (
        zipfile.ZipFile(like.path) as source,
        zipfile.ZipFile(path, "w") as target,
        tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name) as weights,
    ):
        for info in source.infolist():
            with source.open(info) as member:
                if info.filename != WEIGHTS:
                    with target.open(info, "w") as copy:
                        shutil.copyfileobj(member, copy)
                    continue
                shutil.copyfileobj(member, weights)
                weights.flush()
                hdf5.replace(Path(weights.name), like, tensors)
                target.write(weights.name, WEIGHTS)
