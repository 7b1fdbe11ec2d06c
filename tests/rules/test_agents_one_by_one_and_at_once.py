"""A loop over agents against rows of all agents, with gates that one product gives."""

from __future__ import annotations

import numpy as np
import torch

from tests.rules.pairs import compare, kinds, summaries

own = np.random.default_rng(51)
SEEN = own.standard_normal((5, 2, 3, 4)).astype("f")  # of 2 steps and 3 agents
INTO, BACK, UP, TOP, OUT = (
    torch.from_numpy(0.7 * own.standard_normal(s).astype("f"))
    for s in ((4, 18), (6, 18), (6, 18), (6, 18), (6, 2))
)


def cell(gates: list[torch.Tensor], h: torch.Tensor, keeps: bool) -> torch.Tensor:
    reset, update = torch.sigmoid(gates[0] + gates[3]), torch.sigmoid(gates[1] + gates[4])
    new = torch.tanh(gates[2] + reset * gates[5])
    return update * h + (1 - update) * new if keeps else (1 - update) * h + update * new


def one_by_one(x: torch.Tensor) -> torch.Tensor:
    """Each agent by itself, through two cells; each gate has a product of its own."""
    h, found = [(torch.zeros(5, 6), torch.zeros(5, 6))] * 3, []
    for step in range(2):
        for agent in range(3):
            given, states = x[:, step, agent], []
            for weights, state in zip(((INTO, BACK), (UP, TOP)), h[agent], strict=True):
                gates = [
                    one @ part
                    for one, w in zip((given, state), weights, strict=True)
                    for part in w.chunk(3, 1)
                ]
                given = cell(gates, state, True)
                states.append(given)
            h[agent] = tuple(states)
            found.append(given @ OUT)
    return torch.stack(found, 1).reshape(5, 2, 3, 2)


def at_once(x: torch.Tensor, keeps: bool = True) -> torch.Tensor:
    first, second, found = torch.zeros(15, 6), torch.zeros(15, 6), []
    for step in range(2):
        rows = x[:, step].reshape(15, 4)
        first = cell([*(rows @ INTO).chunk(3, 1), *(first @ BACK).chunk(3, 1)], first, keeps)
        second = cell([*(first @ UP).chunk(3, 1), *(second @ TOP).chunk(3, 1)], second, keeps)
        found.append((second @ OUT).reshape(5, 3, 2))
    return torch.stack(found, 1)


def test_they_agree() -> None:
    assert compare(one_by_one, at_once, inputs=SEEN).verdict == "parity"


def test_the_cell_is_found_among_the_agents() -> None:
    report = compare(one_by_one, lambda x: at_once(x, keeps=False), inputs=SEEN)
    assert kinds(report) == ["gate-inverted"], summaries(report)
