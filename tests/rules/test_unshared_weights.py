"""Models that share no weights are reported as such, once, in every framework; others are not."""

from __future__ import annotations

import time
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import torch

import parity
from parity.frameworks.chainer import chainer

INPUTS = np.random.default_rng(0).normal(size=(4, 9)).astype("float32")
SIZES = (9, 12, 12, 5)


def drawn(seed: int) -> list[Any]:
    """Kernels as (in, out), and biases."""
    random = np.random.default_rng(seed)
    return [
        (random.normal(size=shape).astype("f") / 3, random.normal(size=shape[1]).astype("f"))
        for shape in zip(SIZES, SIZES[1:], strict=False)
    ]


def in_torch(weights: list[Any]) -> Any:
    layers: list[Any] = []
    for kernel, bias in weights:
        layers += [torch.nn.Linear(*kernel.shape), torch.nn.Tanh()]
        with torch.no_grad():
            layers[-2].weight.copy_(torch.from_numpy(kernel.T.copy()))
            layers[-2].bias.copy_(torch.from_numpy(bias))
    return torch.nn.Sequential(*layers)


def in_keras(weights: list[Any]) -> Any:
    dense = [keras.layers.Dense(len(bias), activation="tanh") for _, bias in weights]
    model = keras.Sequential([keras.Input((SIZES[0],)), *dense])
    model.set_weights([array for pair in weights for array in pair])
    return model


def in_tensorflow(weights: list[Any]) -> Any:
    variables = [(tf.Variable(kernel), tf.Variable(bias)) for kernel, bias in weights]

    def model(x: Any) -> Any:
        for kernel, bias in variables:
            x = tf.tanh(x @ kernel + bias)
        return x

    return parity.wrap(model, framework="tensorflow", name="model")


def in_chainer(weights: list[Any]) -> Any:
    layers: list[Any] = []
    for kernel, bias in weights:
        link = chainer.links.Linear(*kernel.shape, initialW=kernel.T, initial_bias=bias)
        layers += [link, chainer.functions.tanh]
    return chainer.Sequential(*layers)


FRAMEWORKS = (in_torch, in_keras, in_tensorflow, in_chainer)


@pytest.mark.parametrize("candidate", FRAMEWORKS)
def test_weights_that_are_not_shared_are_one_finding(candidate: Any) -> None:
    models = in_torch(drawn(1)), candidate(drawn(2))
    report = parity.compare(*models, inputs=INPUTS)
    assert report.verdict == "diverged"
    (found,) = report.divergences
    assert found.cause.kind == "weights-not-shared" and not found.cause.confirmed
    assert "none of the 3 weight matrices" in found.cause.summary
    assert "parity.transfer" in found.cause.summary and "parity.structure" in found.cause.summary
    assert found.reference.layer == "0"
    assert "falls from" not in str(report)


@pytest.mark.parametrize("candidate", FRAMEWORKS)
def test_models_that_share_a_weight_are_located(candidate: Any) -> None:
    distinct, shared = drawn(1), drawn(2)
    shared[2] = distinct[2]
    report = parity.compare(in_torch(distinct), candidate(shared), inputs=INPUTS)
    assert report.verdict == "diverged"
    assert all(found.cause is None or found.cause.kind != "weights-not-shared"
               for found in report.divergences)  # fmt: skip


def changed(how: str) -> list[Any]:
    random = np.random.default_rng(3)
    return [
        {
            "in half precision": lambda k, b: (k.astype("float16").astype("f"), b + 1),
            "by a factor": lambda k, b: (-2.5 * k, b),
            "a little off": lambda k, b: (k + 0.02 * random.normal(size=k.shape).astype("f"), b),
            "in another order": lambda k, b: (np.ascontiguousarray(k[:, ::-1]), b),
        }[how](kernel, bias)
        for kernel, bias in drawn(1)
    ]


@pytest.mark.parametrize(
    "how", ["in half precision", "by a factor", "a little off", "in another order"]
)
def test_weights_in_another_form_are_shared(how: str) -> None:
    report = parity.compare(in_torch(drawn(1)), in_torch(changed(how)), inputs=INPUTS)
    assert report.verdict == "diverged"
    assert all(found.cause is None or found.cause.kind != "weights-not-shared"
               for found in report.divergences)  # fmt: skip


def test_a_single_layer_is_reported_as_what_it_is() -> None:
    report = parity.compare(in_torch(drawn(1)[:1]), in_torch(drawn(2)[:1]), inputs=INPUTS)
    assert report.divergences[0].cause.kind == "weight-values"


def test_many_layers_take_no_longer_than_their_replays() -> None:
    """Each used to be searched for and explained separately."""
    torch.manual_seed(0)

    def model() -> Any:
        layers: list[Any] = []
        for _ in range(60):
            layers += [torch.nn.Linear(9, 9), torch.nn.Tanh()]
        return torch.nn.Sequential(*layers)

    models = model(), model()
    with torch.no_grad():
        for layer in models[1]:
            if hasattr(layer, "weight"):
                layer.weight.copy_(torch.randn(9, 9))
    started = time.process_time()
    parity.compare(models[0], models[0], inputs=INPUTS)
    alike = time.process_time() - started
    started = time.process_time()
    report = parity.compare(*models, inputs=INPUTS)
    assert [one.cause.kind for one in report.divergences] == ["weights-not-shared"]
    assert time.process_time() - started < 10 * alike + 1.0


# --- layers that store their weights in other ways ---------------------------------------------

SEQUENCES = np.random.default_rng(1).normal(size=(4, 6, 5)).astype("float32")
IMAGES = np.random.default_rng(2).normal(size=(2, 3, 8, 8)).astype("float32")
TOKENS = np.random.default_rng(3).integers(0, 20, (4, 7))
STEPS = SEQUENCES.shape[1]


class Last(torch.nn.Module):
    """A head on the last step of a layer of torch's."""

    def __init__(self, layer: str) -> None:
        super().__init__()
        self.layer = getattr(torch.nn, layer)(5, 8, batch_first=True)
        self.head = torch.nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return self.head(self.layer(x)[0][:, -1])


class LSTM(torch.nn.Module):
    """An LSTM written out; `gates` computes the gates from the input and the state."""

    def __init__(self) -> None:
        super().__init__()
        self.head = torch.nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        h = c = torch.zeros(len(x), 8)
        for step in x.unbind(1):
            i, f, g, o = self.gates(step, h)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return self.head(h)


class GatesApart(LSTM):
    def __init__(self) -> None:
        super().__init__()
        self.x = torch.nn.ModuleList([torch.nn.Linear(5, 8) for _ in range(4)])
        self.h = torch.nn.ModuleList([torch.nn.Linear(8, 8) for _ in range(4)])

    def gates(self, x: Any, h: Any) -> list[Any]:
        return [of_x(x) + of_h(h) for of_x, of_h in zip(self.x, self.h, strict=True)]


class InputAndStateJoined(LSTM):
    def __init__(self) -> None:
        super().__init__()
        self.both = torch.nn.Linear(5 + 8, 4 * 8)

    def gates(self, x: Any, h: Any) -> list[Any]:
        return list(self.both(torch.cat([x, h], 1)).chunk(4, 1))


class InChainer(chainer.Chain):
    """A head on the last state of a link of Chainer's that runs whole sequences, or steps."""

    def __init__(self, link: str) -> None:
        super().__init__()
        self.whole = link.startswith("NStep")
        with self.init_scope():
            sizes = (1, 5, 8, 0.0) if self.whole else (5, 8)
            self.layer = getattr(chainer.links, link)(*sizes)
            self.head = chainer.links.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        if self.whole:
            states = 2 if type(self.layer).__name__ == "NStepLSTM" else 1
            return self.head(self.layer(*[None] * states, list(x))[0][0])
        self.layer.reset_state()
        for step in range(STEPS):
            found = self.layer(x[:, step])
        return self.head(found)


def layer_of_keras(layer: str) -> Any:
    return keras.Sequential(
        [
            keras.Input((STEPS, 5)),
            getattr(keras.layers, layer)(8, bias_initializer="random_normal"),
            keras.layers.Dense(3),
        ]
    )


class Transformer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.enter, self.leave = torch.nn.Linear(5, 16), torch.nn.Linear(16, 2)
        self.body = torch.nn.TransformerEncoder(layer, 2)

    def forward(self, x: Any) -> Any:
        return self.leave(self.body(self.enter(x)).mean(1))


def attention_in_keras() -> Any:
    given = keras.Input((STEPS, 5))
    found = keras.layers.Dense(16)(given)
    found = found + keras.layers.MultiHeadAttention(4, 4)(found, found)
    found = keras.layers.LayerNormalization()(found)
    return keras.Model(given, keras.layers.Dense(2)(found))


def images_in_torch() -> Any:
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 6, 3),
        torch.nn.BatchNorm2d(6),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(6 * 36, 4),
    )


def images_in_keras() -> Any:
    model = keras.Sequential(
        [
            keras.Input((8, 8, 3)),
            keras.layers.Conv2D(6, 3),
            keras.layers.BatchNormalization(),
            keras.layers.ReLU(),
            keras.layers.Flatten(),
            keras.layers.Dense(4),
        ]
    )
    return parity.wrap(model, input_layout="NHWC")


def images_in_chainer() -> Any:
    links = chainer.links
    model = chainer.Sequential(
        links.Convolution2D(3, 6, 3),
        links.BatchNormalization(6),
        chainer.functions.relu,
        links.Linear(6 * 36, 4),
    )
    return parity.wrap(model, input_layout="NCHW")


class Tokens(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = torch.nn.Embedding(20, 8), torch.nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return self.head(self.table(x).mean(1))


def tokens_in_keras() -> Any:
    given = keras.Input((7,), dtype="int64")
    found = keras.ops.mean(keras.layers.Embedding(20, 8)(given), axis=1)
    return keras.Model(given, keras.layers.Dense(3)(found))


class TokensInChainer(chainer.Chain):
    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.table, self.head = chainer.links.EmbedID(20, 8), chainer.links.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return self.head(chainer.functions.mean(self.table(x), axis=1))


class Module(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        sizes = (9, 12), (12, 4)
        self.w = [tf.Variable(np.random.standard_normal(one).astype("f")) for one in sizes]

    @tf.function
    def __call__(self, x: Any) -> Any:
        return tf.nn.relu(x @ self.w[0]) @ self.w[1]


SEVERAL: dict[str, tuple[Any, dict[str, Any]]] = {
    "LSTM": (
        SEQUENCES,
        {
            "torch": lambda: Last("LSTM"),
            "torch, gates apart": GatesApart,
            "torch, input and state joined": InputAndStateJoined,
            "keras": lambda: layer_of_keras("LSTM"),
            "chainer": lambda: InChainer("LSTM"),
            "chainer, whole": lambda: InChainer("NStepLSTM"),
        },
    ),
    "GRU": (
        SEQUENCES,
        {
            "torch": lambda: Last("GRU"),
            "keras": lambda: layer_of_keras("GRU"),
            "chainer": lambda: InChainer("StatefulGRU"),
            "chainer, whole": lambda: InChainer("NStepGRU"),
        },
    ),
    "RNN": (
        SEQUENCES,
        {
            "torch": lambda: Last("RNN"),
            "keras": lambda: layer_of_keras("SimpleRNN"),
            "chainer, whole": lambda: InChainer("NStepRNNTanh"),
        },
    ),
    "transformer": (SEQUENCES, {"torch": Transformer}),
    "attention": (SEQUENCES, {"keras": attention_in_keras}),
    "images": (
        IMAGES,
        {"torch": images_in_torch, "keras": images_in_keras, "chainer": images_in_chainer},
    ),
    "tokens": (
        TOKENS,
        {"torch": Tokens, "keras": tokens_in_keras, "chainer": TokensInChainer},
    ),
    "module": (INPUTS, {"tensorflow": Module}),
}


def seeded(build: Any, seed: int) -> Any:
    torch.manual_seed(seed)
    keras.utils.set_random_seed(seed)  # NumPy's too, which Chainer draws by
    return build()


@pytest.mark.parametrize(
    ("kind", "reference", "candidate"),
    [
        pytest.param(kind, one, other, id=f"{kind}: {one}-{other}")
        for kind, (_, builds) in SEVERAL.items()
        for number, one in enumerate(builds)
        for other in list(builds)[number:]
    ],
)
def test_however_they_are_stored_they_are_one_finding(
    kind: str, reference: str, candidate: str
) -> None:
    inputs, builds = SEVERAL[kind]
    models = seeded(builds[reference], 1), seeded(builds[candidate], 2)
    if kind == "images" and reference == "keras":
        inputs = inputs.transpose(0, 2, 3, 1)
    report = parity.compare(*models, inputs=inputs)
    assert [one.cause and one.cause.kind for one in report.divergences] == ["weights-not-shared"]


def given_those_of(layer: Any, model: Any) -> Any:
    """The model with the weights of torch's LSTM, and another head."""
    kernels = layer.weight_ih_l0, layer.weight_hh_l0
    with torch.no_grad():
        if isinstance(model, InputAndStateJoined):
            model.both.weight.copy_(torch.cat(kernels, 1))
        else:
            for links, kernel in zip((model.x, model.h), kernels, strict=True):
                for gate, own in zip(links, kernel.chunk(4), strict=True):
                    gate.weight.copy_(own)
    return model


@pytest.mark.parametrize(
    ("build", "factor"), [(GatesApart, 1.0), (GatesApart, -2.5), (InputAndStateJoined, 1.0)]
)
def test_weights_that_one_model_alone_joins_may_be_shared(build: Any, factor: float) -> None:
    layered = seeded(lambda: Last("LSTM"), 1)
    written = given_those_of(layered.layer, seeded(build, 2))
    with torch.no_grad():
        for parameter in written.parameters():
            parameter.mul_(factor)
    for models in ((layered, written), (written, layered)):
        report = parity.compare(*models, inputs=SEQUENCES, seconds=1.0)
        assert report.verdict == "diverged"
        assert all(one.cause is None or one.cause.kind != "weights-not-shared"
                   for one in report.divergences)  # fmt: skip


@pytest.mark.parametrize("candidate", FRAMEWORKS)
def test_once_it_is_found_nothing_more_is_measured(
    candidate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay of everything that a rounding moves takes as long as the comparison."""

    def measured(*_: object, **__: object) -> None:
        raise AssertionError("nothing more is to be measured")

    monkeypatch.setattr("parity.diagnosis.moved_outputs.moves", measured)
    monkeypatch.setattr("parity.diagnosis.verdict.low_precision_notes", measured)
    report = parity.compare(in_torch(drawn(1)), candidate(drawn(2)), inputs=INPUTS)
    assert [one.cause.kind for one in report.divergences] == ["weights-not-shared"]
