"""Several heads: each one's verdict, what they share, and models that keep something from call to
call. In torch, Keras and Chainer.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import parity

draw = np.random.default_rng(5)
SHAPES = {"trunk": (6, 7), "pi": (4, 6), "v": (1, 6)}
WEIGHTS = {name: draw.normal(size=shape).astype("f") / 2 for name, shape in SHAPES.items()}
FIRST, SECOND = (draw.normal(size=(5, 7)).astype("f") for _ in range(2))


def torch_net(shared: bool = True, scale: float = 1.0) -> Any:
    torch = pytest.importorskip("torch")

    def linear(name: str) -> Any:
        rows, columns = SHAPES[name]
        layer = torch.nn.Linear(columns, rows, bias=False)
        layer.weight.data = torch.tensor(WEIGHTS[name])
        return layer

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk, self.pi, self.v = map(linear, SHAPES)
            self.own = self.trunk if shared else linear("trunk")
            self.kept = None

        def forward(self, x: Any) -> Any:
            self.kept = torch.tanh(self.own(x))
            return self.pi(torch.tanh(self.trunk(x)))

        def value_function(self) -> Any:
            return scale * self.v(self.kept)[:, 0]

    return Net()


def keras_net(shared: bool = True, scale: float = 1.0) -> Any:
    keras = pytest.importorskip("keras")
    pytest.importorskip("tensorflow")

    def dense(name: str) -> Any:
        layer = keras.layers.Dense(len(WEIGHTS[name]), use_bias=False, name=name)
        layer.build((None, SHAPES[name][1]))
        layer.set_weights([WEIGHTS[name].T])
        return layer

    class Net(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.trunk, self.pi, self.v = map(dense, SHAPES)
            self.own = self.trunk if shared else dense("trunk")
            self.kept = None
            self.built = True

        def call(self, x: Any) -> Any:
            self.kept = keras.ops.tanh(self.own(x))
            return self.pi(keras.ops.tanh(self.trunk(x)))

        def value_function(self) -> Any:
            return scale * self.v(self.kept)[:, 0]

    return Net()


def chainer_net(shared: bool = True, scale: float = 1.0) -> Any:
    chainer = pytest.importorskip("parity.frameworks.chainer").chainer

    def linear(name: str) -> Any:
        rows, columns = SHAPES[name]
        return chainer.links.Linear(columns, rows, nobias=True, initialW=WEIGHTS[name])

    class Net(chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.trunk, self.pi, self.v = map(linear, SHAPES)
                self.own = self.trunk if shared else linear("trunk")
            self.kept = None

        def __call__(self, x: Any) -> Any:
            self.kept = chainer.functions.tanh(self.own(x))
            return self.pi(chainer.functions.tanh(self.trunk(x)))

        def value_function(self) -> Any:
            return scale * self.v(self.kept)[:, 0]

    return Net()


NETS = {"torch": torch_net, "keras": keras_net, "chainer": chainer_net}
each = pytest.mark.parametrize("build", NETS.values(), ids=NETS)


def called(net: Any) -> Any:
    return parity.calls(net, "__call__", "value_function")


# --- the report ----------------------------------------------------------------------------------


@each
def test_each_head_has_its_verdict_and_what_it_shares(build: Any) -> None:
    report = parity.compare(called(torch_net()), called(build(scale=1.2)), inputs=FIRST)
    logits, value = report.worst.outputs
    assert (logits.name, logits.verdict) == ("1/__call__", "parity")
    assert (value.name, value.verdict) == ("1/value_function", "diverged")
    for heads in report.worst.heads:
        shared, *alone = heads.trunks
        assert shared.outputs == ("1/__call__", "1/value_function")
        assert len(shared.tensors) == 1
        assert [len(trunk.tensors) for trunk in alone] == [1, 1]
        assert heads.equal == 0
    text = str(report)
    assert "heads: 1/__call__ parity, 1/value_function diverged" in text
    assert "1/__call__ and 1/value_function share 1 tensor of" in text
    assert "training will make them diverge" not in text


@each
def test_heads_that_share_nothing_are_distinguished_from_heads_that_do(build: Any) -> None:
    report = parity.compare(called(torch_net()), called(build(shared=False)), inputs=FIRST)
    assert report.verdict == "parity"
    reference, candidate = report.worst.heads
    assert len(reference.shared) == 1
    assert candidate.shared == ()
    assert candidate.equal == 1
    text = str(report)
    assert "the heads share no tensor; equal, not shared: 1 tensors" in text
    assert "one model shares what the other does not: training will make them diverge" in text
    data = report.to_dict()["comparisons"][0]
    assert data["heads"]["candidate"]["equal"] == 1
    assert [row["verdict"] for row in data["outputs"]] == ["parity", "parity"]


def test_of_a_numpy_function_it_is_not_said_what_it_shares() -> None:
    torch = pytest.importorskip("torch")
    kernels = {name: torch.nn.Parameter(torch.tensor(weight.T)) for name, weight in WEIGHTS.items()}

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk, self.pi, self.v = kernels.values()

        def forward(self, x: Any) -> Any:
            hidden = torch.tanh(x @ self.trunk)
            return hidden @ self.pi, hidden @ self.v

    def port(x: Any) -> Any:
        hidden = np.tanh(x @ WEIGHTS["trunk"].T)
        return hidden @ WEIGHTS["pi"].T, hidden @ WEIGHTS["v"].T

    report = parity.compare(Net(), parity.wrap(port, framework="numpy"), inputs=FIRST)
    assert report.verdict == "parity" and report.worst.heads[0].shared
    assert "training will make them diverge" not in str(report)


def test_one_output_has_no_heads() -> None:
    report = parity.compare(torch_net(), torch_net(), inputs=FIRST)
    assert report.worst.heads[0].trunks == ()
    assert "heads:" not in str(report)


# --- two models ----------------------------------------------------------------------------------


@each
def test_variables_are_shared_by_identity_or_equal(build: Any) -> None:
    first, second = build(), build()
    second.pi = first.pi
    found = parity.sharing(first, second)
    assert len(found.shared) == 1
    assert "pi" in found.shared[0][0]
    assert len(found.equal) == 2
    assert found.first_alone == ()
    assert "shared: 1 tensor by identity: " in str(found)
    assert "equal, not shared: 2 tensors: " in str(found)
    other = build(scale=2.0)
    other.pi = copy.deepcopy(first.pi)
    assert "shared: nothing" in str(parity.sharing(first, other))


def test_zeros_are_no_evidence_of_anything() -> None:
    torch = pytest.importorskip("torch")
    first, second = torch.nn.Linear(3, 4), torch.nn.Sequential(torch.nn.Linear(3, 4))
    for layer in (first, second[0]):
        torch.nn.init.zeros_(layer.bias)
    found = parity.sharing(first, second)
    assert found.equal == ()
    assert found.first_alone == ("weight", "bias")


# --- calls in a row ------------------------------------------------------------------------------


@each
def test_calls_in_a_row_agree_and_leave_the_model_as_it_was(build: Any) -> None:
    net = build()
    report = parity.compare(called(torch_net()), called(net), inputs=(FIRST, SECOND))
    assert report.verdict == "parity", str(report)
    assert [row.name for row in report.worst.outputs] == [
        "1/__call__",
        "1/value_function",
        "2/__call__",
        "2/value_function",
    ]
    assert net.kept is None


def value(model: Any) -> Any:
    return model.value_function()


def stale_value(model: Any) -> Any:
    """That of the first call, for ever."""
    if not hasattr(model, "first"):
        model.first = model.kept
    model.kept = model.first
    return model.value_function()


stale_value.__name__ = "value"


@each
def test_a_value_of_the_call_before_is_found(build: Any) -> None:
    right = parity.calls(torch_net(), "__call__", value)
    wrong = parity.calls(build(), "__call__", stale_value)
    report = parity.compare(right, wrong, inputs=(FIRST, SECOND))
    assert report.verdict == "diverged"
    verdicts = {row.name: row.verdict for row in report.worst.outputs}
    assert verdicts == {
        "1/__call__": "parity",
        "1/value": "parity",
        "2/__call__": "parity",
        "2/value": "diverged",
    }
    # called once nothing shows
    assert parity.compare(right, wrong, inputs=FIRST).verdict == "parity"


def test_a_recurrent_state_is_carried_or_is_not() -> None:
    chainer = pytest.importorskip("parity.frameworks.chainer").chainer
    cell = chainer.links.LSTM(7, 4)

    def step(model: Any, x: Any) -> Any:
        return model(x)

    def forgetful(model: Any, x: Any) -> Any:
        model.reset_state()
        return model(x)

    forgetful.__name__ = "step"
    report = parity.compare(
        parity.calls(cell, step), parity.calls(cell, forgetful), inputs=(FIRST, SECOND)
    )
    assert [row.verdict for row in report.worst.outputs] == ["parity", "diverged"]
    assert cell.h is None


def test_what_a_later_call_writes_to_is_reported_as_it_was() -> None:
    torch = pytest.importorskip("torch")

    def net() -> Any:
        return torch.nn.BatchNorm1d(7)

    def mean(model: Any) -> Any:
        return model.running_mean

    models = [parity.wrap(net(), mode="train") for _ in range(2)]
    report = parity.compare(
        *[parity.calls(model, "__call__", mean) for model in models], inputs=(FIRST, SECOND)
    )
    assert report.verdict == "parity", str(report)
    first, second = (report.worst.final_values[f"{number}/mean"] for number in (1, 2))
    assert np.allclose(first, 0.1 * FIRST.mean(0), atol=1e-6)
    assert not np.allclose(first, second, atol=1e-3)


def test_the_order_of_calls_is_the_users() -> None:
    with pytest.raises(parity.ParityError, match="raised TypeError"):
        parity.compare(
            called(torch_net()),
            parity.calls(torch_net(), "value_function", "__call__"),
            inputs=FIRST,
        )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: parity.calls(torch_net(), "branch"), "Net has no method 'branch'"),
        (lambda: parity.calls(torch_net(), 3), "a step is 3; give the name of a method"),
        (lambda: parity.calls(object()), "object is no model that parity knows"),
    ],
)
def test_what_does_not_fit_is_reported(call: Any, message: str) -> None:
    with pytest.raises(parity.ParityError, match=message):
        call()


def test_a_head_that_hides_a_difference_beside_one_has_it_all_the_same() -> None:
    """1 + q differs by next to nothing and was taken for the reference's; q shows it."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    weight = torch.randn(5, 4)

    def heads(x: Any, gain: float) -> tuple[Any, ...]:
        state = torch.tanh(x @ weight) * gain
        return state, (torch.sqrt(1 + 1e-4 * state.sum(1)) - 1) * 1e4, torch.tanh(x).sum(1)

    x = np.random.default_rng(0).standard_normal((6, 5)).astype("f")
    models = [lambda x, gain=gain: heads(x, gain) for gain in (1.0, 1.3)]
    report = parity.compare(*(parity.wrap(one, framework="torch") for one in models), inputs=x)
    assert [row.verdict for row in report.worst.outputs] == ["diverged", "diverged", "parity"]
