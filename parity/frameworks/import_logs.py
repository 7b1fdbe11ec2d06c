"""Keeps TensorFlow's log out of reports, as far as the user has not asked for it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


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
    wanted = os.environ.get("TF_CPP_MIN_LOG_LEVEL") == "0"
    if "tensorflow" not in sys.modules and not wanted and _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


class _SilentImport(MetaPathFinder):
    """Finds TensorFlow where the other finders do, and wraps the running of it."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "tensorflow":
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_silently(module: ModuleType) -> None:
                with _no_stderr():
                    execute(module)

            spec.loader.exec_module = execute_silently  # type: ignore[method-assign]
        return spec


_FINDER = _SilentImport()


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
