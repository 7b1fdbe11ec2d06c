"""A tuple of inputs goes to a Keras model as its user's call gives it: by position, if it can."""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np
import pytest

import parity

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")

A, B, MASK = (np.random.default_rng(i).standard_normal((4, 3)).astype("f") for i in range(3))


class Masked(keras.Model):
    def call(self, x: Any, mask: Any) -> Any:
        return keras.ops.tanh(x) * mask


class OptionalMask(keras.Model):
    def call(self, x: Any, mask: Any = None, training: bool = False) -> Any:
        return keras.ops.tanh(x) if mask is None else keras.ops.tanh(x) * mask


class Three(keras.Model):
    def call(self, x: Any, y: Any, mask: Any) -> Any:
        return keras.ops.tanh(x + y) * mask


class OfAList(keras.Model):
    def call(self, inputs: Any, training: bool = False, mask: Any = None) -> Any:
        x, y = inputs
        return keras.ops.tanh(x) * y


@pytest.mark.parametrize(
    ("model", "inputs"),
    [(Masked, (A, MASK)), (OptionalMask, (A, MASK)), (OptionalMask, (A,)), (Three, (A, B, MASK))],
    ids=["mask", "optional mask", "no mask", "three"],
)
def test_inputs_go_by_position(model: Any, inputs: Any) -> None:
    candidate = model()
    wanted = np.asarray(candidate(*inputs))

    def reference(*arrays: Any) -> Any:
        masked = tf.tanh(arrays[0] + arrays[1] if len(arrays) == 3 else arrays[0])
        return masked * arrays[-1] if len(arrays) > 1 else masked

    report = parity.compare(
        parity.wrap(reference, framework="tensorflow"), candidate, inputs=inputs
    )
    assert report.verdict == "parity"
    found = report.comparisons[0].final_values
    np.testing.assert_allclose(next(iter(found.values())), wanted, rtol=1e-6)


def test_what_takes_a_list_gets_one() -> None:
    def reference(x: Any, y: Any) -> Any:
        return tf.tanh(x) * y

    model = parity.wrap(reference, framework="tensorflow")
    assert parity.compare(model, OfAList(), inputs=(A, B)).verdict == "parity"
    one, other = keras.Input((3,)), keras.Input((3,))
    functional = keras.Model([one, other], keras.ops.tanh(one) * other)
    assert parity.compare(model, functional, inputs=(A, B)).verdict == "parity"


# --- the same of a torch reference, with masks and other ways to take arguments -------------------

torch = pytest.importorskip("torch")

LEGAL = np.random.default_rng(3).random((4, 3)) > 0.4
AVAILABLE = np.random.default_rng(4).standard_normal((4, 6, 3)).astype("f")
CHOICES = np.random.default_rng(5).random((4, 6)) > 0.3
ops = keras.ops


class BooleanMask(keras.Model):
    def call(self, x: Any, mask: Any) -> Any:
        return ops.where(mask, ops.tanh(x), -1e9)


class MaskFirst(keras.Model):
    def call(self, mask: Any, x: Any) -> Any:
        return ops.tanh(x) * mask


class Any2(keras.Model):
    def call(self, *given: Any) -> Any:
        return ops.tanh(given[0]) * given[1]


class ByName(keras.Model):
    def call(self, x: Any, *, mask: Any) -> Any:
        return ops.tanh(x) * mask


class Choosing(keras.Model):
    def call(self, obs: Any, avail: Any, mask: Any) -> Any:
        return ops.where(mask, ops.sum(ops.tanh(obs)[:, None] * avail, -1), -1e9)


class ChoosingModule(tf.Module):
    def __call__(self, obs: Any, avail: Any, mask: Any) -> Any:
        return tf.where(mask, tf.reduce_sum(tf.tanh(obs)[:, None] * avail, -1), -1e9)


def masked(x: Any, mask: Any) -> Any:
    return torch.where(mask, torch.tanh(x), -1e9)


def times(x: Any, mask: Any) -> Any:
    return torch.tanh(x) * mask


def mask_first(mask: Any, x: Any) -> Any:
    return torch.tanh(x) * mask


def choosing(obs: Any, avail: Any, mask: Any) -> Any:
    return torch.where(mask, (torch.tanh(obs)[:, None] * avail).sum(-1), -1e9)


@pytest.mark.parametrize(
    ("build", "function", "inputs"),
    [
        (BooleanMask, masked, (A, LEGAL)),
        (BooleanMask, masked, {"x": A, "mask": LEGAL}),
        (MaskFirst, mask_first, (MASK, A)),
        (Any2, times, (A, MASK)),
        (ByName, times, (A, MASK)),
        (ByName, times, {"x": A, "mask": MASK}),
        (Choosing, choosing, (A, AVAILABLE, CHOICES)),
        (Choosing, choosing, {"obs": A, "avail": AVAILABLE, "mask": CHOICES}),
        (ChoosingModule, choosing, (A, AVAILABLE, CHOICES)),
    ],
)
@pytest.mark.parametrize("first", ["torch", "tensorflow"])
def test_masks_go_where_torch_takes_them(
    build: Any, function: Any, inputs: Any, first: str
) -> None:
    @wraps(function)
    def faulty(*arguments: Any, **named: Any) -> Any:
        return 1.5 * function(*arguments, **named)

    for own, verdict in ((function, "parity"), (faulty, "diverged")):
        model = parity.wrap(own, framework="torch")
        models = (model, build()) if first == "torch" else (build(), model)
        assert parity.compare(*models, inputs=inputs).verdict == verdict
