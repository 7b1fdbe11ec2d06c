"""Models that share no weights are told so, once; those that share any are looked into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import parity
from parity.frameworks.chainer_numpy import import_chainer

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")
chainer = import_chainer()
F, L = chainer.functions, chainer.links
X = np.random.default_rng(0).standard_normal((5, 12)).astype("f")


def in_torch(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(),
                         nn.Linear(16, 4))  # fmt: skip


def in_keras() -> Any:
    dense = keras.layers.Dense
    return keras.Sequential([keras.Input((12,)), dense(16, "tanh"), dense(16, "tanh"), dense(4)])


def in_tensorflow() -> Any:
    class Net(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            sizes = [(12, 16), (16, 16), (16, 4)]
            self.weights = [tf.Variable(tf.random.normal(size, stddev=0.3)) for size in sizes]

        def __call__(self, x: Any) -> Any:
            for weight in self.weights[:2]:
                x = tf.tanh(x @ weight)
            return x @ self.weights[2]

    return Net()


def in_chainer() -> Any:
    return chainer.Sequential(L.Linear(12, 16), F.tanh, L.Linear(16, 16), F.tanh, L.Linear(16, 4))


def told(report: Any) -> bool:
    return any("the weights differ: none of" in reason for reason in report.worst.reasons)


@pytest.mark.parametrize(
    "build", [lambda: in_torch(1), in_keras, in_tensorflow, in_chainer],
    ids=["torch", "keras", "tensorflow", "chainer"],
)  # fmt: skip
def test_it_is_one_finding_with_what_to_do(build: Callable[[], Any]) -> None:
    report = parity.compare(in_torch(), build(), inputs=X)
    assert report.verdict == "diverged" and told(report)
    (found,) = report.divergences
    assert found.cause is not None and found.cause.kind == "weight-values"
    assert not found.cause.confirmed and "parity.transfer" in found.detail
    assert found.reference.layer == "0"
    assert {one.verdict for one in report.worst.outputs} == {"diverged"}
    assert "falls from" not in str(report)
    assert "parity.structure" in str(report)


def test_what_is_built_otherwise_is_told_below_it() -> None:
    other = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(),
                          nn.Linear(16, 4))  # fmt: skip
    report = parity.compare(in_torch(), other, inputs=X)
    assert told(report)
    assert any(one.kind for one in report.worst.structure)
    assert "tanh -> relu" in str(report)


def test_many_layers_take_little_more_than_their_passes() -> None:
    def deep() -> Any:
        return nn.Sequential(*(one for _ in range(100) for one in (nn.Linear(12, 12), nn.Tanh())))

    report = parity.compare(deep(), deep(), inputs=X)
    assert told(report) and len(report.divergences) == 1
    assert report.seconds < 20  # explained one by one it is minutes


def changed(change: Callable[[Any], Any]) -> tuple[Any, Any]:
    ours, theirs = in_torch(), in_torch()
    with torch.no_grad():
        for own in theirs.parameters():
            own.copy_(change(own))
    return ours, theirs


RELATED: dict[str, Callable[[Any], Any]] = {
    "scaled": lambda own: 1.3 * own,
    "negated": lambda own: -own,
    "further trained": lambda own: own + 0.05 * torch.randn_like(own),
    "rounded": lambda own: own.bfloat16().float() * 1.01,
    "rows in another order": lambda own: own[torch.randperm(len(own))],
    "read in another order": lambda own: (
        own.T.contiguous().clone().reshape(own.shape) if own.ndim > 1 else own
    ),
    "flipped": lambda own: own.flip(-1),
}


@pytest.mark.parametrize("name", RELATED)
def test_weights_that_come_from_the_others_are_looked_into(name: str) -> None:
    torch.manual_seed(5)
    report = parity.compare(*changed(RELATED[name]), inputs=X)
    assert report.verdict == "diverged" and not told(report)


@pytest.mark.parametrize("layer", [0, 2, 4])
def test_where_one_layer_is_shared_the_others_are_told_by_themselves(layer: int) -> None:
    ours, theirs = in_torch(), in_torch(1)
    theirs[layer].load_state_dict(ours[layer].state_dict())
    report = parity.compare(ours, theirs, inputs=X)
    assert report.verdict == "diverged" and not told(report)
    assert len(report.divergences) > 1


def test_one_layer_alone_is_told_as_ever() -> None:
    report = parity.compare(nn.Linear(12, 4), nn.Linear(12, 4), inputs=X)
    assert report.verdict == "diverged" and not told(report)
    assert report.divergences[0].cause.confirmed


def test_other_weights_that_compute_the_same_are_not_said_to_differ() -> None:
    """A rotation between two layers changes every number, and the outputs by rounding alone."""
    first, last = nn.Linear(12, 16, bias=False), nn.Linear(16, 4, bias=False)
    port = nn.Sequential(nn.Linear(12, 16, bias=False), nn.Linear(16, 4, bias=False))
    with torch.no_grad():
        turned = torch.linalg.qr(torch.randn(16, 16))[0]
        port[0].weight.copy_(turned @ first.weight)
        port[1].weight.copy_(last.weight @ turned.T)
    assert not told(parity.compare(nn.Sequential(first, last), port, inputs=X))
