"""AlphaZero's network of two heads over a board.

Interface: a NamedTuple position with integers and a boolean mask; a dataclass, a dict and a tuple
out. Batch norms are all through it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import chainer
import chainer.functions as CF
import chainer.links as L
import keras
import numpy as np
import torch
import torch.nn.functional as TF
from keras import layers, ops
from torch import nn

from benchmarks.interfaces.weights import drawn


class Position(NamedTuple):
    board: np.ndarray  # (B, 3, 6, 6)
    legal: np.ndarray  # (B, 37) bool
    to_play: np.ndarray  # (B,) int


@dataclass
class PolicyValue:
    policy: object
    value: object


class TRes(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.c1 = nn.Conv2d(ch, ch, 3, padding=1, bias=False)
        self.b1 = nn.BatchNorm2d(ch)
        self.c2 = nn.Conv2d(ch, ch, 3, padding=1, bias=False)
        self.b2 = nn.BatchNorm2d(ch)

    def forward(self, x):
        y = TF.relu(self.b1(self.c1(x)))
        return TF.relu(x + self.b2(self.c2(y)))


class TorchAZ(nn.Module):
    def __init__(self, ch=12, blocks=2):
        super().__init__()
        self.player = nn.Embedding(2, ch)
        self.stem = nn.Conv2d(3, ch, 3, padding=1)
        self.tower = nn.ModuleList([TRes(ch) for _ in range(blocks)])
        self.p_conv = nn.Conv2d(ch, 2, 1)
        self.p_out = nn.Linear(72, 37)
        self.v_conv = nn.Conv2d(ch, 1, 1)
        self.v_hid = nn.Linear(36, 16)
        self.v_out = nn.Linear(16, 1)

    def forward(self, position):
        x = self.stem(position.board) + self.player(position.to_play)[:, :, None, None]
        x = TF.relu(x)
        for block in self.tower:
            x = block(x)
        p = self.p_out(TF.relu(self.p_conv(x)).flatten(1))
        p = p.masked_fill(~position.legal, -1e9)
        v = TF.relu(self.v_hid(TF.relu(self.v_conv(x)).flatten(1)))
        return PolicyValue(
            policy=TF.softmax(p, dim=-1), value=torch.tanh(self.v_out(v)).squeeze(-1)
        )


class KRes(layers.Layer):
    def __init__(self, ch):
        super().__init__()
        self.conv_a = layers.Conv2D(ch, 3, padding="same", use_bias=False)
        self.bn_a = layers.BatchNormalization(epsilon=1e-5)
        self.conv_b = layers.Conv2D(ch, 3, padding="same", use_bias=False)
        self.bn_b = layers.BatchNormalization(epsilon=1e-5)

    def call(self, x, training=False):
        y = ops.relu(self.bn_a(self.conv_a(x), training=training))
        return ops.relu(x + self.bn_b(self.conv_b(y), training=training))


class KerasAZ(keras.Model):
    def __init__(self, ch=12, blocks=2):
        super().__init__()
        self.side = layers.Embedding(2, ch)
        self.stem = layers.Conv2D(ch, 3, padding="same")
        self.blocks = [KRes(ch) for _ in range(blocks)]
        self.pc = layers.Conv2D(2, 1, activation="relu")
        self.po = layers.Dense(37)
        self.vc = layers.Conv2D(1, 1, activation="relu")
        self.vh = layers.Dense(16, activation="relu")
        self.vo = layers.Dense(1, activation="tanh")

    def call(self, position, training=False):
        board = ops.transpose(position.board, (0, 2, 3, 1))
        x = ops.relu(self.stem(board) + self.side(position.to_play)[:, None, None, :])
        for b in self.blocks:
            x = b(x, training=training)
        p = ops.transpose(self.pc(x), (0, 3, 1, 2))
        logits = self.po(ops.reshape(p, (-1, 72)))
        logits = ops.where(position.legal, logits, -1e9)
        v = self.vo(self.vh(ops.reshape(self.vc(x), (-1, 36))))
        return {"policy": ops.softmax(logits, axis=-1), "value": v[:, 0]}


class CRes(chainer.Chain):
    def __init__(self, ch):
        super().__init__()
        with self.init_scope():
            self.conv0 = L.Convolution2D(ch, ch, 3, pad=1, nobias=True)
            self.norm0 = L.BatchNormalization(ch, eps=1e-5)
            self.conv1 = L.Convolution2D(ch, ch, 3, pad=1, nobias=True)
            self.norm1 = L.BatchNormalization(ch, eps=1e-5)

    def forward(self, x):
        h = CF.relu(self.norm0(self.conv0(x)))
        return CF.relu(self.norm1(self.conv1(h)) + x)


class ChainerAZ(chainer.Chain):
    def __init__(self, ch=12, blocks=2):
        super().__init__()
        with self.init_scope():
            self.player = L.EmbedID(2, ch)
            self.stem = L.Convolution2D(3, ch, 3, pad=1)
            self.tower = chainer.ChainList(*[CRes(ch) for _ in range(blocks)])
            self.pi_conv = L.Convolution2D(ch, 2, 1)
            self.pi = L.Linear(72, 37)
            self.v_conv = L.Convolution2D(ch, 1, 1)
            self.v_fc = L.Linear(36, 16)
            self.v = L.Linear(16, 1)

    def forward(self, pos):
        x = self.stem(pos.board)
        e = self.player(pos.to_play)
        x = CF.relu(x + CF.broadcast_to(e[:, :, None, None], x.shape))
        for b in self.tower:
            x = b(x)
        logits = self.pi(CF.relu(self.pi_conv(x)))
        logits = CF.where(pos.legal, logits, np.full(logits.shape, -1e9, "f"))
        v = CF.relu(self.v_fc(CF.relu(self.v_conv(x))))
        v = CF.tanh(self.v(v))
        return CF.softmax(logits, axis=1), CF.reshape(v, (-1,))


def inputs():
    r = np.random.default_rng(0)
    legal = r.random((5, 37)) < 0.6
    legal[:, -1] = True
    return (
        Position(
            r.normal(size=(5, 3, 6, 6)).astype("f"), legal, r.integers(0, 2, 5).astype("int64")
        ),
    )


def keras_side():
    model = KerasAZ()
    model(*inputs())
    return drawn(model)


SIDES = {
    "torch": lambda: drawn(TorchAZ().eval()),
    "keras": keras_side,
    "chainer": lambda: drawn(ChainerAZ()),
}
