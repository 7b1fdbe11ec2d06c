"""Does a tape stand for its model: does its replay give what the model gives unwatched?"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache, partial
from typing import Any

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.graph_draws import graphs_draw_otherwise
from parity.diagnosis.random_outputs import drawn_outputs, is_kernel_rounding
from parity.errors import ParityError
from parity.frameworks import in_use, load
from parity.keeping import other_generators, was_built
from parity.model import Inputs, Model, flatten_inputs, map_arrays
from parity.numerics.difference import residual, same_bits, same_numbers
from parity.numerics.null_distribution import nudged
from parity.numerics.reruns import Reruns
from parity.preprocessing import plain, record
from parity.tape import Array, Replay, Tape

Outputs = Mapping[str, Array]


@dataclass(frozen=True)
class PlainRun:
    """A tape with the means to run its model as its user does.

    Attributes:
        run: on the inputs that were recorded.
        nudged: on the inputs moved by one rounding, at random by a seed; given the unit roundoff,
            or in units of the last place.
        orders: of the samples, each with half of them left out. A single one stands for others
            that differ from it by a few percent.
        elsewhere: on the samples in one of these orders, by its place, and nudged by a seed.
        axis, count: the inputs' axis of samples, and how many there are; 1 for the steps of a
            single sequence, -1 for a single sample.
        recorded: the tape of the model on the samples in one of these orders.
        moved: from which of the orders on the samples are others.
        redrawn: on the same inputs and other random numbers, by a number; 0 gives those of `run`.
        untraced: likewise, and without graphs, which are what their code was when they were traced.
        inputs, on: those that were recorded; on others in the same structure.
    """

    tape: Tape
    run: Callable[[], Outputs]
    nudged: Callable[[int, float | None], Outputs] | None = None
    orders: Sequence[Array] = ()
    elsewhere: Callable[[int, int | None], Outputs] | None = None
    axis: int = 0
    count: int = 0
    recorded: Callable[[int], Tape] | None = None
    moved: int = 0
    redrawn: Callable[[int], Outputs] | None = None
    built: Callable[[], bool] = lambda: False
    untraced: Callable[[int], Outputs] | None = None
    inputs: Inputs = None
    on: Callable[[Inputs], Outputs] | None = None

    def made(
        self,
        change: Callable[[Tape], Tape],
        outputs: Callable[[Outputs], Outputs] | None = None,
    ) -> PlainRun:
        """The same with its tapes changed, those of other samples as well, and its outputs."""
        recorded = self.recorded
        then = None if recorded is None else lambda order: change(recorded(order))
        made = replace(self, tape=change(self.tape), recorded=then)
        return made if outputs is None else made.giving(outputs)

    def giving(self, change: Callable[[Outputs], Outputs]) -> PlainRun:
        """The same with its outputs changed, whatever it is run on."""
        names = ("run", "nudged", "elsewhere", "redrawn", "untraced", "on")
        runs = {name: getattr(self, name) for name in names}
        changed: dict[str, Any] = {name: _then(run, change) for name, run in runs.items() if run}
        return replace(self, **changed)

    @cached_property
    def drawn(self) -> frozenset[str]:
        """The outputs that random draws change."""
        return drawn_outputs(self.tape)

    @cached_property
    def lost(self) -> list[str]:
        """Draws that no tape follows: seen while it was recorded, or by runs that differ."""
        if self.tape.lost_draws:
            return self.tape.lost_draws
        told = self.tape.unseen or _wanders(self)
        return [told] * bool(told)


PlainRuns = tuple[PlainRun, PlainRun]  # of the reference and of a candidate


def _then(run: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda *given: change(run(*given))


def plain_run(tape: Tape, model: Model, inputs: Inputs) -> PlainRun:
    """How a model is run as its user runs it; once, whoever asks."""
    outputs = [tape.values[value].shape for value in tape.outputs.values()]
    arrays = list(flatten_inputs(inputs).values())
    axis, count, orders = _orders(arrays, outputs)
    moved = len(orders)  # from here on samples are others, in the same order
    if count == 1 and any((_another(one, 0) != one).any() for one in arrays):
        orders += [np.zeros(1, int)] * limits.OTHER_SAMPLES

    def run(move: Callable[[Array], Array] = lambda array: array) -> dict[str, Array]:
        return on(map_arrays(move, inputs))

    def on(given: Inputs) -> dict[str, Array]:
        # what a model draws is no part of what it is: another run draws other numbers
        with _other_numbers(model, 0):
            return plain(model, as_called=True)(given)

    def nudge(seed: int, unit: float | None = None) -> dict[str, Array]:
        random = np.random.default_rng(seed)
        return run(lambda array: nudged(array, random, unit))

    def ordered(array: Array, at: int) -> Array:
        if at >= moved:
            return _another(array, at)
        is_batch = array.ndim > axis and array.shape[axis] == count
        return array.take(orders[at], axis) if is_batch else array

    def elsewhere(at: int, seed: int | None) -> dict[str, Array]:
        random = np.random.default_rng(seed)
        move = (lambda one: one) if seed is None else partial(nudged, random=random)
        return run(lambda one: move(ordered(one, at)))

    def recorded(at: int) -> Tape:
        return record(model, map_arrays(lambda array: ordered(array, at), inputs))

    def redrawn(turn: int) -> dict[str, Array]:
        if not turn:
            return once()
        with _other_numbers(model, turn):
            return plain(model, as_called=True)(inputs)

    def untraced(turn: int) -> dict[str, Array]:
        with _other_numbers(model, turn):
            return plain(model)(inputs)

    @cache
    def once() -> dict[str, Array]:
        outputs = run()
        _without_copies(tape, outputs)
        return outputs

    large = sum(tape.values[value].size for value in tape.outputs.values()) > limits.LARGE_RUN
    keep = lru_cache(1) if large else cache
    kept = once, keep(nudge), orders, keep(elsewhere)
    built = partial(was_built, model.obj)
    others = cache(redrawn), built, untraced
    return PlainRun(tape, *kept, axis, count, recorded, moved, *others, inputs, on)


@contextlib.contextmanager
def _other_numbers(model: Model, turn: int) -> Iterator[None]:
    """Within it whatever a model may draw from stands elsewhere, at each turn at another place.

    It may draw from any framework that is in use, and not from its own alone.
    """
    with contextlib.ExitStack() as stack:
        others = [one.name for one in in_use() if one.TRAITS.state.streams()]  # or draws by NumPy
        for name in dict.fromkeys((model.framework, *others)):
            stack.enter_context(load(name).other_random_state(turn))
        stack.enter_context(other_generators(model.obj, turn))
        yield


def _without_copies(tape: Tape, outputs: dict[str, Array]) -> None:
    """Lets large outputs of a run that are the recorded ones lie where those do."""
    for name, value in tape.outputs.items():
        own = outputs.get(name)
        if own is not None and own.size > limits.LARGE_RUN:
            recorded = tape.adapter.to_numpy(tape.recorded[value])
            if same_bits(recorded, own):
                outputs[name] = recorded


def _orders(
    arrays: Sequence[Array], outputs: Sequence[tuple[int, ...]]
) -> tuple[int, int, list[Array]]:
    """The axis of samples, how many there are, and orders of them.

    A batch may come beside scalars and tables: its length is one that outputs have, too. The steps
    of a single sequence stand for samples; what a sample has as its features does not: each feature
    may have a range of its own.
    """
    axis = 0
    lengths = Counter(len(one) for one in arrays if one.ndim and len(one) > 1)
    if not lengths:
        axis = 1
        lengths = Counter(one.shape[1] for one in arrays if one.ndim > 2 and one.shape[1] > 1)
    if not lengths:
        return -1, 1, []
    kept = Counter(shape[axis] for shape in outputs if len(shape) > axis)
    count = max(lengths, key=lambda length: (min(kept[length], 1), lengths[length]))
    halves = np.arange(count // 2)[::-1], np.arange(count // 2, count)[::-1]
    orders = [np.resize(half, count) for half in halves]
    if (
        axis == 0 and count > limits.FEW_SAMPLES
    ):  # fewer samples, by which a number of them shows that was kept
        orders.append(np.arange(max(count // 2, limits.FEW_SAMPLES))[::-1])
    return axis, count, orders


def _another(array: Array, at: int) -> Array:
    """Another sample, by a few percent: the same for models that have it in two layouts.

    Whole numbers stay whole, and become none that is larger: they may be indices, or one of a few.
    """
    if array.dtype.kind not in "fiu":
        return array
    wave = np.sin(7.0 * array + at + 1)
    if array.dtype.kind != "f" or (array == np.round(array)).all():
        moved: Array = np.round(array * (1 - limits.SAMPLE_STEP * np.abs(wave)))
    else:
        moved = array * (1 + limits.SAMPLE_STEP * wave)
    return moved.astype(array.dtype)


def same_samples(reference: Inputs, candidate: Inputs, axis: int) -> bool:
    """Whether two models are given the same samples: inputs of one's own may lie in any way.

    The steps of a sequence are the same only where they lie alike.
    """
    ours, theirs = (list(flatten_inputs(one).values()) for one in (reference, candidate))
    if axis > 0 and [one.shape for one in ours] != [one.shape for one in theirs]:
        return False
    return len(ours) == len(theirs) and all(map(_hold_the_same, ours, theirs))


def _hold_the_same(a: Array, b: Array) -> bool:
    """Whether two arrays hold the same numbers in each sample, as images in two layouts do."""
    if a.shape == b.shape or not a.ndim or not b.ndim or a.size != b.size or len(a) != len(b):
        if a.dtype.kind == b.dtype.kind == "f" and a.dtype != b.dtype:  # one may be rounded
            narrow = min(a.dtype, b.dtype, key=lambda dtype: dtype.itemsize)
            a, b = a.astype(narrow), b.astype(narrow)
        return same_numbers(a, b)
    ours, theirs = (np.sort(one.reshape(len(one), -1), axis=1) for one in (a, b))
    return np.array_equal(ours, theirs)


def tape_doubts(plain: Sequence[PlainRun]) -> list[str]:
    """Why the tapes do not stand for their models, as far as they do not."""
    return [doubt for one in plain if (doubt := tape_doubt(one))]


def tape_doubt(plain: PlainRun) -> str:
    """Why a tape does not stand for its model; "" if it does.

    An output that random draws change is another one in another run: it is held against the run
    that was recorded.
    """
    tape = plain.tape
    drew = bool(plain.drawn)
    if tape.unseen:
        return tape.unseen
    try:
        expected = _with_drawn(plain, recorded_outputs(tape))
        reruns = Reruns(tape)
        again = reruns.replayed
        if expected.keys() != again.keys():
            return (
                f"{tape.model} gave the outputs {', '.join(again)} when it was recorded, and "
                f"{', '.join(expected)} when it ran again: it keeps state that cannot be put back"
            )
        for name, array in expected.items():
            if not same_numbers(array, again[name]) and not reruns.agree(name, array, again[name]):
                told = _wanders(plain)
                return told or _not_the_model(tape, name, array, again[name], drew)
        if tape.traced and drew and plain.redrawn and plain.untraced:
            return graphs_draw_otherwise(tape, plain.redrawn, plain.untraced, plain.drawn)
    except ParityError as error:
        return f"{tape.model} could not be run again as its user calls it: {error}"
    return ""


def _wanders(plain: PlainRun) -> str:
    """Says so where a model's own runs differ in an output that no recorded draw changes.

    Whatever made the numbers: nothing was another of the model and its inputs.
    """
    tape = plain.tape
    if plain.redrawn is None:
        return ""
    try:
        runs = plain.redrawn(0), plain.redrawn(1)
        reruns = Reruns(tape)
        for name in tape.outputs.keys() - plain.drawn:
            a, b = (one.get(name) for one in runs)
            if a is None or b is None:
                return _unseen(tape, name)
            if not same_numbers(a, b) and not reruns.agree(name, a, b):
                return _unseen(tape, name)
    except ParityError:  # told where the tape is held against its model
        return ""
    return ""


def _unseen(tape: Tape, name: str) -> str:
    return (
        f"{tape.model} gives another output {name!r} whenever it runs: it draws random numbers "
        "that cannot be seen, or keeps state that cannot be put back. Draw in the framework, or "
        "pass the samples in as inputs."
    )


def as_ran(plain: PlainRun, draws: Mapping[int, Array]) -> Outputs:
    """A model's outputs as it runs, on the reference's random draws where there are some."""
    tape = plain.tape
    if not plain.drawn:
        return plain.run()
    drawn = tape.outputs_of(None, typed(tape, draws)) if draws else recorded_outputs(tape)
    return _with_drawn(plain, drawn)


def _with_drawn(plain: PlainRun, outputs: Outputs) -> Outputs:
    """A run as its user has it, with those of the outputs that draws change."""
    return {**plain.run(), **{name: one for name, one in outputs.items() if name in plain.drawn}}


def nudged_run(
    plain: PlainRun, draws: Mapping[int, Array], seed: int, unit: float | None
) -> Outputs | None:
    """The same where the inputs, and all that is drawn, move by one rounding."""
    tape = plain.tape
    if not plain.drawn:
        return None if plain.nudged is None else plain.nudged(seed, unit)
    random = np.random.default_rng(seed)
    recorded = Replay(tape, None, tape.recorded)
    drawn = (one for op in tape.ops if op.role == "random" for one in op.outputs)
    given = {one: recorded.array(one) for one in (*tape.inputs.values(), *drawn)}
    given.update(typed(tape, draws))
    return tape.outputs_of(None, {v: nudged(array, random, unit) for v, array in given.items()})


def draws_numbers(tape: Tape) -> bool:
    return any(op.role == "random" for op in tape.ops)


def typed(tape: Tape, draws: Mapping[int, Array]) -> dict[int, Array]:
    """Draws in the precision in which the tape has them."""
    recorded = Replay(tape, None, tape.recorded)
    return {value: array.astype(recorded.array(value).dtype) for value, array in draws.items()}


def recorded_outputs(tape: Tape) -> Outputs:
    recorded = Replay(tape, None, tape.recorded)
    return {name: recorded.array(value) for name, value in tape.outputs.items()}


def _not_the_model(tape: Tape, name: str, ran: Array, again: Array, drew: bool) -> str:
    """That a replay gives something else, and at which operation it does first."""
    if ran.shape == again.shape and ran.dtype.kind in "fc":
        gap = f" by {residual(ran, again):.1e} of its size"
    else:
        gap = ""
    text = (
        f"the recording of {tape.model} does not stand for the model: replayed, output {name!r} "
        f"differs{gap} from a run that is not recorded"
    )
    first = _first_changed(tape)
    if first:
        return f"{text}; the first value that differs is that of {first}"
    if drew:
        return text
    optimiser = (
        ": a graph keeps what its code read when it was traced, and TensorFlow's optimiser may "
        "rewrite it (try TF_ENABLE_ONEDNN_OPTS=0)"
    )
    return (
        f"{text}. Traced or compiled code gives other values than the Python code it was made of, "
        f"or the model keeps state of its own{optimiser * tape.traced}"
    )


def _first_changed(tape: Tape) -> str:
    """The first operation whose recorded result is not what it gives when it runs again."""
    run = tape.replay()
    exact = tape.replay("float64")
    recorded = Replay(tape, None, tape.recorded)
    for op in tape.ops:
        for value in op.outputs:
            arrays = recorded.array(value), run.array(value), exact.array(value)
            if np.array_equal(*arrays[:2], equal_nan=arrays[0].dtype.kind in "fc"):
                continue
            if not is_kernel_rounding(*arrays):
                return op.site.described
    return ""
