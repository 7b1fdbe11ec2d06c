"""Chainer models that take arrays and refuse Variables: NumPy's functions and comparisons do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import parity
from parity.errors import ModelError

chainer = pytest.importorskip("chainer")
F, L = chainer.functions, chainer.links

X = np.random.default_rng(0).standard_normal((6, 7)).astype("f")


class Net(chainer.Chain):
    def __init__(self, before: Callable[[Any], Any]) -> None:
        super().__init__()
        self.before = before
        with self.init_scope():
            self.dense = L.Linear(7, 5, initialW=chainer.initializers.Normal(0.5))

    def __call__(self, x: Any) -> Any:
        return F.tanh(self.dense(self.before(x)))


def refused(x: Any) -> Any:
    if not isinstance(x, np.ndarray):
        raise TypeError("give arrays")
    return x


# What a model does to its inputs before Chainer sees them, and the same in torch.
BEFORE: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "clip": (lambda x: np.clip(x, -1, 1), lambda x: x.clamp(-1, 1)),
    "compare": (lambda x: F.where(x > 0, x, np.zeros_like(x)), lambda x: x.clamp(min=0)),
    "refused": (refused, lambda x: x),
}


def reference(net: Net, before: Callable[[Any], Any], scale: float = 1.0) -> Any:
    weight = torch.from_numpy(net.dense.W.array.copy())
    return parity.wrap(lambda x: scale * torch.tanh(before(x) @ weight.T), framework="torch")


@pytest.mark.parametrize("name", BEFORE)
def test_a_model_of_arrays_is_called_with_arrays(name: str) -> None:
    on_arrays, on_variables = BEFORE[name]
    net = Net(on_arrays)
    with pytest.raises(Exception, match="."):
        net(chainer.Variable(X))
    found = parity.compare(reference(net, on_variables), net, inputs=X).comparisons[0]
    assert found.verdict == "parity", found.reasons
    if name != "clip":  # where neither model can be followed, their agreement proves nothing
        assert parity.compare(net, net.copy(), inputs=X).verdict == "parity"


@pytest.mark.parametrize("name", BEFORE)
def test_a_fault_in_it_is_found(name: str) -> None:
    on_arrays, on_variables = BEFORE[name]
    net = Net(on_arrays)
    assert parity.compare(reference(net, on_variables, 1.01), net, inputs=X).verdict == "diverged"


def test_what_numpy_computes_of_the_inputs_is_reported_with_what_to_do() -> None:
    def clipped(x: Any) -> Any:
        refused(x)
        return np.clip(
            np.array(x.tolist(), "f") * 2, -1, 1
        )  # which is no array that NumPy hands over

    net = Net(clipped)
    models = reference(net, lambda x: (x * 2).clamp(-1, 1)), net
    found = parity.compare(*models, inputs=X).comparisons[0]
    (caveat,) = [one for one in found.caveats if "NumPy arrays" in one]
    assert caveat.startswith("Net reads its inputs as NumPy arrays and computes with them (")
    assert caveat.endswith("Compute with Chainer's functions on Variables")
    assert "()" not in caveat
    plain = Net(refused)
    report_of_plain = parity.compare(reference(plain, lambda x: x), plain, inputs=X)
    assert not report_of_plain.comparisons[0].caveats  # Chainer reads the arrays themselves


def test_a_model_that_takes_neither_is_reported_as_its_user_called_it() -> None:
    def broken(x: Any) -> Any:
        raise ValueError("seven of nine" if isinstance(x, chainer.Variable) else "arrays")

    with pytest.raises(ModelError, match="seven of nine") as raised:
        parity.compare(torch.nn.Linear(7, 5), Net(broken), inputs=X)
    assert isinstance(raised.value.__cause__, ValueError) and __file__ in str(raised.value)
