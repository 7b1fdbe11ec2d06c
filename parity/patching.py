"""Gives modules and classes of others other attributes for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_MISSING = object()


@contextmanager
def patched(owner: Any, **attributes: Any) -> Iterator[None]:
    """Within it a module or a class has these attributes; what it inherits stays inherited."""
    before = {name: vars(owner).get(name, _MISSING) for name in attributes}
    for name, attribute in attributes.items():
        setattr(owner, name, attribute)
    try:
        yield
    finally:
        for name, attribute in before.items():
            if attribute is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, attribute)
