"""Recurrent layers with other gates, another state, another activation, or the other direction."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from parity.diagnosis.case import Case, LeafView, RegionView, Trial, plain_kind
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes.activation import Curve, curves_of, recognise, sample_of, sigmoid
from parity.diagnosis.normalisation import plain
from parity.tape import Array, Tape

_GATES = (4, 3)  # of an LSTM and of a GRU
_ADDITIONS = ("add", "addv2", "biasadd", "multiadd", "bias")
_MOST_ASSIGNMENTS = 40
_MOST_OPS = 40  # of one step of a recurrent layer
_MOST_ROLLED = 32  # steps, of which each is put first
_MOST_NUMBERS = 1 << 20  # of the states, for a layer to be computed in NumPy


Values = Callable[[Mapping[int, Array], Sequence[int]], list[Array]]


# --- gates that have changed places ---------------------------------------------------------------


@cause("gate-order")
def gates_exchanged(case: Case) -> Iterator[Explanation]:
    """A gate is used where the reference uses another one: the blocks are in another order.

    Looks like: a recurrent layer that is wrong from its first step on, though its weights are
        loaded; torch has a GRU's gates as reset, update, new and Keras as update, reset, new.
    Proof: the reference's own operations, with the gates that enter them exchanged, give the
        candidate's value.
    """
    tape, ours = case.reference.tape, case.entering
    theirs = tuple(dict.fromkeys(case.partners.values()))
    shapes = {value: tape.values[value].shape for value in (*ours, *theirs)}
    held = _held(case, case.first, (*ours, *theirs))
    for chosen in itertools.islice(_assignments(shapes, ours, theirs), _MOST_ASSIGNMENTS):
        changed = {a: b for a, b in chosen.items() if not np.array_equal(held[a], held[b])}
        if not changed or not all(_are_gates(tape, a, b) for a, b in changed.items()):
            continue
        predict = _with_exchanged(case, chosen)
        if _same(predict(case.first), case.first.candidate):
            yield Explanation(
                "gate-order",
                f"{len(changed)} of the gates that enter here stand in for another",
                predict,
                cost=-1,
            )
            return


def _held(case: Case, trial: Trial, values: Sequence[int]) -> dict[int, Array]:
    return dict(zip(values, case.reference_values(trial.fed, values), strict=True))


def _assignments(
    shapes: Mapping[int, tuple[int, ...]], ours: Sequence[int], theirs: Sequence[int]
) -> Iterator[dict[int, int]]:
    """For what enters the reference's region what the candidate may have in its place."""
    if not 1 <= len(ours) <= 5 or not 1 <= len(theirs) <= 5:
        return
    choices = [[b for b in dict.fromkeys((a, *theirs)) if shapes[b] == shapes[a]] for a in ours]
    found = [dict(zip(ours, chosen, strict=True)) for chosen in itertools.product(*choices)]
    # all that the candidate reads is to be read, by as few changes as may be
    found = [one for one in found if set(theirs) <= {*one.values()} or len(ours) < len(theirs)]
    yield from sorted(found, key=lambda one: sum(a != b for a, b in one.items()))


def _with_exchanged(case: Case, chosen: Mapping[int, int]) -> Predict:
    read = set(case.partners.values())
    # what the candidate does not read is for it what it was
    fixed = _held(case, case.first, [a for a, b in chosen.items() if a == b and a not in read])

    def predict(trial: Trial) -> Array:
        values = _held(case, trial, [b for b in chosen.values() if b not in fixed])
        now = {a: values[b] for a, b in chosen.items() if b in values}
        return case.run_reference(trial.fed, {**now, **fixed})

    return predict


def _are_gates(tape: Tape, a: int, b: int) -> bool:
    """Whether two values come from blocks of one product with all gates in it."""
    return bool(gate_blocks(tape, a) & gate_blocks(tape, b))


def gate_blocks(tape: Tape, value: int) -> set[int]:
    """Values of which this one is a third or a quarter, but for additions and an activation.

    What is chosen or multiplied on the way is a state and no gate.
    """
    units = tape.values[value].shape[-1] if tape.values[value].shape else 0
    found: set[int] = set()
    seen: set[int] = set()
    stack = [value]
    while stack:
        at = stack.pop()
        shape = tape.values[at].shape
        if at in seen or not shape:
            continue
        seen.add(at)
        if shape[-1] in (3 * units, 4 * units):
            found.add(at)
            continue
        op = tape.producer(at)
        if op is None or op.static or shape[-1] != units:
            continue
        live = [one for one in op.inputs if tape.is_live(one)]
        fixed = (one for one in op.inputs if not tape.is_live(one))
        numbers_only = all(tape.values[one].size == 1 for one in fixed)
        if op.role == "move" or plain_kind(op) in _ADDITIONS or (len(live) == 1 and numbers_only):
            stack.extend(live)
    return found


@cause("gate-order", enclosures=True)
def gates_in_weights(case: Case) -> Iterator[Explanation]:
    """The blocks of a recurrent layer's weights are in another order.

    Looks like: a recurrent layer that is wrong from its first step on, though its weights are
        loaded: ONNX has an LSTM's gates as input, output, forget, cell, torch and Keras as input,
        forget, cell, output.
    Proof: the reference's own operations with the blocks of its weights and biases in the other
        order give the candidate's value.
    """
    if case.first.gap == math.inf or not case.whole:
        return
    for count, ordered in _packings(case.reference.leaves):
        for order in itertools.permutations(range(count)):
            if order == tuple(range(count)):
                continue
            leaves = ordered(order)
            if _same(case.run_reference(case.first.fed, leaves), case.first.candidate):
                yield Explanation(
                    "gate-order",
                    f"the {count} gates are the reference's in the order {order}",
                    lambda trial, leaves=leaves: case.run_reference(trial.fed, leaves),  # type: ignore[misc]
                    parameters={"order": (tuple(range(count)), order)},
                    cost=-1,
                )
                return


Ordered = Callable[[Sequence[int]], dict[int, Array]]


def _packings(leaves: Sequence[LeafView]) -> Iterator[tuple[int, Ordered]]:
    """The ways in which leaves may hold gates: their number, and the leaves in another order."""
    for count, units in _layers_of(leaves):
        blocked = [leaf for leaf in leaves if count * units in leaf.array.shape]
        for interleaved in (False, True):
            yield count, partial(_reordered, blocked, count, interleaved, units)
    yield from _in_leaves_of_their_own(leaves)


def _reordered(
    blocked: Sequence[LeafView], count: int, interleaved: bool, units: int, order: Sequence[int]
) -> dict[int, Array]:
    found = {}
    for leaf in blocked:
        axis = leaf.array.shape.index(count * units)
        gates = _gates(count, units, interleaved)
        places = np.empty(count * units, dtype=int)
        places[gates] = gates[list(order)]
        found[leaf.id] = leaf.array.take(places, axis)
    return found


def _gates(count: int, units: int, interleaved: bool) -> Array:
    """Where each gate's numbers lie: (count, units) indices."""
    places = np.arange(count * units)
    return places.reshape(units, count).T if interleaved else places.reshape(count, units)


def _layers_of(leaves: Sequence[LeafView]) -> Iterator[tuple[int, int]]:
    """Number of gates and of units, by the kernels that are as many times wider than high.

    A GRU may have the kernels of two gates in one, and that of the third by itself.
    """
    matrices = [leaf.array.shape for leaf in leaves if leaf.array.ndim == 2 and _real(leaf)]
    found = {
        (count, units)
        for shape in matrices
        for count in (*_GATES, 2)
        for units in shape
        if sorted(shape) == [units, count * units] and units > 1
        if count > 2 or (units, units) in matrices
    }
    yield from sorted(found, reverse=True)


def _real(leaf: LeafView) -> bool:
    return leaf.array.dtype.kind == "f"


def _in_leaves_of_their_own(leaves: Sequence[LeafView]) -> Iterator[tuple[int, Ordered]]:
    """Each gate with kernels and biases of its own, in the order of the gates."""
    by_shape: dict[tuple[int, ...], list[LeafView]] = {}
    for leaf in sorted(leaves, key=lambda one: one.id):
        if _real(leaf) and leaf.array.size > 1:
            by_shape.setdefault(leaf.array.shape, []).append(leaf)
    if not any(len(shape) == 2 and shape[0] == shape[1] for shape in by_shape):
        return
    for count in _GATES:
        if all(len(alike) % count == 0 for alike in by_shape.values()):
            groups = [
                alike[start : start + count]
                for alike in by_shape.values()
                for start in range(0, len(alike), count)
            ]
            yield count, partial(_exchanged, groups)


def _exchanged(groups: Sequence[Sequence[LeafView]], order: Sequence[int]) -> dict[int, Array]:
    return {
        leaf.id: group[gate].array
        for group in groups
        for leaf, gate in zip(group, order, strict=True)
    }


# --- a GRU's reset --------------------------------------------------------------------------------


@cause("reset-after", enclosures=True)
def reset_after(case: Case) -> Iterator[Explanation]:
    """A GRU resets its state before the product with the recurrent weights, or the product after.

    Looks like: the first step agrees (the state is zero), later ones do not; Keras has
        `reset_after`, torch always resets after, Chainer's NStepGRU too, Chainer's GRU before.
    Proof: the reference's own operations with the reset gate moved to the other side of the product
        give the candidate's value.
    """
    if min(len(case.reference.computing), len(case.candidate.computing)) < 2:
        return
    if len(case.reference.ops) > _MOST_OPS:
        return  # of more than one step: see `gru_as_a_whole`
    for gate in _open_gates(case):
        after = _after(case, gate)
        if _same(after(case.first), case.first.candidate):
            yield _reset("before", "after", after)
            return
        for state in (value for value in case.entering if value != gate):
            before = _before(case, gate, state)
            if before is not None and _same(before(case.first), case.first.candidate):
                yield _reset("after", "before", before)
                return


def _reset(ours: str, theirs: str, predict: Predict) -> Explanation:
    return Explanation(
        "reset-after",
        f"the reset gate multiplies {theirs} the product with the recurrent weights, "
        f"the reference's {ours} it",
        predict,
        parameters={"reset": (ours, theirs)},
    )


def _open_gates(case: Case) -> list[int]:
    """Values in the reference's region, or entering it, that lie between 0 and 1."""
    tape = case.reference.tape
    inside = [value for op in case.reference.ops for value in op.outputs]
    ids = [
        value
        for value in dict.fromkeys((*case.entering, *inside))
        if tape.values[value].shape == case.reference.value.shape
        and tape.values[value].dtype.startswith(("float", "bfloat"))
    ]
    arrays = case.reference_values(case.first.fed, ids)
    return [
        value
        for value, array in zip(ids, arrays, strict=True)
        if array.size > 1 and 0 < array.min() < array.max() < 1
    ][:8]


def _gate_of(case: Case, trial: Trial, gate: int) -> Array:
    (found,) = case.reference_values(trial.fed, [gate])
    return found


def _after(case: Case, gate: int) -> Predict:
    def predict(trial: Trial) -> Array:
        factor = _gate_of(case, trial, gate)
        return factor * case.run_reference(trial.fed, {gate: np.ones_like(factor)})

    return predict


def _before(case: Case, gate: int, state: int) -> Predict | None:
    shapes = [case.reference.tape.values[value].shape for value in (gate, state)]
    if shapes[0] != shapes[1]:
        return None

    def predict(trial: Trial) -> Array:
        factor, kept = case.reference_values(trial.fed, [gate, state])
        return case.run_reference(trial.fed, {state: factor * kept, gate: np.ones_like(factor)})

    return predict


# --- forget bias ----------------------------------------------------------------------------------


@cause("forget-bias")
def forget_bias(case: Case) -> Iterator[Explanation]:
    """A number is added to the forget gate before its sigmoid, on one side only.

    Looks like: a state that fades too fast or too slowly; TensorFlow's BasicLSTMCell adds 1 when
        it runs, Keras keeps it in the bias, torch adds nothing.
    Proof: the sigmoid of what enters plus the reference's number is the reference's value, plus the
        candidate's number the candidate's; both are solved for.
    """
    first = case.first
    if len(first.inputs) != 1 or first.x.shape != first.reference.shape:
        return
    if first.candidate.shape != first.x.shape or not gate_blocks(
        case.reference.tape, case.entering[0]
    ):
        return
    ours, theirs = _shift(first.x, first.reference), _shift(first.x, first.candidate)
    if ours is None or theirs is None or ours == theirs:
        return
    yield Explanation(
        "forget-bias",
        f"{theirs:g} is added to the gate, the reference adds {ours:g}",
        lambda trial: sigmoid(trial.x + theirs),
        lambda trial: sigmoid(trial.x + ours),
        {"bias": (ours, theirs)},
        cost=-2,  # the number itself, where the weights give a difference only
    )


def _shift(x: Array, y: Array) -> float | None:
    """What is added to x before its sigmoid."""
    if not ((y > 1e-9) & (y < 1 - 1e-9)).all():
        return None
    shifts = np.log(y) - np.log1p(-y) - x
    shift = float(np.median(shifts))
    return plain(round(shift, 9)) if np.abs(shifts - shift).max() <= 1e-6 else None


@cause("forget-bias", enclosures=True)
def forget_bias_in_weights(case: Case) -> Iterator[Explanation]:
    """The bias of the forget gates holds a number more or less: usually 1.

    Looks like: a state that fades too fast or too slowly.
    Proof: the reference's own operations with the number added to one block of its bias give the
        candidate's value; the number is solved for.
    """
    if case.first.gap == math.inf or not case.whole:
        return
    for leaf, gate in _biases_of_gates(case.reference.leaves):
        shift = _solved(case, leaf, gate)
        if shift is not None:
            yield Explanation(
                "forget-bias",
                f"the bias of one of the gates holds {shift:+g} to the reference's",
                _with_shift(case, leaf, gate, shift),
                parameters={"bias": (0.0, shift)},
                cost=-1,
            )
            return


def _biases_of_gates(leaves: Sequence[LeafView]) -> Iterator[tuple[LeafView, Array]]:
    """Biases of an LSTM, and the indices of one gate's numbers in each."""
    for count, units in _layers_of(leaves):
        biases = [leaf for leaf in leaves if leaf.array.shape == (count * units,)]
        if count != 4 or not biases:
            continue
        for interleaved in (False, True):
            yield from ((biases[0], gate) for gate in _gates(count, units, interleaved))
    for count, _ in _in_leaves_of_their_own(leaves):
        if count == 4:
            vectors = [leaf for leaf in leaves if leaf.array.ndim == 1 and _real(leaf)]
            yield from ((leaf, np.arange(leaf.array.size)) for leaf in vectors)


def _with_shift(case: Case, leaf: LeafView, gate: Array, shift: float) -> Predict:
    moved = leaf.array.copy()
    moved[gate] += shift
    return lambda trial: case.run_reference(trial.fed, {leaf.id: moved})


def _solved(case: Case, leaf: LeafView, gate: Array) -> float | None:
    """The number added to a gate's bias that gives the candidate's value: Gauss and Newton."""
    shift, step, wanted = 0.0, 1e-4, case.first.candidate
    left = math.inf
    for _ in range(12):
        found = _with_shift(case, leaf, gate, shift)(case.first)
        gap = wanted - found
        size = float(np.sqrt(np.mean(gap * gap)))
        fits = _same(found, wanted)
        if not fits and not size < 0.95 * left:
            return None
        left = size
        slope = (_with_shift(case, leaf, gate, shift + step)(case.first) - found) / step
        squares = float(np.vdot(slope, slope))
        if not squares > 0:
            return None
        shift += float(np.vdot(slope, gap)) / squares
        if fits:
            stated = plain(round(shift, 6))
            fine = _with_shift(case, leaf, gate, stated)(case.first)
            return stated if _same(fine, wanted) else shift
    return None


# --- activation of the gates ----------------------------------------------------------------------


@cause("recurrent-activation", enclosures=True)
def recurrent_activation(case: Case) -> Iterator[Explanation]:
    """A gate, or the state, goes through another activation.

    Looks like: states that are a little off (hard sigmoid for sigmoid), or grow (ReLU for tanh);
        Keras' old layers took a hard sigmoid for the gates.
    Proof: with the reference's curve what enters gives the reference's values, with the
        candidate's the candidate's; and what enters is one of the blocks of a recurrent layer.
    """
    points = sample_of(case)
    if points is None or not case.entering:
        return
    if not gate_blocks(case.reference.tape, case.entering[0]):
        return
    x, ours, theirs = points
    a, b = recognise(x, ours), recognise(x, theirs)
    if a is None or b is None or a == b:
        return
    yield Explanation(
        "recurrent-activation",
        f"a gate goes through {_told(b)}, the reference's through {_told(a)}",
        lambda trial: b(trial.x.reshape(trial.reference.shape)),
        lambda trial: a(trial.x.reshape(trial.reference.shape)),
        {"kind": (a.name, b.name)} if a.name != b.name else {"slope": (a.slope, b.slope)},
        cost=-1,
    )


def _told(curve: Curve) -> str:
    return curve.name if curve.slope is None else f"{curve.name} of slope {curve.slope:.4g}"


# --- an LSTM as a whole ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Lstm:
    """A layer of LSTM in NumPy.

    Attributes:
        kernel, own: (4 * units, inputs) and (4 * units, units), in the order input, forget, cell,
            output, and (4 * units,).
        steps: the axis of the steps in what enters.
    """

    kernel: Array
    own: Array
    bias: Array
    steps: int
    gate: Callable[[Array], Array] = sigmoid
    state: Callable[[Array], Array] = np.tanh
    carries: tuple[bool, bool] = (True, True)
    backwards: bool = False

    def __call__(self, x: Array) -> Array:
        """The states of all steps: (steps, batch, units)."""
        sequence = np.moveaxis(x, self.steps, 0)
        h = c = np.zeros((sequence.shape[1], self.own.shape[1]))
        found = []
        for step in sequence[::-1] if self.backwards else sequence:
            i, f, g, o = np.split(step @ self.kernel.T + h @ self.own.T + self.bias, 4, axis=-1)
            c = self.gate(f) * c + self.gate(i) * self.state(g)
            h = self.gate(o) * self.state(c)
            found.append(h)
            h, c = (
                one if kept else 0 * one for one, kept in zip((h, c), self.carries, strict=True)
            )
        return np.stack(found[::-1] if self.backwards else found)


@cause("recurrent-activation", "state-not-carried", "direction", enclosures=True)
def lstm_as_a_whole(case: Case) -> Iterator[Explanation]:
    """An LSTM that is one operation on one side differs in its activations, state or direction.

    Looks like: states that agree at the first step only (not carried), or at none.
    Proof: an LSTM of the reference's weights gives the reference's states; with one thing changed,
        put in their place in the reference, it gives the candidate's value.
    """
    first = case.first
    if not case.whole or len(first.inputs) != 1 or first.x.ndim != 3:
        return
    found = next(_lstms(case), None)
    if found is None:
        return
    layer, states, turned = found
    for kind, summary, parameters, changed in _changed(case, layer):
        predict = _through(case, changed, states, turned)
        if _same(predict(first), first.candidate):
            yield Explanation(kind, summary, predict, parameters=parameters)
            return


Parameters = dict[str, tuple[object, object]]


def _changed(case: Case, layer: Lstm) -> Iterator[tuple[str, str, Parameters, Lstm]]:
    base = {name: getattr(layer, name) for name in ("kernel", "own", "bias", "steps")}
    for curve in dict.fromkeys(curves_of(case, case.candidate, case.candidate_values)):
        told = _told(curve)
        yield (
            "recurrent-activation",
            f"the gates go through {told}, the reference's through sigmoid",
            {"kind": ("sigmoid", curve.name)},
            Lstm(**base, gate=curve),
        )
        yield (
            "recurrent-activation",
            f"the state goes through {told}, the reference's through tanh",
            {"kind": ("tanh", curve.name)},
            Lstm(**base, state=curve),
        )
    for carries, what in (((True, False), "c"), ((False, True), "h"), ((False, False), "h and c")):
        yield (
            "state-not-carried",
            f"{what} is zero again at every step",
            {"carried": (True, False)},
            Lstm(**base, carries=carries),
        )
    yield (
        "direction",
        "the steps are taken backwards",
        {"direction": ("forwards", "backwards")},
        Lstm(**base, backwards=True),
    )


def _lstms(case: Case) -> Iterator[tuple[Lstm, int, bool]]:
    """The LSTM that the reference computes, its states' value id, and whether batch comes first."""
    first, view = case.first, case.reference
    leaves = _different(leaf.array for leaf in view.leaves if leaf.array.dtype.kind == "f")
    for count, units in _layers_of(view.leaves):
        kernels = [
            _tall(a, count * units) for a in leaves if a.ndim == 2 and count * units in a.shape
        ]
        biases = [a for a in leaves if a.shape == (count * units,)]
        if count != 4 or len(kernels) < 2:
            continue
        bias = np.sum(biases, axis=0) if biases else np.zeros(count * units)
        for kernel, own in itertools.permutations(kernels, 2):
            if own.shape[1] != units or kernel.shape[1] != first.x.shape[-1]:
                continue
            for steps in (0, 1):
                layer = Lstm(kernel, own, bias, steps)
                if first.x.size // first.x.shape[-1] * units > _MOST_NUMBERS:
                    return
                states = layer(first.x)
                for value, turned in _values_of(case, states):
                    yield layer, value, turned


def _tall(array: Array, rows: int) -> Array:
    return array if array.shape[0] == rows else array.T


def _different(arrays: Iterator[Array]) -> list[Array]:
    found: list[Array] = []
    for array in arrays:
        if not any(np.array_equal(array, other) for other in found):
            found.append(array)
    return found


def _values_of(case: Case, states: Array) -> Iterator[tuple[int, bool]]:
    """Values in the reference's region that are the states, or have batch before steps."""
    tape = case.reference.tape
    ids = [v for op in case.reference.ops for v in op.outputs if tape.values[v].size == states.size]
    for value, array in zip(ids, case.reference_values(case.first.fed, ids), strict=True):
        if _same(array, states):
            yield value, False
        elif array.ndim == 3 and _same(np.swapaxes(array, 0, 1), states):
            yield value, True


def _through(case: Case, layer: Lstm | Gru, states: int, turned: bool) -> Predict:
    def predict(trial: Trial) -> Array:
        found = layer(trial.x)
        return case.run_reference(
            trial.fed, {states: np.swapaxes(found, 0, 1) if turned else found}
        )

    return predict


# --- a GRU as a whole -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Gru:
    """A layer of GRU in NumPy.

    Attributes:
        kernel, own: (3 * units, inputs) and (3 * units, units), the gates before the new state.
        bias, own_bias: (3 * units,); the second is in the product with the state.
        reset: which of the two gates resets; the other one keeps.
        keeps: whether an open gate keeps the state, or takes the new one.
    """

    kernel: Array
    own: Array
    bias: Array
    own_bias: Array
    steps: int
    reset: int
    keeps: bool
    after: bool

    def __call__(self, x: Array) -> Array:
        """The states of all steps: (steps, batch, units)."""
        sequence = np.moveaxis(x, self.steps, 0)
        units = self.own.shape[1]
        h = np.zeros((sequence.shape[1], units))
        found = []
        for step in sequence:
            ours = step @ self.kernel.T + self.bias
            own = h @ self.own.T + self.own_bias
            gates = np.split(sigmoid((ours + own)[:, : 2 * units]), 2, axis=-1)
            reset, gate = gates[self.reset], gates[1 - self.reset]
            if self.after:
                own_new = reset * own[:, 2 * units :]
            else:
                own_new = (reset * h) @ self.own[2 * units :].T + self.own_bias[2 * units :]
            new = np.tanh(ours[:, 2 * units :] + own_new)
            kept = gate if self.keeps else 1 - gate
            h = kept * h + (1 - kept) * new
            found.append(h)
        return np.stack(found)


@cause("reset-after", enclosures=True)
def gru_as_a_whole(case: Case) -> Iterator[Explanation]:
    """A whole GRU resets its state on the other side of the product with the recurrent weights.

    Looks like: with a recurrent bias wrong from the first step on, without one from the second.
    Proof: a GRU of the reference's weights gives the reference's states; with the reset moved, put
        in their place in the reference, it gives the candidate's value.
    """
    first = case.first
    if not case.whole or len(first.inputs) != 1 or first.x.ndim != 3:
        return
    for layer, states, turned in _grus(case):
        for own_bias in _own_biases(layer):
            predict = _through(case, replace(own_bias, after=not layer.after), states, turned)
            if _same(predict(first), first.candidate):
                ours, theirs = ("after", "before") if layer.after else ("before", "after")
                yield _reset(ours, theirs, predict)
                return


def _own_biases(layer: Gru) -> Iterator[Gru]:
    """The same before the move: where a reset comes first the biases of the new state are one."""
    yield layer
    if not layer.after:
        yield replace(layer, bias=layer.bias + layer.own_bias, own_bias=0 * layer.own_bias)


def _grus(case: Case) -> Iterator[tuple[Gru, int, bool]]:
    """The GRU that the reference computes, its states' value id, and whether batch comes first."""
    x = case.first.x
    for kernel, own, bias, own_bias in _weights_of_gru(case.reference.leaves):
        if kernel.shape[1] != x.shape[-1]:
            continue
        if x.size // x.shape[-1] * own.shape[1] > _MOST_NUMBERS:
            return
        forms = itertools.product((0, 1), (0, 1), (True, False), (True, False))
        for steps, reset, keeps, after in forms:
            layer = Gru(kernel, own, bias, own_bias, steps, reset, keeps, after)
            for value, turned in _values_of(case, layer(x)):
                yield layer, value, turned


def _weights_of_gru(leaves: Sequence[LeafView]) -> Iterator[tuple[Array, Array, Array, Array]]:
    """Kernels, (3 * units, inputs) and (3 * units, units), and biases, however they are held."""
    arrays = _different(leaf.array for leaf in sorted(leaves, key=lambda leaf: leaf.id))
    arrays = [array for array in arrays if array.dtype.kind == "f" and array.ndim in (1, 2)]
    for count, units in _layers_of(leaves):
        if count == 4:
            continue
        kernels = [
            _tall(a, count * units) for a in arrays if a.ndim == 2 and count * units in a.shape
        ]
        biases = [row for a in arrays for row in np.atleast_2d(a) if a.shape[-1] == count * units]
        if count == 3:
            biases = [row for row in biases if row.size == 3 * units][:4]
            yield from _with_biases(units, kernels, biases)
            continue
        # the gates in one, the new state by itself
        singles = [_tall(a, units) for a in arrays if a.ndim == 2 and units in a.shape]
        singles += [a.T for a in singles if a.shape == (units, units)]  # either way round
        for (one, other), (a, b) in itertools.product(
            itertools.permutations(kernels, 2), itertools.permutations(singles, 2)
        ):
            if one.shape[1] != a.shape[1] or not other.shape[1] == b.shape[1] == units:
                continue
            if {a.shape[0], b.shape[0]} != {units}:
                continue
            new = [row for row in arrays if row.shape == (units,)]
            gates = [row for row in biases if row.shape == (2 * units,)][:1]
            gates = gates or [np.zeros(2 * units)]
            rows = [np.concatenate([gates[0], row]) for row in new[:2]]
            for first, second in itertools.permutations([*rows, np.zeros(3 * units)], 2):
                own = second.copy()
                own[: 2 * units] = 0.0
                yield np.concatenate([one, a]), np.concatenate([other, b]), first, own


def _with_biases(
    units: int, kernels: Sequence[Array], biases: Sequence[Array]
) -> Iterator[tuple[Array, Array, Array, Array]]:
    for kernel, own in itertools.permutations(kernels, 2):
        if own.shape[1] != units:
            continue
        none = np.zeros(3 * units)
        for bias, own_bias in itertools.permutations([*biases, none, none], 2):
            yield kernel, own, bias, own_bias


# --- direction ------------------------------------------------------------------------------------


@cause("direction")
def direction(case: Case) -> Iterator[Explanation]:
    """States are in the other order of steps: not turned back after a backward pass, or turned.

    Looks like: sequences that agree when one of them is read from its end.
    Proof: the reference's value with its steps turned round is the candidate's, and what enters are
        a recurrent layer's states.
    """
    first = case.first
    if first.reference.ndim != 3 or first.reference.shape != first.candidate.shape:
        return
    if not _of_a_recurrent_layer(case):
        return
    for axis in (0, 1):
        if first.reference.shape[axis] > 1 and _same(
            np.flip(first.reference, axis), first.candidate
        ):
            yield Explanation(
                "direction",
                f"the steps (axis {case.candidate_axis(axis)}) are in the other direction",
                lambda trial, axis=axis: np.flip(trial.reference, axis),  # type: ignore[misc]
                parameters={"direction": ("forwards", "backwards")},
                cost=-1,
            )
            return


@cause("direction", enclosures=True)
def steps_turned(case: Case) -> Iterator[Explanation]:
    """The steps of a sequence are taken from the other end.

    Looks like: a recurrent layer that is wrong from its first step on, with the right weights.
    Proof: the reference's own operations on the sequence turned round, their states turned back or
        not, give the candidate's value.
    """
    for root, axis, states in _sequences(case):
        turned = partial(_on_turned, case, root, axis)
        for back in (*states, None):
            predict = partial(_flipped, turned, back)
            if _same(predict(case.first), case.first.candidate):
                yield Explanation(
                    "direction",
                    "the steps are taken from the other end",
                    predict,
                    parameters={"direction": ("forwards", "backwards")},
                    cost=-1,
                )
                return


def _on_turned(case: Case, root: int, axis: int, trial: Trial) -> Array:
    return case.run_reference({**trial.fed, root: np.flip(trial.fed[root], axis)})


def _flipped(values: Predict, axis: int | None, trial: Trial) -> Array:
    found = values(trial)
    return found if axis is None else np.flip(found, axis)


def _sequences(case: Case) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """What enters a recurrent layer: its id, the axis of its steps, and where its states have them.

    Yields nothing where more than one value enters, or no weight is a recurrent layer's.
    """
    first = case.first
    if len(case.roots) != 1 or not case.whole or first.reference.shape != first.candidate.shape:
        return
    (root,) = case.roots
    shape = first.fed[root].shape
    if len(shape) != 3 or next(_packings(case.reference.leaves), None) is None:
        return
    for axis in (1, 0):
        if shape[axis] > 1 and any(_meet(case, run, root, axis) for run in _RUNS):
            same = first.reference.shape[:-1]
            yield root, axis, tuple(i for i, n in enumerate(same) if n == shape[axis])


_RUNS = (Case.run_reference, Case.run_candidate)


def _meet(
    case: Case, run: Callable[[Case, Mapping[int, Array]], Array], root: int, axis: int
) -> bool:
    """Whether what stands first or last in an axis reaches every sample, or several steps.

    The samples of a batch do not meet: a change in one shows in one.
    """
    as_it_is = run(case, case.first.fed)
    for end in (0, -1):
        moved = case.first.fed[root].copy()
        np.moveaxis(moved, axis, 0)[end] += 1.0
        rows = (run(case, {**case.first.fed, root: moved}) != as_it_is).any(axis=-1)
        reached = (len(set(at)) for at in rows.nonzero())
        if all(count > 1 or length == 1 for count, length in zip(reached, rows.shape, strict=True)):
            return True
    return False


def _of_a_recurrent_layer(case: Case) -> bool:
    """Whether a weight of the model is a recurrent kernel."""
    values = case.reference.tape.values
    return any(
        len(value.shape) == 2 and value.shape[0] > 1
        and sorted(value.shape)[1] in (3 * min(value.shape), 4 * min(value.shape))
        for value in values
        if value.op < 0 and value.kind in ("parameter", "constant")
    )  # fmt: skip


# --- state ----------------------------------------------------------------------------------------


@cause("state-not-carried")
def state_dropped(case: Case) -> Iterator[Explanation]:
    """A recurrent layer starts from zero where the reference hands it a state.

    Looks like: outputs that depend on the episode's first steps in one model only.
    Proof: the reference's own operations with that state at zero give the candidate's value.
    """
    if not _of_a_recurrent_layer(case):
        return
    tape = case.reference.tape
    for leaf in case.reference.leaves:
        if leaf.array.dtype.kind != "f" or leaf.array.size < 2 or not leaf.array.any():
            continue
        if not _is_state(tape, leaf.id):
            continue
        zeros = {leaf.id: np.zeros_like(leaf.array)}
        if _same(case.run_reference(case.first.fed, zeros), case.first.candidate):
            yield Explanation(
                "state-not-carried",
                f"the state of {leaf.array.shape} that the reference starts from is zero",
                lambda trial, zeros=zeros: case.run_reference(trial.fed, zeros),  # type: ignore[misc]
                parameters={"carried": (True, False)},
                cost=-1,
            )
            return


@cause("state-not-carried", enclosures=True)
def every_step_by_itself(case: Case) -> Iterator[Explanation]:
    """Every step starts from zero, as if it were the first.

    Looks like: states that agree at the first step and at no other.
    Proof: each step put first, the one side's own operations give the other side's state of it.
    """
    if len(case.first.reference.shape) not in (2, 3):
        return
    sides = (
        (case.run_reference, case.reference_values, case.reference, case.first.candidate),
        (case.run_candidate, case.candidate_values, case.candidate, case.first.reference),
    )
    for root, axis, states in _sequences(case):
        for number, (run, values, view, wanted) in enumerate(sides):
            for alone in _alone(case, run, values, view, root, axis, states, wanted):
                if _same(alone(case.first), wanted):
                    yield Explanation(
                        "state-not-carried",
                        "the state is carried from step to step, the reference's is not"
                        if number
                        else "every step starts from zero, the reference's from the last state",
                        (lambda trial: trial.candidate) if number else alone,
                        alone if number else None,
                        {"carried": (number == 0, number == 1)},
                        cost=-1,
                    )
                    return


def _alone(
    case: Case,
    run: Callable[[Mapping[int, Array]], Array],
    values: Values,
    view: RegionView,
    root: int,
    axis: int,
    states: Sequence[int],
    wanted: Array,
) -> Iterator[Predict]:
    """Ways to have every step's state as if it were the first: of all steps, or of the last."""
    first = case.first
    steps = first.fed[root].shape[axis]

    def with_first(trial: Trial, step: int, place: int) -> dict[int, Array]:
        return {**trial.fed, root: np.roll(trial.fed[root], place - step, axis)}

    def all_steps(back: int, place: int, trial: Trial) -> Array:
        found = [run(with_first(trial, step, place)).take(place, back) for step in range(steps)]
        return np.stack(found, back)

    def last(value: int, step: int, trial: Trial) -> Array:
        return values(with_first(trial, step, steps - 1 - step), [value])[0]

    ends = (0, steps - 1)
    if steps <= _MOST_ROLLED:
        yield from (partial(all_steps, back, place) for back in states for place in ends)
    if first.reference.ndim != 2:
        return
    shape = view.value.shape
    alike = [v for op in view.ops for v in op.outputs if view.tape.values[v].shape == shape]
    for step in ends:
        found = values(with_first(first, step, steps - 1 - step), alike)
        for value, array in zip(alike, found, strict=True):
            if _same(array, wanted):
                yield partial(last, value, step)


def _is_state(tape: Tape, leaf: int) -> bool:
    """Whether a constant is multiplied with other parameters only; a kernel meets inputs."""
    shape = tape.values[leaf].shape
    if len(shape) == 2 and max(shape) in (3 * min(shape), 4 * min(shape)):
        return False
    products: list[bool] = []
    values: list[int] = [leaf]
    seen: set[int] = set()
    while values:
        value = values.pop()
        for index in tape.consumers[value]:
            op = tape.ops[index]
            if op.role == "move":
                values.extend(one for one in op.outputs if one not in seen)
                seen.update(op.outputs)
            elif any(word in op.kind.lower() for word in ("mm", "matmul", "linear")):
                products.append(op.static)
    return bool(products) and all(products)


# --- masks ----------------------------------------------------------------------------------------


@cause("sequence-mask")
def other_steps_masked(case: Case) -> Iterator[Explanation]:
    """Other steps of the sequences are masked: by another count of lengths.

    Looks like: zeros where the reference has numbers, and the other way round, in whole steps.
    Proof: what enters times a mask of 0 and 1 by sequence and step is the reference's value, times
        another such mask the candidate's.
    """
    first = case.first
    if len(first.inputs) != 1 or first.x.ndim < 3 or first.x.shape != first.reference.shape:
        return
    if first.candidate.shape != first.x.shape or not first.x.all():
        return
    ours, theirs = (one / first.x for one in (first.reference, first.candidate))
    if not all(_is_mask_of_steps(one) for one in (ours, theirs)):
        return
    kept = [int(one[..., 0].astype(bool).sum()) for one in (ours, theirs)]
    yield Explanation(
        "sequence-mask",
        f"{kept[1]} of {ours[..., 0].size} steps are kept, the reference keeps {kept[0]}",
        lambda trial: trial.x * theirs,
        lambda trial: trial.x * ours,
        {"steps": (kept[0], kept[1])},
        cost=-1,
    )


@cause("sequence-mask")
def state_kept_in_the_padding(case: Case) -> Iterator[Explanation]:
    """A mask keeps the state of a recurrent layer where a sequence is padded, on one side only.

    Looks like: the longest sequences agree, the shorter ones do not.
    Proof: the one side's own operations with its mask of 0 and 1 open give the other side's value.
    """
    if not _of_a_recurrent_layer(case):
        return
    first = case.first
    sides = (
        (case.reference, case.entering, case.run_reference, first.candidate),
        (case.candidate, case.candidate_entering, case.run_candidate, first.reference),
    )
    for number, (view, entering, run, wanted) in enumerate(sides):
        masks = [leaf for leaf in view.leaves if leaf.array.size > 1 and _is_zero_and_one(leaf)]
        if len(entering) < 2 or not masks:
            continue  # no choice between two states
        for choice in (1, 0):
            opened = {leaf.id: np.full_like(leaf.array, choice) for leaf in masks}
            if _same(run(first.fed, opened), wanted):
                unmasked = partial(_with_leaves, run, opened)
                yield Explanation(
                    "sequence-mask",
                    "the state in the padding is kept, the reference's is not"
                    if number
                    else "the state in the padding is not kept, the reference's is",
                    (lambda trial: trial.candidate) if number else unmasked,
                    unmasked if number else None,
                    {"masked": (number == 0, number == 1)},
                    cost=-1,
                )
                return


def _is_zero_and_one(leaf: LeafView) -> bool:
    return set(np.unique(leaf.array).tolist()) == {0, 1}


def _with_leaves(
    run: Callable[[Mapping[int, Array], Mapping[int, Array]], Array],
    leaves: Mapping[int, Array],
    trial: Trial,
) -> Array:
    return run(trial.fed, leaves)


@cause("sequence-mask", enclosures=True)
def steps_of_the_padding(case: Case) -> Iterator[Explanation]:
    """The last state is taken after the padding on one side, before it on the other.

    Looks like: the longest sequences agree, the shorter ones do not.
    Proof: each sequence's state after a step of its own is, in the one side's own operations, the
        other side's last state.
    """
    first = case.first
    if first.reference.ndim != 2 or first.reference.shape != first.candidate.shape:
        return
    if not case.whole or next(_packings(case.reference.leaves), None) is None:
        return
    sides = (
        (case.reference, case.reference_values, first.candidate),
        (case.candidate, case.candidate_values, first.reference),
    )
    for number, (view, values, wanted) in enumerate(sides):
        rows = _rows_after_steps(view, values, first, wanted)
        if rows is None:
            continue
        chosen = partial(_chosen, values, rows)
        masked = "the reference masks none" if number == 0 else "the reference does"
        yield Explanation(
            "sequence-mask",
            f"{'the padding is masked' if number == 0 else 'no padding is masked'}, {masked}",
            (lambda trial: trial.candidate) if number else chosen,
            chosen if number else None,
            {"masked": (number == 1, number == 0)},
            cost=-2,
        )
        return


Row = tuple[int, int]  # of a value's id, and the index of one of its rows


def _rows_after_steps(
    view: RegionView, values: Values, first: Trial, wanted: Array
) -> list[Row] | None:
    """Where each row of a last state lies among the states in a region."""
    batch, units = wanted.shape
    tape = view.tape
    ids = [
        value
        for op in view.ops
        for value in op.outputs
        if tape.values[value].shape[-1:] == (units,)
        and (tape.values[value].shape == wanted.shape or len(tape.values[value].shape) == 3)
    ]
    found: list[Row | None] = [None] * batch
    for value, array in zip(ids, values(first.fed, ids), strict=True):
        flat = array.reshape(-1, units)
        for at in range(batch):
            near = np.isclose(flat, wanted[at], 1e-5, 1e-7).all(axis=-1)
            if found[at] is None and near.any():
                found[at] = (value, int(near.argmax()))
    rows = [one for one in found if one is not None]
    # all at one step would be another step, not a mask
    return rows if len(rows) == batch and _apart(rows, view, batch) else None


def _apart(rows: Sequence[Row], view: RegionView, batch: int) -> bool:
    """Whether rows are of different steps."""
    shapes = [view.tape.values[value].shape for value, _ in rows]
    steps = {
        (value, 0 if len(shape) == 2 else row % shape[1] if shape[0] == batch else row // batch)
        for (value, row), shape in zip(rows, shapes, strict=True)
    }
    return len(steps) > 1


def _chosen(values: Values, rows: Sequence[Row], trial: Trial) -> Array:
    ids = sorted({value for value, _ in rows})
    held = dict(zip(ids, values(trial.fed, ids), strict=True))
    return np.stack([held[value].reshape(-1, held[value].shape[-1])[row] for value, row in rows])


def _is_mask_of_steps(ratio: Array) -> bool:
    return bool(((ratio == 0) | (ratio == 1)).all() and (ratio == ratio[..., :1]).all())


def _same(found: Array, wanted: Array) -> bool:
    return found.shape == wanted.shape and bool(np.allclose(found, wanted, 1e-5, 1e-7))
