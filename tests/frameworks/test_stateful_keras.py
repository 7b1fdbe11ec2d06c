"""Keras' recurrent layers with stateful=True: what they keep is seen, and put back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import parity
from parity.inputs.preprocessing import plain
from parity.keeping.kept import Kept

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")

X = np.random.default_rng(0).standard_normal((4, 6, 5)).astype("f")
LAYERS = ["LSTM", "GRU", "SimpleRNN"]


def model(kind: str, sequences: bool = False, bidirectional: bool = False) -> Any:
    keras.utils.set_random_seed(1)
    layer = getattr(keras.layers, kind)(3, stateful=True, return_sequences=sequences)
    if bidirectional:
        layer = keras.layers.Bidirectional(layer)
    found = keras.Sequential([keras.layers.Input(batch_shape=(4, 6, 5)), layer])
    found(X)  # its state is not zero any more
    return found


def states(of: Any) -> list[Any]:
    layer = of.layers[0]
    parts = [getattr(layer, name, None) for name in ("forward_layer", "backward_layer")]
    return [state for part in ([layer] if None in parts else parts) for state in part.states]


def contents(of: Any) -> list[Any]:
    return [state.value.numpy() for state in states(of)]


def assert_same(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected) > 0
    assert all(map(np.array_equal, found, expected))


@pytest.mark.parametrize("sequences", [False, True])
@pytest.mark.parametrize("kind", LAYERS)
def test_a_stateful_layer_is_itself(kind: str, sequences: bool) -> None:
    one = model(kind, sequences)
    before = contents(one)
    assert any(np.abs(state).max() > 0 for state in before)
    assert parity.compare(one, one, inputs=X).verdict == "parity"
    assert_same(contents(one), before)
    run = plain(parity.wrap(one))
    assert np.array_equal(run(X)["output"], run(X)["output"])
    assert_same(contents(one), before)


def test_so_is_one_inside_another_layer() -> None:
    one = model("LSTM", bidirectional=True)
    before = contents(one)
    assert parity.compare(one, one, inputs=X).verdict == "parity"
    assert_same(contents(one), before)


@pytest.mark.parametrize("kind", LAYERS)
def test_a_port_is_parity_where_it_starts_from_the_same_state(kind: str) -> None:
    one, port = model(kind), model(kind)
    assert parity.compare(one, port, inputs=X).verdict == "parity"
    for state in states(port):
        state.assign(0 * state.value)
    assert parity.compare(one, port, inputs=X).verdict == "diverged"


def test_an_lstm_of_torch_gets_the_state_as_an_input() -> None:
    one = model("LSTM", sequences=True)
    kernel, recurrent, bias = one.get_weights()
    lstm = torch.nn.LSTM(5, 3, batch_first=True)
    with torch.no_grad():
        lstm.weight_ih_l0.copy_(torch.from_numpy(kernel.T))
        lstm.weight_hh_l0.copy_(torch.from_numpy(recurrent.T))
        lstm.bias_ih_l0.copy_(torch.from_numpy(bias))
        lstm.bias_hh_l0.zero_()
    start = tuple(torch.from_numpy(state)[None] for state in contents(one))

    def port(x: Any) -> Any:
        return lstm(x, start)[0]

    def without(x: Any) -> Any:
        return lstm(x)[0]

    assert parity.compare(one, parity.wrap(port, "torch"), inputs=X).verdict == "parity"
    assert parity.compare(one, parity.wrap(without, "torch"), inputs=X).verdict == "diverged"


def test_states_are_none_of_the_weights() -> None:
    names = [
        tensor.names[0] for tensor in parity.frameworks.load("tensorflow").tensors(model("GRU"))
    ]
    assert names and not any("state" in name for name in names)


def test_states_that_are_not_kept_would_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Kept, "put_back", lambda _: False)
    one = model("LSTM")
    before = contents(one)
    assert parity.compare(one, one, inputs=X).verdict != "parity"
    assert not np.array_equal(contents(one)[0], before[0])


@pytest.mark.parametrize("before", [True, False])
def test_a_scalar_that_a_model_counts_in_is_put_back(before: bool) -> None:
    calls = tf.Variable(2.0)

    def counting(x: Any) -> Any:
        count = tf.identity(calls) if before else calls.assign_add(1.0).read_value()
        calls.assign(5.0)
        return tf.tanh(x) * count

    one = parity.wrap(counting, "tensorflow")
    right, wrong = (parity.wrap(lambda x, k=k: torch.tanh(x) * k, "torch") for k in (2.0, 3.0))
    right, wrong = (right, wrong) if before else (wrong, right)
    assert parity.compare(right, one, inputs=X).verdict == "parity"
    assert float(calls) == 2.0
    assert parity.compare(wrong, one, inputs=X).verdict == "diverged"
