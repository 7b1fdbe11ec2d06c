"""What a framework answers that has no files of models of its own, nor models that state shapes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

FILE_FORMATS: Mapping[str, str] = {}


def cell_layer(name: str, known: Collection[str]) -> str | None:
    """See `Framework.cell_layer`."""
    return None


def stored_name(name: str) -> str:
    """See `Framework.stored_name`."""
    return name


def own_writer(obj: Any, name: str) -> Callable[[str], Any] | None:
    """See `Framework.own_writer`."""
    return None


def own_reader(obj: Any, format: str) -> Callable[[str], Any] | None:
    """See `Framework.own_reader`."""
    return None


def input_shapes(obj: Any) -> list[tuple[int | None, ...]]:
    """See `Framework.input_shapes`."""
    return []


def takes_channels_last(obj: Any) -> bool:
    """See `Framework.takes_channels_last`."""
    return False
