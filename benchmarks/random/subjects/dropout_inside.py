"""Dropout inside recurrent layers and attention, in train mode."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from torch import nn

from ..ops import F
from ..subject import SUBJECTS, Subject, weights
from .dropout import rate_of


def _recurrent_weights(random):
    return (weights(random, 4, 20), weights(random, 5, 20), weights(random, 20))


def recurrent_keras(random, batch, fault):
    """An LSTM with dropout on its inputs and states."""
    more = {} if fault == "no-inputs" else {"dropout": rate_of(fault)}
    if fault != "no-states":
        more["recurrent_dropout"] = 0.2
    layer = keras.layers.LSTM(5, **more)
    layer.build((None, 6, 4))
    layer.set_weights(list(_recurrent_weights(random)))

    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def call(self, x, training=None):
            return self.layer(x, training=training)  # here

    return Net()


def recurrent_torch(random, batch, fault):
    """The same step by step: a mask for each gate, of the inputs and of the states."""
    w, u, b = (torch.from_numpy(one).chunk(4, -1) for one in _recurrent_weights(random))

    def run(x):
        h = c = torch.zeros(len(x), 5)
        a, d = [torch.ones(len(x), 4)] * 4, [torch.ones(len(x), 5)] * 4
        if fault != "no-inputs":
            a = [nn.functional.dropout(one, rate_of(fault)) for one in a]  # here
        if fault != "no-states":
            d = [nn.functional.dropout(one, 0.2) for one in d]  # here
        for step in range(6):
            gates = [
                (x[:, step] * a[k]) @ w[k] + (h * d[k]) @ u[k] + b[k]  # here
                for k in range(4)
            ]
            c = torch.sigmoid(gates[1]) * c + torch.sigmoid(gates[0]) * torch.tanh(gates[2])
            h = torch.sigmoid(gates[3]) * torch.tanh(c)
        return h

    return run


def recurrent_tensorflow(random, batch, fault):
    w, u, b = (np.split(one, 4, -1) for one in _recurrent_weights(random))

    def run(x):
        h = c = tf.zeros((x.shape[0], 5))
        a, d = [tf.ones((x.shape[0], 4))] * 4, [tf.ones((x.shape[0], 5))] * 4
        if fault != "no-inputs":
            a = [tf.nn.dropout(one, rate_of(fault)) for one in a]  # here
        if fault != "no-states":
            d = [tf.nn.dropout(one, 0.2) for one in d]  # here
        for step in range(6):
            gates = [
                (x[:, step] * a[k]) @ w[k] + (h * d[k]) @ u[k] + b[k]  # here
                for k in range(4)
            ]
            c = tf.sigmoid(gates[1]) * c + tf.sigmoid(gates[0]) * tf.tanh(gates[2])
            h = tf.sigmoid(gates[3]) * tf.tanh(c)
        return h

    return run


SUBJECTS.append(
    Subject(
        "recurrent dropout",
        {"keras": recurrent_keras, "torch": recurrent_torch, "tensorflow": recurrent_tensorflow},
        [("keras", "torch"), ("torch", "keras"), ("torch", "tensorflow"), ("keras", "tensorflow")],
        ["rate", "no-inputs", "no-states"],
        (6, 4),
    )
)


def _projections(random):
    return [weights(random, 8, 8) for _ in range(3)]


def attention_torch(random, batch, fault):
    """Dropout of the attention's weights, in torch's one function."""
    q, k, v = (torch.from_numpy(one) for one in _projections(random))

    def run(x):
        if fault == "values":
            values = nn.functional.dropout(x @ v, 0.3)  # here
            return nn.functional.scaled_dot_product_attention(x @ q, x @ k, values)  # here
        return nn.functional.scaled_dot_product_attention(  # here
            x @ q,
            x @ k,
            x @ v,
            dropout_p=0.0 if fault == "off" else rate_of(fault),  # here
        )  # here

    return run


def attention_tensorflow(random, batch, fault):
    q, k, v = _projections(random)

    def run(x):
        values = x @ v
        shares = tf.nn.softmax(tf.matmul(x @ q, x @ k, transpose_b=True) / 8**0.5)
        if fault == "values":
            values = tf.nn.dropout(values, 0.3)  # here
        elif fault != "off":
            shares = tf.nn.dropout(shares, rate_of(fault))  # here
        return shares @ values  # here

    return run


def attention_chainer(random, batch, fault):
    q, k, v = _projections(random)

    def run(x):
        def times(w):
            return F.matmul(x, np.broadcast_to(w, (len(x), 8, 8)))

        values = times(v)
        shares = F.softmax(F.matmul(times(q), times(k), transb=True) / 8**0.5, axis=2)
        if fault == "values":
            values = F.dropout(values, 0.3)  # here
        elif fault != "off":
            shares = F.dropout(shares, rate_of(fault))  # here
        return F.matmul(shares, values)  # here

    return run


SUBJECTS.append(
    Subject(
        "attention dropout",
        {
            "torch": attention_torch,
            "tensorflow": attention_tensorflow,
            "chainer": attention_chainer,
        },
        [("torch", "tensorflow"), ("tensorflow", "torch"), ("torch", "chainer")],
        ["rate", "values", "off"],
        (5, 8),
    )
)
