"""`parity demo`: one agent's network in torch, Keras and Chainer; the Keras one has a fault."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from parity.commands.shared import show
from parity.report.bar import bar

if TYPE_CHECKING:
    from parity.report.report import Report


def add(commands: Any) -> None:
    """Adds the command to the parser's."""
    demo = commands.add_parser(
        "demo", help="compare an agent's network in torch, Keras (with a fault) and Chainer"
    )
    demo.set_defaults(run=_demo)


def _demo(options: argparse.Namespace) -> int:
    with bar():
        found = _compared()
    return show(found)


def _compared() -> Report:
    """Compares the example's models; without Chainer, which ends below Python 3.12, the other two.

    Raises:
        FrameworkMissing: torch or TensorFlow is not installed.
    """
    from parity.comparison import compare
    from parity.errors import FrameworkMissing
    from parity.frameworks import load
    from parity.frameworks.import_hooks import silence_imports
    from parity.model import wrap

    silence_imports()
    load("torch")
    load("tensorflow")
    import torch

    torch.set_num_threads(1)  # the same figures on every machine
    example = _example()
    candidates = [wrap(example.keras_model(), name="Keras")]
    try:
        candidates.append(wrap(example.chainer_model(), name="Chainer"))
    except FrameworkMissing as missing:
        print(f"parity demo: without Chainer. {missing}", file=sys.stderr)
    reference = wrap(example.torch_model(), name="torch")
    return compare(reference, *candidates, inputs=example.observations())


def _example() -> ModuleType:
    """`examples/c51_dueling`: beside this package in a clone, inside it in a wheel."""
    package = Path(__file__).parents[1]
    folder = package / "examples"
    if not folder.is_dir():
        folder = package.parent / "examples"
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module("c51_dueling")
    finally:
        sys.path.remove(str(folder))
