"""NumPy callables: only what goes in and comes out can be seen; reported to be so."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from typing import cast as type_cast

import numpy as np

from parity.draws.host import Host
from parity.errors import NoFloat64
from parity.frameworks import invoke
from parity.frameworks.invoke import no_tensors, run
from parity.frameworks.protocol import Traits
from parity.inputs.binding import bound
from parity.keeping import left_as_it_was, other_generators
from parity.keeping.leaf import CannotPutBack, Flag, Leaf, Put, StateRules, kept_flags, unchanged
from parity.model import flatten_inputs, map_arrays
from parity.numerics.accounting import in_reals
from parity.outputs import flatten as structure
from parity.recorder import Recorder
from parity.tape import Array, Native, Op, Precision, Tape
from parity.weights.tensors import Tensor

if TYPE_CHECKING:
    from parity.frameworks.protocol import Framework
    from parity.model import Inputs, Model


name = "numpy"
WORDS: dict[str, str] = {}  # a function is one operation, and none of these

# --- recognise ---------------------------------------------------------------------------------


def recognises(obj: object) -> bool:
    return isinstance(obj, np.ufunc)


def signed(obj: Any) -> Any:
    return obj


other_random_state = invoke.other_random_state

# --- record ------------------------------------------------------------------------------------


def record(model: Model, inputs: Inputs) -> Tape:
    """Calls a function over arrays; the tape holds one operation, the call itself."""
    recorder = Recorder(_ADAPTER, lambda _: False, {})
    ids = {
        path: recorder.leaf(array, "input", path, array.shape, array.dtype.name)
        for path, array in flatten_inputs(inputs).items()
    }
    # copies: a function may write to what it is given
    args, kwargs = bound(model, map_arrays(np.array, inputs))
    with left_as_it_was(model.obj), recorder.host.watching(model.obj):
        result = run(model, lambda: model.obj(*args, **kwargs))
        outputs = structure.flatten(result, lambda _: False)
        arrays = [np.array(array) for array in outputs.values()]
    if outputs.none_of_its_own(()):
        raise no_tensors(model, result)
    noise = [recorder.draw_by_numpy(drawn) for drawn in recorder.host.draws]
    op = recorder.op(
        model.name,
        [*ids.values(), *noise],
        [(array, array.shape, array.dtype.name) for array in arrays],
        call=_Call(model, inputs, len(noise)),
    )
    recorder.caveats.append(
        f"{model.name} is a NumPy function: only its outputs are compared, nothing inside it"
    )
    tape = recorder.tape(model.name, ids, dict(zip(outputs, op.outputs, strict=True)), outputs)
    with other_random_state(0), other_generators(model.obj, 0):
        again = tape.replay()
    if not all(_equal(again.array(value), tape.recorded[value]) for value in op.outputs):
        tape.lost_draws.append(
            f"{model.name} gives other outputs when it runs again: it draws random numbers that "
            "cannot be seen, or keeps state. Draw with numpy.random or a numpy Generator that the "
            "function holds."
        )
    return tape


def _equal(a: Array, b: Array) -> bool:
    return np.array_equal(a, b, equal_nan=a.dtype.kind == b.dtype.kind == "f")


def plain(model: Model, as_called: bool = False) -> Callable[[Inputs], dict[str, Array]]:
    """The function itself; see `Framework.plain`."""

    def outputs(inputs: Inputs) -> dict[str, Array]:
        args, kwargs = bound(model, map_arrays(np.array, inputs))
        with left_as_it_was(model.obj):
            result = run(model, lambda: model.obj(*args, **kwargs))
            return structure.flatten(result, lambda _: False).as_arrays(np.array)

    return outputs


# --- tensors -----------------------------------------------------------------------------------


def tensors(obj: object) -> list[Tensor]:
    """None: nothing inside a NumPy function can be seen."""
    return []


# --- replay ------------------------------------------------------------------------------------


@dataclass
class _Call:
    """A function and the structure of its inputs; whether it computes in float64 when given it."""

    model: Model
    inputs: Inputs
    draws: int = 0  # the last of its operation's inputs: what it drew
    wide: bool | None = None


def execute(op: Op, arguments: Sequence[Native], precision: Precision) -> list[Native]:
    """Calls the function again.

    Raises:
        NoFloat64: it raises where it is given float64, or rounds to something narrower.
    """
    call: _Call = op.call
    found = _called(call, arguments, wide=precision is not None)
    if precision is None:
        return found
    narrow = [at for at, array in enumerate(found) if array.dtype in _NARROWER]
    if narrow:
        # what is made of weights alone, as an entropy of fixed deviations, is a constant
        moved = _moved_by(call, arguments, found, max(_LARGER))
        made = [at for at in narrow if moved[at].any()] or _looked_up(
            call, arguments, found, narrow
        )
        if made:
            raise NoFloat64(f"{op.kind} gives {found[made[0]].dtype} for {precision}")
    if call.wide is None:
        call.wide = _is_wide(call, arguments, found)
    if not call.wide:
        raise NoFloat64(f"{op.kind} rounds to less than {precision} inside")
    return found


def _looked_up(
    call: _Call, arguments: Sequence[Native], found: Sequence[Array], results: Sequence[int]
) -> list[int]:
    """Which results are made of integers, as of the rows of a table of weights."""
    shuffled = [
        np.roll(array.ravel(), 1).reshape(array.shape) if array.dtype.kind in "biu" else array
        for array in arguments
    ]
    if all(np.array_equal(a, b) for a, b in zip(arguments, shuffled, strict=True)):
        return []
    try:
        others = _called(call, shuffled)
    except NoFloat64:  # integers that have to be in order
        return []
    return [at for at in results if not _equal(found[at], others[at])]


def _is_wide(call: _Call, arguments: Sequence[Native], found: Sequence[Array]) -> bool:
    """Whether a function follows a step far below float32's rounding, in its inputs.

    A cast inside swallows such a step, or makes a step of the narrower format's own of it, where it
    lets a larger one through. One column may be cast alone, so each is asked by itself.
    """
    small = _moved_by(call, arguments, found, _STEP)
    for step in _LARGER:
        large = _moved_by(call, arguments, found, step)
        for before, least, most in zip(found, small, large, strict=True):
            size = np.abs(in_reals(before))
            expected = most * (_STEP / step)
            # what jumps is a branch, what moves by next to nothing is lost in float64 too
            measured = (most < size * _JUMP) & (expected > size * _LOST)
            if _mostly((least == 0) | (least > _FURTHER * expected), measured):
                return False
    return True


def _mostly(narrow: Array, measured: Array) -> bool:
    """Whether most of what is measured is narrow, of all elements or of a slice along some axis."""
    axes = [tuple(i for i in range(measured.ndim) if i != axis) for axis in range(measured.ndim)]
    for others in (None, *axes):
        count, least = measured.sum(others), 1 if others is None else _POOL
        if ((count >= least) & (2 * (narrow & measured).sum(others) > count)).any():
            return True
    return False


def _moved_by(
    call: _Call, arguments: Sequence[Native], found: Sequence[Array], step: float
) -> list[Array]:
    """How far a step of the inputs moves each element; no number where it is another then."""
    random = np.random.default_rng(0)
    stepped = [
        array * (1 + step * random.uniform(0.5, 1.0, array.shape))
        if array.dtype.kind == "f"
        else array
        for array in arguments
    ]
    moved = []
    for before, after in zip(found, _called(call, stepped), strict=True):
        a, b = in_reals(before), in_reals(after)
        gap = np.full(a.shape, np.nan)
        if a.dtype.kind == "f" and a.shape == b.shape:
            with np.errstate(all="ignore"):
                gap = np.abs(a - b)
        moved.append(gap)
    return moved


_NARROWER = (np.float16, np.float32, np.complex64)
_STEP = 2.0**-40
_LARGER = (2.0**-20, 2.0**-8)  # what float32 and what the narrowest formats let through
_JUMP = 2.0**-3
_LOST = 2.0**-48
_POOL = 4
_FURTHER = 2.0**8  # times what is in proportion


def _called(call: _Call, arguments: Sequence[Native], wide: bool = True) -> list[Array]:
    function, inputs = call.model.obj, call.inputs
    count = len(arguments) - call.draws
    replaced = iter(arguments[:count])

    refilled = map_arrays(lambda _: np.array(next(replaced)), inputs)
    args, kwargs = bound(call.model, refilled)
    host = Host(arguments[count:]).watching(function) if call.draws else nullcontext()
    with left_as_it_was(function):
        try:
            with host:
                found = function(*args, **kwargs)
        except Exception as error:  # the user's code may say anything to float64
            if not wide:
                raise
            raise NoFloat64(f"{type(error).__name__}: {error}") from error
        result = structure.flatten(found, lambda _: False)
        return [np.array(array) for array in result.values()]


def cast(array: Native, precision: Precision) -> Native:
    if precision is not None and np.asarray(array).dtype.kind == "f":
        return np.asarray(array).astype(precision)
    return array


def to_numpy(array: Native) -> Array:
    return np.asarray(array)


def from_numpy(array: Array) -> Native:
    return np.asarray(array)


def versions() -> dict[str, str]:
    return {"numpy": np.__version__}


def _blas() -> dict[str, str]:
    built: Any = np.show_config(mode="dicts") or {}
    blas = built.get("Build Dependencies", {}).get("blas", {})
    return {"blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()}


# --- keeping -----------------------------------------------------------------------------------

# Larger arrays are not copied: a checksum tells whether they have changed.
_LARGEST = 2**30


def settings() -> list[Put]:
    return [partial(np.random.set_state, np.random.get_state()), kept_flags(_FLAGS)]


_FLAGS: tuple[Flag, ...] = (
    (np.geterr, lambda found: np.seterr(**found)),
    (np.get_printoptions, lambda found: np.set_printoptions(**found)),
)


def leaf(thing: Any) -> Leaf | None:
    if isinstance(thing, np.ndarray):
        masks = np.ma.getmask(thing)
        inside = (("mask", masks),) if masks is not np.ma.nomask else ()
        return Leaf(partial(_array, thing), inside) if not thing.dtype.hasobject else None
    if isinstance(thing, np.random.Generator):
        return leaf(thing.bit_generator)
    if isinstance(thing, np.random.BitGenerator):
        move = lambda seed: setattr(thing, "state", type(thing)(seed).state)  # noqa: E731
        return Leaf(partial(_bit_generator, thing), move=move)
    if isinstance(thing, np.random.RandomState):
        move = lambda seed: thing.set_state(np.random.RandomState(seed).get_state())  # noqa: E731
        return Leaf(lambda: partial(thing.set_state, thing.get_state()), move=move)
    return None


def same_bytes(a: Any, b: Any) -> bool:
    """Whether two arrays hold the same bits: -0.0 is not 0.0, and NaN is itself."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    first, second = (np.ascontiguousarray(one).reshape(-1).view(np.uint8) for one in (a, b))
    return bool(np.array_equal(first, second))


def _array(thing: Any) -> Put:
    if thing.nbytes > _LARGEST:
        return unchanged(lambda: _checksum(thing))
    contents, shape = np.array(thing, copy=True, subok=False), thing.shape

    def put_back() -> None:
        if same_bytes(np.asarray(thing), contents):
            return
        if thing.shape != shape or not thing.flags.writeable:
            raise CannotPutBack
        np.asarray(thing)[...] = contents

    return put_back


def _checksum(thing: Any) -> int:
    return zlib.crc32(np.ascontiguousarray(thing).reshape(-1).view(np.uint8).data)


def _bit_generator(thing: Any) -> Put:
    state, seeds = thing.state, thing.seed_seq
    spawned = getattr(seeds, "n_children_spawned", 0)

    def put_back() -> None:
        thing.state = state
        if getattr(seeds, "n_children_spawned", 0) != spawned:
            raise CannotPutBack

    return put_back


STATE = StateRules(leaf=leaf, settings=settings)

# the one operation is the user's function
TRAITS = Traits(state=STATE, is_foreign=lambda op: True, switches=_blas)
_ADAPTER = type_cast("Framework", sys.modules[__name__])
