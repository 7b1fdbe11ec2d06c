"""A tuple of inputs goes to a Keras model as its user's call gives it: by position, if it can."""

from __future__ import annotations

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

    ours = parity.wrap(reference, framework="tensorflow")
    assert parity.compare(ours, OfAList(), inputs=(A, B)).verdict == "parity"
    one, other = keras.Input((3,)), keras.Input((3,))
    functional = keras.Model([one, other], keras.ops.tanh(one) * other)
    assert parity.compare(ours, functional, inputs=(A, B)).verdict == "parity"
