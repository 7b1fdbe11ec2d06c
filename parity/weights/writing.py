"""Converts paired tensors and writes them to the target."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np

from parity.errors import InputError
from parity.tape import Array
from parity.weights.element_index import Addresses
from parity.weights.operands import NEUTRAL
from parity.weights.pairing import Pair, Pairing


def write(source: Addresses, target: Addresses, found: Pairing) -> None:
    """Converts and writes what is paired; what does not fit goes to the pairing's notes."""
    for pair in list(found.pairs):
        if pair.source is not None and pair.source.shape != pair.target.shape:
            found.pairs.remove(pair)
            found.notes.append(
                f"{' + '.join(pair.source_names)} does not fit {' + '.join(pair.target_names)}: "
                f"{pair.role} {pair.source.shape} and {pair.target.shape} (out, in)"
            )
        else:
            _put(target, pair, converted(source, pair))


def converted(source: Addresses, pair: Pair) -> Array:
    """What is to be written, in the common arrangement and the target's order of channels."""
    if pair.source is None:
        return np.asarray(NEUTRAL[pair.role])
    if pair.source.strided is not None:
        whole = source.tensors[pair.source.strided.number].read()
        values = pair.source.strided.of(np.ascontiguousarray(whole))
    else:
        terms = pair.source.find() or []
        values = reduce(add, (_signed(sign, source.gather(own)) for sign, own in terms))
    if pair.shift:
        values = (values.astype(np.float64) + pair.shift).astype(values.dtype)
        if values.min() <= 0:
            raise InputError(f"{' + '.join(pair.source_names)} is too small to take up an epsilon.")
    return ordered(pair, values)


def ordered(pair: Pair, values: Array) -> Array:
    """What belongs to a pair's source, in the target's order of units and of channels."""
    if pair.units is not None:
        values = np.take(values, pair.units, axis=pair.unit_axis)
    if pair.order is not None:
        values = np.take(values, pair.order, axis=min(values.ndim - 1, 1))
    return values


def _put(target: Addresses, pair: Pair, values: Array) -> None:
    if pair.target.strided is not None:
        tensor = target.tensors[pair.target.strided.number]
        whole = np.empty(tensor.shape, tensor.read().dtype)
        pair.target.strided.of(whole)[...] = values
        tensor.write(whole)
        return
    for count, (sign, addresses) in enumerate(pair.target.find() or []):
        # of several that are added up, the first gets the sum
        own = _signed(sign, values) if not count else np.zeros_like(values)
        for tensor, here, places in target.within(addresses):
            new = np.array(tensor.read(), order="C")
            new.reshape(-1)[places] = np.broadcast_to(own, addresses.shape)[here]
            tensor.write(new)


def _signed(sign: float | Array, values: Array) -> Array:
    if isinstance(sign, float) and sign == 1.0:
        return values
    return (values * sign).astype(values.dtype)
