"""Recurrent layers with other gates, another state, another activation, or the other direction."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from parity.diagnosis.case import Case, LeafView, Trial
from parity.diagnosis.causes import Explanation, Predict, cause
from parity.diagnosis.causes.activation import Curve, curves_of, recognise, sample_of, sigmoid
from parity.diagnosis.normalisation import plain
from parity.tape import Array, Tape

_GATES = (4, 3)  # of an LSTM and of a GRU
_STEPS_BACK = 10
_MOST_ASSIGNMENTS = 40
_MOST_NUMBERS = 1 << 20  # of the states, for a layer to be computed in NumPy


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
    """Values shortly before of which this one is, or depends on, a third or a quarter."""
    units = tape.values[value].shape[-1] if tape.values[value].shape else 0
    found: set[int] = set()
    seen: set[int] = set()
    stack = [(value, 0)]
    while stack:
        at, steps = stack.pop()
        shape = tape.values[at].shape
        if at in seen or steps > _STEPS_BACK or not shape:
            continue
        seen.add(at)
        if shape[-1] in (3 * units, 4 * units):
            found.add(at)
            continue
        op = tape.producer(at)
        if op is not None and shape[-1] == units and not op.static:
            stack.extend((one, steps + 1) for one in op.inputs)
    return found


@cause("gate-order")
def gates_in_weights(case: Case) -> Iterator[Explanation]:
    """The blocks of a recurrent layer's weights are in another order.

    Looks like: a recurrent layer that is wrong from its first step on, though its weights are
        loaded: ONNX has an LSTM's gates as input, output, forget, cell, torch and Keras as input,
        forget, cell, output.
    Proof: the reference's own operations with the blocks of its weights and biases in the other
        order give the candidate's value.
    """
    for count, units in _layers_of(case.reference.leaves):
        blocked = [leaf for leaf in case.reference.leaves if count * units in leaf.array.shape]
        for order in itertools.permutations(range(count)):
            if order == tuple(range(count)):
                continue
            leaves = {leaf.id: _blocks(leaf.array, count, units, order) for leaf in blocked}
            if _same(case.run_reference(case.first.fed, leaves), case.first.candidate):
                yield Explanation(
                    "gate-order",
                    f"the {count} blocks of {units} are the reference's in the order {order}",
                    lambda trial, leaves=leaves: case.run_reference(trial.fed, leaves),  # type: ignore[misc]
                    parameters={"order": (tuple(range(count)), order)},
                    cost=-1,
                )
                return


def _layers_of(leaves: Sequence[LeafView]) -> Iterator[tuple[int, int]]:
    """Number of gates and of units, by the kernels that are as many times wider than high."""
    found = {
        (count, units)
        for leaf in leaves
        if leaf.array.ndim == 2 and leaf.array.dtype.kind == "f"
        for count in _GATES
        for units in leaf.array.shape
        if sorted(leaf.array.shape) == [units, count * units] and units > 1
    }
    yield from sorted(found)


def _blocks(array: Array, count: int, units: int, order: Sequence[int]) -> Array:
    axis = array.shape.index(count * units)
    parts = np.split(array, count, axis=axis)
    return np.concatenate([parts[gate] for gate in order], axis=axis)


# --- a GRU's reset --------------------------------------------------------------------------------


@cause("reset-after", enclosures=True)
def reset_after(case: Case) -> Iterator[Explanation]:
    """A GRU resets its state before the product with the recurrent weights, or the product after.

    Looks like: the first step agrees (the state is zero), later ones do not; Keras has
        `reset_after`, torch always resets after, Chainer's NStepGRU too, Chainer's GRU before.
    Proof: the reference's own operations with the reset gate moved to the other side of the product
        give the candidate's value.
    """
    if len(case.reference.computing) < 2 or len(case.candidate.computing) < 2:
        return
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
    found: list[int] = []
    inside = [value for op in case.reference.ops for value in op.outputs]
    for value in dict.fromkeys((*case.entering, *inside)):
        if tape.values[value].shape != case.reference.value.shape:
            continue
        if not tape.values[value].dtype.startswith(("float", "bfloat")):
            continue
        (array,) = case.reference_values(case.first.fed, [value])
        if array.size > 1 and 0 < array.min() < array.max() < 1:
            found.append(value)
    return found[:8]


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
    )


def _shift(x: Array, y: Array) -> float | None:
    """What is added to x before its sigmoid."""
    if not ((y > 1e-9) & (y < 1 - 1e-9)).all():
        return None
    shifts = np.log(y) - np.log1p(-y) - x
    shift = float(np.median(shifts))
    return plain(round(shift, 9)) if np.abs(shifts - shift).max() <= 1e-6 else None


@cause("forget-bias")
def forget_bias_in_weights(case: Case) -> Iterator[Explanation]:
    """The bias of the forget gates holds a number more or less: usually 1.

    Looks like: a state that fades too fast or too slowly.
    Proof: the reference's own operations with the number added to one block of its bias give the
        candidate's value; the number is solved for.
    """
    if case.first.gap == math.inf:
        return
    for count, units in _layers_of(case.reference.leaves):
        biases = [leaf for leaf in case.reference.leaves if leaf.array.shape == (count * units,)]
        if count != 4 or not biases:
            continue
        for gate in range(count):
            shift = _solved(case, biases[0], gate, units)
            if shift is None:
                continue
            yield Explanation(
                "forget-bias",
                f"the bias of the gate {gate} of {count} holds {shift:+g} to the reference's",
                _with_shift(case, biases[0], gate, units, shift),
                parameters={"bias": (0.0, shift)},
                cost=-1,
            )
            return


def _with_shift(case: Case, leaf: LeafView, gate: int, units: int, shift: float) -> Predict:
    moved = leaf.array.copy()
    moved[gate * units : (gate + 1) * units] += shift
    return lambda trial: case.run_reference(trial.fed, {leaf.id: moved})


def _solved(case: Case, leaf: LeafView, gate: int, units: int) -> float | None:
    """The number added to a gate's bias that gives the candidate's value: Gauss and Newton."""
    shift, step, wanted = 0.0, 1e-4, case.first.candidate
    left = math.inf
    for _ in range(12):
        found = _with_shift(case, leaf, gate, units, shift)(case.first)
        gap = wanted - found
        if _same(found, wanted):
            stated = plain(round(shift, 6))
            fine = _with_shift(case, leaf, gate, units, stated)(case.first)
            return stated if _same(fine, wanted) else shift
        size = float(np.sqrt(np.mean(gap * gap)))
        if not size < 0.95 * left:
            return None
        left = size
        slope = (_with_shift(case, leaf, gate, units, shift + step)(case.first) - found) / step
        squares = float(np.vdot(slope, slope))
        if not squares > 0:
            return None
        shift += float(np.vdot(slope, gap)) / squares
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


@cause("recurrent-activation", "state-not-carried", "direction")
def lstm_as_a_whole(case: Case) -> Iterator[Explanation]:
    """An LSTM that is one operation on one side differs in its activations, state or direction.

    Looks like: states that agree at the first step only (not carried), or at none.
    Proof: an LSTM of the reference's weights gives the reference's states; with one thing changed,
        put in their place in the reference, it gives the candidate's value.
    """
    first = case.first
    if len(first.inputs) != 1 or first.x.ndim != 3 or not list(_layers_of(case.reference.leaves)):
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


def _through(case: Case, layer: Lstm, states: int, turned: bool) -> Predict:
    def predict(trial: Trial) -> Array:
        found = layer(trial.x)
        return case.run_reference(
            trial.fed, {states: np.swapaxes(found, 0, 1) if turned else found}
        )

    return predict


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


def _of_a_recurrent_layer(case: Case) -> bool:
    """Whether a weight of the model is a recurrent kernel: each step reads it, or one operation."""
    tape = case.reference.tape
    return any(
        len(value.shape) == 2
        and value.shape[0] > 1
        and max(value.shape) in (3 * min(value.shape), 4 * min(value.shape))
        and _is_read_by_steps(tape, value.id)
        for value in tape.values
        if value.op < 0 and value.kind in ("parameter", "constant")
    )


def _is_read_by_steps(tape: Tape, leaf: int) -> bool:
    readers, stack = [], [leaf]
    while stack:
        for index in tape.consumers[stack.pop()]:
            if tape.ops[index].static:
                stack.extend(tape.ops[index].outputs)
            else:
                readers.append(tape.ops[index])
    words = ("rnn", "lstm", "gru")
    return len(readers) > 1 or any(word in op.kind.lower() for op in readers for word in words)


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


def _is_mask_of_steps(ratio: Array) -> bool:
    return bool(((ratio == 0) | (ratio == 1)).all() and (ratio == ratio[..., :1]).all())


def _same(found: Array, wanted: Array) -> bool:
    return found.shape == wanted.shape and bool(np.allclose(found, wanted, 1e-5, 1e-7))
