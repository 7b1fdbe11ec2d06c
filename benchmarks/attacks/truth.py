"""Whether a fault is real and a twin correct: plain runs, without any of this project's code.

The rounding of an element is measured: how far it moves in plain runs of the reference and of the
twin when every floating input moves by one unit in its last place, plus one unit of the element
itself; inputs that are exact by what they mean (whole numbers, ties) are not moved. A fault is real
where some element of the faulty candidate's output is off by 16 times that or more, or where the
outputs' structure differs; a twin is correct where none is off by more than 8 times that.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.attacks.corpus import Attack, Case, Side

FAULTY = 16.0
CORRECT = 8.0
_MOVES = 6


@dataclass(frozen=True)
class Truth:
    """How far the faulty and the twin are from the reference, in units of measured rounding."""

    faulty: float
    twin: float

    @property
    def problem(self) -> str:
        """What is wrong with the attack itself; "" if nothing."""
        if not self.faulty >= FAULTY:
            return f"the fault is no fault: {self.faulty:.2g} times rounding"
        if not self.twin <= CORRECT:
            return f"the twin is not correct: {self.twin:.2g} times rounding"
        return ""


def truth(attack: Attack) -> Truth:
    """Measures an attack; each run is of a model built anew."""
    case = attack.build()
    where = case.inputs if case.elsewhere is None else case.elsewhere
    here = _outputs(attack, "reference", where), _outputs(attack, "faulty", where)
    reference, twin = _outputs(attack, "reference"), _outputs(attack, "twin")
    return Truth(
        _times(*here, _rounding(attack, where), case.unit),
        _times(reference, twin, _rounding(attack, case.inputs), case.unit),
    )


def _outputs(attack: Attack, side: str, inputs: Any = None) -> list[Any]:
    case = attack.build()
    return plain(case, getattr(case, side), case.inputs if inputs is None else inputs)


def _rounding(attack: Attack, inputs: Any) -> list[Any] | None:
    """For each output how far rounding of the inputs moves its elements."""
    random = np.random.default_rng(0)
    found: list[Any] | None = None
    for side in ("reference", "twin"):
        base = _outputs(attack, side, inputs)
        found = [np.zeros(array.shape) for array in base] if found is None else found
        for _ in range(0 if attack.build().exact else _MOVES):
            moved = _outputs(attack, side, _map(lambda a: _one_ulp(a, random), inputs))
            if [a.shape for a in moved] != [f.shape for f in found]:
                return None
            for most, a, b in zip(found, base, moved, strict=True):
                np.fmax(most, _gap(a, b), out=most)
    return found


def _times(
    reference: list[Any], candidate: list[Any], rounding: list[Any] | None, own: float
) -> float:
    """The largest difference of an element in units of its rounding; inf for other structures."""
    if [a.shape for a in reference] != [b.shape for b in candidate] or rounding is None:
        return float("inf")
    largest = 0.0
    for a, b, most in zip(reference, candidate, rounding, strict=True):
        if a.dtype.kind in "US":
            largest = max(largest, 0.0 if np.array_equal(a, b) else float("inf"))
            continue
        gap = _gap(a, b)
        with np.errstate(all="ignore"):
            size = np.abs(np.where(np.isfinite(a), a, 0))
            unit = most + 2.0**-23 * size + own * size.max(initial=0) + 1e-37
            largest = max(largest, float(np.max(gap / unit, initial=0.0)))
    return largest


def _gap(a: Any, b: Any) -> Any:
    """Absolute differences; infinite where one alone is NaN or infinite."""
    if a.dtype.kind in "US":
        return np.zeros(a.shape)
    a, b = (one.astype(np.complex128 if one.dtype.kind == "c" else np.float64) for one in (a, b))
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        gap = np.abs(a - b)
        return np.where(same, 0.0, np.where(np.isfinite(gap), gap, np.inf))


# --- plain runs -----------------------------------------------------------------------------------


def plain(case: Case, side: Side, inputs: Any) -> list[Any]:
    """What a user gets who calls the model."""
    given = side.options.get("inputs", inputs) if case.elsewhere is None else inputs
    for stage in side.options.get("before", ()):
        given = stage(_map(np.array, given))  # it may write into what it gets
    if side.options.get("input_layout") == "NHWC":
        given = _map(lambda a: a.transpose(0, 2, 3, 1) if a.ndim == 4 else a, given)
    result = _CALLS[side.framework](side, given)
    read = case.read or _walk
    return [_array(leaf) for leaf in read(result)]


def _map(function: Any, inputs: Any) -> Any:
    if isinstance(inputs, Mapping):
        return {key: _map(function, item) for key, item in inputs.items()}
    if isinstance(inputs, tuple):
        return tuple(_map(function, item) for item in inputs)
    return function(np.array(inputs))


def _one_ulp(array: Any, random: Any) -> Any:
    if array.dtype.kind != "f":
        return array
    way = random.choice([-np.inf, np.inf], array.shape).astype(array.dtype)
    return np.where(array == 0, array, np.nextafter(array, way))


def _call(function: Any, inputs: Any) -> Any:
    if isinstance(inputs, tuple):
        return function(*inputs)
    if isinstance(inputs, dict):
        return function(**inputs)
    return function(inputs)


def _torch(side: Side, inputs: Any) -> Any:
    import torch

    def tensor(array: Any) -> Any:
        found = torch.from_numpy(np.array(array))
        return found.to(getattr(torch, side.dtype)) if found.is_floating_point() else found

    if isinstance(side.model, torch.nn.Module):
        with contextlib.suppress(NotImplementedError):  # an exported program has one mode
            side.model.train(side.options.get("mode") == "train")
    return _call(side.model, _map(tensor, inputs))


def _tensorflow(side: Side, inputs: Any) -> Any:
    import keras
    import tensorflow as tf

    def tensor(array: Any) -> Any:
        found = tf.constant(array)
        return tf.cast(found, side.dtype) if found.dtype.is_floating else found

    given = _map(tensor, inputs)
    if isinstance(side.model, keras.layers.Layer):
        given = list(given) if isinstance(given, tuple) else given
        return side.model(given, training=side.options.get("mode") == "train")
    return _call(side.model, given)


def _chainer(side: Side, inputs: Any) -> Any:
    from parity.frameworks.chainer_numpy import import_chainer

    chainer = import_chainer()

    def tensor(array: Any) -> Any:
        return chainer.Variable(array.astype(side.dtype)) if array.dtype.kind == "f" else array

    with chainer.using_config("train", side.options.get("mode") == "train"):
        return _call(side.model, _map(tensor, inputs))


def _numpy(side: Side, inputs: Any) -> Any:
    return _call(side.model, _map(np.array, inputs))


_CALLS = {"torch": _torch, "tensorflow": _tensorflow, "chainer": _chainer, "numpy": _numpy}


def _walk(result: Any) -> list[Any]:
    """The leaves of tuples, lists and dicts, in order."""
    if isinstance(result, Mapping):
        return [leaf for item in result.values() for leaf in _walk(item)]
    if isinstance(result, (tuple, list)):
        return [leaf for item in result for leaf in _walk(item)]
    return [result]


def _array(leaf: Any) -> Any:
    """A leaf as a NumPy array that NumPy knows: float32 for bfloat16."""
    if hasattr(leaf, "detach"):
        leaf = leaf.detach()
        leaf = leaf.float() if "float8" in str(leaf.dtype) or "bfloat" in str(leaf.dtype) else leaf
        return leaf.resolve_conj().resolve_neg().numpy().copy()
    if hasattr(leaf, "array") and not isinstance(leaf, np.ndarray):
        return np.array(leaf.array)
    array = np.array(leaf.numpy() if hasattr(leaf, "numpy") else leaf)
    return array.astype(np.float32) if array.dtype.kind == "V" else array
