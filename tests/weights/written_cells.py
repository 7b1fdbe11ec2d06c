"""Cells that are written out, one step at a time, as people write them in each framework.

Each takes `x, h` or `x, h, c` and returns a head's values and the new state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

from parity.frameworks.chainer_numpy import import_chainer

chainer = import_chainer()
F, L = chainer.functions, chainer.links
UNITS, ACTIONS = 8, 3


def variable(*shape: int) -> tf.Variable:
    seed = np.random.default_rng([len(shape), *shape])
    return tf.Variable(seed.normal(scale=0.3, size=shape).astype(np.float32))


class TorchCell(nn.Module):
    """A framework's own: what is written out is given its weights."""

    def __init__(self, kind: str, features: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.cell = getattr(nn, f"{kind}Cell")(features, UNITS)
        self.head = nn.Linear(UNITS, ACTIONS)

    def forward(self, x: Any, *state: Any) -> Any:
        new = self.cell(x, state if len(state) > 1 else state[0])
        new = new if isinstance(new, tuple) else (new,)
        return (self.head(new[0]), *new)


class KerasReset(keras.Model):
    """The GRU of the paper, which resets the state before it is multiplied."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.cell = keras.layers.GRUCell(UNITS, reset_after=False)
        self.head = keras.layers.Dense(ACTIONS)

    def call(self, x: Any, h: Any) -> Any:
        h, _ = self.cell(x, [h])
        return self.head(h), h


class _Head(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kernel, self.bias = variable(UNITS, ACTIONS), variable(ACTIONS)

    def head(self, h: Any) -> Any:
        return h @ self.kernel + self.bias


class SplitGRU(_Head):
    """All gates in one product of each."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.w, self.u = variable(features, 3 * UNITS), variable(UNITS, 3 * UNITS)
        self.b, self.c = variable(3 * UNITS), variable(3 * UNITS)

    def __call__(self, x: Any, h: Any) -> Any:
        r_x, z_x, n_x = tf.split(x @ self.w + self.b, 3, axis=1)
        r_h, z_h, n_h = tf.split(h @ self.u + self.c, 3, axis=1)
        z = tf.sigmoid(z_x + z_h)
        n = tf.tanh(n_x + tf.sigmoid(r_x + r_h) * n_h)
        h = (1 - z) * n + z * h
        return self.head(h), h


class WeighedGRU(SplitGRU):
    """The new state weighed against the old one in a way that is given."""

    def __init__(self, features: int, weigh: Callable[[Any, Any, Any], Any]) -> None:
        super().__init__(features)
        self.weigh = weigh

    def __call__(self, x: Any, h: Any) -> Any:
        r_x, z_x, n_x = tf.split(x @ self.w + self.b, 3, axis=1)
        r_h, z_h, n_h = tf.split(h @ self.u + self.c, 3, axis=1)
        n = tf.tanh(n_x + tf.sigmoid(r_x + r_h) * n_h)
        h = self.weigh(tf.sigmoid(z_x + z_h), n, h)
        return self.head(h), h


class GateByGate(_Head):
    """A product for each gate, and the new state as a step towards the old one."""

    def __init__(self, features: int) -> None:
        super().__init__()
        for gate in "rzn":
            setattr(self, f"w_{gate}", variable(features, UNITS))
            setattr(self, f"u_{gate}", variable(UNITS, UNITS))
            setattr(self, f"b_{gate}", variable(UNITS))
            setattr(self, f"c_{gate}", variable(UNITS))

    def __call__(self, x: Any, h: Any) -> Any:
        r = tf.sigmoid(x @ self.w_r + self.b_r + h @ self.u_r + self.c_r)
        z = tf.sigmoid(x @ self.w_z + self.b_z + h @ self.u_z + self.c_z)
        n = tf.tanh(x @ self.w_n + self.b_n + r * (h @ self.u_n + self.c_n))
        h = n + z * (h - n)
        return self.head(h), h


class LinearGRU(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.i2h, self.h2h = nn.Linear(features, 3 * UNITS), nn.Linear(UNITS, 3 * UNITS)
        self.out = nn.Linear(UNITS, ACTIONS)

    def forward(self, x: Any, h: Any) -> Any:
        source, target = self.i2h(x).chunk(3, 1), self.h2h(h).chunk(3, 1)
        r, z = (torch.sigmoid(source[n] + target[n]) for n in (0, 1))
        h = torch.lerp(torch.tanh(source[2] + r * target[2]), h, z)
        return self.out(h), h


class ResetBefore(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.x = nn.ModuleList([nn.Linear(features, UNITS) for _ in "rzn"])
        self.h = nn.ModuleList([nn.Linear(UNITS, UNITS, bias=False) for _ in "rzn"])
        self.out = nn.Linear(UNITS, ACTIONS)

    def forward(self, x: Any, h: Any) -> Any:
        r, z = (torch.sigmoid(self.x[n](x) + self.h[n](h)) for n in (0, 1))
        n = torch.tanh(self.x[2](x) + self.h[2](r * h))
        h = z * h + (1 - z) * n
        return self.out(h), h


class JoinedGRU(_Head):
    """TensorFlow 1's, over `[x, h]`."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.w, self.b = variable(features + UNITS, 2 * UNITS), variable(2 * UNITS)
        self.v, self.c = variable(features + UNITS, UNITS), variable(UNITS)

    def __call__(self, x: Any, h: Any) -> Any:
        r, z = tf.split(tf.sigmoid(tf.concat([x, h], 1) @ self.w + self.b), 2, axis=1)
        n = tf.tanh(tf.concat([x, r * h], 1) @ self.v + self.c)
        h = z * h + (1 - z) * n
        return self.head(h), h


class ChainerGRU(chainer.Chain):
    def __init__(self, features: int) -> None:
        super().__init__()
        with self.init_scope():
            self.r, self.z, self.n = (L.Linear(features + UNITS, UNITS) for _ in "rzn")
            self.out = L.Linear(UNITS, ACTIONS)

    def forward(self, x: Any, h: Any) -> Any:
        both = F.concat((x, h))
        n = F.tanh(self.n(F.concat((x, F.sigmoid(self.r(both)) * h))))
        h = F.linear_interpolate(F.sigmoid(self.z(both)), h, n)
        return self.out(h), h


class SplitLSTM(_Head):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.w, self.u = variable(features, 4 * UNITS), variable(UNITS, 4 * UNITS)
        self.b = variable(4 * UNITS)

    def __call__(self, x: Any, h: Any, c: Any) -> Any:
        i, f, g, o = tf.split(x @ self.w + h @ self.u + self.b, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        return self.head(h), h, c


class JoinedLSTM(_Head):
    """TensorFlow 1's, over `[x, h]`, its gates i, g, f, o."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.w, self.b = variable(features + UNITS, 4 * UNITS), variable(4 * UNITS)

    def __call__(self, x: Any, h: Any, c: Any) -> Any:
        i, g, f, o = tf.split(tf.concat([x, h], 1) @ self.w + self.b, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        return self.head(h), h, c


class ChainerLSTM(chainer.Chain):
    def __init__(self, features: int) -> None:
        super().__init__()
        with self.init_scope():
            self.x = L.Linear(features, 4 * UNITS)
            self.h = L.Linear(UNITS, 4 * UNITS, nobias=True)
            self.out = L.Linear(UNITS, ACTIONS)

    def forward(self, x: Any, h: Any, c: Any) -> Any:
        i, f, g, o = F.split_axis(self.x(x) + self.h(h), 4, 1)
        c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)
        h = F.sigmoid(o) * F.tanh(c)
        return self.out(h), h, c


class KerasLSTM(keras.Model):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.gates = [keras.layers.Dense(UNITS) for _ in "figo"]
        self.out = keras.layers.Dense(ACTIONS)

    def call(self, x: Any, h: Any, c: Any) -> Any:
        both = keras.ops.concatenate([x, h], axis=-1)
        f, i, g, o = (gate(both) for gate in self.gates)
        c = keras.ops.sigmoid(f) * c + keras.ops.sigmoid(i) * keras.ops.tanh(g)
        h = keras.ops.sigmoid(o) * keras.ops.tanh(c)
        return self.out(h), h, c


class PlainRNN(_Head):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.w, self.u = variable(features, UNITS), variable(UNITS, UNITS)
        self.b = variable(UNITS)

    def __call__(self, x: Any, h: Any) -> Any:
        h = tf.tanh(x @ self.w + h @ self.u + self.b)
        return self.head(h), h


class TorchStack(nn.Module):
    """An encoder as wide as the cells, and two of them."""

    def __init__(self, features: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.encoder = nn.Linear(features, UNITS)
        self.first, self.second = nn.LSTMCell(UNITS, UNITS), nn.LSTMCell(UNITS, UNITS)
        self.out = nn.Linear(UNITS, ACTIONS)

    def forward(self, x: Any, h: Any, c: Any) -> Any:
        one = self.first(torch.relu(self.encoder(x)), (h[0], c[0]))
        two = self.second(one[0], (h[1], c[1]))
        return (self.out(two[0]), *(torch.stack(both) for both in zip(one, two, strict=True)))


class WrittenStack(_Head):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.w, self.b = variable(features, UNITS), variable(UNITS)
        self.cells = [SplitLSTM(UNITS), JoinedLSTM(UNITS)]

    def __call__(self, x: Any, h: Any, c: Any) -> Any:
        value, new = tf.nn.relu(x @ self.w + self.b), []
        for n, cell in enumerate(self.cells):
            _, value, memory = cell(value, h[n], c[n])
            new.append((value, memory))
        return (self.head(value), *(tf.stack(both) for both in zip(*new, strict=True)))


class TorchLoop(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.rnn = nn.LSTM(features, UNITS, batch_first=True)
        self.out = nn.Linear(UNITS, ACTIONS)

    def forward(self, x: Any) -> Any:
        return self.out(self.rnn(x)[0])


class JoinedLoop(JoinedLSTM):
    """The same cell over a sequence."""

    def __call__(self, x: Any) -> Any:  # type: ignore[override]
        h = c = tf.zeros((x.shape[0], UNITS))
        shown = []
        for step in range(x.shape[1]):
            out, h, c = super().__call__(x[:, step], h, c)
            shown.append(out)
        return tf.stack(shown, axis=1)


class GatedSkip(nn.Module):
    """Gates over two sources that are no cell: nothing weighs the state against them."""

    def __init__(self, features: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(features, UNITS), nn.Linear(UNITS, UNITS, bias=False)
        self.c, self.d = nn.Linear(features, UNITS), nn.Linear(UNITS, UNITS, bias=False)

    def forward(self, x: Any, h: Any) -> Any:
        gate = torch.sigmoid(self.c(x) + self.d(h))
        return torch.tanh(self.a(x) + self.b(h)) * gate + h


class KerasGatedSkip(keras.Model):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.a, self.b = keras.layers.Dense(UNITS), keras.layers.Dense(UNITS, use_bias=False)
        self.c, self.d = keras.layers.Dense(UNITS), keras.layers.Dense(UNITS, use_bias=False)

    def call(self, x: Any, h: Any) -> Any:
        gate = keras.ops.sigmoid(self.c(x) + self.d(h))
        return keras.ops.tanh(self.a(x) + self.b(h)) * gate + h


class SharedByAgents(nn.Module):
    """One cell for several agents, each with a state of its own."""

    def __init__(self, features: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.cell, self.out = nn.GRUCell(features, UNITS), nn.Linear(UNITS, ACTIONS)

    def forward(self, observations: Any, states: Any) -> Any:
        new = [self.cell(x, h) for x, h in zip(observations, states, strict=True)]
        return [self.out(h) for h in new], new


class WrittenForAgents(SplitGRU):
    def __call__(self, observations: Any, states: Any) -> Any:
        cell = super().__call__
        both = [cell(x, h) for x, h in zip(observations, states, strict=True)]
        return [out for out, _ in both], [h for _, h in both]


class TorchPlanner(nn.Module):
    """A world model that plans: its first state is a tanh of an encoder, and a gate is a head."""

    def __init__(self, features: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.encoder, self.cell = nn.Linear(features, UNITS), nn.GRUCell(features, UNITS)
        self.goes_on, self.reward = nn.Linear(UNITS, 1), nn.Linear(UNITS, 1)

    def forward(self, x: Any, actions: Any) -> Any:
        z, gain, total = torch.tanh(self.encoder(x)), 1.0, 0.0
        for step in range(actions.shape[1]):
            z = self.cell(actions[:, step], z)
            total = total + gain * self.reward(z)
            gain = gain * torch.sigmoid(self.goes_on(z))
        return total, z


class WrittenPlanner(tf.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.w, self.b = variable(features, UNITS), variable(UNITS)
        self.cell = GateByGate(features)
        self.goes_on, self.reward = variable(UNITS, 1), variable(UNITS, 1)
        self.c, self.d = variable(1), variable(1)

    def __call__(self, x: Any, actions: Any) -> Any:
        z, gain, total = tf.tanh(x @ self.w + self.b), 1.0, 0.0
        for step in range(actions.shape[1]):
            _, z = self.cell(actions[:, step], z)
            total = total + gain * (z @ self.reward + self.d)
            gain = gain * tf.sigmoid(z @ self.goes_on + self.c)
        return total, z
