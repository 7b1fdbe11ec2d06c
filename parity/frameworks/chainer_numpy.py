"""Imports Chainer 7.8 on NumPy 2, and leaves NumPy as it is for everyone else.

Chainer's last release reads two names that NumPy 2 dropped: `np.sctypes` and `np.float`. Only two
of its modules do. They get a stand-in for NumPy that has the names; NumPy itself has them only
while Chainer is being imported, by parity or, through `import_hooks`, by anyone else.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from parity.errors import FrameworkMissing
from parity.patching import patched

# Never `bool`: with `np.bool` set to Python's, NumPy's own masked arrays break.
_DROPPED: dict[str, Any] = {
    "float": float,
    "sctypes": {
        "int": [np.int8, np.int16, np.int32, np.int64],
        "uint": [np.uint8, np.uint16, np.uint32, np.uint64],
        "float": [np.float16, np.float32, np.float64, np.longdouble],
        "complex": [np.complex64, np.complex128, np.clongdouble],
        "others": [np.bool_, object, bytes, str, np.void],
    },
}


def import_chainer() -> Any:
    """The `chainer` module, imported if it was not yet.

    Raises:
        FrameworkMissing: Chainer, or the `pkg_resources` it imports, is not installed.
    """
    for module in ("chainer", "pkg_resources"):
        if module not in sys.modules and importlib.util.find_spec(module) is None:
            raise FrameworkMissing(
                f"Chainer needs {module}, which is not installed. "
                "Install both with: pip install chainer 'setuptools<81'",
                "chainer",
            )
    importlib.import_module("chainer")
    _give_stand_in()  # with the user's own shim it may have been imported before parity
    return sys.modules["chainer"]


@contextmanager
def importing() -> Iterator[None]:
    """Chainer may be run in here for the first time."""
    # what a failed import left behind; while the package is reloaded its modules are its own
    if not hasattr(sys.modules.get("chainer"), "__version__"):
        for name in [name for name in sys.modules if name.startswith("chainer.")]:
            del sys.modules[name]
    missing = {name: item for name, item in _DROPPED.items() if not hasattr(np, name)}
    with warnings.catch_warnings(), patched(np, **missing):
        warnings.simplefilter("ignore")  # pkg_resources' end, old escapes in docstrings
        yield
    _give_stand_in()


def _give_stand_in() -> None:
    """Has the two readers find the dropped names whenever they run."""
    stand_in = ModuleType("numpy")
    vars(stand_in).update(_DROPPED, __getattr__=partial(getattr, np))
    vars(sys.modules["chainer.functions.array.as_strided"])["np"] = stand_in
    # this one asks elsewhere whether an array's module `is numpy`: only its reader gets the other
    resize = vars(sys.modules["chainer.functions.array.resize_images"])
    reader = resize["compute_indices_and_weights"]
    resize[reader.__name__] = FunctionType(reader.__code__, {"numpy": stand_in}, reader.__name__)
