"""What is not carried must be a state; a reduction is named only where one is computed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.rules.pairs import FIRST, SQUARE, compare, kinds, summaries, weights

X = np.random.default_rng(8).standard_normal((4, 5, 7)).astype("f")
START, STATE, INPUT, QUERY = weights(6), weights(6), weights(6, 6), weights(6, 6)
LOSS = np.abs(np.random.default_rng(9).standard_normal((9, 4))).astype("f")


def decoded(x: torch.Tensor, start: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
    keys, given = torch.tanh(x @ FIRST), start.expand(4, 6)
    held, found = state.expand(4, 6), []
    for _ in range(3):
        held = torch.tanh(given @ INPUT + held @ SQUARE)
        shares = torch.softmax((keys @ (held @ QUERY)[..., None])[..., 0], -1)
        given = (shares[:, None] @ keys)[:, 0]
        found.append(given)
    return torch.stack(found, 1)


@pytest.mark.parametrize("turned", [False, True])
def test_a_first_input_is_no_state(turned) -> None:
    models = (
        lambda x: decoded(x, START, STATE),
        lambda x: decoded(x, torch.zeros(6), STATE),
    )
    assert "the state of" not in summaries(compare(*(models[::-1] if turned else models), inputs=X))


def cells(x: torch.Tensor, kept: bool, kernels: tuple[torch.Tensor, ...]) -> torch.Tensor:
    state, found = torch.zeros(4, 6), []
    for step in range(5):
        given = x[:, step] @ kernels[0]
        gate = torch.sigmoid(given + state @ kernels[1])
        new = (1 - gate) * torch.tanh(given + state @ kernels[2])
        state = new + gate * state if kept else new
        found.append(state)
    return torch.stack(found, 1)


@pytest.mark.parametrize("seed", range(4))
def test_a_term_of_a_state_is_not_the_state(seed) -> None:
    """Nor is the gate that it is multiplied by."""
    draw = np.random.default_rng(seed).standard_normal
    kernels = tuple(torch.from_numpy(draw(shape).astype("f")) for shape in ((7, 6), (6, 6), (6, 6)))
    report = compare(
        lambda x: cells(x, True, kernels), lambda x: cells(x, False, kernels), inputs=X
    )
    assert report.verdict == "diverged" and "the state of" not in summaries(report)


def test_a_clipped_mean_is_no_minimum() -> None:
    report = compare(
        lambda x: x.clamp(min=1.5).mean(), lambda x: x.mean().clamp(min=1.5), inputs=LOSS
    )
    assert "min" not in summaries(report)


def test_another_reduction_is_named() -> None:
    report = compare(
        lambda x: x.clamp(min=0.1).mean(-1), lambda x: x.clamp(min=0.1).amin(-1), inputs=LOSS
    )
    assert "the min over axis -1; the reference takes the mean" in summaries(report)


def test_a_state_is_carried_where_the_steps_run_the_other_way() -> None:
    cell = torch.nn.LSTMCell(7, 6)
    kernels = cell.weight_ih.detach().T, cell.weight_hh.detach().T
    biases = cell.bias_ih.detach(), cell.bias_hh.detach()

    def by_hand(x: torch.Tensor, before: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        gates = x @ kernels[0] + before[0] @ kernels[1] + biases[0] + biases[1]
        i, f, g, o = gates.chunk(4, 1)
        kept = torch.sigmoid(f) * before[1] + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(kept), kept

    def run(step, order: tuple[int, ...] = (0, 1, 2), carried: bool = True):
        def model(x: torch.Tensor) -> torch.Tensor:
            zeros = torch.zeros(4, 6)
            state, found = (zeros, zeros), []
            for at in order:
                state = step(x[:, at], state if carried else (zeros, state[1]))
                found.append(state[0])
            return torch.stack(found, 1).mean(1) @ SQUARE

        return model

    report = compare(run(cell), run(by_hand, (2, 1, 0)), inputs=X[:, :3])
    assert kinds(report) == ["direction"] and "the state of" not in summaries(report)
    report = compare(run(cell), run(by_hand, carried=False), inputs=X[:, :3])
    assert kinds(report) == ["state-not-carried"]


def test_an_entropy_has_no_atoms() -> None:
    def entropy(axis: int):
        def model(x: torch.Tensor) -> torch.Tensor:
            shares = torch.softmax(x @ FIRST, -1)
            return (shares * shares.log()).sum(axis)

        return model

    steps = X[:, 0].repeat(2, 0)[:6]
    report = compare(entropy(-1), entropy(0), inputs=steps)
    assert kinds(report) == ["reduction-axis"] and "atoms" not in summaries(report)


def test_what_a_last_layer_reads_besides_the_state_is_no_state() -> None:
    """A context of zeros there: the cell reads it all the same in the next step."""
    joint, rank = weights(12, 6), weights(12, 3)

    def run(with_context: bool):
        def model(x: torch.Tensor) -> torch.Tensor:
            keys = torch.tanh(x @ FIRST)
            state, found = torch.zeros(4, 6), []
            for _ in range(3):
                shares = torch.softmax((keys @ (state @ QUERY)[..., None])[..., 0], -1)
                context = (shares[:, None] @ keys)[:, 0]
                state = torch.tanh(torch.cat([context, state], 1) @ joint)
                read = context if with_context else torch.zeros(4, 6)
                found.append(torch.cat([state, read], 1) @ rank)
            return torch.stack(found, 1)

        return model

    report = compare(run(True), run(False), inputs=X)
    assert report.verdict == "diverged" and "the state of" not in summaries(report)
