"""A recurrent layer's state: with an axis of its layers in torch and Chainer, without in Keras."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parity
from parity.errors import ModelError
from parity.frameworks.chainer_numpy import import_chainer
from parity.result import Comparison

torch = pytest.importorskip("torch")
keras = pytest.importorskip("keras")
chainer = import_chainer()

random = np.random.default_rng(4)
X = random.standard_normal((4, 6, 3)).astype("f")
H = random.standard_normal((4, 5)).astype("f")
KERNEL, RECURRENT = (random.standard_normal((size, 5)).astype("f") for size in (3, 5))
NO_BIAS = np.zeros(5, "f")


def plain(y: Any, h: Any) -> Any:
    return y, h


class InTorch(torch.nn.Module):
    def __init__(self, give: Any = plain) -> None:
        super().__init__()
        self.give, self.rnn = give, torch.nn.RNN(3, 5, batch_first=True)
        for name, values in (("ih", KERNEL.T), ("hh", RECURRENT.T)):
            getattr(self.rnn, f"weight_{name}_l0").data = torch.tensor(values)
            getattr(self.rnn, f"bias_{name}_l0").data = torch.tensor(NO_BIAS)

    def forward(self, x: Any, state: Any = None) -> Any:
        return self.give(*self.rnn(x, state))


class InChainer(chainer.Chain):
    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.rnn = chainer.links.NStepRNNTanh(1, 3, 5, 0.0)
        (layer,) = self.rnn
        layer.w0.array[...], layer.w1.array[...] = KERNEL.T, RECURRENT.T
        layer.b0.array[...] = layer.b1.array[...] = NO_BIAS

    def forward(self, x: Any) -> Any:
        h, ys = self.rnn(None, [x[at] for at in range(len(x))])
        return chainer.functions.stack(ys), h


class InKeras(keras.Model):
    def __init__(self, give: Any = plain) -> None:
        super().__init__()
        self.give = give
        constant = keras.initializers.Constant
        self.rnn = keras.layers.SimpleRNN(
            5,
            kernel_initializer=constant(KERNEL),
            recurrent_initializer=constant(RECURRENT),
            return_sequences=True,
            return_state=True,
        )

    def call(self, x: Any, state: Any = None) -> Any:
        return self.give(*self.rnn(x, initial_state=state))


def compared(reference: Any, candidate: Any, inputs: Any = X) -> Comparison:
    return parity.compare(reference, candidate, inputs=inputs).comparisons[0]


@pytest.mark.parametrize("kind", [InTorch, InChainer])
def test_the_axis_of_a_layers_layers_is_no_difference(kind: Any) -> None:
    for pair in ((kind(), InKeras()), (InKeras(), kind())):
        found = compared(*pair)
        assert found.verdict == "parity"
        assert "the first axis is the recurrent layer's own" in found.caveats[0]


def test_a_list_of_a_state_and_its_axis_go_together() -> None:
    found = compared(InTorch(), InKeras(lambda y, h: {"y": y, "state": [h]}))
    assert found.verdict == "parity"


def test_another_state_is_found() -> None:
    found = compared(InTorch(lambda y, h: (y, h)), InKeras(lambda y, h: (y, y[:, 0])))
    assert found.verdict == "diverged"


@pytest.mark.parametrize(
    "give",
    [
        lambda y, h: (y, h[0][None]),
        lambda y, h: (y, y[:, -1][None]),
        lambda y, h: (y, h.transpose(0, 1)),
        lambda y, h: (y, h * 1.0),
    ],
    ids=["taken off and made", "made of a step", "in another place", "of another operation"],
)
def test_an_axis_that_the_user_made_is_a_difference(give: Any) -> None:
    assert compared(InTorch(give), InKeras()).verdict == "diverged"


def test_a_sequence_of_one_step_is_no_state() -> None:
    class Steps(InTorch):
        def __init__(self) -> None:
            super().__init__()
            self.rnn.batch_first = False

        def forward(self, x: Any) -> Any:
            y, h = self.rnn(x[None])
            return y, h

    def one_step(y: Any, h: Any) -> Any:
        return y[:, 0], h

    class Step(InKeras):
        def call(self, x: Any) -> Any:
            return super().call(x[:, None])

    found = compared(Steps(), Step(one_step), X[:, 0])
    assert found.verdict == "diverged" and "'0'" in found.reasons[0]


def test_each_model_may_have_a_state_of_its_own() -> None:
    own = parity.wrap(InKeras(), inputs=(X, H))
    assert compared(InTorch(), own, (X, H[None])).verdict == "parity"


class LstmInTorch(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = torch.nn.LSTM(3, 5, batch_first=True)

    def forward(self, x: Any, h: Any, c: Any) -> Any:
        return self.rnn(x, (h, c))


class LstmInKeras(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = keras.layers.LSTM(5, return_sequences=True, return_state=True)

    def call(self, x: Any, h: Any, c: Any) -> Any:
        y, h, c = self.rnn(x, initial_state=[h, c])
        return y, h, c


@pytest.mark.parametrize(
    ("models", "state", "message"),
    [
        ((LstmInTorch, LstmInKeras), H[None], "states with no first axis"),
        ((LstmInKeras, LstmInTorch), H, "states with a first axis of length 1"),
    ],
    ids=["to Keras", "to torch"],
)
def test_a_state_that_does_not_fit_says_what_to_write(
    models: Any, state: Any, message: str
) -> None:
    with pytest.raises(ModelError, match=message) as error:
        parity.compare(*(kind() for kind in models), inputs=(X, state, state))
    assert "parity.wrap(model, inputs=...)" in str(error.value)


def test_weights_move_with_the_states_compared() -> None:
    target = parity.wrap(LstmInKeras(), inputs=(X, H, -H))
    found = parity.transfer(LstmInTorch(), target, inputs=(X, H[None], -H[None]))
    assert (found.verdict, found.written) == ("parity", True)
