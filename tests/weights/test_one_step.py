"""A recurrence of one time step, as a policy acts, is one; and its recurrent weights come along."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parity
from tests.weights.one_step import (
    ChainerLSTM,
    ChainerStateful,
    ChainerSteps,
    KerasCell,
    KerasLayer,
    TorchCell,
    TorchLayer,
    inputs_of,
    with_weights,
)

SOURCES = (TorchLayer, TorchCell)
TARGETS = (TorchLayer, TorchCell, KerasLayer, KerasCell, ChainerSteps)
CASES = [
    *((kind, source, target) for kind in ("LSTM", "GRU", "RNN") for source in SOURCES
      for target in TARGETS),
    *(("LSTM", source, ChainerLSTM) for source in SOURCES),
]  # fmt: skip


def moved(kind: str, make_source: Any, make_target: Any, state: bool) -> tuple[Any, Any, Any]:
    source, target = with_weights(make_source(kind)), make_target(kind)
    return source, target, parity.transfer(source, target, inputs_of(kind, state))


@pytest.mark.parametrize(("kind", "make_source", "make_target"), CASES)
@pytest.mark.parametrize("state", [True, False], ids=["state", "zeros"])
def test_all_of_its_weights_are_written(
    kind: str, make_source: Any, make_target: Any, state: bool
) -> None:
    source, target, result = moved(kind, make_source, make_target, state)
    assert result.verdict == "parity", str(result)
    assert result.table.left == ((), ())
    assert "recurrent kernel" in {row.role for row in result.table.rows}
    notes = [note for note in result.table.notes if "not proved" in note]
    assert bool(notes) is not state
    # two steps, fed by hand where the model takes a state, show that they are right
    inputs = inputs_of(kind, True)
    report = parity.compare(source, target, inputs=inputs)
    assert report.verdict == "parity", str(report)


def test_chainers_stateful_lstm() -> None:
    _, target, result = moved("LSTM", TorchLayer, ChainerStateful, False)
    assert result.verdict == "parity" and result.table.left == ((), ())
    (stated,) = [note for note in result.table.notes if "not proved" in note]
    assert stated.startswith("/rnn/lateral/W: ") and "give inputs of two steps or more" in stated


def test_a_state_of_zeros_that_is_given_proves_as_little() -> None:
    x, *state = inputs_of("LSTM", True)
    inputs = (x, *(np.zeros_like(one) for one in state))
    result = parity.transfer(with_weights(TorchCell("LSTM")), KerasCell("LSTM"), inputs)
    assert result.verdict == "parity"
    assert any("recurrent_kernel: written by role and not" in n for n in result.table.notes)


def test_chainers_own_gru_leaves_out_what_the_others_add() -> None:
    """At its first step no recurrent bias is added: a difference, and one that is named."""
    _, target, result = moved("GRU", TorchLayer, ChainerStateful, False)
    assert result.verdict == "diverged" and not result.written
    assert any("leaves out its recurrent biases" in note for note in result.table.notes)
    source = with_weights(TorchLayer("GRU"))
    source.rnn.bias_hh_l0.data[:] = 0
    result = parity.transfer(source, ChainerStateful("GRU"), inputs_of("GRU", False))
    assert result.verdict == "parity" and result.table.left == ((), ())


@pytest.mark.parametrize("make_target", TARGETS)
def test_a_fault_in_the_recurrent_weights_is_seen_where_a_state_enters(make_target: Any) -> None:
    source, target, result = moved("LSTM", TorchCell, make_target, True)
    assert result.written
    source.rnn.weight_hh.data[3, 2] += 0.5
    assert parity.compare(source, target, inputs=inputs_of("LSTM", True)).verdict == "diverged"


def test_the_structure_of_two_that_share_no_weights() -> None:
    inputs = inputs_of("GRU", False)
    found = parity.structure(TorchLayer("GRU"), KerasLayer("GRU"), inputs=inputs)
    assert not found.differences
