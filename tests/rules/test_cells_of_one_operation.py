"""A cell that is one operation in Chainer, beside one that is written gate by gate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import parity
from parity.diagnosis.cells_in_gates import has_cells, in_gates
from parity.frameworks import load
from parity.report.report import Report
from tests.rules.pairs import kinds, summaries

chainer = pytest.importorskip("chainer")
F, L = chainer.functions, chainer.links
draw = np.random.default_rng(31)
UNITS, STEPS = 5, 3
X = draw.standard_normal((4, STEPS, 6)).astype("f")
Gate = Callable[[torch.Tensor], torch.Tensor]


class Reference(chainer.Chain):
    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.cell = L.StatelessLSTM(6, UNITS)
        for parameter in self.params():
            parameter.array[...] = draw.standard_normal(parameter.shape) / 2

    def __call__(self, x: Any) -> Any:
        c = h = None
        for step in range(STEPS):
            c, h = self.cell(c, h, x[:, step])
        return h


REFERENCE = Reference()


def port(gate: Gate = torch.sigmoid, shown: Gate = torch.tanh) -> Callable[..., torch.Tensor]:
    into, bias, own = (
        torch.from_numpy(one.array.copy())
        for one in (REFERENCE.cell.upward.W, REFERENCE.cell.upward.b, REFERENCE.cell.lateral.W)
    )

    def model(x: torch.Tensor) -> torch.Tensor:
        c = h = torch.zeros(len(x), UNITS)
        for step in range(STEPS):
            gates = x[:, step] @ into.T + bias + h @ own.T
            a, i, f, o = gates.reshape(len(x), UNITS, 4).unbind(2)
            c = gate(i) * torch.tanh(a) + torch.sigmoid(f) * c
            h = torch.sigmoid(o) * shown(c)
        return h

    return model


def compared(candidate: Callable[..., torch.Tensor]) -> Report:
    return parity.compare(REFERENCE, parity.wrap(candidate, framework="torch"), inputs=X)


def test_a_right_cell_agrees() -> None:
    assert compared(port()).verdict == "parity"


def test_a_gate_with_another_activation() -> None:
    report = compared(port(gate=torch.nn.functional.hardsigmoid))
    assert set(kinds(report)) == {"recurrent-activation"}
    assert "through hard_sigmoid of slope 0.1667" in summaries(report)


def test_the_states_activation_that_is_missing() -> None:
    (found, *_) = compared(port(shown=lambda c: c)).divergences
    assert found.cause is not None and found.cause.kind == "activation-missing"
    assert found.candidate.code == "h = torch.sigmoid(o) * shown(c)"


def test_the_gates_give_what_the_cell_gives() -> None:
    tape = load("chainer").record(parity.wrap(REFERENCE), X)
    made = in_gates(tape)
    assert has_cells(tape) and not has_cells(made)
    for precision in (None, "float64"):
        for name, expected in tape.outputs_of(precision).items():
            np.testing.assert_allclose(
                made.outputs_of(precision)[name], expected, rtol=1e-12 if precision else 1e-6
            )
