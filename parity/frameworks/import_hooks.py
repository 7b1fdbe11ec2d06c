"""What has to surround the import of a framework, by whomever it is imported.

Chainer's last release reads names that NumPy 2 dropped: once parity is imported, `import chainer`
finds them. The lines that build functional Keras models are kept. And TensorFlow's log is kept
out of reports, as far as the user has not asked for it.
A finder stands in Python's import system for that, answers for one package alone, and imports
nothing until somebody asks for it.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def install() -> None:
    """Has Chainer imported among the names that it reads, and Keras' lines kept."""
    _surround("chainer", _among_dropped_names)
    if "keras" in sys.modules:
        from parity.frameworks.keras_lines import keep

        keep()
    else:
        _surround("keras", _keeping_lines)


def silence() -> None:
    """Sets the log level that the user has not set, while it still has an effect."""
    if "tensorflow" not in sys.modules:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def silence_imports() -> None:
    """Silences TensorFlow, also while it is imported; for the command, whose terminal it is.

    TensorFlow 2.21 writes some lines before it reads TF_CPP_MIN_LOG_LEVEL, so the level alone does
    not do: while `import tensorflow` runs, whoever asked for it, nothing reaches stderr.
    """
    silence()
    if "tensorflow" not in sys.modules and os.environ.get("TF_CPP_MIN_LOG_LEVEL") != "0":
        _surround("tensorflow", _no_stderr)


def _surround(package: str, inside: Callable[[], AbstractContextManager[None]]) -> None:
    """Puts a finder before Python's own; once, however often parity is imported."""
    if not any(getattr(one, "surrounds", "") == package for one in sys.meta_path):
        sys.meta_path.insert(0, _Finder(package, inside))


class _Finder:
    """Finds a package where the other finders do, and has it run inside something."""

    def __init__(self, package: str, inside: Callable[[], AbstractContextManager[None]]) -> None:
        self.surrounds, self._inside = package, inside

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        others = [one for one in sys.meta_path if one is not self and hasattr(one, "find_spec")]
        for finder in others if name == self.surrounds else ():
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader, self._inside)  # type: ignore[assignment]
                return spec
        return None


class _Loader:
    """The loader that was found, but for how it runs the package."""

    def __init__(self, found: Any, inside: Callable[[], AbstractContextManager[None]]) -> None:
        self._found, self._inside = found, inside

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found, name)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__loader__ = module.__spec__.loader = self._found  # the module keeps no trace of it
        with self._inside():
            self._found.exec_module(module)


def _among_dropped_names() -> AbstractContextManager[None]:
    from parity.frameworks.chainer_numpy import importing

    return importing()


def _keeping_lines() -> AbstractContextManager[None]:
    from parity.frameworks.keras_lines import importing

    return importing()


@contextlib.contextmanager
def _no_stderr() -> Iterator[None]:
    """Sends what C++ code writes to stderr nowhere; an exception still gets out."""
    stderr = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
