"""Functions of Chainer's that compute with arrays outside a `FunctionNode`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import parity
from parity.frameworks import chainer as adapter
from parity.model import Model, wrap

chainer = pytest.importorskip("chainer")
F = chainer.functions

X = np.random.default_rng(0).standard_normal((6, 7)).astype("f")
W = np.random.default_rng(1).standard_normal((7, 4)).astype("f")
SAME: dict[str, Callable[[Any], Any]] = {
    "sign": torch.sign,
    "ceil": torch.ceil,
    "floor": torch.floor,
    "fix": torch.trunc,
}


@pytest.mark.parametrize("name", SAME)
def test_they_are_operations_and_left_as_they_were(name: str) -> None:
    function = getattr(F, name)
    before = function(X).array
    module = importlib.import_module(f"chainer.functions.math.{name}")
    backend = module.backend
    tape = adapter.record(wrap(lambda x: F.tanh(function(3 * x)), "chainer"), X)
    op = next(op for op in tape.ops if op.kind == name.title())
    assert not op.static and not tape.caveats and not adapter.TRAITS.is_foreign(op)
    moved = tape.outputs_of(None, {tape.inputs[next(iter(tape.inputs))]: -X})
    (output,) = moved.values()
    np.testing.assert_array_equal(output, F.tanh(function(-3 * X)).array)
    np.testing.assert_array_equal(function(X).array, before)
    assert module.backend is backend


def _noisy(scale: float) -> Model:
    """A head with the noise of a factorised noisy layer."""

    def head(x: Any) -> tuple[Any, Any]:
        h = F.tanh(F.matmul(x, W))
        e = chainer.Variable(np.random.standard_normal(h.shape).astype("f"))
        return h, h + scale * F.sign(e) * F.sqrt(F.absolute(e))

    return parity.wrap(head, framework="chainer")


def _reference(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    h = torch.tanh(x @ torch.from_numpy(W))
    e = torch.randn(h.shape)
    return h, h + 0.1 * e.sign() * e.abs().sqrt()


def test_the_sign_of_noise_is_followed() -> None:
    reference = parity.wrap(_reference, framework="torch")
    found = parity.compare(reference, _noisy(0.1), inputs=X).comparisons[0]
    assert found.verdict == "parity", found.reasons
    assert parity.compare(reference, _noisy(0.11), inputs=X).verdict == "diverged"


def test_a_model_that_takes_arrays_alone_is_not_tried_with_variables_again(capsys: Any) -> None:
    def model(x: Any) -> Any:
        print(type(x).__name__)  # what it holds is put back
        return F.tanh(x[np.argsort(x, axis=0)[0]] if isinstance(x, np.ndarray) else np.argsort(x))

    run = adapter.plain(wrap(model, "chainer"))
    first, again = run(X), run(X)
    assert capsys.readouterr().out.split() == ["Variable", "ndarray", "ndarray"]
    assert all(np.array_equal(first[name], again[name]) for name in first)
