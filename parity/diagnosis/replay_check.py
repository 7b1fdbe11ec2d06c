"""Does a tape stand for its model: does its replay give what the model gives unwatched?"""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from parity.diagnosis import limits
from parity.diagnosis.graph_draws import graphs_draw_otherwise
from parity.diagnosis.random_outputs import drawn_outputs, is_kernel_rounding
from parity.errors import ParityError
from parity.frameworks import in_use, load
from parity.inputs.preprocessing import plain, record
from parity.keeping import other_generators, was_built
from parity.matching.match import Match
from parity.model import Inputs, Model, flatten_inputs, map_arrays
from parity.numerics.difference import residual, same_bits, same_numbers
from parity.numerics.null_distribution import nudged
from parity.numerics.reruns import Reruns
from parity.tape import Array, Tape

Outputs = Mapping[str, Array]


@dataclass(frozen=True)
class PlainRun:
    """A tape with its model, run as its user runs it; each run once, whoever asks.

    Attributes:
        inputs: those that were recorded.
        orders: of the samples, each with half of them left out, and some repeated or none. A
            single one stands for others that differ from it by a few percent.
        halves: the orders that give each half of the samples, the cheapest first: others are for a
            model that does not take that one.
        axis, count: the inputs' axis of samples, and how many there are; 1 for the steps of a
            single sequence, -1 for a single sample.
        moved: from which of the orders on the samples are others.
        changes: what was done to the tape, and is to be done to others and to outputs.
        known: the outputs of the runs so far, before they are changed.
    """

    tape: Tape
    model: Model
    inputs: Inputs
    axis: int
    count: int
    orders: Sequence[Array]
    halves: Sequence[Sequence[int]]
    moved: int
    changes: tuple[tuple[Callable[[Tape], Tape], Callable[[Outputs], Outputs]], ...] = ()
    known: dict[tuple[Any, ...], Outputs] = field(default_factory=dict, repr=False)

    def made(
        self,
        change: Callable[[Tape], Tape],
        outputs: Callable[[Outputs], Outputs] = lambda outputs: outputs,
    ) -> PlainRun:
        """The same with its tapes changed, those of other samples as well, and its outputs."""
        changes = (*self.changes, (change, outputs))
        return replace(self, tape=change(self.tape), changes=changes)

    def run(self) -> Outputs:
        """The outputs on the inputs that were recorded."""
        return self.redrawn(0)

    def redrawn(self, turn: int) -> Outputs:
        """Likewise on other random numbers; turn 0 gives those of `run`."""
        return self._once(("redrawn", turn), lambda: self._plain(self.inputs, turn))

    def untraced(self, turn: int) -> Outputs:
        """Likewise without graphs, which are what their code was when they were traced."""
        return self._changed(self._plain(self.inputs, turn, as_called=False))

    def on(self, inputs: Inputs) -> Outputs:
        """The outputs on other inputs in the same structure."""
        return self._changed(self._plain(inputs))

    def nudged(self, seed: int, unit: float | None = None) -> Outputs:
        """On inputs moved by one rounding: of the unit roundoff, or in units of the last place."""
        random = np.random.default_rng(seed)
        move = partial(nudged, random=random, unit=unit)
        key = "nudged", seed, unit
        return self._once(key, lambda: self._plain(map_arrays(move, self.inputs)))

    def elsewhere(self, at: int, seed: int | None = None) -> Outputs:
        """On the samples in one of the orders, nudged by a seed."""
        random = np.random.default_rng(seed)
        move = (lambda one: one) if seed is None else partial(nudged, random=random)

        def moved(array: Array) -> Array:
            return move(self._ordered(array, at))

        key = "elsewhere", at, seed
        return self._once(key, lambda: self._plain(map_arrays(moved, self.inputs)))

    def recorded(self, at: int) -> Tape:
        """The tape of the model on the samples in one of the orders."""
        tape = record(self.model, map_arrays(partial(self._ordered, at=at), self.inputs))
        for change, _ in self.changes:
            tape = change(tape)
        return tape

    def built(self) -> bool:
        """Whether the model was built by its first call."""
        return was_built(self.model.obj)

    @cached_property
    def drawn(self) -> frozenset[str]:
        """The outputs that random draws change."""
        return drawn_outputs(self.tape)

    @cached_property
    def lost(self) -> list[str]:
        """Draws that no tape follows: seen while it was recorded, or by runs that differ."""
        if self.tape.lost_draws:
            return self.tape.lost_draws
        reported = self.tape.unseen or _wanders(self)
        return [reported] * bool(reported)

    def _plain(self, inputs: Inputs, turn: int = 0, as_called: bool = True) -> dict[str, Array]:
        # what a model draws is no part of what it is: another run draws other numbers
        with _other_numbers(self.model, turn):
            outputs = plain(self.model, as_called)(inputs)
        if inputs is self.inputs and not turn:
            _without_copies(self.tape, outputs)
        return outputs

    def _once(self, key: tuple[Any, ...], make: Callable[[], Outputs]) -> Outputs:
        if key not in self.known:
            sizes = (self.tape.values[value].size for value in self.tape.outputs.values())
            if key[0] != "redrawn" and sum(sizes) > limits.LARGE_RUN:
                for other in [one for one in self.known if one[0] == key[0]]:
                    del self.known[other]
            self.known[key] = make()
        return self._changed(self.known[key])

    def _changed(self, outputs: Outputs) -> Outputs:
        for _, change in self.changes:
            outputs = change(outputs)
        return outputs

    def _ordered(self, array: Array, at: int) -> Array:
        if at >= min(self.moved, len(self.orders)):
            return _another(array, at)
        is_batch = array.ndim > self.axis and array.shape[self.axis] == self.count
        return array.take(self.orders[at], self.axis) if is_batch else array


PlainRuns = tuple[PlainRun, PlainRun]  # of the reference and of a candidate


def plain_run(tape: Tape, model: Model, inputs: Inputs) -> PlainRun:
    """How a model is run as its user runs it."""
    outputs = [tape.values[value].shape for value in tape.outputs.values()]
    arrays = list(flatten_inputs(inputs).values())
    axis, count, ways = _ways(arrays, outputs)
    moved = sum(map(len, ways))  # from here on samples are others, in the same order
    if count == 1 and any((_another(one, 0) != one).any() for one in arrays):
        ways += [[np.zeros(1, int)]] * limits.OTHER_SAMPLES
    places = itertools.count()
    halves = [[next(places) for _ in half] for half in ways]
    orders = [order for half in ways for order in half]
    return PlainRun(tape, model, inputs, axis, count, orders, halves, moved)


@contextlib.contextmanager
def _other_numbers(model: Model, turn: int) -> Iterator[None]:
    """Within it whatever a model may draw from, in any framework, stands elsewhere at each turn."""
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
            recorded = tape.recorded_array(value)
            if same_bits(recorded, own):
                outputs[name] = recorded


def _ways(
    arrays: Sequence[Array], outputs: Sequence[tuple[int, ...]]
) -> tuple[int, int, list[list[Array]]]:
    """The axis of samples, how many there are, and of each half of them the orders that give it.

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
    first, second = np.arange(count // 2)[::-1], np.arange(count // 2, count)[::-1]
    filled = [np.resize(half, count) for half in (first, second)]
    if axis or count <= limits.FEW_SAMPLES:
        return axis, count, [[one] for one in filled]
    # fewer samples show a number of them that was kept, too
    if len(first) < limits.FEW_SAMPLES:
        return axis, count, [[one] for one in (*filled, second)]
    return axis, count, [[first, filled[0]], [second, filled[1]]]


def _another(array: Array, at: int) -> Array:
    """Another sample, by a few percent, the same in any layout; whole numbers may be indices."""
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
    first, second = (list(flatten_inputs(one).values()) for one in (reference, candidate))
    if axis > 0 and [one.shape for one in first] != [one.shape for one in second]:
        return False
    return len(first) == len(second) and all(map(_hold_the_same, first, second))


_IMAGES = (3, 1, 2), (2, 3, 1)  # channels last as channels first, and the reverse


def _hold_the_same(a: Array, b: Array) -> bool:
    """Whether two arrays hold the same values in each sample, as images in two layouts do."""
    if a.shape == b.shape or not a.ndim or not b.ndim or a.size != b.size or len(a) != len(b):
        if a.dtype.kind == b.dtype.kind == "f" and a.dtype != b.dtype:  # one may be rounded
            narrow = min(a.dtype, b.dtype, key=lambda dtype: dtype.itemsize)
            a, b = a.astype(narrow), b.astype(narrow)
        return same_numbers(a, b)
    if a.ndim == b.ndim == 4 and any(same_numbers(a, b.transpose(0, *one)) for one in _IMAGES):
        return True  # much sooner seen than what other numbers are
    rows = [np.sort(one.reshape(len(one), -1), axis=1) for one in (a, b)]
    return np.array_equal(rows[0], rows[1])


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
                return _wanders(plain) or _not_the_model(tape, name, array, again[name], drew)
        if tape.traced and drew:
            return graphs_draw_otherwise(tape, plain.redrawn, plain.untraced, plain.drawn)
    except ParityError as error:
        return f"{tape.model} could not be run again as its user calls it: {error}"
    return ""


def _wanders(plain: PlainRun) -> str:
    """Says so where a model's own runs differ in an output that no recorded draw changes."""
    tape = plain.tape
    try:
        runs = plain.redrawn(0), plain.redrawn(1)
        reruns = Reruns(tape)
        for name in tape.outputs.keys() - plain.drawn:
            a, b = (one.get(name) for one in runs)
            if a is None or b is None or not (same_numbers(a, b) or reruns.agree(name, a, b)):
                return (
                    f"{tape.model} gives another output {name!r} whenever it runs: it draws random "
                    "numbers that cannot be seen, or keeps state that cannot be put back. Draw in "
                    "the framework, or pass the samples in as inputs."
                )
    except ParityError:  # reported where the tape is held against its model
        return ""
    return ""


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


def as_they_ran(matched: Match, plain: Sequence[PlainRun]) -> tuple[Outputs, Outputs]:
    """The same of both models."""
    return as_ran(plain[0], {}), as_ran(plain[1], matched.draws)


def nudged_run(
    plain: PlainRun, draws: Mapping[int, Array], seed: int, unit: float | None
) -> Outputs:
    """The same where the inputs, and all that is drawn, move by one rounding."""
    tape = plain.tape
    if not plain.drawn:
        return plain.nudged(seed, unit)
    random = np.random.default_rng(seed)
    inputs = {one: tape.recorded_array(one) for one in tape.inputs.values()}
    given = {**inputs, **recorded_draws(tape), **typed(tape, draws)}
    return tape.outputs_of(None, {v: nudged(array, random, unit) for v, array in given.items()})


def recorded_draws(tape: Tape) -> dict[int, Array]:
    drawn = (value for op in tape.ops if op.role == "random" for value in op.outputs)
    return {value: tape.recorded_array(value) for value in drawn}


def typed(tape: Tape, draws: Mapping[int, Array]) -> dict[int, Array]:
    """Draws in the precision in which the tape has them."""
    return {value: array.astype(tape.recorded_array(value).dtype) for value, array in draws.items()}


def recorded_outputs(tape: Tape) -> Outputs:
    return {name: tape.recorded_array(value) for name, value in tape.outputs.items()}


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
    for op in tape.ops:
        for value in op.outputs:
            arrays = tape.recorded_array(value), run.array(value), exact.array(value)
            if np.array_equal(*arrays[:2], equal_nan=arrays[0].dtype.kind in "fc"):
                continue
            if not is_kernel_rounding(*arrays):
                return op.site.described
    return ""
