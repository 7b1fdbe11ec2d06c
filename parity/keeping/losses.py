"""What running models changed for good: known during a comparison, and reported in errors too."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from contextvars import ContextVar

from parity.errors import ParityError

_NAMED = 5  # of what has changed
_Losses = dict[int, dict[str, None]]  # by the `id` of a model: paths in it, each once
_losses: ContextVar[_Losses | None] = ContextVar("losses", default=None)


@contextlib.contextmanager
def reporting_losses() -> Iterator[None]:
    """Within it `lost` knows what runs have changed for good; an error that ends it lists that."""
    token = _losses.set({} if (known := _losses.get()) is None else known)
    try:
        yield
    except ParityError as error:
        paths = dict.fromkeys(path for held in (_losses.get() or {}).values() for path in held)
        said = _said("running the models", paths) if paths else ""
        if said not in str(error):
            error.args = (f"{error}\n{said}",)
            error.command = error.command and f"{error.command}\n{said}"
        raise
    finally:
        _losses.reset(token)


def note_lost(model: object, paths: Iterable[str]) -> None:
    """Notes what a run of a model has changed for good."""
    known = _losses.get()
    if known is not None:
        known.setdefault(id(model), {}).update(dict.fromkeys(paths))


def lost(model: object, name: str) -> list[str]:
    """What running a model has changed for good, in a sentence; none where that is nothing."""
    paths = (_losses.get() or {}).get(id(model))
    return [_said(f"running {name}", paths)] if paths else []


def _said(running: str, paths: Iterable[str]) -> str:
    return (
        f"{running} changed {', '.join(list(paths)[:_NAMED])}, which cannot be put back: it is no "
        "longer as it was. Compare a copy, or make it anew"
    )
