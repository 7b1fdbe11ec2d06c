"""R2D2-style recurrent dueling Q-network on MiniGrid views, Keras subclass with an LSTM cell loop."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"
N_ACTIONS, UNITS, BURN_IN, GAMMA = 7, 40, 2, 0.97


def rescale(x, eps=1e-2):
    return ops.sign(x) * (ops.sqrt(ops.abs(x) + 1.0) - 1.0) + eps * x


def inverse_rescale(x, eps=1e-2):
    root = ops.sqrt(1.0 + 4.0 * eps * (ops.abs(x) + 1.0 + eps))
    return ops.sign(x) * (ops.square((root - 1.0) / (2.0 * eps)) - 1.0)


class R2D2(keras.Model):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.conv_a = layers.Conv2D(16, 3, activation="relu")
        self.conv_b = layers.Conv2D(24, 2, activation="relu")
        self.flat = layers.Flatten()
        self.torso = layers.Dense(48, activation="relu")
        self.cell = layers.LSTMCell(UNITS)
        self.val_h = layers.Dense(32, activation="relu")
        self.val = layers.Dense(1)
        self.adv_h = layers.Dense(32, activation="relu")
        self.adv = layers.Dense(N_ACTIONS)

    def encode(self, frames):
        b, t = frames.shape[:2]
        x = ops.reshape(frames, (b * t, 7, 7, 3)) / 10.0
        x = self.torso(self.flat(self.conv_b(self.conv_a(x))))
        return ops.reshape(x, (b, t, 48))

    def call(self, frames, actions, rewards, dones, h0, c0):
        t = frames.shape[1]
        feats = self.encode(frames)
        one_hot = ops.one_hot(actions, N_ACTIONS)
        prev_a = ops.concatenate([ops.zeros_like(one_hot[:, :1]), one_hot[:, :-1]], axis=1)
        prev_r = ops.concatenate([ops.zeros_like(rewards[:, :1]), rewards[:, :-1]], axis=1)
        x = ops.concatenate([feats, prev_a, prev_r[..., None]], axis=-1)

        h, c = h0, c0
        outs = []
        for i in range(t):
            if i > 0:
                keep = 1.0 - dones[:, i - 1:i]
                h, c = h * keep, c * keep
            y, (h, c) = self.cell(x[:, i], [h, c])
            outs.append(y)
        core = ops.stack(outs, axis=1)[:, BURN_IN:]

        a = self.adv(self.adv_h(core))
        q = self.val(self.val_h(core)) + a - ops.mean(a, axis=-1, keepdims=True)
        best_next = ops.max(q[:, 1:], axis=-1)
        r, d = rewards[:, BURN_IN:-1], dones[:, BURN_IN:-1]
        target = rescale(r + GAMMA * (1.0 - d) * inverse_rescale(best_next))
        return q, target, h, c


def make():
    keras.utils.set_random_seed(41)
    net = R2D2()
    net(*inputs(0))
    rng = np.random.default_rng(41)
    for w in net.weights:
        if w.path.endswith("bias"):
            w.assign(rng.normal(size=w.shape) * 0.2)
        else:
            w.assign(np.asarray(w) * 1.5)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    B, T = 5, 8
    frames = np.stack(
        [rng.integers(0, 11, (B, T, 7, 7)), rng.integers(0, 6, (B, T, 7, 7)), rng.integers(0, 3, (B, T, 7, 7))],
        axis=-1,
    ).astype(np.float32)
    actions = rng.integers(0, N_ACTIONS, (B, T)).astype(np.int32)
    dones = (rng.uniform(size=(B, T)) < 0.2).astype(np.float32)
    rewards = (rng.uniform(0, 1, size=(B, T)) * (rng.uniform(size=(B, T)) < 0.5)).astype(np.float32)
    h0 = (0.4 * rng.normal(size=(B, UNITS))).astype(np.float32)
    c0 = (0.8 * rng.normal(size=(B, UNITS))).astype(np.float32)
    return frames, actions, rewards, dones, h0, c0
