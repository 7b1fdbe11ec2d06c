"""MuZero in Keras 3; observations come channels first and are transposed."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
C, A, SUP = 12, 5, 5


def bn():
    return layers.BatchNormalization(epsilon=1e-5)


class KRes(layers.Layer):
    def __init__(self):
        super().__init__()
        self.c1, self.b1 = layers.Conv2D(C, 3, padding="same", use_bias=False), bn()
        self.c2, self.b2 = layers.Conv2D(C, 3, padding="same", use_bias=False), bn()

    def call(self, x):
        y = ops.relu(self.b1(self.c1(x)))
        z = self.b2(self.c2(y))
        return ops.relu(x + z)


class KerasMuZero(keras.Model):
    def __init__(self):
        super().__init__()
        self.pad = layers.ZeroPadding2D(1)
        self.stem, self.stem_bn = layers.Conv2D(C, 3, strides=2, use_bias=False), bn()
        self.rep, self.dyn = KRes(), KRes()
        self.mix, self.mix_bn = layers.Conv2D(C, 3, padding="same", use_bias=False), bn()
        self.pv, self.rw = layers.Conv2D(2, 1, activation="relu"), layers.Conv2D(1, 1, activation="relu")
        self.policy, self.value = layers.Dense(A), layers.Dense(2 * SUP + 1)
        self.reward = layers.Dense(2 * SUP + 1)

    def scale(self, s):
        axis = (1, 2)
        lo, hi = ops.min(s, axis=axis, keepdims=True), ops.max(s, axis=axis, keepdims=True)
        return (s - lo) / (hi - lo + 1e-5)

    def scalar(self, logits):
        x = ops.sum(ops.softmax(logits) * ops.arange(-SUP, SUP + 1, dtype="float32"), axis=1)
        eps = 0.001
        return ops.sign(x) * (ops.square((ops.sqrt(1 + 4 * eps * (ops.abs(x) + 1 + eps)) - 1) / (2 * eps)) - 1)

    def flat(self, x):
        return ops.reshape(ops.transpose(x, (0, 3, 1, 2)), (ops.shape(x)[0], -1))

    def call(self, obs, action):
        obs = ops.transpose(obs, (0, 2, 3, 1))
        s = self.scale(self.rep(ops.relu(self.stem_bn(self.stem(self.pad(obs))))))
        a = ops.cast(action, "float32")
        a = (a + 1) / A
        plane = ops.ones_like(s[..., :1]) * ops.reshape(a, (-1, 1, 1, 1))
        x = ops.relu(self.mix_bn(self.mix(ops.concatenate([s, plane], axis=-1))) + s)
        s = self.scale(self.dyn(x))
        r = self.scalar(self.reward(self.flat(self.rw(s))))
        h = self.flat(self.pv(s))
        return self.policy(h), self.scalar(self.value(h)), r


def make():
    model = KerasMuZero()
    model(np.zeros((4, 3, 9, 9), "float32"), np.zeros(4, "int64"))
    return model


def load(dst, src):
    def conv(k, t):
        k.set_weights([t.weight.detach().numpy().transpose(2, 3, 1, 0)] + ([t.bias.detach().numpy()] if t.bias is not None else []))
    def b(k, t):
        k.set_weights([t.weight.detach().numpy(), t.bias.detach().numpy(), t.running_mean.numpy(), t.running_var.numpy()])
    def lin(k, t): k.set_weights([t.weight.detach().numpy().T, t.bias.detach().numpy()])
    for n in ("stem", "mix", "pv", "rw"): conv(getattr(dst, n), getattr(src, n))
    for n in ("stem_bn", "mix_bn"): b(getattr(dst, n), getattr(src, n))
    for n in ("rep", "dyn"):
        k, t = getattr(dst, n), getattr(src, n)
        conv(k.c1, t.c1); conv(k.c2, t.c2); b(k.b1, t.b1); b(k.b2, t.b2)
    for n in ("policy", "value", "reward"): lin(getattr(dst, n), getattr(src, n))
