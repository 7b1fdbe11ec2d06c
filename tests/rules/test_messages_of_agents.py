"""Messages between agents or nodes: their divisor, the graph's edges, rows and memories."""

from __future__ import annotations

import numpy as np
import torch

from tests.rules.pairs import compare, draw, kinds, summaries, weights

NODES = draw.standard_normal((6, 5, 7)).astype("f")
ALIVE = (draw.random((6, 5)) < 0.7).astype("f")
ALIVE[:, 0] = 1
MIXED, OUT = weights(7, 7), weights(7, 4)


def heard(x: torch.Tensor, alive: torch.Tensor, divisor) -> torch.Tensor:
    mask = (torch.ones(5, 5) - torch.eye(5)) * alive[:, None]
    return torch.tanh(mask / divisor(alive) @ torch.tanh(x @ MIXED)) @ OUT


def counted(alive: torch.Tensor) -> torch.Tensor:
    return torch.clamp(alive.sum(1)[:, None, None] - 1, min=1)


def test_the_divisor_is_a_constant_where_the_reference_counts() -> None:
    def constant(x: torch.Tensor, alive: torch.Tensor) -> torch.Tensor:
        return heard(x, alive, lambda _: 4)

    def counting(x: torch.Tensor, alive: torch.Tensor) -> torch.Tensor:
        return heard(x, alive, counted)

    report = compare(counting, constant, inputs=(NODES, ALIVE))
    assert kinds(report) == ["mean-divisor"]
    assert "the divisor is 4 everywhere" in summaries(report)
    report = compare(constant, counting, inputs=(NODES, ALIVE))
    assert kinds(report) == ["mean-divisor"]
    assert "the reference divides by 4 everywhere" in summaries(report)


STRENGTH = draw.uniform(0.5, 2, (6, 5)).astype("f")
MADE_BEFORE = (1 - torch.eye(5)) * torch.from_numpy(STRENGTH)[:, :, None]


def spoken(x: torch.Tensor, alive: torch.Tensor, strength: torch.Tensor, own: float):
    mask = (torch.ones(5, 5) + own * torch.eye(5)) * torch.sin(alive)[:, None]
    return torch.tanh(mask * strength[:, :, None] @ torch.tanh(x @ MIXED)) @ OUT


def spoken_to_others(x: torch.Tensor, alive: torch.Tensor, strength: torch.Tensor):
    mask = torch.sin(alive)[:, None] * MADE_BEFORE  # as NumPy makes it, before it is recorded
    return torch.tanh(mask @ torch.tanh(x @ MIXED)) @ OUT


def test_the_own_message_is_not_left_out_of_a_mask_that_numpy_made() -> None:
    def everyone(x: torch.Tensor, alive: torch.Tensor, strength: torch.Tensor) -> torch.Tensor:
        return spoken(x, alive, strength, 0.0)

    report = compare(spoken_to_others, everyone, inputs=(NODES, ALIVE, STRENGTH))
    assert kinds(report) == ["mask-pattern"]
    assert "the diagonal of (6, 5, 5) is kept, in the reference left out" in summaries(report)


def test_a_diagonal_of_other_numbers_is_not_left_out() -> None:
    models = (lambda *given, own=own: spoken(*given, own) for own in (0.0, 0.5))
    report = compare(*models, inputs=(NODES, ALIVE, STRENGTH))
    assert report.verdict != "parity"
    assert "diagonal" not in summaries(report)


def test_the_diagonal_is_left_out_where_the_reference_keeps_it() -> None:
    def products(x: torch.Tensor) -> torch.Tensor:
        hidden = torch.tanh(x @ MIXED)
        return hidden @ hidden.transpose(1, 2)

    def of_others(x: torch.Tensor) -> torch.Tensor:
        made = products(x)
        return torch.sin(torch.tril(made, -1) + torch.triu(made, 1)) @ MIXED[:5]

    report = compare(lambda x: torch.sin(products(x)) @ MIXED[:5], of_others, inputs=NODES)
    assert kinds(report) == ["mask-pattern"]
    assert "the diagonal of (6, 5, 5) is left out, in the reference kept" in summaries(report)


def test_what_divides_by_no_counts_has_no_divisor_of_counts() -> None:
    scale = torch.linspace(0.5, 2.5, 7)
    report = compare(
        lambda x: torch.tanh(torch.tanh(x @ MIXED) / scale) @ OUT,
        lambda x: torch.tanh(torch.tanh(x @ MIXED) / 4) @ OUT,
        inputs=NODES,
    )
    assert report.verdict != "parity"
    assert "mean-divisor" not in kinds(report)


DOWN = torch.zeros(5, 5)
for _to, _from in ((0, 1), (1, 2), (1, 3), (3, 4)):
    DOWN[_to, _from] = 1
UP = DOWN.T.contiguous()
UP[2, 4] = UP[0, 4] = 1
EDGES = tuple(tuple(torch.nonzero(one).T) for one in (DOWN, UP))


def by_edges(x: torch.Tensor) -> torch.Tensor:
    total = 0
    for (to, of), kernel in zip(EDGES, KERNELS, strict=True):
        sent = torch.tanh(x[:, of] @ kernel)
        total = total + torch.zeros(x.shape).index_add(1, to, sent)
    return torch.tanh(total) @ OUT


def by_matrices(x: torch.Tensor, turned: bool) -> torch.Tensor:
    total = 0
    for matrix, kernel in zip((DOWN, UP), KERNELS, strict=True):
        total = total + (matrix.T.contiguous() if turned else matrix) @ torch.tanh(x @ kernel)
    return torch.tanh(total) @ OUT


KERNELS = weights(7, 7), weights(7, 7)


def test_the_matrices_of_a_graph_are_transposed() -> None:
    assert compare(by_edges, lambda x: by_matrices(x, False), inputs=NODES).verdict == "parity"
    report = compare(by_edges, lambda x: by_matrices(x, True), inputs=NODES)
    assert kinds(report) == ["axis-order"]
    assert "the 2 matrices of (6, 5, 5)" in summaries(report)


KEYS, STORED = weights(3, 8, 7), weights(3, 8)


def memory(x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    near, index = torch.topk(((x[:, None] - keys) ** 2).sum(-1), 4, dim=1, largest=False)
    kernel = 1 / (near + 0.01)
    return (kernel / kernel.sum(1, keepdim=True) * values[index]).sum(1)


def one_by_one(x: torch.Tensor) -> torch.Tensor:
    return torch.stack([memory(x, *one) for one in zip(KEYS, STORED, strict=True)], 1)


def at_once(x: torch.Tensor, axis: int) -> torch.Tensor:
    distance = ((x[:, None, None] - KEYS) ** 2).sum(-1)
    near, index = torch.topk(distance, 4, dim=-1, largest=False)
    kernel = 1 / (near + 0.01)
    found = torch.gather(STORED.expand(len(x), 3, 8), 2, index)
    return (kernel / kernel.sum(axis, keepdim=True) * found).sum(-1)


def test_memories_that_are_normalised_together() -> None:
    x = NODES[:, 0]
    assert compare(one_by_one, lambda x: at_once(x, -1), inputs=x).verdict == "parity"
    report = compare(one_by_one, lambda x: at_once(x, 1), inputs=x)
    assert kinds(report) == ["reduction-axis"]
    assert "sum over axis 1 of (6, 3, 4); over axis -1" in summaries(report)


def test_rows_of_the_greedy_option_where_the_reference_reads_one() -> None:
    option = np.array([0, 3, 1, 2, 3, 0])

    def network(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = torch.tanh(x @ MIXED)
        return hidden @ OUT, torch.sigmoid(torch.sin(hidden) @ OUT)

    def given(x: torch.Tensor, option: torch.Tensor) -> torch.Tensor:
        q, ends = network(x)
        rows = torch.arange(len(x))
        return torch.tanh(q[rows, option]) + ends[rows, option] * 2

    def greedy(x: torch.Tensor, option: torch.Tensor) -> torch.Tensor:
        q, ends = network(x)
        own = torch.gather(ends, 1, q.argmax(1, keepdim=True))[:, 0]
        return torch.tanh(torch.gather(q, 1, option[:, None])[:, 0]) + own * 2

    report = compare(given, greedy, inputs=(NODES[:, 0], option))
    assert kinds(report) == ["wrong-source"]
    assert "the result of argmax" in summaries(report)
