"""A report whose names can be shown: no text in it ends a line, or does what a terminal obeys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from parity.escape import on_one_line
from parity.tape import Site

T = TypeVar("T")


def names_visible(found: T) -> T:
    """Data with every text in it on one line, however deep it lies; arrays are left alone."""
    shown: Any = found
    if isinstance(found, str):
        shown = on_one_line(found)
    elif isinstance(found, Site):
        shown = _VisibleSite(on_one_line(found.op), on_one_line(found.layer), found.frames)
    elif isinstance(found, tuple):
        shown = tuple(map(names_visible, found))
    elif isinstance(found, Mapping):
        shown = {names_visible(key): names_visible(one) for key, one in found.items()}
    elif is_dataclass(found) and not isinstance(found, type):
        own = {one.name: names_visible(getattr(found, one.name)) for one in fields(found)}
        shown = replace(found, **own)
    return shown  # type: ignore[no-any-return]


class _VisibleSite(Site):
    """A site whose line is read where it lies, and shown without what it hides."""

    @property
    def source(self) -> str:
        return on_one_line(super().source)

    @property
    def code(self) -> str:
        return on_one_line(super().code)
