"""Cells written out for one step are cells: their weights go from and to a framework's own."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import parity
from tests.weights import written_cells as w

GRU, LSTM, RNN = (partial(w.TorchCell, kind) for kind in ("GRU", "LSTM", "RNN"))
# As wide as the state too: by its width alone the input is not distinguished from the state.
WIDTHS = (6, w.UNITS)
CASES = {
    "gru, split": (GRU, w.SplitGRU, 2),
    "gru, gate by gate": (GRU, w.GateByGate, 2),
    "gru, linear layers": (GRU, w.LinearGRU, 2),
    "gru, written to written": (w.GateByGate, w.LinearGRU, 2),
    "gru that resets before, joined": (w.ResetBefore, w.JoinedGRU, 2),
    "gru that resets before, chainer": (w.ResetBefore, w.ChainerGRU, 2),
    "gru that resets before, keras": (w.ResetBefore, w.KerasReset, 2),
    "lstm, split": (LSTM, w.SplitLSTM, 3),
    "lstm, joined": (LSTM, w.JoinedLSTM, 3),
    "lstm, chainer": (LSTM, w.ChainerLSTM, 3),
    "lstm, keras": (LSTM, w.KerasLSTM, 3),
    "lstm, written to written": (w.ChainerLSTM, w.JoinedLSTM, 3),
    "plain": (RNN, w.PlainRNN, 2),
    "no cell": (w.GatedSkip, w.KerasGatedSkip, 2),
}


def inputs_of(count: int, features: int, seed: int = 0) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    widths = (features, w.UNITS, w.UNITS)[:count]
    return tuple(rng.normal(size=(5, width)).astype(np.float32) for width in widths)


@pytest.mark.parametrize(
    ("case", "features"), [*((case, w.UNITS) for case in CASES), ("gru, split", 6), ("plain", 6)]
)
def test_all_weights_move(case: str, features: int) -> None:
    make_source, make_target, count = CASES[case]
    source, target = make_source(features), make_target(features)
    result = parity.transfer(source, target, inputs_of(count, features))
    assert result.verdict == "parity", str(result)
    assert result.table.left == ((), ())
    report = parity.compare(source, target, inputs=inputs_of(count, features, seed=1))
    assert report.verdict == "parity", str(report)


WEIGHED = {
    "(1 - z) n + z h": lambda z, n, h: (1 - z) * n + z * h,
    "z n + (1 - z) h": lambda z, n, h: z * n + (1 - z) * h,
    "n + z (h - n)": lambda z, n, h: n + z * (h - n),
    "n - z (n - h)": lambda z, n, h: n - z * (n - h),
    "h + z (n - h)": lambda z, n, h: h + z * (n - h),
    "h - z (h - n)": lambda z, n, h: h - z * (h - n),
}


@pytest.mark.parametrize("way", WEIGHED)
def test_a_new_state_is_weighed_against_the_old_in_any_way(way: str) -> None:
    target = w.WeighedGRU(6, WEIGHED[way])
    result = parity.transfer(GRU(6), target, inputs_of(2, 6))
    assert result.verdict == "parity" and result.table.left == ((), ()), str(result)


def test_cells_upon_each_other() -> None:
    rng = np.random.default_rng(0)
    state = [rng.normal(size=(2, 5, w.UNITS)).astype(np.float32) for _ in "hc"]
    for features in WIDTHS:
        inputs = (*inputs_of(1, features), *state)
        result = parity.transfer(w.TorchStack(features), w.WrittenStack(features), inputs)
        unused = tuple(f"cells/{n}/{name}" for n in range(2) for name in ("kernel", "bias"))
        assert result.verdict == "parity" and result.table.left == ((), ()), str(result)
        assert result.table.dead == ((), unused)


def test_one_cell_for_several_agents() -> None:
    rng = np.random.default_rng(0)
    for features in WIDTHS:
        given = ([rng.normal(size=(5, width)).astype(np.float32) for _ in range(3)]
                 for width in (features, w.UNITS))  # fmt: skip
        source, target = w.SharedByAgents(features), w.WrittenForAgents(features)
        result = parity.transfer(source, target, tuple(map(tuple, given)))
        assert result.verdict == "parity" and result.table.left == ((), ()), str(result)


def test_a_state_that_is_a_tanh_and_a_head_that_is_a_gate() -> None:
    rng = np.random.default_rng(0)
    given = rng.normal(size=(5, 6)).astype(np.float32), rng.normal(size=(5, 4, 6)).astype("f")
    result = parity.transfer(w.TorchPlanner(6), w.WrittenPlanner(6), given)
    unused = "cell/kernel", "cell/bias"
    assert result.verdict == "parity" and result.table.left == ((), ()), str(result)
    assert result.table.dead == ((), unused)


def test_a_loop_over_what_is_joined() -> None:
    rng = np.random.default_rng(0)
    for features in WIDTHS:
        inputs = rng.normal(size=(5, 4, features)).astype(np.float32)
        result = parity.transfer(w.TorchLoop(features), w.JoinedLoop(features), (inputs,))
        assert result.verdict == "parity" and result.table.left == ((), ()), str(result)


def test_gates_in_another_order_are_read_by_what_they_do() -> None:
    """The order differs between the two; what is reported is the cell's arithmetic alone."""
    split, joined = w.SplitLSTM(6), w.JoinedLSTM(6)
    result = parity.transfer(split, joined, inputs_of(3, 6))
    assert result.verdict == "parity", str(result)
    i, f, g, o = np.split(split.w.numpy(), 4, axis=1)
    assert np.array_equal(joined.w.numpy()[:6], np.concatenate([i, g, f, o], axis=1))


def test_another_cell_is_no_partner() -> None:
    result = parity.transfer(GRU(6), w.ResetBefore(6), inputs_of(2, 6))
    assert result.verdict == "diverged" and not result.written
