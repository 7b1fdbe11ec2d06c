"""What a Chainer model's own NumPy code computes is on its tape, operation by operation."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import parity
from parity.frameworks import load

chainer = pytest.importorskip("chainer")
F = chainer.functions
draw = np.random.default_rng(3)
X = draw.standard_normal((4, 5)).astype("f")
MASK = (draw.random((4, 5)) < 0.6).astype("f")
IDS = draw.integers(0, 5, (4, 3))
W = draw.standard_normal((5, 5)).astype("f")
zeros, array = np.zeros, np.array


def record(model: Callable[..., Any], *inputs: np.ndarray) -> Any:
    return load("chainer").record(parity.wrap(model, framework="chainer"), inputs)


def numpys(tape: Any) -> list[str]:
    return [op.kind for op in tape.ops if op.kind.startswith("numpy.")]


def in_place(x: Any) -> Any:
    y = x.array * 2
    y += 1
    y[:, 0] = 0
    return F.tanh(y)


def own_mask(x: Any) -> Any:
    seen = (x.array > 0) & (x.array < 1)
    return F.where(seen, x, F.tanh(x))


CODE: dict[str, tuple[Callable[[Any], Any], list[str]]] = {
    "arithmetic": (lambda x: F.tanh(1 - 2 * x.array), ["multiply", "subtract_from"]),
    "methods": (lambda x: F.tanh(x.array.sum(1).reshape(2, 2)), ["sum", "reshape"]),
    "functions": (
        lambda x: F.tanh(np.concatenate([x.array, np.maximum(x.array, 0)], axis=1)),
        ["clip_min", "concatenate"],
    ),
    "reductions": (lambda x: F.tanh(np.max(x.array, axis=0)), ["max"]),
    "indices": (lambda x: F.tanh(x.array[:, 1:]), ["getitem"]),
    "lists of indices": (lambda x: F.tanh(x.array[[2, 0]]), ["take"]),
    "in place": (in_place, ["multiply", "add", "setitem"]),
    "masks": (own_mask, ["greater", "less", "logical_and"]),
    "casts": (lambda x: F.tanh((x.array > 0).astype("f")), ["greater", "astype"]),
    "single numbers": (lambda x: F.tanh(x * x.array.mean()), ["mean", "astype"]),
    "transposed": (lambda x: F.tanh(np.ascontiguousarray(x.array.T @ x.array)), []),
}


@pytest.mark.parametrize("name", CODE)
def test_what_numpy_is_asked_for_is_an_operation(name: str) -> None:
    model, kinds = CODE[name]
    tape = record(model, X)
    if kinds:
        assert numpys(tape) == [f"numpy.{kind}" for kind in kinds]
    assert not tape.caveats
    (output,) = tape.outputs.values()
    other = X[::-1] + 0.25
    again = tape.replay(replaced={tape.inputs["0"]: other})
    expected = chainer.as_array(model(chainer.Variable(other)))
    np.testing.assert_array_equal(again.array(output), expected)


def test_inputs_that_are_arrays_are_followed() -> None:
    def model(x: Any, ids: Any) -> Any:
        picked = (ids[:, :, None] == np.arange(5)).astype("f").sum(1)
        return F.tanh(x * picked)

    tape = record(model, X, IDS)
    kinds = ["getitem", "equal", "astype", "sum", "astype"]
    assert numpys(tape) == [f"numpy.{kind}" for kind in kinds]
    other = draw.integers(0, 5, (4, 3))
    again = tape.replay(replaced={tape.inputs["1"]: other})
    expected = model(chainer.Variable(X), other).array
    np.testing.assert_array_equal(again.array(*tape.outputs.values()), expected)


def test_numpy_computes_in_float64_in_a_replay_in_float64() -> None:
    tape = record(lambda x: F.tanh((x.array / 3).astype("float32")), X)
    (found,) = tape.outputs_of("float64").values()
    np.testing.assert_allclose(found, np.tanh(X.astype("float64") / 3), rtol=1e-14)


def test_a_line_in_numpy_is_the_place_and_its_cause_is_proved() -> None:
    def reference(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.tanh((x * mask) @ torch.from_numpy(W) / mask.sum(1, keepdim=True))

    def port(least: float) -> Callable[..., Any]:
        def model(x: Any, mask: Any) -> Any:
            mask = chainer.as_array(mask)
            count = mask.sum(axis=1, keepdims=True) + least
            return F.tanh(F.matmul(x * mask, W) / np.broadcast_to(count, x.shape))

        return model

    def compared(least: float) -> parity.Report:
        models = parity.wrap(reference, framework="torch"), parity.wrap(port(least), "chainer")
        return parity.compare(*models, inputs=(X, MASK))

    assert compared(0.0).verdict == "parity"
    (found,) = compared(1.0).divergences
    assert found.candidate.code == "count = mask.sum(axis=1, keepdims=True) + least"
    assert found.cause is not None and found.cause.confirmed


def test_what_a_condition_in_python_reads_is_read_by_the_host() -> None:
    def model(x: Any) -> Any:
        return F.tanh(x) * (0.123456789 if x.array.sum() > 0 else float(x.array.max()) * 1.5)

    tape = record(model, X - 1)
    assert "numbers that Python made" in tape.caveats[0]


def test_a_kernels_own_numpy_is_not_looked_into() -> None:
    def model(x: Any) -> Any:
        return F.softmax(x.array, axis=1)

    tape = record(model, X)
    assert [op.kind for op in tape.ops] == ["Softmax"]


def test_a_followed_array_that_outlives_the_run_is_an_array_as_any() -> None:
    kept = queue.SimpleQueue[np.ndarray]()  # which is not put back as it was

    def model(x: Any) -> Any:
        doubled = x.array * 2
        kept.put(doubled)
        return F.tanh(doubled)

    tape = record(model, X)
    array = kept.get()
    before = len(tape.ops)
    array += 1
    assert type(array + array) is np.ndarray and len(tape.ops) == before
    np.testing.assert_array_equal(array, X * 2 + 1)


def test_what_was_read_before_a_change_in_place_stays_what_it_was() -> None:
    def model(x: Any) -> Any:
        y = x.array * 2
        before = F.tanh(y)
        y += 1
        between = F.tanh(np.asarray(y))
        y[:, 1] = 0
        return before, between, F.tanh(y)

    tape = record(model, X)
    recorded = {name: tape.recorded_array(value) for name, value in tape.outputs.items()}
    changed = X * 2 + 1
    changed[:, 1] = 0
    for found, expected in zip(recorded.values(), (X * 2, X * 2 + 1, changed), strict=True):
        np.testing.assert_array_equal(found, np.tanh(expected))
    again = tape.replay()
    for name, value in tape.outputs.items():
        np.testing.assert_array_equal(again.array(value), recorded[name])


def test_the_shape_of_an_array_is_no_read() -> None:
    tape = record(lambda x: F.tanh(x.array * np.size(x.array) / np.shape(x.array)[0]), X)
    assert numpys(tape) == ["numpy.multiply", "numpy.divide"] and not tape.caveats


def marked(x: Any) -> Any:
    """A step that writes where another one has read, as of what was visited."""
    visited = np.zeros(x.shape, bool)
    found = []
    for _ in range(3):
        scores = F.where(visited, np.full(x.shape, -9.0, "f"), x)
        best = chainer.as_array(scores).argmax(axis=1)
        visited[np.arange(len(x)), best] = True
        found.append(F.softmax(scores, axis=1))
    return F.stack(found, 1)


def looked_up(x: Any) -> Any:
    return F.tanh(np.eye(5, dtype="f")[chainer.as_array(x).argmax(1)] * 2)


def converted(x: Any) -> Any:
    turned = np.ascontiguousarray(chainer.as_array(x).T)
    return F.tanh(np.array([turned[0], turned[1]], "f") / 3)


def divided(x: Any) -> Any:
    """Into an array that is not followed, and into one, where there is something to divide by."""
    given = chainer.as_array(x)
    other = np.multiply(given, 2, out=np.asarray([[0.0] * 5] * 4, "f"))
    found = np.divide(other, given, out=np.ones_like(given), where=given > 0)
    return F.tanh(found + other)


@pytest.mark.parametrize("model", [marked, looked_up, converted, divided])
def test_what_it_makes_of_nothing_writes_to_and_converts_is_followed(model: Any) -> None:
    tape = record(model, X)
    assert not tape.caveats
    other = draw.standard_normal(X.shape).astype("f")
    again = tape.replay(replaced={tape.inputs["0"]: other})
    (output,) = tape.outputs.values()
    np.testing.assert_array_equal(again.array(output), model(chainer.Variable(other)).array)
    assert np.zeros is zeros and np.array is array  # NumPy is as it was
