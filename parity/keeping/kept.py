"""A model as it was: what it holds is noted before it runs, and put back afterwards.

Two kinds of things are noted. Of whatever has a structure (attributes, lists, dicts, cells of
closures, the globals that a function reads) which things it held; of arrays, tensors, variables and
generators their contents. A structure that comes to hold weights or layers was built by a first
call: it stays built.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from parity.errors import ParityError
from parity.keeping.leaf import CannotPutBack
from parity.keeping.walk import Path, state_rules, text, walked

_UNUSUAL = 2_654_435_769  # no seed that anybody gives by hand
_NAMED = 5  # of what has changed


class Kept:
    """What a thing holds as it is now, through attributes, containers and closures.

    Attributes:
        lost: what had changed and could not be put back, by its path; each once.
        known: all that it holds, by `id`.
    """

    def __init__(self, root: object) -> None:
        self.root = root  # kept alive: it is known by its identity
        self.lost: dict[str, None] = {}
        self.running = False
        self.structures, self._leaves, self.known = walked(root)

    def put_back(self) -> bool:
        """Puts all back; whether the run built something that stays."""
        changed = [one for one in self.structures if one.changed()]
        makes = {id(one): id(one.owner) for one in changed if one.makes(self.known)}
        built = set(makes.values())
        for structure in changed:
            here = id(structure.owner) in built
            if structure.is_users_container():
                here = id(structure) in makes
            with self._noting(structure.path):
                structure.put_back(bool(built), here)
        for path, owner, put_back, _ in reversed(self._leaves):  # what lies inside comes first
            if not (built and any(one.fills(owner) for one in state_rules())):
                with self._noting(path):
                    put_back()
        return bool(built)

    @contextlib.contextmanager
    def moved(self, turn: int) -> Iterator[None]:
        """Within it each generator has another state, at each turn one of its own."""
        moves = [(number, leaf.move) for number, (*_, leaf) in enumerate(self._leaves) if leaf.move]
        for number, move in moves:
            move(_UNUSUAL + turn + 1000 * number)
        try:
            yield
        finally:
            if moves:
                self.put_back()

    @contextlib.contextmanager
    def _noting(self, path: Path) -> Iterator[None]:
        try:
            yield
        except CannotPutBack:
            self.lost[text(path)] = None
        except Exception as error:  # a user's object may refuse anything
            self.lost[f"{text(path)} ({type(error).__name__}: {error})"] = None


@dataclass
class _Comparison:
    """What is known of models while they are compared, by their `id`."""

    kept: dict[int, Kept] = field(default_factory=dict)
    found: dict[tuple[int, str], Any] = field(default_factory=dict)


_Losses = dict[int, dict[str, None]]  # what runs changed for good, by the `id` of a model: paths
_losses: ContextVar[_Losses | None] = ContextVar("losses", default=None)
_now: ContextVar[_Comparison | None] = ContextVar("comparison", default=None)


@contextlib.contextmanager
def one_comparison() -> Iterator[None]:
    """Within it a model is looked through once, however often it runs."""
    if _now.get() is not None:
        with reporting_losses():
            yield
        return
    comparison = _Comparison()
    token = _now.set(comparison)
    try:
        with reporting_losses():
            yield
    finally:
        _now.reset(token)
        for kept in comparison.kept.values():
            kept.put_back()  # a replay runs operations again, as one that takes from a dataset


def once(model: object, what: str, find: Callable[[], Any]) -> Any:
    """What is found of a model: once in a comparison, and whenever it is asked for outside one."""
    comparison = _now.get()
    if comparison is None:
        return find()
    key = id(model), what
    if key not in comparison.found:
        comparison.found[key] = find()
        _of(model)  # keeps it alive, as it is known by its `id`
    return comparison.found[key]


def was_built(model: object) -> bool:
    """Whether a run in this comparison was a first call, which has built something."""
    comparison = _now.get()
    return comparison is not None and (id(model), _BUILT) in comparison.found


_BUILT = "built"


@contextlib.contextmanager
def left_as_it_was(model: object) -> Iterator[None]:
    """Puts back afterwards what a run changes, and what it changes of the whole process."""
    kept = _of(model)
    if kept.running:
        yield
        return
    settings = [put for one in state_rules() for put in one.settings()]
    kept.running = True
    try:
        yield
    finally:
        kept.running = False
        built = kept.put_back()
        for put in settings:
            put()
        losses = _losses.get()
        if losses is not None:
            losses.setdefault(id(model), {}).update(kept.lost)
        comparison = _now.get()
        if comparison is not None and built:
            comparison.kept.pop(id(model), None)  # it holds more now
            found = comparison.found.items()
            comparison.found = {key: one for key, one in found if key[0] != id(model)}
            once(model, _BUILT, lambda: True)


@contextlib.contextmanager
def other_generators(model: object, turn: int) -> Iterator[None]:
    """Within it the generators that a model holds draw other samples, at each turn others."""
    with _of(model).moved(turn):
        yield


def looked_through(things: Iterable[object]) -> Iterator[Kept]:
    """What things hold, each but once."""
    comparison, seen = _now.get(), set[int]()
    for thing in things:
        if id(thing) not in seen:
            kept = comparison and comparison.kept.get(id(thing)) or Kept(thing)
            seen.update(kept.known)
            yield kept


def streams() -> dict[str, Any]:
    """Where random numbers of the whole process stand that no recording sees, by who makes them."""
    return {name: now for one in state_rules() for name, now in one.streams().items()}


def _of(model: object) -> Kept:
    comparison = _now.get()
    if comparison is None:
        return Kept(model)
    if id(model) not in comparison.kept:
        comparison.kept[id(model)] = Kept(model)
    return comparison.kept[id(model)]


# --- what was changed for good -------------------------------------------------------------------


@contextlib.contextmanager
def reporting_losses() -> Iterator[None]:
    """Within it `lost` knows what runs have changed for good; an error that ends it lists that."""
    token = _losses.set({} if (known := _losses.get()) is None else known)
    try:
        yield
    except ParityError as error:
        paths = dict.fromkeys(path for held in (_losses.get() or {}).values() for path in held)
        sentence = _sentence("running the models", paths) if paths else ""
        if sentence not in str(error):
            error.args = (f"{error}\n{sentence}",)
            error.command = error.command and f"{error.command}\n{sentence}"
        raise
    finally:
        _losses.reset(token)


def lost(model: object, name: str) -> list[str]:
    """What running a model has changed for good, in a sentence; none where that is nothing."""
    paths = (_losses.get() or {}).get(id(model))
    return [_sentence(f"running {name}", paths)] if paths else []


def _sentence(running: str, paths: Iterable[str]) -> str:
    return (
        f"{running} changed {', '.join(list(paths)[:_NAMED])}, which cannot be put back: it is no "
        "longer as it was. Compare a copy, or make it anew"
    )
