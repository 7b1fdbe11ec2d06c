"""Runs a user's model, and turns what it raises into one clear error."""

from __future__ import annotations

import contextlib
import random
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from parity.callstack import foreign_paths
from parity.errors import ModelError, ParityError
from parity.frameworks import framework_of
from parity.frameworks.recognise import word_of
from parity.keeping import once
from parity.model import full_name, name_of
from parity.outputs.flatten import flatten
from parity.patching import patched

if TYPE_CHECKING:
    from parity.model import Model
    from parity.tape import Tape

T = TypeVar("T")
_of_user: ContextVar[Mapping[str, Any] | None] = ContextVar("parity.invoke.of_user", default=None)


@contextlib.contextmanager
def own_arithmetic() -> Iterator[None]:
    """Within it NumPy says nothing of overflows: whoever set that it raises means the models."""
    token = _of_user.set(_of_user.get() or np.geterr())
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _of_user.reset(token)


def run(model: Model, call: Callable[[], T]) -> T:
    """The result of `call`.

    Raises:
        ModelError: the model raised; the message holds its error and the user's line.
    """
    try:
        with np.errstate(**(_of_user.get() or {})):
            return call()
    except ParityError:
        raise
    except Exception as error:
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if not frame.filename.startswith((*foreign_paths(), "<"))
        ]
        where = (
            f"\n  at {frames[-1].filename}:{frames[-1].lineno}: {frames[-1].line}" if frames else ""
        )
        text = str(error).strip() or "no message"
        raise ModelError(
            f"{full_name(model.name, model.framework)} raised {type(error).__name__}: {text}{where}"
        ) from error


def takes_as_given(model: Model, call: Callable[[], object]) -> bool:
    """Whether a model takes inputs in float32 though its weights have another dtype.

    As one that casts them itself; others raise.
    """

    def find() -> bool:
        try:
            call()
        except Exception:  # whatever a framework raises where dtypes differ
            return False
        return True

    # of a way that is tried it is not known yet if the model fails for its dtype
    return find() if model.way is not None else bool(once(model.obj, "takes float32", find))


def no_tensors(model: Model, result: object) -> ModelError:
    """The error for a result without a tensor of the framework that the model was taken for."""
    name, kind = full_name(model.name, model.framework), type(result).__name__
    what = {"numpy": "arrays", "chainer": "Variables"}.get(model.framework, "tensors")
    if isinstance(model.obj, type):
        return ModelError(f"{name} is a class. Hand in an instance: {name_of(model.obj)}(...).")
    foreign = flatten(result, lambda thing: bool(framework_of(thing))).values()
    for other in filter(None, map(framework_of, foreign)):
        return ModelError(
            f"{name} returned no {what} but {kind}, a tensor of {other}. If it is a function over "
            f"those, say so: parity.wrap({name_of(model.obj)}, framework={other!r}).",
            f"{name} returned no {what} but {kind}, a tensor of {other}. If it is a function over "
            f"those, say so behind an @: {word_of(model.obj)}@{other}.",
        )
    return ModelError(
        f"{name} returned no {what} but {kind}. Return {what}, or tuples, dicts or objects with "
        f"{what} in them."
    )


@contextlib.contextmanager
def _other_hour(turn: int) -> Iterator[None]:
    """Has this thread's clock stand elsewhere; that of other threads goes on."""
    seconds, nanoseconds, thread = time.time, time.time_ns, threading.get_ident()

    def later() -> int:
        return 3607 * (turn + 1) if threading.get_ident() == thread else 0

    clocks = {
        "time": lambda: seconds() + later(),
        "time_ns": lambda: nanoseconds() + later() * 10**9,
    }
    with patched(time, **clocks):
        yield


@contextlib.contextmanager
def other_random_state(turn: int) -> Iterator[None]:
    """Gives Python and NumPy another random state for a while, at each turn one of its own.

    And it is another hour, of which a model may make its seed.
    """
    python, numpy = random.getstate(), np.random.get_state()
    try:
        with _other_hour(turn):
            random.seed(random.getrandbits(64) + turn)
            np.random.seed(np.random.randint(1 << 31) + turn)
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)


def same_outputs(one: Tape, other: Tape) -> bool:
    """Whether two runs of a model gave the same values."""
    found = [
        {name: tape.adapter.to_numpy(tape.recorded[value]) for name, value in tape.outputs.items()}
        for tape in (one, other)
    ]
    return found[0].keys() == found[1].keys() and all(
        np.array_equal(array, found[1][name], equal_nan=array.dtype.kind in "fc")
        for name, array in found[0].items()
    )
