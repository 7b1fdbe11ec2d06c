"""Two layers that are one in the candidate: a fault is placed before the next of them."""

from __future__ import annotations

import numpy as np
import torch

from tests.rules.pairs import FIRST, compare, kinds, sites

draw = np.random.default_rng(53)
STEPS = draw.standard_normal((4, 7)).astype("f")


def weights(*shape: int) -> torch.Tensor:
    return torch.from_numpy(draw.standard_normal(shape).astype("f"))


HEAD = weights(25, 3)
LAYERS = [(weights(n, 5), weights(n, 5)) for n in (10, 15, 20)]


def apart(x: torch.Tensor) -> torch.Tensor:
    h = torch.cat([x @ FIRST, x[:, :4]], 1)
    for filters, gates in LAYERS:
        h = torch.cat([h, torch.tanh(h @ filters) * torch.sigmoid(h @ gates)], 1)
    return torch.softmax(h @ HEAD, 1)


def joined(x: torch.Tensor) -> torch.Tensor:
    """The same with both layers in one, the two parts of what it gives exchanged."""
    h = torch.cat([x @ FIRST, x[:, :4]], 1)
    for filters, gates in LAYERS:
        kept, gate = (h @ torch.cat([gates, filters], 1)).chunk(2, 1)
        h = torch.cat([h, torch.tanh(kept) * torch.sigmoid(gate)], 1)
    return torch.softmax(h @ HEAD, 1)


def test_parts_that_are_exchanged_in_each_layer() -> None:
    report = compare(apart, joined, inputs=STEPS)
    assert sites(report) == [("tanh", "tanh")]
    assert kinds(report) == ["weight-swapped"], str(report)
