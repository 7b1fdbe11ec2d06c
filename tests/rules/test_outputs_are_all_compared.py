"""Every leaf of what a model returns is compared, or is named as not compared: none is lost."""

from __future__ import annotations

import collections
import dataclasses
import enum
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import parity
from parity.frameworks.chainer_numpy import import_chainer
from parity.inputs.preprocessing import plain
from parity.outputs import flatten as outputs
from parity.result import Comparison

tf = pytest.importorskip("tensorflow")

X = np.random.default_rng(3).standard_normal((5, 4)).astype("f")
W = np.random.default_rng(4).standard_normal((4, 3)).astype("f")
Build = Callable[[Any], Any]


def in_torch(extra: Build) -> Any:
    def model(x: Any) -> Any:
        h = x @ torch.from_numpy(W)
        return {"y": torch.tanh(h), "extra": extra(h)}

    return parity.wrap(model, framework="torch", name="torch")


def in_tensorflow(extra: Build) -> Any:
    def model(x: Any) -> Any:
        h = x @ tf.constant(W)
        return {"y": tf.tanh(h), "extra": extra(h)}

    return parity.wrap(model, framework="tensorflow", name="tensorflow")


def in_numpy(extra: Build) -> Any:
    def model(x: Any) -> Any:
        h = x @ W
        return {"y": np.tanh(h), "extra": extra(h)}

    return parity.wrap(model, framework="numpy", name="numpy")


def in_chainer(extra: Build) -> Any:
    functions = import_chainer().functions

    def model(x: Any) -> Any:
        h = functions.matmul(x, W)
        return {"y": functions.tanh(h), "extra": extra(h)}

    return parity.wrap(model, framework="chainer", name="chainer")


def compared(reference: Any, candidate: Any) -> Comparison:
    return parity.compare(reference, candidate, inputs=X).comparisons[0]


class Slots:
    __slots__ = ("q",)

    def __init__(self, q: Any) -> None:
        self.q = q


class Property:
    def __init__(self, q: Any) -> None:
        self._q = q

    @property
    def q(self) -> Any:
        return self._q


class Parameters:
    """As a distribution of TensorFlow Probability says what it is made of."""

    def __init__(self, loc: Any) -> None:
        self._loc = loc

    @property
    def parameters(self) -> dict[str, Any]:
        return {"loc": self._loc, "validate_args": False, "name": "Normal"}


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class ActionValue:
    """As ChainerRL and PFRL keep them, each with what else it needs to work."""

    def __init__(self, q: Any, **works: Any) -> None:
        self.q_values, self.n_actions = q, 3
        vars(self).update(works)


def deep(leaf: Any, levels: int = 12) -> Any:
    return leaf if levels == 0 else {"d": deep(leaf, levels - 1)}


def ragged(lengths: list[int]) -> Build:
    return lambda h: tf.RaggedTensor.from_row_lengths(h, lengths)


# what the torch model returns, what a correct port returns, and what a faulty one does
CROSS: dict[str, tuple[Build, Build, Build]] = {
    "int": (lambda h: 3, lambda h: 3, lambda h: 4),
    "bool": (lambda h: True, lambda h: True, lambda h: False),
    "float": (lambda h: 0.1, lambda h: 0.1, lambda h: 0.2),
    "complex": (lambda h: 1j, lambda h: 1j, lambda h: 2j),
    "large int": (lambda h: 10**30, lambda h: 10**30, lambda h: 10**30 + 1),
    "str": (lambda h: "a", lambda h: "a", lambda h: "b"),
    "bytes": (lambda h: b"a", lambda h: b"a", lambda h: b"b"),
    "enum": (lambda h: Color.RED, lambda h: Color.RED, lambda h: Color.BLUE),
    "dtype": (lambda h: h.dtype, lambda h: h.dtype, lambda h: tf.float64),
    "none": (lambda h: None, lambda h: None, lambda h: "x"),
    "set": (lambda h: {1, 2}, lambda h: {2, 1}, lambda h: {1, 3}),
    "tolist": (
        lambda h: h.tolist(),
        lambda h: h.numpy().tolist(),
        lambda h: (h * 2).numpy().tolist(),
    ),
    "array": (lambda h: h.numpy(), lambda h: h.numpy(), lambda h: h.numpy() * 1.01),
    "item": (
        lambda h: h.mean().item(),
        lambda h: float(tf.reduce_mean(h)),
        lambda h: float(tf.reduce_mean(h)) * 1.01,
    ),
    "another framework's": (
        lambda h: h,
        lambda h: torch.from_numpy(h.numpy()),
        lambda h: torch.from_numpy(2 * h.numpy()),
    ),
    "sparse": (
        lambda h: torch.relu(h).to_sparse(),
        lambda h: tf.sparse.from_dense(tf.nn.relu(h)),
        lambda h: tf.sparse.from_dense(2 * tf.nn.relu(h)),
    ),
    "slices": (
        lambda h: {"values": h, "indices": torch.arange(5)},
        lambda h: tf.IndexedSlices(h, tf.range(5)),
        lambda h: tf.IndexedSlices(h, tf.range(1, 6)),
    ),
    "distribution": (
        lambda h: torch.distributions.Normal(h, torch.exp(h)),
        lambda h: types.SimpleNamespace(loc=h, scale=tf.exp(h)),
        lambda h: types.SimpleNamespace(loc=h, scale=tf.exp(2 * h)),
    ),
    "deque": (
        lambda h: collections.deque([h]),
        lambda h: collections.deque([h]),
        lambda h: collections.deque([2 * h]),
    ),
    "values()": (lambda h: {"a": h}.values(), lambda h: [h], lambda h: {"a": 2 * h}.values()),
    "items()": (
        lambda h: {"a": h}.items(),
        lambda h: {"a": h}.items(),
        lambda h: {"a": 2 * h}.items(),
    ),
    "slots": (Slots, Slots, lambda h: Slots(2 * h)),
    "property": (Property, Property, lambda h: Property(2 * h)),
    "parameters": (Parameters, Parameters, lambda h: Parameters(2 * h)),
    "action value": (
        lambda h: ActionValue(h, device=h.device, formatter=str),
        lambda h: ActionValue(h, xp=np),
        lambda h: ActionValue(2 * h, xp=np),
    ),
    "number of actions": (
        lambda h: ActionValue(h),
        lambda h: types.SimpleNamespace(q_values=h),
        lambda h: types.SimpleNamespace(q_values=h, n_actions=4),
    ),
    "deep": (deep, deep, lambda h: deep(2 * h)),
    "1 and '1'": (
        lambda h: {1: h, "1": 3 * h},
        lambda h: {"1": 3 * h, 1: h},
        lambda h: {1: 3 * h, "1": h},
    ),
    "'a/b' and a, b": (
        lambda h: {"a/b": h, "a": {"b": 3 * h}},
        lambda h: {"a": {"b": 3 * h}, "a/b": h},
        lambda h: {"a/b": 3 * h, "a": {"b": h}},
    ),
}


@pytest.mark.parametrize("name", CROSS)
def test_a_leaf_of_any_kind_counts(name: str) -> None:
    reference, correct, faulty = CROSS[name]
    assert compared(in_torch(reference), in_tensorflow(correct)).verdict == "parity"
    assert compared(in_torch(reference), in_tensorflow(faulty)).verdict == "diverged"


@pytest.mark.parametrize("name", ["int", "str", "none", "deque", "slots", "deep", "1 and '1'"])
@pytest.mark.parametrize("build", [in_numpy, in_chainer])
def test_so_it_does_in_every_framework(name: str, build: Callable[[Build], Any]) -> None:
    reference, correct, faulty = CROSS[name]
    assert compared(in_torch(reference), build(correct)).verdict == "parity"
    assert compared(in_torch(reference), build(faulty)).verdict == "diverged"


@pytest.mark.parametrize(
    ("correct", "faulty"),
    [
        (ragged([2, 3]), ragged([3, 2])),
        (
            lambda h: tf.TensorArray(tf.float32, 5).unstack(h),
            lambda h: tf.TensorArray(tf.float32, 5).unstack(2 * h),
        ),
        (lambda h: tf.constant("a"), lambda h: tf.constant("b")),
    ],
    ids=["ragged", "tensor array", "string"],
)
def test_tensors_that_are_no_arrays_count(correct: Build, faulty: Build) -> None:
    assert compared(in_tensorflow(correct), in_tensorflow(correct)).verdict == "parity"
    assert compared(in_tensorflow(correct), in_tensorflow(faulty)).verdict == "diverged"


def test_the_mask_of_a_masked_array_counts_and_what_it_hides_does_not() -> None:
    def masked(bound: float, hidden: float) -> Build:
        return lambda h: np.ma.masked_array(np.where(h > bound, hidden, h), h > bound)

    assert compared(in_numpy(masked(1, 7)), in_numpy(masked(1, 8))).verdict == "parity"
    assert compared(in_numpy(masked(1, 7)), in_numpy(masked(0.5, 7))).verdict == "diverged"


def test_both_values_of_a_leaf_are_reported() -> None:
    found = compared(in_torch(lambda h: "a"), in_tensorflow(lambda h: "b"))
    assert found.reasons == ("output 'extra' is 'a' in torch and 'b' in tensorflow",)
    assert [(row.name, row.verdict) for row in found.outputs] == [("y", "parity")]


class Opaque:
    def __init__(self, hidden: Any = None) -> None:
        self._hidden = hidden

    def logits(self) -> Any:
        return self._hidden


@pytest.mark.parametrize("leaf", [object, Opaque], ids=["no attributes", "no public ones"])
def test_what_cannot_be_compared_is_named(leaf: Any) -> None:
    found = compared(in_torch(lambda h: leaf()), in_tensorflow(lambda h: leaf()))
    assert found.verdict == "unverified"
    assert "output 'extra'" in found.reasons[0] and "is not compared" in found.reasons[0]
    assert leaf.__name__ in found.reasons[0]
    assert found.coverage.outputs_total == found.coverage.outputs_compared + 1


def test_tensors_that_an_object_keeps_to_itself_are_named() -> None:
    found = compared(in_torch(Opaque), in_tensorflow(lambda h: Opaque(2 * h)))
    assert found.verdict == "unverified"
    assert "Opaque, which is not compared" in found.reasons[0]


def test_none_is_no_tensor() -> None:
    found = compared(in_torch(lambda h: h), in_tensorflow(lambda h: None))
    assert found.verdict == "unverified"
    assert "tensor of shape (5, 3) in torch and None in tensorflow" in found.reasons[0]


def test_an_object_that_holds_itself_ends() -> None:
    def around(h: Any) -> Any:
        found = {"h": h}
        found["me"] = found
        return found

    assert compared(in_torch(around), in_tensorflow(around)).verdict == "parity"


def test_a_number_that_python_computed_is_judged_by_what_it_was() -> None:
    """It has no float64: a difference as small as rounding cannot be distinguished from a fault."""

    def scaled(factor: float) -> Build:
        return lambda h: float(tf.reduce_mean(h * h)) * 3.7 * factor

    reference = in_torch(lambda h: (h * h).mean() * 3.7)
    assert compared(reference, in_tensorflow(scaled(1))).verdict == "parity"
    found = compared(reference, in_tensorflow(scaled(1 + 1e-5)))
    assert found.verdict == "unverified" and "computed by Python" in found.reasons[0]
    assert found.coverage.outputs_compared == found.coverage.outputs_total == 2
    assert compared(reference, in_tensorflow(scaled(1.01))).verdict == "diverged"


Pair = collections.namedtuple("Pair", ["h", "count"])


@dataclasses.dataclass
class Held:
    h: Any


@pytest.mark.parametrize(
    "held",
    [lambda h: Pair(h, 1), Held, lambda h: collections.deque([h]), lambda h: {"h": h}.values()],
    ids=["named tuple", "dataclass", "deque", "values()"],
)
def test_what_each_of_several_calls_gave_is_kept(held: Build) -> None:
    """A later call writes into the same memory; what the first gave must not follow it."""

    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.sum = torch.zeros(4)

        def forward(self, x: Any) -> Any:
            return held(self.sum.add_(x.sum(0)))

    found = plain(parity.calls(Counter()))((X, X))
    first, second = (array for array in found.values() if array.ndim)
    np.testing.assert_allclose(2 * first, second)


# --- broken once ---------------------------------------------------------------------------------


def test_an_output_that_is_left_out_on_one_side_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    flatten, seen = outputs.flatten, []

    def forgetful(output: Any, is_tensor: Callable[[object], bool]) -> Any:
        found = flatten(output, is_tensor)
        seen.append(found)
        if len(seen) == 2:
            del found["extra"]
        return found

    pair = in_torch(lambda h: h), in_tensorflow(lambda h: h)
    assert compared(*pair).verdict == "parity"
    monkeypatch.setattr(outputs, "flatten", forgetful)
    found = compared(*pair)
    assert found.verdict == "unverified" and "'extra'" in " ".join(found.reasons)


def test_an_output_that_is_left_out_of_the_pairs_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    from parity import candidate as one

    pair_outputs = one.pair_outputs
    pair = in_torch(lambda h: h), in_tensorflow(lambda h: 2 * h)
    assert compared(*pair).verdict == "diverged"
    monkeypatch.setattr(one, "pair_outputs", lambda a, b: ([pair_outputs(a, b)[0][0]], []))
    found = compared(*pair)
    assert found.verdict == "unverified" and "'extra'" in found.reasons[0]


@pytest.mark.parametrize("name", ["int", "str", "deque", "slots", "property", "deep"])
def test_leaves_that_fall_out_of_both_sides_would_pass(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What flatten did: the tests above see a difference only because it is all there."""
    flatten = outputs.flatten

    def old(output: Any, is_tensor: Callable[[object], bool]) -> Any:
        found = flatten(output, is_tensor)
        for key in [key for key in found if key.startswith("extra")]:
            del found[key]
        found.others.clear()
        return found

    reference, _, faulty = CROSS[name]
    monkeypatch.setattr(outputs, "flatten", old)
    assert compared(in_torch(reference), in_tensorflow(faulty)).verdict == "parity"
