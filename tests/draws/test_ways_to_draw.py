"""Laws that two libraries draw from in ways of their own, to the last digits of a probability."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import parity

X = np.random.default_rng(0).standard_normal((6, 5)).astype("f")
W = np.random.default_rng(1).standard_normal((5, 5)).astype("f")
LAWS = {
    "laplace": (torch.distributions.Laplace, np.random.laplace),
    "gumbel": (torch.distributions.Gumbel, np.random.gumbel),
    "normal": (torch.distributions.Normal, np.random.normal),
    "uniform": (torch.distributions.Uniform, np.random.uniform),
}


def of_torch(law: Any, scale: float) -> Callable[..., Any]:
    kernel = torch.from_numpy(W)
    return lambda x: torch.tanh(x @ kernel) + scale * law(torch.zeros(6, 5), 1.0).sample()


def of_chainer(draw: Any, scale: float) -> Callable[..., Any]:
    functions = pytest.importorskip("chainer.functions")
    return lambda x: (
        functions.tanh(functions.matmul(x, W)) + np.float32(scale) * draw(size=(6, 5)).astype("f")
    )


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(
    ("scale", "wanted"), [(0.5, {"parity", "unverified"}), (0.6, {"diverged"})]
)
def test_one_law_is_one_however_it_is_drawn(name: str, scale: float, wanted: set[str]) -> None:
    """Torch keeps the ends of a uniform number away from 0 and 1, by a unit of float32."""
    in_torch, in_chainer = LAWS[name]
    report = parity.compare(
        parity.wrap(of_torch(in_torch, 0.5), framework="torch"),
        parity.wrap(of_chainer(in_chainer, scale), framework="chainer"),
        inputs=X,
    )
    assert report.verdict in wanted, str(report)
