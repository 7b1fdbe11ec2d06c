"""NNUE evaluation as a subclassed Keras model."""
import os
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
FEATS, L1, L2, L3, BUCKETS, MAXP = 96, 16, 7, 8, 4, 16
Q = 127.0 / 128.0


class FeatureTransformer(layers.Layer):
    def build(self, _):
        self.kernel = self.add_weight(shape=(FEATS, L1 + BUCKETS), initializer="glorot_uniform", name="kernel")
        self.bias = self.add_weight(shape=(L1 + BUCKETS,), initializer="random_normal", name="bias")

    def call(self, idx):
        # ops.one_hot gives a zero row for the padding index -1
        hot = ops.sum(ops.one_hot(idx, FEATS), axis=1)
        return ops.matmul(hot, self.kernel) + self.bias


def clipped_relu(x):
    return ops.clip(x, 0.0, 1.0)


def pick(x, onehot):
    """[B, buckets*n] and [B, buckets] -> [B, n]"""
    x = ops.reshape(x, (-1, BUCKETS, x.shape[-1] // BUCKETS))
    return ops.einsum("bkn,bk->bn", x, onehot)


class NNUE(keras.Model):
    def __init__(self):
        super().__init__()
        self.ft = FeatureTransformer(name="ft")
        self.l1 = layers.Dense((L2 + 1) * BUCKETS, name="l1")
        self.l1_fact = layers.Dense(L2 + 1, name="l1_fact")
        self.l2 = layers.Dense(L3 * BUCKETS, name="l2")
        self.out = layers.Dense(BUCKETS, name="out")

    def stacks(self, x, onehot):
        h = pick(self.l1(x), onehot) + self.l1_fact(x)
        h, skip = h[:, :L2], h[:, L2:]
        h = clipped_relu(ops.concatenate([ops.square(h) * Q, h], axis=1))
        h = clipped_relu(pick(self.l2(h), onehot))
        return pick(self.out(h), onehot) + skip

    def call(self, white, black, us_them):
        count = ops.sum(ops.cast(white >= 0, "int32"), axis=1)
        onehot = ops.one_hot((count - 1) // 4, BUCKETS)
        acc = ops.stack([self.ft(white), self.ft(black)], axis=1)
        psqt = ops.einsum("bpk,bk->bp", acc[:, :, L1:], onehot)
        # [B, 2(side), L1]: side to move first
        mine = ops.einsum("bp,bpn->bn", us_them, acc[:, :, :L1])
        theirs = ops.einsum("bp,bpn->bn", us_them[:, ::-1], acc[:, :, :L1])
        act = clipped_relu(ops.stack([mine, theirs], axis=1))
        a, b = ops.split(act, 2, axis=2)
        x = ops.reshape(a * b * Q, (-1, L1))
        bonus = (psqt[:, :1] - psqt[:, 1:]) * (us_them[:, :1] - 0.5)
        score = self.stacks(x, onehot) + bonus
        cp = 600.0 * score
        win = ops.sigmoid((cp - 270.0) / 380.0)
        loss = ops.sigmoid((-cp - 270.0) / 380.0)
        return score, ops.concatenate([win, 1.0 - win - loss, loss], axis=1)


def make():
    keras.utils.set_random_seed(33)
    m = NNUE()
    m(*[ops.convert_to_tensor(a) for a in inputs(0)])
    r = np.random.RandomState(33)
    for w in m.weights:
        w.assign((r.randn(*w.shape) * 0.3).astype("f"))
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    B = 6
    n = np.array([15, 12, 8, 4, 10, 16])
    w = np.full((B, MAXP), -1)
    b = np.full((B, MAXP), -1)
    for i in range(B):
        w[i, :n[i]] = r.permutation(FEATS)[:n[i]]
        b[i, :n[i]] = r.permutation(FEATS)[:n[i]]
    us = np.array([1, 0, 1, 0, 0, 1], "f")
    return w.astype("int64"), b.astype("int64"), np.stack([us, 1 - us], 1)


def load(ported, original):
    n = lambda t: t.detach().numpy()
    ported.ft.kernel.assign(n(original.input.weight))
    ported.ft.bias.assign(n(original.input.bias))
    st = original.layer_stacks
    for d, s in ((ported.l1, st.l1), (ported.l1_fact, st.l1_fact), (ported.l2, st.l2), (ported.out, st.output)):
        d.kernel.assign(n(s.weight).T)
        d.bias.assign(n(s.bias))
