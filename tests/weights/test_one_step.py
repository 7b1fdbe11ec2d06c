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


def moved(kind: str, source: Any, target: Any, state: bool) -> tuple[Any, Any, Any]:
    ours, theirs = with_weights(source(kind)), target(kind)
    return ours, theirs, parity.transfer(ours, theirs, inputs_of(kind, state))


@pytest.mark.parametrize(("kind", "source", "target"), CASES)
@pytest.mark.parametrize("state", [True, False], ids=["state", "zeros"])
def test_all_of_its_weights_are_written(kind: str, source: Any, target: Any, state: bool) -> None:
    ours, theirs, result = moved(kind, source, target, state)
    assert result.verdict == "parity", str(result)
    assert result.table.left == ((), ())
    assert "recurrent kernel" in {row.role for row in result.table.rows}
    told = [note for note in result.table.notes if "not proved" in note]
    assert bool(told) is not state
    # two steps, fed by hand where the model takes a state, show that they are right
    inputs = inputs_of(kind, True)
    report = parity.compare(ours, theirs, inputs=inputs)
    assert report.verdict == "parity", str(report)


def test_chainers_stateful_lstm() -> None:
    _, theirs, result = moved("LSTM", TorchLayer, ChainerStateful, False)
    assert result.verdict == "parity" and result.table.left == ((), ())
    (told,) = [note for note in result.table.notes if "not proved" in note]
    assert told.startswith("/rnn/lateral/W: ") and "give inputs of two steps or more" in told


def test_a_state_of_zeros_that_is_given_proves_as_little() -> None:
    x, *state = inputs_of("LSTM", True)
    inputs = (x, *(np.zeros_like(one) for one in state))
    result = parity.transfer(with_weights(TorchCell("LSTM")), KerasCell("LSTM"), inputs)
    assert result.verdict == "parity"
    assert any("recurrent_kernel: written by role and not" in n for n in result.table.notes)


def test_chainers_own_gru_leaves_out_what_the_others_add() -> None:
    """At its first step no recurrent bias is added: a difference, and one that is named."""
    _, theirs, result = moved("GRU", TorchLayer, ChainerStateful, False)
    assert result.verdict == "diverged" and not result.written
    assert any("leaves out its recurrent biases" in note for note in result.table.notes)
    ours = with_weights(TorchLayer("GRU"))
    ours.rnn.bias_hh_l0.data[:] = 0
    result = parity.transfer(ours, ChainerStateful("GRU"), inputs_of("GRU", False))
    assert result.verdict == "parity" and result.table.left == ((), ())


@pytest.mark.parametrize("target", TARGETS)
def test_a_fault_in_the_recurrent_weights_is_seen_where_a_state_enters(target: Any) -> None:
    ours, theirs, result = moved("LSTM", TorchCell, target, True)
    assert result.written
    ours.rnn.weight_hh.data[3, 2] += 0.5
    assert parity.compare(ours, theirs, inputs=inputs_of("LSTM", True)).verdict == "diverged"


def test_the_structure_of_two_that_share_no_weights() -> None:
    inputs = inputs_of("GRU", False)
    found = parity.structure(TorchLayer("GRU"), KerasLayer("GRU"), inputs=inputs)
    assert not found.differences
