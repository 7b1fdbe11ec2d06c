"""Policies that act: a recurrence of one time step, in every framework's own ways to write it.

Each is `kind, calls with a state`: with one it takes and returns it, else it starts from zeros.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import torch
from torch import nn

from parity.frameworks.chainer_numpy import import_chainer

chainer = import_chainer()
F, L = chainer.functions, chainer.links
BATCH, FEATURES, HIDDEN, UNITS, ACTIONS = 5, 6, 7, 8, 3


class TorchLayer(nn.Module):
    """`rnn(h[:, None])`."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.trunk, self.head = nn.Linear(FEATURES, HIDDEN), nn.Linear(UNITS, ACTIONS)
        self.rnn = getattr(nn, kind)(HIDDEN, UNITS, batch_first=True)

    def forward(self, x: Any, *state: Any) -> Any:
        h = torch.tanh(self.trunk(x))[:, None]
        if not state:
            return self.head(self.rnn(h)[0][:, -1])
        whole = tuple(one[None] for one in state)
        _, new = self.rnn(h, whole if len(whole) > 1 else whole[0])
        new = [one[0] for one in (new if isinstance(new, tuple) else (new,))]
        return (self.head(new[0]), *new)


class TorchCell(TorchLayer):
    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.rnn = getattr(nn, f"{kind}Cell")(HIDDEN, UNITS)

    def forward(self, x: Any, *state: Any) -> Any:
        h = torch.tanh(self.trunk(x))
        new = self.rnn(h, *((state if len(state) > 1 else state[0],) if state else ()))
        new = new if isinstance(new, tuple) else (new,)
        return (self.head(new[0]), *new) if state else self.head(new[0])


class KerasLayer(keras.Model):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.trunk, self.head = keras.layers.Dense(HIDDEN), keras.layers.Dense(ACTIONS)
        self.rnn = getattr(keras.layers, kind.replace("RNN", "SimpleRNN"))(UNITS, return_state=True)

    def call(self, x: Any, h: Any = None, c: Any = None) -> Any:
        state = [one for one in (h, c) if one is not None]
        _, *new = self.rnn(keras.ops.tanh(self.trunk(x))[:, None], initial_state=state or None)
        return (self.head(new[0]), *new) if state else self.head(new[0])


class KerasCell(KerasLayer):
    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        kind = kind.replace("RNN", "SimpleRNN")
        self.rnn = getattr(keras.layers, f"{kind}Cell")(UNITS)

    def call(self, x: Any, h: Any = None, c: Any = None) -> Any:
        state = [one for one in (h, c) if one is not None]
        zeros = [keras.ops.zeros((BATCH, UNITS)) for _ in np.atleast_1d(self.rnn.state_size)]
        _, new = self.rnn(keras.ops.tanh(self.trunk(x)), state or zeros)
        return (self.head(new[0]), *new) if state else self.head(new[0])


class ChainerSteps(chainer.Chain):
    """`NStepLSTM` and its kin, over sequences of one."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        with self.init_scope():
            self.trunk, self.head = L.Linear(FEATURES, HIDDEN), L.Linear(UNITS, ACTIONS)
            cell = getattr(L, f"NStep{kind.replace('RNN', 'RNNTanh')}")
            self.rnn = cell(1, HIDDEN, UNITS, 0.0)

    def forward(self, x: Any, *state: Any) -> Any:
        rows = list(F.split_axis(F.tanh(self.trunk(x)), BATCH, 0))
        given = [one[None] for one in state] or [None] * (1 + isinstance(self.rnn, L.NStepLSTM))
        *new, _ = self.rnn(*given, rows)
        new = [one[0] for one in new]
        return (self.head(new[0]), *new) if state else self.head(new[0])


class ChainerLSTM(chainer.Chain):
    def __init__(self, kind: str) -> None:
        super().__init__()
        with self.init_scope():
            self.trunk, self.head = L.Linear(FEATURES, HIDDEN), L.Linear(UNITS, ACTIONS)
            self.rnn = self.cell(kind)

    def cell(self, kind: str) -> Any:
        return L.StatelessLSTM(HIDDEN, UNITS)

    def forward(self, x: Any, *state: Any) -> Any:
        h, c = state or (None, None)
        c, h = self.rnn(c, h, F.tanh(self.trunk(x)))
        return (self.head(h), h, c) if state else self.head(h)


class ChainerStateful(ChainerLSTM):
    """It starts anew at each call."""

    def cell(self, kind: str) -> Any:
        return getattr(L, kind)(HIDDEN, UNITS)

    def forward(self, x: Any, *state: Any) -> Any:
        self.rnn.reset_state()
        return self.head(self.rnn(F.tanh(self.trunk(x))))


def inputs_of(kind: str, with_state: bool) -> tuple[Any, ...]:
    draw = np.random.default_rng(0)
    x = draw.standard_normal((BATCH, FEATURES)).astype("f")
    count = (2 if kind == "LSTM" else 1) if with_state else 0
    return (x, *(draw.standard_normal((BATCH, UNITS)).astype("f") / 2 for _ in range(count)))


def with_weights(model: Any) -> Any:
    draw = np.random.default_rng(3)
    for one in model.parameters():
        one.data = torch.from_numpy(draw.normal(size=one.shape).astype("f") * 0.4)
    return model
