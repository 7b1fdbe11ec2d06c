"""One model's gradients, named and laid out as another's, whose parameters are paired with its own.

A parameter of one model may be a transposed, cut or joined one of the other's, or one term of a
sum. Whatever it is, each element of the reference's has a place in the candidate's, and that is
where its gradient lies. What is read twice in one model and held twice in the other has the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, permutations

import numpy as np

from parity.diagnosis.output_pairs import pair_outputs
from parity.draws.draw import Transform
from parity.errors import InputError
from parity.matching.axis_order import orders
from parity.model import Inputs, Model
from parity.outputs.gradients import (
    NO_GRADIENT,
    Cotangents,
    cotangent_of,
    drawn,
    of_input,
    of_parameter,
)
from parity.tape import Array, Op, Site, Tape, Value
from parity.weights.pairing import Side
from parity.weights.partners import Partners
from parity.weights.sides import as_sides


@dataclass(frozen=True, eq=False)
class Place:
    """Where a gradient of the reference lies among the candidate's.

    Attributes:
        name: the output of the reference.
        sources: the candidate's outputs.
        of: makes the one, in the reference's layout, of the others.
        zeros: what it is where the candidate has none of it; None where the reference has none.
    """

    name: str
    sources: tuple[str, ...]
    of: Callable[..., list[Array]]
    zeros: Array | None = None


@dataclass(frozen=True, eq=False)
class Places:
    """A change of the candidate's tapes and outputs: their gradients are the reference's then."""

    places: tuple[Place, ...]
    of_inputs: tuple[str, ...] = ()  # the reference's gradients of inputs

    def tape(self, tape: Tape) -> Tape:
        """A tape that also lays the gradients out as the reference has them."""
        ops, values, recorded = list(tape.ops), list(tape.values), dict(tape.recorded)
        outputs, others = dict(tape.outputs), dict(tape.other_outputs)
        for place in self.places:
            if all(name in tape.outputs for name in place.sources):
                read = tuple(tape.outputs[name] for name in place.sources)
                arrays = place.of(*map(tape.recorded_array, read))
                dtype = tape.values[read[0]].dtype
                made = Value(len(values), "computed", arrays[0].shape, dtype, "", len(ops))
                maker = tape.producer(read[0])
                site = replace(maker.site, op="transpose") if maker else Site("transpose", "")
                call = Transform(place.of)
                ops.append(Op(len(ops), "transpose", read, (made.id,), site, "move", call=call))
                values.append(made)
                recorded[made.id] = tape.native(arrays[0], dtype)
                outputs[place.name] = made.id
            elif any(name not in tape.other_outputs for name in place.sources):
                continue
            elif place.zeros is None:
                others[place.name] = None
            else:
                start = next(one for one in outputs if cotangent_of(one) in tape.inputs)
                read = (tape.inputs[cotangent_of(start)],)
                dtype = place.zeros.dtype.name
                made = Value(len(values), "computed", place.zeros.shape, dtype, "", len(ops))
                call = Transform(partial(_none, place.zeros))
                site = Site(NO_GRADIENT, "", (), "backward")
                ops.append(Op(len(ops), NO_GRADIENT, read, (made.id,), site, call=call))
                values.append(made)
                recorded[made.id] = tape.native(place.zeros, dtype)
                outputs[place.name] = made.id
        kept = {place.name for place in self.places}
        taken = {name for place in self.places for name in place.sources} - kept
        lacking = [name for name in self.of_inputs if name not in {**outputs, **others}]
        caveats = [
            f"{tape.model} has no {name}, which is not compared: it takes that input as an array"
            for name in lacking
        ]
        return replace(
            tape,
            caveats=[*tape.caveats, *caveats],
            ops=ops,
            values=values,
            recorded=recorded,
            outputs={name: one for name, one in outputs.items() if name not in taken},
            other_outputs={name: one for name, one in others.items() if name not in taken},
            gradients=(tape.gradients - taken) | kept,
        )

    # what is done to tapes is done to the outputs of runs

    def outputs(self, outputs: Mapping[str, Array]) -> Mapping[str, Array]:
        """The outputs of a run likewise."""
        found = dict(outputs)
        for place in self.places:
            if all(name in outputs for name in place.sources):
                (found[place.name],) = place.of(*(outputs[name] for name in place.sources))
            elif place.zeros is not None and not any(name in outputs for name in place.sources):
                found[place.name] = place.zeros
        kept = {place.name for place in self.places}
        taken = {name for place in self.places for name in place.sources} - kept
        return {name: one for name, one in found.items() if name not in taken}


def places(
    models: tuple[Model, Model],
    tapes: tuple[Tape, Tape],
    given: tuple[Inputs, Inputs],
    reference: Tape,
) -> Places:
    """Where the gradients of the first model's inputs and parameters lie in the second's.

    Args:
        tapes: of both models without their gradients, on what is given to each.
        reference: of the first with them.
    """
    first, second = as_sides(models, tapes, given)
    partners = Partners.of_steps(first, second)
    found = [*_of_inputs(first, second), *_of_parameters(first, second, partners)]
    found += _by_elements(first, second, found)
    sizes = {of_parameter(one.name): one.shape for one in first.tensors if one.trainable}
    known = {
        name: np.zeros(sizes[name], reference.values[value].dtype)
        for name, value in reference.outputs.items()
        if name in sizes
    }
    of_inputs = tuple(name for name in map(of_input, reference.given) if name in reference.outputs)
    return Places(tuple(replace(one, zeros=known.get(one.name)) for one in found), of_inputs)


def cotangents(reference: Tape, candidate: Tape) -> Cotangents:
    """What the candidate's outputs are weighted by: each as its counterpart, in its own layout.

    Args:
        reference, candidate: of both models without their gradients.
    """
    pairs, _ = pair_outputs(reference, candidate)
    known = {pair.candidate_name: pair for pair in pairs}

    def weighted_by(name: str, shape: tuple[int, ...]) -> Array:
        pair = known.get(name)
        if pair is None:
            return np.zeros(shape, np.float32)  # the reference has none of it
        own = reference.values[pair.reference].shape
        lies = candidate.values[pair.candidate].shape
        # a batch may have another length here than where both were recorded
        length = (shape[0], *own[1:]) if own and lies and own[0] == lies[0] else own
        order = next((one for one in orders(length, shape) if one.stable), None)
        if order is None:
            raise InputError(
                f"output {pair.name!r} has shape {own} in {reference.model} and {lies} in "
                f"{candidate.model}: gradients=True weights both alike, element by element. Return "
                "it in one shape from both, or compare without gradients."
            )
        return order.apply(drawn(pair.name, length))

    return weighted_by


# --- inputs --------------------------------------------------------------------------------------


def _of_inputs(first: Side, second: Side) -> Iterator[Place]:
    for name, value in first.tape.inputs.items():
        own = first.inputs.get(value)
        for other, theirs in second.tape.inputs.items():
            numbers = second.inputs.get(theirs)
            if own is None or numbers is None or own.ndim != numbers.ndim:
                continue
            # samples may be fewer than here: axes are moved, and no elements
            ways = permutations(range(own.ndim))
            axes = (axes for axes in ways if np.array_equal(numbers.transpose(axes), own))
            for found in islice(axes, 1):
                yield Place(of_input(name), (of_input(other),), partial(_transposed, found))


def _transposed(axes: tuple[int, ...], gradient: Array) -> list[Array]:
    return [gradient.transpose(axes)]


# --- parameters ----------------------------------------------------------------------------------


def _of_parameters(
    first: Side, second: Side, partners: Partners, only: Sequence[int] | None = None
) -> Iterator[Place]:
    for number in range(len(first.tensors)) if only is None else only:
        tensor = first.tensors[number]
        terms = partners.terms(first.own(number))
        if not terms or not (terms[0][0] > 0).all():
            continue  # not all of it is paired
        numbers = sorted({n for own, _ in terms for n in second.tensors_in(own)})
        sizes = [second.tensors[n].size for n in numbers]
        offsets = np.cumsum([0, *sizes])
        moved = []
        for own, factor in terms:
            at = np.full(own.shape, -1, np.int64)
            for n, offset in zip(numbers, offsets, strict=False):
                start, end = second.starts[n : n + 2]
                within = (own >= start) & (own < end)
                at[within] = own[within] - start + offset
            moved.append((at, factor))
        names = tuple(of_parameter(second.tensors[n].name) for n in numbers)
        yield Place(of_parameter(tensor.name), names, partial(_gathered, tuple(moved)))


def _gathered(terms: tuple[tuple[Array, Array | float], ...], *gradients: Array) -> list[Array]:
    """What has at each element the sum of some elements of gradients that lie behind each other.

    Args:
        terms: of each element the place of one of these, -1 for none, and its factor.
    """
    flat = np.concatenate([array.ravel() for array in gradients])
    found = [np.where(at < 0, 0, flat[at] * factor) for at, factor in terms]
    return [np.asarray(sum(found[1:], found[0]), flat.dtype)]


def _by_elements(first: Side, second: Side, found: Sequence[Place]) -> Iterator[Place]:
    """Of parameters that no step pairs, as an attention in one matrix and by heads, or a number.

    Numbers that are drawn are each there once: an element's partner is the one that is equal.
    """
    left, right = _rest(first, second, found)
    pools = [
        np.concatenate([first.gather(first.own(n)).ravel() for n in left] or [np.empty(0)]),
        np.concatenate([second.gather(second.own(n)).ravel() for n in right] or [np.empty(0)]),
    ]
    addresses = np.concatenate([second.own(n).ravel() for n in right] or [np.empty(0, np.int64)])
    values, places, counts = np.unique(pools[1], return_index=True, return_counts=True)
    own, often = np.unique(pools[0], return_counts=True)
    known = np.zeros(int(first.starts[-1]) + 1, np.int64)
    for number in left if len(values) else ():
        array = first.gather(first.own(number))
        at = np.minimum(np.searchsorted(values, array), len(values) - 1)
        once = (counts[at] == 1) & (often[np.searchsorted(own, array)] == 1)
        fits = (values[at] == array) & once
        known[first.own(number)[fits]] = addresses[places[at[fits]]]
    partners = Partners([(known, np.ones(known.shape))])
    yield from _of_parameters(first, second, partners, left)


def _rest(first: Side, second: Side, found: Sequence[Place]) -> list[list[int]]:
    """The numbers of both models' trained tensors that have no place yet."""
    known = {one.name for one in found}, {name for one in found for name in one.sources}
    return [
        [
            number
            for number, one in enumerate(side.tensors)
            if one.trainable and one.is_floating and of_parameter(one.name) not in names
        ]
        for side, names in zip((first, second), known, strict=True)
    ]


def _none(zeros: Array, cotangent: Array) -> list[Array]:
    return [zeros]
