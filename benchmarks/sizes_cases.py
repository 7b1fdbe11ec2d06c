"""The cases of `benchmarks.sizes`: two models, their inputs, and what is right to say of them.

Each is built when it is asked for: a framework is imported in the process of its case alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """Two models, and what is right of them.

    Attributes:
        title: what it is, in words.
        build: gives the reference, the candidate and the inputs.
        verdict: that is right.
        layer, code: the layer of the first divergence, or what its line of code holds.
    """

    title: str
    build: Callable[[], tuple[Any, Any, Any]]
    verdict: str
    layer: str = ""
    code: str = ""


def _normal(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def _torch() -> Any:
    import torch

    torch.manual_seed(0)
    return torch


def _wrapped(function: Callable[..., Any], name: str, framework: str = "torch") -> Any:
    import parity

    return parity.wrap(function, framework=framework, name=name)


def _dense(torch: Any, count: int, width: int, activation: Any) -> Any:
    layers: list[Any] = []
    for _ in range(count):
        layers += [torch.nn.Linear(width, width), activation()]
    return torch.nn.Sequential(*layers)


# --- many layers ----------------------------------------------------------------------------------


def _wrong_layers() -> tuple[Any, Any, Any]:
    torch = _torch()
    reference = _dense(torch, 1000, 16, torch.nn.Tanh)
    candidate = _dense(torch, 1000, 16, torch.nn.Softsign)
    candidate.load_state_dict(reference.state_dict())
    return reference, candidate, _normal(4, 16)


def _equal_layers() -> tuple[Any, Any, Any]:
    torch = _torch()
    weight = torch.nn.Parameter(torch.randn(16, 16) / 3)

    def reference(x: Any) -> Any:
        for _ in range(1000):
            x = torch.tanh(x @ weight)
        return x

    def candidate(x: Any) -> Any:
        for _ in range(1000):
            x = torch.tanh(1.1 * (x @ weight))
        return x

    return _wrapped(reference, "reference"), _wrapped(candidate, "candidate"), _normal(4, 16)


def _other_weights(count: int) -> Callable[[], tuple[Any, Any, Any]]:
    def build() -> tuple[Any, Any, Any]:
        torch = _torch()
        models = [_dense(torch, count, 32, torch.nn.Tanh) for _ in range(2)]
        return (*models, _normal(4, 32))

    return build


def _weights_off() -> tuple[Any, Any, Any]:
    torch = _torch()
    reference = _dense(torch, 300, 32, torch.nn.Tanh)
    candidate = _dense(torch, 300, 32, torch.nn.Tanh)
    for layer in reference[::2]:
        torch.nn.init.orthogonal_(layer.weight, 1.1)  # torch's own start forgets the inputs
    with torch.no_grad():
        for weight, moved in zip(reference.parameters(), candidate.parameters(), strict=True):
            moved.copy_(weight + 0.01 * torch.randn_like(weight))
    return reference, candidate, _normal(4, 32)


def _elementwise(wrong: int) -> Callable[[], tuple[Any, Any, Any]]:
    def build() -> tuple[Any, Any, Any]:
        torch = _torch()

        def reference(x: Any) -> Any:
            for step in range(1250):
                x = x + 0.1 * torch.sin(x * 3 + step)
            return x

        def candidate(x: Any) -> Any:
            for step in range(1250):
                x = 0.1 * torch.sin(step + (3.01 if step == wrong else 3) * x) + x
            return x

        return _wrapped(reference, "reference"), _wrapped(candidate, "candidate"), _normal(8, 16)

    return build


# --- long recurrences -----------------------------------------------------------------------------


def _rnn_transposed() -> tuple[Any, Any, Any]:
    torch = _torch()
    enter, turn = torch.randn(8, 16) / 3, torch.randn(16, 16) / 4

    def rnn(recurrent: Any) -> Any:
        def model(x: Any) -> Any:
            h = torch.zeros(x.shape[0], 16)
            for step in range(x.shape[1]):
                h = torch.tanh(x[:, step] @ enter + h @ recurrent)
            return h

        return model

    return _wrapped(rnn(turn), "reference"), _wrapped(rnn(turn.T), "candidate"), _normal(4, 1000, 8)


def _keras_recurrent(layer: Any, weights: Any, inputs: Any) -> Any:
    import keras

    model = keras.Sequential([keras.Input(inputs.shape[1:]), layer])
    model.set_weights(weights)
    return model


def _torch_recurrent(kind: str) -> tuple[Any, list[Any]]:
    torch = _torch()
    rnn = getattr(torch.nn, kind)(8, 16, batch_first=True)
    model = _last(torch, rnn)
    return model, [one.detach().numpy() for one in rnn.parameters()]


def _last(torch: Any, rnn: Any) -> Any:
    class Last(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.rnn = rnn

        def forward(self, x: Any) -> Any:
            return self.rnn(x)[0][:, -1]

    return Last()


def _lstm_reversed() -> tuple[Any, Any, Any]:
    import keras

    model, (enter, turn, first, second) = _torch_recurrent("LSTM")
    inputs = _normal(4, 30, 8)
    port = _keras_recurrent(
        keras.layers.LSTM(16, go_backwards=True), [enter.T, turn.T, first + second], inputs
    )
    return model, port, inputs


def _gru_reset_after() -> tuple[Any, Any, Any]:
    import keras

    model, (enter, turn, first, second) = _torch_recurrent("GRU")

    def gates(array: Any) -> Any:  # torch has reset, update, new; Keras update, reset, new
        reset, update, new = np.split(array, 3, axis=0)
        return np.concatenate([update, reset, new], axis=0)

    inputs = _normal(4, 60, 8)
    port = _keras_recurrent(
        keras.layers.GRU(16, reset_after=False),
        [gates(enter).T, gates(turn).T, gates(first + second)],
        inputs,
    )
    return model, port, inputs


def _lstm_by_hand() -> tuple[Any, Any, Any]:
    torch = _torch()
    enter, turn, bias = torch.randn(8, 64) / 3, torch.randn(16, 64) / 4, torch.randn(64) / 4

    def lstm(backwards: bool) -> Any:
        def model(x: Any) -> Any:
            h = c = torch.zeros(x.shape[0], 16)
            for step in range(x.shape[1]):
                at = x[:, -1 - step] if backwards else x[:, step]
                i, f, g, o = (at @ enter + h @ turn + bias).chunk(4, 1)
                c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(c)
            return h

        return model

    return _wrapped(lstm(False), "reference"), _wrapped(lstm(True), "candidate"), _normal(4, 30, 8)


def _gru_by_hand() -> tuple[Any, Any, Any]:
    torch = _torch()
    enter, turn = torch.randn(3, 8, 16) / 3, torch.randn(3, 16, 16) / 4
    biases = torch.randn(3, 16) / 2

    def gru(reset_after: bool) -> Any:
        def model(x: Any) -> Any:
            h = torch.zeros(x.shape[0], 16)
            for step in range(x.shape[1]):
                at = x[:, step]
                r = torch.sigmoid(at @ enter[0] + h @ turn[0] + biases[0])
                z = torch.sigmoid(at @ enter[1] + h @ turn[1] + biases[1])
                if reset_after:
                    new = torch.tanh(at @ enter[2] + r * (h @ turn[2] + biases[2]))
                else:
                    new = torch.tanh(at @ enter[2] + (r * h) @ turn[2] + biases[2])
                h = (1 - z) * new + z * h
            return h

        return model

    return _wrapped(gru(True), "reference"), _wrapped(gru(False), "candidate"), _normal(4, 60, 8)


def _lorenz_stacked() -> tuple[Any, Any, Any]:
    """The same steps on the whole state, in TensorFlow."""
    import tensorflow as tf

    def candidate(state: Any) -> Any:
        for _ in range(300):
            x, y, z = tf.unstack(state, axis=1)
            rate = tf.stack([10.0 * (y - x), 28.0 * x - y - x * z, x * y - 2.6666667 * z], 1)
            state = state + 0.02 * rate
        return state

    reference, _, inputs = _lorenz()
    return reference, _wrapped(candidate, "candidate", "tensorflow"), inputs


def _lorenz() -> tuple[Any, Any, Any]:
    torch = _torch()

    def reference(state: Any) -> Any:
        x, y, z = state[:, 0], state[:, 1], state[:, 2]
        for _ in range(300):
            dx, dy, dz = 10.0 * (y - x), x * (28.0 - z) - y, x * y - 2.6666667 * z
            x, y, z = x + 0.02 * dx, y + 0.02 * dy, z + 0.02 * dz
        return torch.stack([x, y, z], 1)

    def candidate(state: Any) -> Any:
        x, y, z = state.unbind(1)
        for _ in range(300):
            dx, dy, dz = 10.0 * y - 10.0 * x, 28.0 * x - x * z - y, x * y - 2.6666667 * z
            x, y, z = 0.02 * dx + x, 0.02 * dy + y, 0.02 * dz + z
        return torch.stack((x, y, z), dim=1)

    inputs = _normal(4, 3) + np.float32(1.0)
    return _wrapped(reference, "reference"), _wrapped(candidate, "candidate"), inputs


# --- large values ---------------------------------------------------------------------------------


def _large(millions: int, slope: float) -> Callable[[], tuple[Any, Any, Any]]:
    def build() -> tuple[Any, Any, Any]:
        torch = _torch()

        def reference(x: Any) -> Any:
            return torch.nn.functional.leaky_relu(x * 1.5, 0.01)

        def candidate(x: Any) -> Any:
            return torch.nn.functional.leaky_relu(1.5 * x, slope)

        models = _wrapped(reference, "reference"), _wrapped(candidate, "candidate")
        return (*models, _normal(millions * 1000, 1000))

    return build


CASES: dict[str, Case] = {
    "wrong-layers": Case(
        "1,000 layers, each with another activation", _wrong_layers, "diverged", "1"
    ),
    "equal-layers": Case(
        "1,000 equal layers, all wrong", _equal_layers, "diverged", code="1.1 * (x @ weight)"
    ),
    "weights-off": Case("300 layers, all weights a little off", _weights_off, "diverged", "0"),
    "other-weights": Case("3 layers of other weights", _other_weights(3), "diverged", "0"),
    "other-weights-300": Case("300 layers of other weights", _other_weights(300), "diverged", "0"),
    "elementwise": Case("5,000 elementwise operations", _elementwise(-1), "parity"),
    "elementwise-wrong": Case(
        "the same, one of them wrong", _elementwise(600), "diverged", code="step == wrong"
    ),
    "rnn-transposed": Case(
        "an RNN of 1,000 steps with a transposed weight",
        _rnn_transposed,
        "diverged",
        code="h @ recurrent",
    ),
    "lstm-reversed": Case("an LSTM of 30 steps, reversed", _lstm_reversed, "diverged", "lstm"),
    "gru-reset-after": Case(
        "a GRU of 60 steps with another reset_after", _gru_reset_after, "diverged", "gru/gru_cell"
    ),
    "lstm-by-hand": Case("the same, step by step", _lstm_by_hand, "diverged", code="at @ enter"),
    "gru-by-hand": Case(
        "a GRU of 60 steps written out, with another reset_after",
        _gru_by_hand,
        "diverged",
        code="(r * h) @ turn[2]",
    ),
    "lorenz-stacked": Case(
        "Lorenz' equations against them in TensorFlow", _lorenz_stacked, "parity"
    ),
    "lorenz": Case("Lorenz' equations over 300 steps, correct", _lorenz, "parity"),
    "20m": Case("20 million elements, right", _large(20, 0.01), "parity"),
    "20m-wrong": Case(
        "20 million elements, wrong", _large(20, 0.02), "diverged", code="leaky_relu"
    ),
    "50m": Case("50 million elements, right", _large(50, 0.01), "parity"),
    "50m-wrong": Case(
        "50 million elements, wrong", _large(50, 0.02), "diverged", code="leaky_relu"
    ),
}
