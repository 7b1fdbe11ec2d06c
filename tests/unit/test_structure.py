"""Structure without values: models of one architecture and of several, none with equal weights."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import parity
from parity.architecture import single_operations
from parity.report.terminal import render

torch = pytest.importorskip("torch")
keras = pytest.importorskip("keras")
torch.set_num_threads(1)
nn, layers = torch.nn, keras.layers

FRAMEWORKS = ("torch", "keras", "chainer")
IMAGES = np.random.default_rng(5).standard_normal((2, 3, 12, 12)).astype("f")

# What a model may do differently; the defaults are those of the reference.
DEFAULTS: dict[str, Any] = {
    "stride": 2,
    "padding": 1,
    "dilation": 1,
    "groups": 1,
    "activation": "relu",
    "slope": 0.1,
    "epsilon": 1e-5,
    "pool": "max",
    "kernel": 2,
    "units": 9,
    "norm": 1e-6,
    "extra": False,
}


def torch_model(**changes: Any) -> Any:
    has = DEFAULTS | changes
    first = {"relu": nn.ReLU(), "tanh": nn.Tanh(), "elu": nn.ELU(), None: nn.Identity()}
    pool = {"max": nn.MaxPool2d, "average": nn.AvgPool2d}[has["pool"]]
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, has["stride"], has["padding"]),
        first[has["activation"]],
        nn.Conv2d(8, 6, 3, 1, has["dilation"], has["dilation"], has["groups"]),
        nn.BatchNorm2d(6, has["epsilon"]),
        nn.LeakyReLU(has["slope"]),
        pool(has["kernel"], 1),
        nn.Flatten(),
        nn.LazyLinear(has["units"]),
        nn.LayerNorm(has["units"], has["norm"]),
        nn.Sigmoid(),
        *([nn.Linear(has["units"], 7), nn.Tanh()] if has["extra"] else []),
        nn.LazyLinear(4),
        nn.Softmax(-1),
    )


def torch_side(**changes: Any) -> Any:
    model = torch_model(**changes).eval()
    model(torch.from_numpy(IMAGES))
    return parity.wrap(model, input_layout="NCHW", name="torch")


def keras_side(**changes: Any) -> Any:
    has = DEFAULTS | changes
    pool = {"max": layers.MaxPool2D, "average": layers.AvgPool2D}[has["pool"]]
    first = [layers.Activation(has["activation"])] if has["activation"] else []
    model = keras.Sequential(
        [
            layers.Input((12, 12, 3)),
            layers.ZeroPadding2D(has["padding"]),
            layers.Conv2D(8, 3, has["stride"], name="first"),
            *first,
            layers.Conv2D(
                6, 3, padding="same", dilation_rate=has["dilation"], groups=has["groups"]
            ),
            layers.BatchNormalization(epsilon=has["epsilon"], name="batch_norm"),
            layers.LeakyReLU(has["slope"]),
            pool(has["kernel"], 1),
            layers.Flatten(),
            layers.Dense(has["units"]),
            layers.LayerNormalization(epsilon=has["norm"]),
            layers.Activation("sigmoid"),
            *([layers.Dense(7, "tanh")] if has["extra"] else []),
            layers.Dense(4),
            layers.Softmax(),
        ]
    )
    return parity.wrap(model, input_layout="NHWC", name="keras")


def chainer_side(**changes: Any) -> Any:
    pytest.importorskip("pkg_resources", reason="Chainer imports it")
    from parity.frameworks.chainer_numpy import import_chainer

    chainer = import_chainer()
    F, L = chainer.functions, chainer.links
    has = DEFAULTS | changes
    first = {"relu": F.relu, "tanh": F.tanh, "elu": F.elu, None: lambda x: x}[has["activation"]]
    pool = {
        "max": lambda x: F.max_pooling_2d(x, has["kernel"], 1),
        "average": lambda x: F.average_pooling_2d(x, has["kernel"], 1),
    }[has["pool"]]
    extra = [L.Linear(None, 7), F.tanh] if has["extra"] else []
    model = chainer.Sequential(
        L.Convolution2D(3, 8, 3, has["stride"], has["padding"]),
        first,
        L.Convolution2D(8, 6, 3, 1, has["dilation"], dilate=has["dilation"], groups=has["groups"]),
        L.BatchNormalization(6, eps=has["epsilon"]),
        lambda x: F.leaky_relu(x, has["slope"]),
        pool,
        L.Linear(None, has["units"]),
        L.LayerNormalization(has["units"], has["norm"]),
        F.sigmoid,
        *extra,
        L.Linear(None, 4),
        F.softmax,
    )
    return parity.wrap(model, framework="chainer", input_layout="NCHW", name="chainer")


SIDES = {"torch": torch_side, "keras": keras_side, "chainer": chainer_side}
in_both_directions = pytest.mark.parametrize(
    ("reference", "candidate"), list(permutations(FRAMEWORKS, 2))
)


def differences(reference: Any, candidate: Any) -> tuple[Any, ...]:
    images = IMAGES if reference.input_layout == "NCHW" else IMAGES.transpose(0, 2, 3, 1)
    return parity.structure(reference, candidate, inputs=images).differences


@in_both_directions
def test_one_architecture_has_no_difference(reference: str, candidate: str) -> None:
    assert differences(SIDES[reference](), SIDES[candidate]()) == ()


@in_both_directions
@pytest.mark.parametrize(
    ("change", "kind", "step", "text"),
    [
        ({"stride": 1}, "parameter", "convolution", "stride: 2 -> 1"),
        ({"padding": 0}, "parameter", "convolution", "padding: 1 -> 0"),
        ({"dilation": 2}, "parameter", "convolution", "dilation: 1 -> 2"),
        ({"groups": 2}, "parameter", "convolution", "groups: 1 -> 2"),
        ({"epsilon": 1e-3}, "parameter", "batch norm", "epsilon: 1e-05 -> 0.001"),
        ({"slope": 0.3}, "parameter", "leaky relu", "negative slope: 0.1 -> 0.3"),
        ({"kernel": 3}, "parameter", "max pool", "kernel: 2 -> 3"),
        ({"norm": 1e-3}, "parameter", "layer norm", "epsilon: 1e-06 -> 0.001"),
        ({"units": 10}, "parameter", "dense", "units: 9 -> 10"),
        ({"activation": "elu"}, "other", "relu", "relu -> elu"),
        ({"pool": "average"}, "other", "max pool", "max pool -> average pool"),
        ({"activation": None}, "missing", "relu", "relu is missing after convolution"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_what_differs_is_reported(
    reference: str, candidate: str, change: dict[str, Any], kind: str, step: str, text: str
) -> None:
    found = differences(SIDES[reference](), SIDES[candidate](**change))
    assert (kind, step, text) in [(one.kind, one.step, one.text) for one in found]
    # a dilation may change the padding that keeps the size; nothing else changes anything
    brought = {"padding"} if "dilation" in change else set()
    assert [one for one in found if one.text != text and one.name not in brought] == []


@in_both_directions
def test_a_layer_too_many_or_too_few(reference: str, candidate: str) -> None:
    extra = differences(SIDES[reference](), SIDES[candidate](extra=True))
    assert [(one.kind, one.step) for one in extra] == [("extra", "dense"), ("extra", "tanh")]
    missing = differences(SIDES[reference](extra=True), SIDES[candidate]())
    assert [(one.kind, one.step) for one in missing] == [("missing", "dense"), ("missing", "tanh")]


def test_several_differences_each_with_its_place() -> None:
    found = differences(torch_side(), keras_side(stride=1, epsilon=1e-3, activation="tanh"))
    assert [one.text for one in found] == [
        "stride: 2 -> 1",
        "relu -> tanh",
        "epsilon: 1e-05 -> 0.001",
    ]
    assert (found[0].reference.layer, found[0].candidate.layer) == ("0", "first")
    assert (found[2].reference.layer, found[2].candidate.layer) == ("3", "batch_norm")


def two_streams(value_first: bool, activation: Any = torch.relu) -> Any:
    """A dueling net, which runs its streams in one order or the other."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Linear(6, 16)
            self.value, self.advantage = nn.Linear(16, 8), nn.Linear(16, 8)
            self.v, self.a = nn.Linear(8, 1), nn.Linear(8, 5)

        def forward(self, x: Any) -> Any:
            x = torch.relu(self.body(x))
            if value_first:
                v = self.v(torch.relu(self.value(x)))
                a = self.a(activation(self.advantage(x)))
            else:
                advantage, value = self.advantage(x), self.value(x)
                a = self.a(activation(advantage))
                v = self.v(torch.relu(value))
            return v + a - a.mean(1, keepdim=True)

    return Net()


FEATURES = np.ones((3, 6), "f")


def test_branches_may_run_in_another_order() -> None:
    pair = two_streams(True), two_streams(False)
    assert parity.structure(*pair, inputs=FEATURES).differences == ()
    changed = parity.structure(two_streams(True), two_streams(False, torch.tanh), inputs=FEATURES)
    assert [one.text for one in changed.differences] == ["relu -> tanh"]


def plain(*middle: Any) -> Any:
    return nn.Sequential(nn.Linear(6, 8), *middle, nn.Linear(8, 5)).eval()


class ByHand(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


@pytest.mark.parametrize(
    ("ready_made", "by_hand"),
    [
        (nn.Softmax(-1), lambda x: x.exp() / x.exp().sum(-1, keepdim=True)),
        (nn.SiLU(), lambda x: x * x.sigmoid()),
        (nn.GELU(), lambda x: 0.5 * x * (1 + torch.erf(x / 2**0.5))),
        (nn.LayerNorm(8), lambda x: (x - x.mean(1, True)) / (x.var(1, False, True) + 1e-5) ** 0.5),
        (nn.LogSoftmax(-1), lambda x: x - x.logsumexp(-1, keepdim=True)),
        (nn.ReLU(), lambda x: (x + x.abs()) / 2),
        (nn.Sigmoid(), lambda x: (1 + torch.tanh(x / 2)) / 2),
    ],
)
def test_what_is_written_by_hand_is_no_difference(ready_made: Any, by_hand: Any) -> None:
    pair = plain(ready_made), plain(ByHand(by_hand))
    assert parity.structure(*pair, inputs=FEATURES).differences == ()
    assert parity.structure(*pair[::-1], inputs=FEATURES).differences == ()


def test_a_batch_norm_may_be_folded_and_a_layer_norm_not() -> None:
    folded = parity.structure(plain(nn.BatchNorm1d(8)), plain(), inputs=FEATURES)
    assert folded.differences == ()
    (lost,) = parity.structure(
        plain(nn.LayerNorm(8), nn.ReLU()), plain(nn.ReLU()), inputs=FEATURES
    ).differences
    assert (lost.kind, lost.step) == ("missing", "layer norm")


def test_recurrent_layers_are_not_split() -> None:
    class Torch(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru, self.head = nn.GRU(6, 5, batch_first=True), nn.Linear(5, 3)

        def forward(self, x: Any) -> Any:
            return torch.tanh(self.head(self.gru(x)[0][:, -1]))

    def keras_model(activation: str) -> Any:
        return keras.Sequential([layers.Input((4, 6)), layers.GRU(5), layers.Dense(3, activation)])

    x = np.ones((2, 4, 6), "f")
    assert parity.structure(Torch(), keras_model("tanh"), inputs=x).differences == ()
    (found,) = parity.structure(Torch(), keras_model("sigmoid"), inputs=x).differences
    assert found.text == "tanh -> sigmoid"


def test_tensorflows_same_is_not_a_padding_of_one() -> None:
    model = keras.Sequential([layers.Input((12, 12, 3)), layers.Conv2D(4, 3, 2, "same")])
    same = parity.wrap(model, input_layout="NHWC")
    (found,) = parity.structure(nn.Conv2d(3, 4, 3, 2, 1), same, inputs=IMAGES).differences
    assert found.text == "padding: 1 -> same (0 and 1)"
    even = IMAGES[..., :11, :11]  # where both are the same
    model = keras.Sequential([layers.Input((11, 11, 3)), layers.Conv2D(4, 3, 2, "same")])
    same = parity.wrap(model, input_layout="NHWC")
    assert parity.structure(nn.Conv2d(3, 4, 3, 2, 1), same, inputs=even).differences == ()


def test_tensorflows_layout_is_known_where_an_operation_does_not_name_it() -> None:
    tf = pytest.importorskip("tensorflow")
    kernel = tf.ones((3, 3, 3, 2))

    def depthwise(x: Any) -> Any:
        return tf.nn.relu(tf.nn.depthwise_conv2d(tf.tanh(x), kernel, (1, 1, 1, 1), "VALID"))

    model = nn.Sequential(nn.Tanh(), nn.Conv2d(3, 6, 3, groups=3, bias=False), nn.ReLU())
    reference = parity.wrap(model, input_layout="NCHW")
    candidate = parity.wrap(depthwise, framework="tensorflow", input_layout="NHWC")
    assert differences(reference, candidate) == ()


@pytest.mark.parametrize(("dilation", "texts"), [(1, []), (2, ["dilation: 1 -> 2"])])
def test_a_dilation_is_known_where_the_padding_is_not(dilation: int, texts: list[str]) -> None:
    class Torch(ByHand):
        conv = nn.Conv2d(6, 4, 3, bias=False)

        def forward(self, x: Any) -> Any:
            return torch.relu(self.conv(torch.cat([torch.tanh(x), x], 1)))

    x = layers.Input((12, 12, 3))
    joined = layers.Concatenate()([layers.Activation("tanh")(x), x])
    y = layers.Conv2D(4, 3, dilation_rate=dilation, activation="relu")(joined)
    candidate = parity.wrap(keras.Model(x, y), input_layout="NHWC")
    reference = parity.wrap(Torch(None), input_layout="NCHW")
    assert [one.text for one in differences(reference, candidate)] == texts


def test_the_report_has_it_where_there_is_no_parity() -> None:
    reference = plain(nn.ReLU())
    report = parity.compare(reference, plain(nn.Tanh()), inputs=FEATURES)
    (found,) = report.worst.structure
    assert found.text == "relu -> tanh"
    (data,) = report.to_dict()["comparisons"][0]["structure"]
    assert (data["kind"], data["step"], data["text"]) == ("other", "relu", "relu -> tanh")
    assert json.loads(json.dumps(data)) == data
    assert "relu -> tanh  1 | 1" in render(report)
    same = parity.compare(reference, reference, inputs=FEATURES)
    assert same.worst.structure == () and "structure" not in render(same)


def test_what_cannot_be_read_stays_loose(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = plain(nn.ELU()), plain(nn.Tanh())
    assert len(parity.structure(*pair, inputs=FEATURES).differences) == 1
    # no framework states a number in this form today
    monkeypatch.setitem(single_operations._READERS, "elu", lambda graph, op: float(op.kind))
    with pytest.warns(UserWarning, match="the structure of elu could not be read: ValueError"):
        report = parity.compare(*pair, inputs=FEATURES)
    assert report.verdict == "diverged" and report.worst.structure == ()


def test_what_differs_alike_in_many_places_is_reported_once() -> None:
    def deep(activation: Any) -> Any:
        parts = [part for _ in range(20) for part in (nn.Linear(6, 6), activation())]
        return nn.Sequential(*parts, nn.Linear(6, 2))

    report = parity.compare(deep(nn.Tanh), deep(nn.Sigmoid), inputs=FEATURES)
    assert len(report.worst.structure) == 20
    text = " ".join(render(report).split())
    assert "- tanh -> sigmoid, 20 times: at 1 | 1, 3 | 3, 5 | 5 and 17 more" in text
    assert text.count("tanh -> sigmoid") == 1


def test_a_long_list_is_cut_short_in_text() -> None:
    def deep(slope: float) -> Any:
        parts = [
            part
            for at in range(20)
            for part in (nn.Linear(6, 6), nn.LeakyReLU(slope + at / 100), nn.Tanh())
        ]
        return nn.Sequential(*parts, nn.Linear(6, 2))

    report = parity.compare(deep(0.1), deep(0.5), inputs=FEATURES)
    assert len(report.worst.structure) == 20
    text = render(report)
    assert text.count("leaky relu, ") == 15 and "- and 5 more" in text


def test_it_says_what_it_found() -> None:
    found = parity.structure(plain(nn.ReLU()), plain(), inputs=FEATURES)
    assert "1 structural difference\n- relu is missing after dense (1 | 0)" in str(found)
    same = parity.structure(plain(), plain(), inputs=FEATURES)
    assert "no structural difference is known" in str(same)
