"""Layers whose backward pass is laid out differently in two frameworks, and agrees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parity

torch = pytest.importorskip("torch")
tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")
pytest.importorskip("chainer")

from parity.frameworks.chainer_numpy import import_chainer  # noqa: E402

chainer = import_chainer()
F, L, nn, layers = chainer.functions, chainer.links, torch.nn, keras.layers
RANDOM = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float32)


class Chain(chainer.Chain):
    """Links by name, and a function of them and the input."""

    def __init__(self, forward: Callable[..., Any], **links: Any) -> None:
        super().__init__()
        self._forward = forward
        with self.init_scope():
            for name, link in links.items():
                setattr(self, name, link)

    def forward(self, x: Any) -> Any:
        return self._forward(self, x)


class Module(nn.Module):
    """The same of torch's modules."""

    def __init__(self, forward: Callable[..., Any], **modules: Any) -> None:
        super().__init__()
        self._forward = forward
        for name, module in modules.items():
            setattr(self, name, module)

    def forward(self, *inputs: Any) -> Any:
        return self._forward(self, *inputs)


def convolutions() -> tuple[Any, Any, Any]:
    reference = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(128, 5), nn.Softmax(-1),
    )  # fmt: skip
    candidate = Chain(
        lambda own, x: F.softmax(own.l(F.max_pooling_2d(F.relu(own.b(own.c(x))), 2))),
        c=L.Convolution2D(3, 8, 3), b=L.BatchNormalization(8, eps=1e-5), l=L.Linear(128, 5),
    )  # fmt: skip
    return reference, candidate, normal(6, 3, 10, 10)


def batch_norm() -> tuple[Any, Any, Any]:
    reference = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ELU(), nn.Linear(8, 3))
    candidate = keras.Sequential(
        [
            layers.Input((4,)),
            layers.Dense(8),
            layers.BatchNormalization(epsilon=1e-5),
            layers.ELU(),
            layers.Dense(3),
        ]
    )
    return reference, candidate, normal(7, 4)


def embeddings() -> tuple[Any, Any, Any]:
    """Some rows are read more than once: TensorFlow's gradient has each time by itself."""
    reference = Module(
        lambda own, x: torch.log_softmax(own.l(own.e(x).mean(1)), -1),
        e=nn.Embedding(9, 6), l=nn.Linear(6, 3),
    )  # fmt: skip
    candidate = keras.Sequential(
        [
            layers.Input((5,), dtype="int32"),
            layers.Embedding(9, 6),
            layers.GlobalAveragePooling1D(),
            layers.Dense(3, activation="log_softmax"),
        ]
    )
    return reference, candidate, RANDOM.integers(9, size=(4, 5)).astype(np.int32)


def layer_norm() -> tuple[Any, Any, Any]:
    reference = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.LeakyReLU(0.1), nn.Linear(8, 3))
    candidate = Chain(
        lambda own, x: own.l(F.leaky_relu(own.n(own.a(x)), 0.1)),
        a=L.Linear(6, 8), n=L.LayerNormalization(8, eps=1e-5), l=L.Linear(8, 3),
    )  # fmt: skip
    return reference, candidate, normal(5, 6)


def lstm() -> tuple[Any, Any, Any]:
    """Nothing reads the last cell state: Chainer's gradient of it is None."""
    reference = Module(lambda own, x: own.l(x)[0], l=nn.LSTM(4, 5, batch_first=True))
    candidate = Chain(
        lambda own, x: F.stack(own.l(None, None, [one for one in x])[2]),
        l=L.NStepLSTM(1, 4, 5, 0.0),
    )  # fmt: skip
    return reference, candidate, normal(3, 6, 4)


def gru() -> tuple[Any, Any, Any]:
    reference = Module(lambda own, x: own.l(x)[0], l=nn.GRU(4, 6, batch_first=True))
    candidate = keras.Sequential(
        [layers.Input((7, 4)), layers.GRU(6, return_sequences=True, reset_after=True)]
    )
    return reference, candidate, normal(3, 7, 4)


@pytest.mark.parametrize("mode", ["eval", "train"])
@pytest.mark.parametrize(
    "build",
    [convolutions, batch_norm, embeddings, layer_norm, lstm, gru],
    ids=lambda one: one.__name__,
)
def test_their_gradients_agree(build: Callable[[], tuple[Any, Any, Any]], mode: Any) -> None:
    torch.manual_seed(0)
    reference, candidate, inputs = build()
    assert parity.transfer(reference, candidate, inputs=inputs).verdict == "parity"
    models = parity.wrap(reference, mode=mode), parity.wrap(candidate, mode=mode)
    report = parity.compare(*models, inputs=inputs, gradients=True)
    assert report.verdict == "parity", str(report)
    rows = [row for row in report.comparisons[0].outputs if row.is_gradient]
    held = sum(one.requires_grad for one in reference.parameters())
    assert len(rows) == held + (inputs.dtype.kind == "f")


# --- ties and kinks ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        (lambda x: x.max(1).values * 0.7, lambda x: tf.reduce_max(x, 1) * 0.7),
        (lambda x: torch.maximum(x, x.flip(1)) * 0.7, lambda x: tf.maximum(x, x[:, ::-1]) * 0.7),
        (lambda x: torch.minimum(x, 2 - x) * 0.7, lambda x: tf.minimum(x, 2 - x) * 0.7),
    ],
    ids=["max", "maximum", "minimum"],
)
def test_a_tie_is_a_note(reference: Any, candidate: Any) -> None:
    """Torch gives each of two equal values half of a gradient, TensorFlow all of it to one."""
    inputs = RANDOM.integers(0, 4, size=(6, 8)).astype("f")
    models = parity.wrap(reference, "torch"), parity.wrap(candidate, "tensorflow")
    report = parity.compare(*models, inputs=inputs, gradients=True)
    assert report.verdict == "parity", str(report)
    notes = [note for note in report.comparisons[0].notes if note.kind == "tie"]
    assert notes and all(note.candidate.stage == "backward" for note in notes)
    assert "each framework chooses the derivative" in str(report)
    # without ties there is nothing to note
    report = parity.compare(*models, inputs=normal(6, 8), gradients=True)
    assert report.verdict == "parity"
    assert not [note for note in report.comparisons[0].notes if note.kind == "tie"]


def test_a_fault_beside_a_tie_is_one() -> None:
    def reference(x: Any) -> Any:
        return torch.tanh(x) * torch.maximum(x, x.flip(1))

    def candidate(x: Any) -> Any:
        return tf.stop_gradient(tf.tanh(x)) * tf.maximum(x, x[:, ::-1])

    inputs = RANDOM.integers(0, 4, size=(6, 8)).astype("f")
    models = parity.wrap(reference, "torch"), parity.wrap(candidate, "tensorflow")
    report = parity.compare(*models, inputs=inputs, gradients=True)
    assert report.verdict == "diverged"


@pytest.mark.parametrize("inputs", ["integers", "zeros"])
def test_kinks_of_activations_agree(inputs: str) -> None:
    x = RANDOM.integers(-2, 3, size=(6, 8)) * (1.0 if inputs == "integers" else 0.5)

    def reference(x: Any) -> Any:
        f = nn.functional
        return torch.relu(x), x.abs() * 0.7, f.leaky_relu(x, 0.1), f.elu(x), f.hardtanh(x) + x * x

    def candidate(x: Any) -> Any:
        clipped = tf.clip_by_value(x, -1.0, 1.0)
        return (
            tf.nn.relu(x),
            tf.abs(x) * 0.7,
            tf.nn.leaky_relu(x, 0.1),
            tf.nn.elu(x),
            clipped + x * x,
        )

    models = parity.wrap(reference, "torch"), parity.wrap(candidate, "tensorflow")
    report = parity.compare(*models, inputs=x.astype("f"), gradients=True)
    assert report.verdict == "parity", str(report)


@pytest.mark.parametrize("seed", [0, 4, 6])
def test_a_gradient_that_is_zero_in_theory_is_rounding(seed: int) -> None:
    """Of a bias behind a softmax: it shifts all scores alike."""
    torch.manual_seed(seed)
    linear = nn.Linear(4, 1)
    reference = Module(lambda own, x: torch.softmax(own.l(x).squeeze(-1), 1) * 2, l=linear)
    score = layers.Dense(1)
    inputs = layers.Input((6, 4))
    shares = layers.Lambda(lambda x: tf.nn.softmax(x[..., 0]) * 2)(score(inputs))
    candidate = keras.Model(inputs, shares)
    score.set_weights([linear.weight.detach().numpy().T, linear.bias.detach().numpy()])
    x = np.random.default_rng(seed).standard_normal((5, 6, 4)).astype("f")
    report = parity.compare(reference, candidate, inputs=x, gradients=True)
    assert report.verdict == "parity", str(report)
