"""Lets `import chainer` work on NumPy 2 wherever a user writes it, once parity is imported.

Chainer's last release reads names that NumPy 2 dropped. This finder stands in Python's import
system, answers for that one package alone, and imports nothing until somebody asks for it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_PACKAGE = "chainer"


def install() -> None:
    """Puts the finder before Python's own; once, however often parity is imported."""
    if not any(type(one).__name__ == _Finder.__name__ for one in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds Chainer where the other finders do, and has it run among the names that it reads."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != _PACKAGE:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = (
                find(name, path, target) if find and finder is not self else None
            )
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
                return spec
        return None


class _Loader:
    """The loader that was found, but for how it runs the package."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found, name)

    def exec_module(self, module: ModuleType) -> None:
        from parity.frameworks.chainer_numpy import importing

        assert module.__spec__ is not None
        module.__loader__ = module.__spec__.loader = self._found  # the module keeps nothing of ours
        with importing():
            self._found.exec_module(module)
