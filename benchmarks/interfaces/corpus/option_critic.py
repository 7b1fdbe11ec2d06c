"""An option-critic.

Interface: a dataclass observation, integer options, a boolean mask, an optional temperature; a
NamedTuple out, with an integer of NumPy on one side. Weights are picked by the option.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import chainer
import chainer.functions as CF
import chainer.links as L
import numpy as np
import tensorflow as tf
import torch
from torch import nn

from benchmarks.interfaces.weights import drawn


@dataclass
class ArmObs:
    joints: Any
    target: Any


class OptionOut(NamedTuple):
    q_omega: Any
    beta: Any
    action_probs: Any
    next_option: Any


class TorchOC(nn.Module):
    def __init__(self, n_opt=4, n_act=5):
        super().__init__()
        self.n_opt, self.n_act = n_opt, n_act
        self.body = nn.Linear(7 + 3, 24)
        self.body2 = nn.Linear(24, 24)
        self.q = nn.Linear(24, n_opt)
        self.term = nn.Linear(24, n_opt)
        self.pi_w = nn.Parameter(torch.randn(n_opt, 24, n_act) * 0.3)
        self.pi_b = nn.Parameter(torch.randn(n_opt, n_act) * 0.3)

    def forward(self, obs, option, avail, temperature=1.0):
        x = torch.cat([obs.joints, obs.target], -1)
        x = torch.relu(self.body2(torch.relu(self.body(x))))
        q = self.q(x)
        beta = torch.sigmoid(self.term(x)).gather(1, option[:, None])[:, 0]
        w, b = self.pi_w[option], self.pi_b[option]
        logits = torch.einsum("bi,bia->ba", x, w) + b
        probs = torch.softmax(logits / temperature, -1)
        masked = q.masked_fill(~avail, float("-inf"))
        nxt = torch.where(beta > 0.5, masked.argmax(-1), option)
        return OptionOut(q, beta, probs, nxt)


class TFOC(tf.Module):
    def __init__(self, n_opt=4, n_act=5):
        super().__init__()

        def dense(i, o):
            return tf.Variable(tf.random.normal((i, o)) * 0.3), tf.Variable(
                tf.random.normal((o,)) * 0.3
            )

        self.q = dense(24, n_opt)
        self.t = dense(24, n_opt)
        self.l1 = dense(10, 24)
        self.l2 = dense(24, 24)
        self.pi_w = tf.Variable(tf.random.normal((n_opt, 24, n_act)) * 0.3)
        self.pi_b = tf.Variable(tf.random.normal((n_opt, n_act)) * 0.3)

    def __call__(self, obs, option, avail, temperature=1.0):
        x = tf.concat([obs.joints, obs.target], -1)
        x = tf.nn.relu(x @ self.l1[0] + self.l1[1])
        x = tf.nn.relu(x @ self.l2[0] + self.l2[1])
        q = tf.matmul(x, self.q[0]) + self.q[1]
        t = tf.sigmoid(tf.matmul(x, self.t[0]) + self.t[1])
        beta = tf.gather(t, option, axis=1, batch_dims=1)
        w = tf.gather(self.pi_w, option)
        b = tf.gather(self.pi_b, option)
        logits = tf.squeeze(tf.matmul(x[:, None], w), 1) + b
        probs = tf.nn.softmax(logits / temperature)
        masked = tf.where(avail, q, -np.inf)
        nxt = tf.where(beta > 0.5, tf.argmax(masked, -1, output_type=option.dtype), option)
        return OptionOut(q, beta, probs, nxt)


class ChainerOC(chainer.Chain):
    def __init__(self, n_opt=4, n_act=5):
        super().__init__()
        self.n_opt, self.n_act = n_opt, n_act
        with self.init_scope():
            self.l1 = L.Linear(None, 24)
            self.l2 = L.Linear(24, 24)
            self.beta = L.Linear(24, n_opt)
            self.q = L.Linear(24, n_opt)
            self.pi_w = chainer.Parameter(chainer.initializers.Normal(0.3), (n_opt, 24, n_act))
            self.pi_b = chainer.Parameter(chainer.initializers.Normal(0.3), (n_opt, n_act))

    def forward(self, obs, option, avail, temperature=1.0):
        h = CF.concat((obs.joints, obs.target), axis=1)
        h = CF.relu(self.l2(CF.relu(self.l1(h))))
        q = self.q(h)
        beta = CF.select_item(CF.sigmoid(self.beta(h)), option)
        w = CF.get_item(self.pi_w, option)
        b = CF.get_item(self.pi_b, option)
        logits = CF.matmul(h[:, None, :], w)[:, 0] + b
        probs = CF.softmax(logits / temperature, axis=1)
        masked = self.xp.where(avail, q.array, -np.inf)
        nxt = self.xp.where(beta.array > 0.5, masked.argmax(axis=1), option)
        return OptionOut(q, beta, probs, nxt)


def inputs():
    r = np.random.default_rng(5)
    f = lambda *s: r.normal(size=s).astype("float32")
    m = r.random((12, 4)) < 0.6
    m[:, 1] = True
    return (ArmObs(f(12, 7), f(12, 3)), r.integers(0, 4, size=12), m)


def chainer_side():
    model = ChainerOC()
    model(*inputs())
    return drawn(model)


SIDES = {
    "torch": lambda: drawn(TorchOC()),
    "tensorflow": lambda: drawn(TFOC()),
    "chainer": chainer_side,
}
