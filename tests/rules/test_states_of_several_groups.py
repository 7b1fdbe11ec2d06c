"""A state that another step gave counts as carried; networks that are alike."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import parity
from parity.inputs.preprocessing import record
from tests.rules.pairs import X, compare, kinds, summaries, weights

UNITS, GROUPS = 6, 3
STEPS = np.random.default_rng(52).standard_normal((4, 7, 6)).astype("f")
CELL = nn.LSTMCell(6, UNITS)
BEFORE, HEAD = weights(6, UNITS), weights(UNITS, 4)


def in_turn(groups, resets_at: int = -1):
    """A layer with several states, one of which is read and written in each step."""

    def model(x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(x @ BEFORE)
        zeros = torch.zeros(len(x), UNITS)
        states, found = [(zeros, zeros)] * GROUPS, []
        for t in range(x.shape[1]):
            group = groups(t)
            state = (zeros, zeros) if t == resets_at else states[group]
            states[group] = CELL(x[:, t], state)
            found.append(torch.stack([h for h, _ in states]).mean(0))
        return torch.tanh(torch.stack(found, 1) @ HEAD)

    return model


def goes_on(groups, resets_at: int = -1) -> int:
    model = parity.wrap(in_turn(groups, resets_at), framework="torch")
    return record(model, (STEPS,)).graph.steps_that_go_on


def test_how_often_a_layer_goes_on_from_a_state() -> None:
    in_a_row, in_blocks, always = (lambda t: t % GROUPS), (lambda t: t // GROUPS), (lambda t: 0)
    assert goes_on(in_a_row) == goes_on(in_blocks) == 4
    assert goes_on(always) == 6 and goes_on(always, resets_at=4) == 5


def test_a_state_of_the_wrong_group_in_one_framework() -> None:
    report = compare(in_turn(lambda t: t % GROUPS), in_turn(lambda t: t // GROUPS), inputs=STEPS)
    assert report.verdict == "diverged" and "state-not-carried" not in kinds(report)


def test_a_state_that_is_not_carried_on() -> None:
    same = lambda t: 0  # noqa: E731
    report = compare(in_turn(same), in_turn(same, resets_at=4), inputs=STEPS)
    assert {*kinds(report)} == {"state-not-carried"}, str(report)


class Ensemble(nn.Module):
    """Two critics of several members, each a network of two layers; joined and sorted."""

    def __init__(self, online: list[torch.Tensor], target: list[torch.Tensor]) -> None:
        super().__init__()
        self.online, self.target = (
            nn.ModuleDict({str(i): _Layer(one) for i, one in enumerate(some)})
            for some in (online, target)
        )

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        both = (net["1"](net["0"](x[None]).relu()) for net in (self.online, self.target))
        online, target = (torch.cat(tuple(one), -1) for one in both)
        return torch.tanh(online), target.sort(-1).values


class _Layer(nn.Module):
    def __init__(self, kernel: torch.Tensor) -> None:
        super().__init__()
        self.kernel, self.bias = nn.Parameter(kernel), nn.Parameter(weights(*kernel[:, :1].shape))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.kernel + self.bias


def test_the_online_network_in_the_place_of_the_target() -> None:
    reference = Ensemble(*([weights(3, 7, 6), weights(3, 6, 4)] for _ in range(2)))

    def one_by_one(net: nn.ModuleDict, x: torch.Tensor) -> torch.Tensor:
        kernels = [(net[name].kernel, net[name].bias) for name in ("0", "1")]
        (w, b), (v, c) = kernels
        return torch.cat([torch.relu(x @ w[i] + b[i]) @ v[i] + c[i] for i in range(3)], -1)

    class Candidate(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.online, self.target = reference.online, reference.target

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            joined = one_by_one(self.online, x)
            return torch.tanh(joined), one_by_one(self.online, x).sort(-1).values

    report = compare(reference, Candidate(), inputs=X)
    assert "the network online stands where the reference has target" in summaries(report)
