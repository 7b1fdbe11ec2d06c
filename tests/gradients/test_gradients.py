"""`compare(..., gradients=True)`: the backward pass on the same tape, under the same verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parity
from parity.errors import InputError
from parity.frameworks import load
from parity.outputs.gradients import drawn
from parity.tape import Tape

torch = pytest.importorskip("torch")
tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")
pytest.importorskip("chainer")

from parity.frameworks.chainer_numpy import import_chainer  # noqa: E402

chainer = import_chainer()
F, L = chainer.functions, chainer.links

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((5, 4)).astype(np.float32)
W, B = RANDOM.standard_normal((4, 3)).astype("f"), RANDOM.standard_normal(3).astype("f")
V = RANDOM.standard_normal((3, 2)).astype("f")


class TorchNet(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 3), torch.nn.Linear(3, 2, bias=False)
        self.unread = torch.nn.Linear(2, 2)
        with torch.no_grad():
            self.first.weight.copy_(torch.from_numpy(W.T))
            self.first.bias.copy_(torch.from_numpy(B))
            self.second.weight.copy_(torch.from_numpy(V.T))

    def forward(self, x: Any) -> Any:
        h = torch.tanh(self.first(x))
        return self.second(h)


class KerasNet(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        constant = keras.initializers.Constant
        self.first = keras.layers.Dense(
            3, name="first", kernel_initializer=constant(W), bias_initializer=constant(B)
        )
        self.second = keras.layers.Dense(
            2, name="second", use_bias=False, kernel_initializer=constant(V)
        )

    def call(self, x: Any) -> Any:
        h = tf.tanh(self.first(x))
        return self.second(h)


class ChainerNet(chainer.Chain):
    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.first = L.Linear(4, 3, initialW=W.T, initial_bias=B)
            self.second = L.Linear(3, 2, nobias=True, initialW=V.T)

    def forward(self, x: Any) -> Any:
        h = F.tanh(self.first(x))
        return self.second(h)


NETS = {"torch": TorchNet, "tensorflow": KerasNet, "chainer": ChainerNet}
NAMES = {
    "torch": ("first.weight", "first.bias", "second.weight"),
    "tensorflow": ("first/kernel", "first/bias", "second/kernel"),
    "chainer": ("/first/W", "/first/b", "/second/W"),
}


def by_hand() -> dict[str, np.ndarray]:
    """The same gradients in float64, by the chain rule."""
    x, w, v = (one.astype(np.float64) for one in (X, W, V))
    cotangent = drawn("output", (5, 2)).astype(np.float64)
    h = np.tanh(x @ w + B)
    before = (cotangent @ v.T) * (1 - h * h)
    return {"input": before @ w.T, "w": x.T @ before, "b": before.sum(0), "v": h.T @ cotangent}


def recorded(net: Any) -> tuple[Tape, dict[str, np.ndarray]]:
    """Its tape, and what it gives without being recorded."""
    model = replace(parity.wrap(net), cotangents=drawn)
    framework = load(model.framework)
    tape = framework.record(model, X)
    return tape, framework.plain(model)(X)


@pytest.mark.parametrize("framework", NETS)
def test_gradients_are_outputs_on_the_tape(framework: str) -> None:
    tape, plain = recorded(NETS[framework]())
    expected = by_hand()
    w, b, v = (f"gradient of {_named(tape, name)}" for name in NAMES[framework])
    assert {w, b, v, "gradient of input 0"} <= tape.gradients
    replayed, exact = tape.outputs_of(), tape.outputs_of("float64")
    for name, key in ((w, "w"), (b, "b"), (v, "v"), ("gradient of input 0", "input")):
        value = expected[key]
        for found in (replayed[name], plain[name], exact[name]):
            found = found if found.shape == value.shape else found.T  # noqa: PLW2901
            np.testing.assert_allclose(found, value, rtol=1e-4, atol=1e-5)
        assert np.array_equal(replayed[name], plain[name])
        found = exact[name] if exact[name].shape == value.shape else exact[name].T
        np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-12)


def _named(tape: Tape, end: str) -> str:
    """The parameter whose name ends so: Keras puts the model's before it."""
    names = [value.name for value in tape.values if value.name.endswith(end)]
    return names[0]


@pytest.mark.parametrize("framework", NETS)
def test_each_step_back_has_the_line_of_what_it_differentiates(framework: str) -> None:
    tape, _ = recorded(NETS[framework]())
    forward = {op.site.source: op.site.code for op in tape.ops if not op.site.stage}
    assert any("tanh" in code for code in forward.values())
    back = [op for op in tape.ops if op.site.stage and op.site.frames]
    assert {op.site.source for op in back} == set(forward)
    assert all(op.site.stage == "backward" for op in back)
    assert any("tanh" in op.kind.lower() and "tanh" in op.site.code for op in back)
    product = next(op for op in back if op.site.layer.endswith("second"))
    assert "the backward pass of" in product.site.described


def test_what_is_not_reached_has_none() -> None:
    tape, plain = recorded(TorchNet())
    assert tape.other_outputs["gradient of unread.weight"] is None
    assert "gradient of unread.weight" not in plain


@pytest.mark.parametrize("framework", NETS)
def test_a_model_is_left_as_it_was(framework: str) -> None:
    net = NETS[framework]()
    before = {one.name: one.read().copy() for one in load(framework).tensors(net)}
    grads = [id(one.grad) for one in getattr(net, "params", getattr(net, "parameters", list))()]
    recorded(net)
    if framework != "tensorflow":
        params = list((net.params if framework == "chainer" else net.parameters)())
        assert [id(one.grad) for one in params] == grads
        assert all(one.requires_grad for one in params)
    after = {one.name: one.read() for one in load(framework).tensors(net)}
    assert all(np.array_equal(before[name], after[name]) for name in before if name in after)
    x = torch.from_numpy(X.copy())
    parity.compare(TorchNet(), net, inputs=x, gradients=True)
    assert not x.requires_grad


@pytest.mark.parametrize("reference", NETS)
@pytest.mark.parametrize("candidate", NETS)
def test_models_of_all_frameworks_agree(reference: str, candidate: str) -> None:
    report = parity.compare(NETS[reference](), NETS[candidate](), inputs=X, gradients=True)
    assert report.verdict == "parity", str(report)
    rows = {row.name: row for row in report.comparisons[0].outputs if row.is_gradient}
    assert len(rows) == 4  # of the input and three parameters
    assert all(row.reference_shape == row.candidate_shape for row in rows.values())
    assert "4 of 4 gradients agree" in str(report)
    assert report.comparisons[0].heads[0].trunks == ()  # a gradient is no head


def test_without_gradients_nothing_of_it_is_there() -> None:
    report = parity.compare(TorchNet(), KerasNet(), inputs=X)
    assert [row.name for row in report.comparisons[0].outputs] == ["output"]
    assert "gradients agree" not in str(report)
    assert not any(row.is_gradient for row in report.comparisons[0].outputs)


# --- faults ------------------------------------------------------------------------------------


class Detached(KerasNet):
    def call(self, x: Any) -> Any:
        h = tf.tanh(self.first(x))
        h = 0.25 * h + 0.75 * tf.stop_gradient(h)
        return self.second(h)


class Stopped(KerasNet):
    def call(self, x: Any) -> Any:
        h = tf.tanh(tf.stop_gradient(self.first(x)))
        return self.second(h)


@tf.custom_gradient
def crooked_tanh(x: Any) -> Any:
    y = tf.tanh(x)
    return y, lambda upstream: upstream * (1 - y)  # the square is missing


class ByHand(KerasNet):
    def call(self, x: Any) -> Any:
        h = crooked_tanh(self.first(x))
        return self.second(h)


class CrookedTanh(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: Any) -> Any:
        y = torch.tanh(x)
        context.save_for_backward(y)
        return y

    @staticmethod
    def backward(context: Any, upstream: Any) -> Any:
        (y,) = context.saved_tensors
        return upstream * (1 - y)


class ByHandInTorch(TorchNet):
    def forward(self, x: Any) -> Any:
        return self.second(CrookedTanh.apply(self.first(x)))


def test_a_gradient_that_is_stopped_altogether_is_one_finding() -> None:
    report = parity.compare(TorchNet(), Stopped(), inputs=X, gradients=True)
    assert report.verdict == "diverged"
    (found,) = report.divergences
    assert found.cause is not None and found.cause.kind == "gradient-missing"
    assert found.cause.confirmed
    assert found.reference.stage == "backward"
    assert parity.compare(TorchNet(), Stopped(), inputs=X).verdict == "parity"


def test_reports_say_that_it_is_the_backward_pass(tmp_path: Path) -> None:
    class Heads(TorchNet):
        def forward(self, x: Any) -> Any:
            h = torch.tanh(self.first(x))
            return {"one": self.second(h), "other": h}

    class Port(KerasNet):
        def call(self, x: Any) -> Any:
            h = tf.tanh(self.first(x))
            return {"one": self.second(tf.stop_gradient(h)), "other": h}

    report = parity.compare(Heads(), Port(), inputs=X, gradients=True)
    report.save_html(tmp_path / "page.html")
    text, page = str(report), (tmp_path / "page.html").read_text()
    assert "backward pass  second" in text
    assert "second (backward)" in text  # a row of the table of layers
    assert "heads: one parity, other parity\n" in text
    assert "second (backward pass)" in page and "heads: one parity, other parity<" in page
    data = report.to_dict()["comparisons"][0]
    assert data["divergences"][0]["reference"]["stage"] == "backward"
    assert [row["is_gradient"] for row in data["outputs"]] == [False, False, *[True] * 4]


def test_a_gradient_that_the_reference_alone_stops_does_not_pass() -> None:
    report = parity.compare(Stopped(), TorchNet(), inputs=X, gradients=True)
    assert report.verdict != "parity"
    assert any(
        "nothing leads back to it there" in reason for reason in report.comparisons[0].reasons
    )


def test_a_part_that_is_stopped_scales_the_gradient() -> None:
    report = parity.compare(TorchNet(), Detached(), inputs=X, gradients=True)
    (found,) = report.divergences
    assert found.cause is not None and found.cause.kind == "gradient-scale"
    assert found.cause.parameters["scale"] == (1.0, pytest.approx(0.25))
    assert "0.75 * tf.stop_gradient" in found.candidate.code


@pytest.mark.parametrize(
    ("candidate", "line"), [(ByHand, "1 - y)  # the square"), (ByHandInTorch, "upstream * (1 - y)")]
)
def test_a_derivative_by_hand_is_placed_at_its_own_line(candidate: Any, line: str) -> None:
    report = parity.compare(ChainerNet(), candidate(), inputs=X, gradients=True)
    assert report.verdict == "diverged"
    (found,) = report.divergences
    lines = [found.candidate, *found.candidate_region]
    assert any(line in site.code and site.stage == "backward" for site in lines)


def test_what_differs_in_the_forward_pass_is_found_there_alone() -> None:
    class Wrong(KerasNet):
        def call(self, x: Any) -> Any:
            h = tf.tanh(self.first(x))
            return self.second(h * 1.25)

    report = parity.compare(TorchNet(), Wrong(), inputs=X, gradients=True)
    (found,) = report.divergences
    assert not found.candidate.stage and "1.25" in found.candidate.code
    assert "its backward pass differs there too" in found.detail


@pytest.mark.parametrize("swapped", [False, True])
def test_a_row_of_padding_is_named(swapped: bool) -> None:
    reference = torch.nn.Embedding(6, 4, padding_idx=2)
    with torch.no_grad():
        reference.weight[2] = 0.5
    candidate = keras.Sequential(
        [keras.layers.Input((5,), dtype="int32"), keras.layers.Embedding(6, 4)]
    )
    ids = np.array([[0, 2, 3, 2, 5], [1, 4, 2, 0, 3]], np.int32)
    candidate.set_weights([reference.weight.detach().numpy()])
    models = (candidate, reference) if swapped else (reference, candidate)
    report = parity.compare(*models, inputs=ids, gradients=True)
    (found,) = report.divergences
    assert found.cause is not None and found.cause.confirmed
    assert found.cause.kind == ("gradient-missing" if swapped else "gradient-not-stopped")
    assert found.cause.summary.startswith("row 2 of the table")


def test_a_mask_has_no_gradient() -> None:
    """What is 0 or 1 throughout may enter in two ways that agree for no other number."""

    def reference(x: Any, mask: Any) -> Any:
        return torch.log_softmax(x.masked_fill(mask == 0, -1e9), -1) * mask

    def candidate(x: Any, mask: Any) -> Any:
        return tf.nn.log_softmax(x + (1 - mask) * -1e9) * mask

    mask = (RANDOM.random(X.shape) < 0.7).astype("f")
    mask[:, 0] = 1
    models = parity.wrap(reference, "torch"), parity.wrap(candidate, "tensorflow")
    report = parity.compare(*models, inputs=(X, mask), gradients=True)
    assert report.verdict == "parity", str(report)
    names = [row.name for row in report.comparisons[0].outputs if row.is_gradient]
    assert names == ["gradient of input 0"]


# --- parameters --------------------------------------------------------------------------------


def test_parameters_are_paired_as_weights_are() -> None:
    """Channels, a flattened map, and two biases that are one: each has its place."""
    torch.manual_seed(0)
    reference = torch.nn.Sequential(
        torch.nn.Conv2d(2, 3, 3), torch.nn.Tanh(), torch.nn.Flatten(), torch.nn.Linear(36, 5)
    )
    candidate = keras.Sequential(
        [
            keras.layers.Input((6, 5, 2)),
            keras.layers.Conv2D(3, 3, activation="tanh"),
            keras.layers.Flatten(),
            keras.layers.Dense(5),
        ]
    )
    images = RANDOM.standard_normal((4, 2, 6, 5)).astype("f")
    models = parity.wrap(reference), parity.wrap(candidate, input_layout="NHWC")
    assert parity.transfer(*models, inputs=images).verdict == "parity"
    report = parity.compare(*models, inputs=images, gradients=True)
    assert report.verdict == "parity", str(report)
    assert len(report.comparisons[0].outputs) == 6


def test_a_parameter_that_is_read_twice_has_the_sum_of_two() -> None:
    class Tied(torch.nn.Module):
        def __init__(self, layers: int) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(layers))

        def forward(self, x: Any) -> Any:
            for layer in (self.layers[0], self.layers[-1]):
                x = torch.tanh(layer(x))
            return x

    tied, apart = Tied(1), Tied(2)
    apart.layers[1].load_state_dict(apart.layers[0].state_dict())
    report = parity.compare(tied, apart, inputs=X, gradients=True)
    assert report.verdict == "parity", str(report)
    names = {row.name for row in report.comparisons[0].outputs}
    assert names == {
        "output", "gradient of input 0", "gradient of layers.0.weight", "gradient of layers.0.bias"
    }  # fmt: skip


def test_layers_that_are_alike_are_paired_by_what_they_hold() -> None:
    """Biases of zeros say nothing: they go with their kernels."""

    class Encoders(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.one, self.other = torch.nn.Linear(4, 3), torch.nn.Linear(4, 3)
            torch.nn.init.zeros_(self.one.bias)
            torch.nn.init.zeros_(self.other.bias)

        def forward(self, x: Any) -> Any:
            return torch.tanh(self.one(x)) * self.other(x).exp() + self.other(x)

    class Exchanged(Encoders):
        def forward(self, x: Any) -> Any:
            second, first = self.other(x), self.one(x)
            return second + torch.tanh(first) * second.exp()

    report = parity.compare(Encoders(), Exchanged(), inputs=X, gradients=True)
    assert report.verdict == "parity", str(report)
    assert len([row for row in report.comparisons[0].outputs if row.is_gradient]) == 5


def test_an_attention_in_one_matrix_and_by_heads() -> None:
    """No step pairs them: each number that was drawn is there once."""

    class InOne(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.keys = torch.nn.Linear(4, 6, bias=False)

        def forward(self, x: Any) -> Any:
            return torch.softmax(self.keys(x).reshape(-1, 2, 3), 1).sum(2)

    class ByHeads(torch.nn.Module):
        def __init__(self, whole: Any) -> None:
            super().__init__()
            self.keys = torch.nn.ModuleList(torch.nn.Linear(4, 3, bias=False) for _ in range(2))
            for head, rows in zip(self.keys, whole.split(3), strict=True):
                head.weight.data.copy_(rows)

        def forward(self, x: Any) -> Any:
            return torch.softmax(torch.stack([head(x) for head in self.keys], 1), 1).sum(2)

    one = InOne()
    models = one, ByHeads(one.keys.weight.detach())
    for reference, candidate in (models, models[::-1]):
        report = parity.compare(reference, candidate, inputs=X, gradients=True)
        assert report.verdict == "parity", str(report)


def test_what_one_model_does_not_train_is_said_so() -> None:
    candidate = KerasNet()
    candidate(X)
    candidate.first.trainable = False
    report = parity.compare(TorchNet(), candidate, inputs=X, gradients=True)
    assert report.verdict == "unverified"
    reasons = report.comparisons[0].reasons
    assert any("gradient of first.weight" in one and "not trained" in one for one in reasons)


def test_a_fused_lstm_is_differentiated_step_by_step() -> None:
    class Reader(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.lstm = torch.nn.LSTM(4, 3, batch_first=True)

        def forward(self, x: Any) -> Any:
            return self.lstm(x)[0]

    sequence = RANDOM.standard_normal((2, 6, 4)).astype("f")
    reader = Reader()
    tape = load("torch").record(replace(parity.wrap(reader), cotangents=drawn), sequence)
    assert not any("mkldnn_rnn" in op.kind for op in tape.ops)
    assert torch._C._get_mkldnn_enabled()
    exact = tape.outputs_of("float64")
    assert np.isfinite(exact["gradient of lstm.weight_hh_l0"]).all()


# --- what would prove nothing ------------------------------------------------------------------


def test_a_constant_input_proves_nothing_for_all_that_cotangents_are_drawn() -> None:
    report = parity.compare(TorchNet(), KerasNet(), inputs=np.ones_like(X), gradients=True)
    assert report.verdict == "unverified"
    assert "every input is constant" in report.comparisons[0].reasons[0]


def test_gradients_that_are_zero_throughout_prove_nothing() -> None:
    def in_torch(x: Any) -> Any:
        return torch.floor(3 * x) * 0.5

    def in_tensorflow(x: Any) -> Any:
        return tf.floor(3 * x) * 0.5

    models = parity.wrap(in_torch, "torch"), parity.wrap(in_tensorflow, "tensorflow")
    assert parity.compare(*models, inputs=X).verdict == "parity"
    report = parity.compare(*models, inputs=X, gradients=True)
    assert report.verdict == "unverified"
    assert any("the gradients hold too few" in one for one in report.comparisons[0].reasons)


# --- errors ------------------------------------------------------------------------------------


def test_numpy_code_has_no_gradients() -> None:
    numpy = parity.wrap(lambda x: np.tanh(x), framework="numpy", name="by_hand")
    with pytest.raises(InputError, match="by_hand is NumPy code, which has no gradients"):
        parity.compare(TorchNet(), numpy, inputs=X, gradients=True)


def test_outputs_of_two_shapes_cannot_be_weighted_alike() -> None:
    class Summed(KerasNet):
        def call(self, x: Any) -> Any:
            return tf.reduce_sum(super().call(x), 1)

    with pytest.raises(InputError, match=r"has shape \(5, 2\) in TorchNet and \(5,\) in Summed"):
        parity.compare(TorchNet(), Summed(), inputs=X, gradients=True)


def test_the_fixture_takes_it(assert_parity: Any) -> None:
    assert_parity(TorchNet(), KerasNet(), inputs=X, gradients=True)
    with pytest.raises(AssertionError, match="gradient-missing"):
        assert_parity(TorchNet(), Stopped(), inputs=X, gradients=True)
    with pytest.raises(AssertionError, match="gradients= goes with inputs="):
        assert_parity(TorchNet(), KerasNet(), observations=object(), gradients=True)
