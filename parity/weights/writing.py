"""Converts paired tensors and writes them to the target."""

from __future__ import annotations

import numpy as np

from parity.errors import InputError
from parity.tape import Array
from parity.weights.element_index import Addresses
from parity.weights.operands import NEUTRAL, Part
from parity.weights.pairing import Pair, Pairing, Side


def write(source: Addresses, target: Side, found: Pairing) -> None:
    """Converts and writes what is paired; what does not fit goes to the pairing's notes."""
    for pair in list(found.pairs):
        shapes = [_canonical(part, pair) for part in (pair.source, pair.target)]
        if pair.source is not None and shapes[0] != shapes[1]:
            found.pairs.remove(pair)
            found.notes.append(
                f"{' + '.join(pair.source_names)} does not fit {' + '.join(pair.target_names)}: "
                f"{pair.role} {shapes[0]} and {shapes[1]} (out, in)"
            )
            continue
        _put(target.addresses, pair, _contents(source, pair))


def _canonical(part: Part | None, pair: Pair) -> tuple[int, ...]:
    return part.shape if part is not None else ()


def _contents(source: Addresses, pair: Pair) -> Array | float:
    """What is to be written, in the common arrangement and the target's order of channels."""
    if pair.source is None:
        return NEUTRAL[pair.role]
    total: Array | None = None
    if pair.source.strided is not None:
        own = source.tensors[pair.source.strided.number].read()
        total = pair.source.strided.of(np.ascontiguousarray(own))
        return _adapted(pair, total)
    for sign, addresses in pair.source.find() or []:
        numbers = _signed(sign, source.gather(addresses))
        total = numbers if total is None else total + numbers
    assert total is not None
    return _adapted(pair, total)


def _adapted(pair: Pair, total: Array) -> Array:
    """With another epsilon taken up, and in the target's order of channels."""
    if pair.shift:
        total = (total.astype(np.float64) + pair.shift).astype(total.dtype)
        if total.min() <= 0:
            raise InputError(f"{' + '.join(pair.source_names)} is too small to take up an epsilon.")
    if pair.order is not None:
        total = np.take(total, pair.order, axis=min(total.ndim - 1, 1))
    return total


def _put(stored: Addresses, pair: Pair, contents: Array | float) -> None:
    if pair.target.strided is not None:
        tensor = stored.tensors[pair.target.strided.number]
        whole = np.empty(tensor.shape, tensor.read().dtype)
        pair.target.strided.of(whole)[...] = contents
        tensor.write(whole)
        return
    for count, (sign, addresses) in enumerate(pair.target.find() or []):
        numbers = np.broadcast_to(np.asarray(contents), addresses.shape)
        numbers = _signed(sign, numbers) if not count else np.zeros_like(numbers)
        for number in stored.tensors_in(addresses):
            tensor = stored.tensors[number]
            start, end = stored.starts[number : number + 2]
            own = (addresses >= start) & (addresses < end)
            new = np.array(tensor.read(), order="C")
            new.reshape(-1)[addresses[own] - start] = numbers[own]
            tensor.write(new)


def _signed(sign: float | Array, numbers: Array) -> Array:
    if isinstance(sign, float) and sign == 1.0:
        return numbers
    return (numbers * sign).astype(numbers.dtype)
