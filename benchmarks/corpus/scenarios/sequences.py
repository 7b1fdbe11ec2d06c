"""LSTM and attention layers of the frameworks, against the same written out: always parity."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
import torch
from keras import layers
from torch import nn
from torch.nn import functional as torch_f

from .decompositions import normal
from .pair import Side, chainer

F, L = chainer.functions, chainer.links
BATCH, STEPS, FEATURES, UNITS = 3, 7, 4, 5
WIDTH, HEADS = 12, 3
DEPTH = WIDTH // HEADS


def lstm(rng):
    """Hidden states of all steps; gates in the order input, forget, cell, output."""
    into, own = (
        normal(rng, 4 * UNITS, FEATURES, scale=0.6),
        normal(rng, 4 * UNITS, UNITS, scale=0.6),
    )
    bias_in, bias_own = normal(rng, 4 * UNITS), normal(rng, 4 * UNITS)
    bias = bias_in + bias_own

    torch_lstm = nn.LSTM(FEATURES, UNITS, batch_first=True)
    arrays = dict(weight_ih_l0=into, weight_hh_l0=own, bias_ih_l0=bias_in, bias_hh_l0=bias_own)
    torch_lstm.load_state_dict({name: torch.from_numpy(a) for name, a in arrays.items()})

    class TorchStates(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = torch_lstm

        def forward(self, x):
            return self.lstm(x)[0]

    keras_lstm = keras.Sequential(
        [layers.Input((STEPS, FEATURES)), layers.LSTM(UNITS, return_sequences=True)]
    )
    keras_lstm.set_weights([into.T, own.T, bias])

    class ChainerStates(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.lstm = L.NStepLSTM(1, FEATURES, UNITS, 0.0)
            cell = dict(self.lstm[0].namedparams())
            # Links 0 to 3 act on the input, 4 to 7 on the state; the order is i, f, cell, o.
            for first, kernel, bias in ((0, into, bias_in), (4, own, bias_own)):
                for gate in range(4):
                    rows = slice(gate * UNITS, (gate + 1) * UNITS)
                    cell[f"/w{first + gate}"].array[...] = kernel[rows]
                    cell[f"/b{first + gate}"].array[...] = bias[rows]

        def forward(self, x):
            _, _, states = self.lstm(None, None, list(F.separate(x)))
            return F.stack(states)

    into_t, own_t, bias_t = map(torch.from_numpy, (into, own, bias))

    def torch_unrolled(x):
        h = c = x.new_zeros(len(x), UNITS)
        states = []
        for step in x.unbind(1):
            i, f, g, o = (step @ into_t.T + h @ own_t.T + bias_t).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            states.append(h)
        return torch.stack(states, 1)

    def tensorflow_unrolled(x):
        h = c = tf.zeros((len(x), UNITS))
        states = []
        for step in tf.unstack(x, axis=1):
            i, f, g, o = tf.split(step @ into.T + h @ own.T + bias, 4, 1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(c)
            states.append(h)
        return tf.stack(states, 1)

    def chainer_unrolled(x):
        h = c = chainer.Variable(np.zeros((len(x), UNITS), np.float32))
        states = []
        for step in F.separate(x, axis=1):
            i, f, g, o = F.split_axis(F.linear(step, into) + F.linear(h, own, bias), 4, 1)
            c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)
            h = F.sigmoid(o) * F.tanh(c)
            states.append(h)
        return F.stack(states, axis=1)

    fused = [
        Side("torch", TorchStates()),
        Side("keras", keras_lstm),
        Side("chainer", ChainerStates()),
    ]
    by_hand = [
        Side("tensorflow", tensorflow_unrolled),
        Side("chainer", chainer_unrolled),
        Side("torch", torch_unrolled),
    ]
    return fused, by_hand, (normal(rng, BATCH, STEPS, FEATURES),)


def attention(rng):
    """Self-attention with several heads; kernels (out, in) of query, key, value and output."""
    kernels = [normal(rng, WIDTH, WIDTH, scale=0.4) for _ in range(4)]
    biases = [normal(rng, WIDTH, scale=0.4) for _ in range(4)]
    kernels_t, biases_t = ([torch.from_numpy(a) for a in arrays] for arrays in (kernels, biases))

    class TorchAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
            state = {
                "in_proj_weight": torch.cat(kernels_t[:3]),
                "in_proj_bias": torch.cat(biases_t[:3]),
                "out_proj.weight": kernels_t[3],
                "out_proj.bias": biases_t[3],
            }
            self.attention.load_state_dict(state)

        def forward(self, x):
            return self.attention(x, x, x, need_weights=False)[0]

    inputs = layers.Input((STEPS, WIDTH))
    keras_attention = keras.Model(inputs, layers.MultiHeadAttention(HEADS, DEPTH)(inputs, inputs))
    shaped = []
    for kernel, bias in zip(kernels[:3], biases[:3], strict=True):
        shaped += [kernel.T.reshape(WIDTH, HEADS, DEPTH), bias.reshape(HEADS, DEPTH)]
    keras_attention.set_weights([*shaped, kernels[3].T.reshape(HEADS, DEPTH, WIDTH), biases[3]])

    def torch_heads(x):
        return [
            torch_f.linear(x, kernels_t[i], biases_t[i])
            .unflatten(2, (HEADS, DEPTH))
            .transpose(1, 2)
            for i in range(3)
        ]

    def torch_scaled_dot_product(x):
        joined = torch_f.scaled_dot_product_attention(*torch_heads(x)).transpose(1, 2).flatten(2)
        return torch_f.linear(joined, kernels_t[3], biases_t[3])

    def torch_by_hand(x):
        query, key, value = torch_heads(x)
        scores = query @ key.transpose(2, 3) / DEPTH**0.5
        joined = (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)
        return torch_f.linear(joined, kernels_t[3], biases_t[3])

    def tensorflow_by_hand(x):
        query, key, value = (
            tf.reshape(x @ kernels[i].T + biases[i], (-1, STEPS, HEADS, DEPTH)) for i in range(3)
        )
        scores = tf.einsum("bqhd,bkhd->bhqk", query, key) / DEPTH**0.5
        joined = tf.einsum("bhqk,bkhd->bqhd", tf.nn.softmax(scores), value)
        return tf.reshape(joined, (-1, STEPS, WIDTH)) @ kernels[3].T + biases[3]

    def chainer_by_hand(x):
        def dense(x, i):
            return F.linear(x, kernels[i], biases[i], n_batch_axes=2)

        query, key, value = (
            F.transpose(F.reshape(dense(x, i), (-1, STEPS, HEADS, DEPTH)), (0, 2, 1, 3))
            for i in range(3)
        )
        scores = F.matmul(query, key, transb=True) / DEPTH**0.5
        joined = F.transpose(F.matmul(F.softmax(scores, axis=3), value), (0, 2, 1, 3))
        return dense(F.reshape(joined, (-1, STEPS, WIDTH)), 3)

    fused = [
        Side("torch", TorchAttention().eval()),
        Side("torch", torch_scaled_dot_product),
        Side("keras", keras_attention),
    ]
    by_hand = [
        Side("tensorflow", tensorflow_by_hand),
        Side("chainer", chainer_by_hand),
        Side("torch", torch_by_hand),
    ]
    return fused, by_hand, (normal(rng, BATCH, STEPS, WIDTH),)
