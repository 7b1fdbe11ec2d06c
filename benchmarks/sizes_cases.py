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
        reported, places: how many divergences, and how many places they have in all; 0 for any.
    """

    title: str
    build: Callable[[], tuple[Any, Any, Any]]
    verdict: str
    layer: str = ""
    code: str = ""
    reported: int = 0
    places: int = 0


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


def _elementwise(wrong: int, steps: int = 1250) -> Callable[[], tuple[Any, Any, Any]]:
    def build() -> tuple[Any, Any, Any]:
        torch = _torch()

        def reference(x: Any) -> Any:
            for step in range(steps):
                x = x + 0.1 * torch.sin(x * 3 + step)
            return x

        def candidate(x: Any) -> Any:
            for step in range(steps):
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


# --- one fault in many places, many in one model --------------------------------------------------


def _batch_norms(wrong: int) -> Callable[[], tuple[Any, Any, Any]]:
    def build() -> tuple[Any, Any, Any]:
        from benchmarks.models import resnet50

        torch = _torch()
        reference, candidate = resnet50.torch_model(), resnet50.torch_model()
        candidate.load_state_dict(reference.state_dict())
        modules = candidate.modules()
        norms = [module for module in modules if isinstance(module, torch.nn.BatchNorm2d)]
        for norm in norms[:wrong]:
            norm.eps = 1e-3
        return reference.eval(), candidate.eval(), resnet50.inputs_for_torch()[:2]

    return build


def _different_faults() -> tuple[Any, Any, Any]:
    """Eight faults in turn, in blocks that add to what they read."""
    torch = _torch()
    ops = torch.nn.functional
    right = (ops.relu, ops.leaky_relu, ops.gelu, torch.tanh, torch.sigmoid, ops.elu, ops.silu)
    wrong = (
        torch.abs,
        lambda x: ops.leaky_relu(x, 0.2),
        lambda x: ops.gelu(x, approximate="tanh"),
        ops.softsign,
        lambda x: torch.sigmoid(x + 1),
        lambda x: x,
        lambda x: ops.silu(1.5 * x),
    )

    class Block(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, kind: int, activation: Any, epsilon: float) -> None:
            super().__init__()
            self.norm = torch.nn.LayerNorm(16, eps=epsilon)
            self.dense = torch.nn.Linear(16, 16)
            self.kind, self.activation = kind, activation

        def forward(self, x: Any) -> Any:
            return x + 0.5 * self.activation(self.dense(self.norm(x)))

    def model(kinds: Any, epsilon: float) -> Any:
        numbers = (number % 8 for number in range(200))
        blocks = (
            Block(n, right[0], epsilon) if n == 7 else Block(n, kinds[n], 1e-5) for n in numbers
        )
        return torch.nn.Sequential(*blocks)

    reference, candidate = model(right, 1e-5), model(wrong, 1e-2)
    candidate.load_state_dict(reference.state_dict())
    return reference, candidate, 2 * _normal(8, 16)


def _fault_at_every_step() -> tuple[Any, Any, Any]:
    torch = _torch()
    enter, turn = torch.randn(6, 32) / 3, torch.randn(8, 32) / 3

    def lstm(forget: float) -> Callable[[Any], Any]:
        def run(x: Any) -> Any:
            h = c = torch.zeros(len(x), 8)
            states = []
            for at in x.unbind(1):
                i, f, g, o = (at @ enter + h @ turn).chunk(4, 1)
                f = f + forget if forget else f
                c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(c)
                states.append(h)
            return torch.stack(states, 1)

        return run

    models = _wrapped(lstm(0.0), "reference"), _wrapped(lstm(1.0), "candidate")
    return (*models, _normal(3, 300, 6))


CASES: dict[str, Case] = {
    "batch-norm": Case(
        "ResNet-50, one BatchNorm with another epsilon",
        *(_batch_norms(1), "diverged", "bn1"),
        reported=1,
        places=1,
    ),
    "batch-norms": Case(
        "the same, 52 of 53 BatchNorms",
        *(_batch_norms(52), "diverged", "bn1"),
        reported=1,
        places=52,
    ),
    "different-faults": Case(
        "200 blocks, each with one of eight faults", _different_faults, "diverged", "0", places=200
    ),
    "fault-at-every-step": Case(
        "an LSTM of 300 steps with another forget bias",
        *(_fault_at_every_step, "diverged"),
        code="f + forget",
        reported=1,
    ),
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
    "elementwise-100000": Case("100,000 of them", _elementwise(-1, steps=20_000), "parity"),
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
