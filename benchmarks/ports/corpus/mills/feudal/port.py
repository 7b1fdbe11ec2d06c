"""FeUdal Networks in Keras 3 (subclassed)."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"


def unit(x):
    norm = ops.sqrt(ops.sum(ops.square(x), axis=-1, keepdims=True))
    return x / ops.maximum(norm, 1e-12)


def cosine(a, b):
    dot = ops.sum(a * b, axis=-1)
    na = ops.sqrt(ops.sum(a * a, axis=-1))
    nb = ops.sqrt(ops.sum(b * b, axis=-1))
    return dot / (ops.maximum(na, 1e-8) * ops.maximum(nb, 1e-8))


class Manager(layers.Layer):
    def __init__(self, dim, dilation, **kw):
        super().__init__(**kw)
        self.dilation = dilation
        self.space = layers.Dense(dim, activation="relu", name="space")
        self.cell = layers.LSTMCell(dim, name="cell")
        self.value = layers.Dense(1, name="value")

    def call(self, z):
        s = self.space(z)
        empty = ops.zeros_like(s[:, 0])
        memory = [(empty, empty)] * self.dilation
        out = []
        for t in range(z.shape[1]):
            slot = t % self.dilation
            _, (h, c) = self.cell(s[:, t], memory[slot])
            memory[slot] = (h, c)
            out.append(sum(hc[0] for hc in memory) / self.dilation)
        g = ops.stack(out, axis=1)
        return s, unit(g), ops.squeeze(self.value(g), -1)


class Worker(layers.Layer):
    def __init__(self, n_actions, k, **kw):
        super().__init__(**kw)
        self.n_actions, self.k = n_actions, k
        self.rnn = layers.LSTM(n_actions * k, return_sequences=True, name="rnn")
        self.embed_goal = layers.Dense(k, use_bias=False, name="embed_goal")
        self.v1 = layers.Dense(16, activation="relu", name="v1")
        self.v2 = layers.Dense(1, name="v2")

    def call(self, z, pooled):
        h = self.rnn(z)
        u = ops.reshape(h, (-1, z.shape[1], self.n_actions, self.k))
        w = self.embed_goal(ops.stop_gradient(pooled))
        logits = ops.sum(u * w[:, :, None, :], axis=-1)
        return ops.log_softmax(logits), ops.squeeze(self.v2(self.v1(h)), -1)


class FuN(keras.Model):
    def __init__(self, dim=24, k=8, n_actions=5, horizon=3):
        super().__init__()
        self.horizon = horizon
        self.percept = layers.Dense(32, activation="elu", name="percept")
        self.manager = Manager(dim, horizon, name="manager")
        self.worker = Worker(n_actions, k, name="worker")

    def call(self, obs):
        T = obs.shape[1]
        z = self.percept(obs)
        s, goals, v_manager = self.manager(z)
        # each step sees the goals of the last `horizon` steps, its own included
        padded = ops.pad(goals, [[0, 0], [self.horizon - 1, 0], [0, 0]])
        pooled = sum(padded[:, i:i + T] for i in range(self.horizon))
        logp, v_worker = self.worker(z, pooled)

        total = 0.
        for lag in range(1, self.horizon + 1):
            moved = s[:, lag:] - s[:, :-lag]
            sim = cosine(moved, goals[:, :-lag])
            total = total + ops.pad(sim, [[0, 0], [lag, 0]])
        return logp, goals, v_manager, v_worker, total / self.horizon


def make(seed=1):
    keras.utils.set_random_seed(seed)
    net = FuN()
    net(ops.convert_to_tensor(inputs(0)[0]))
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(4, 7, 14)) * 0.6
    return (np.cumsum(steps, axis=1).astype(np.float32),)


def load(ported, original):
    n = lambda p: p.detach().numpy()

    def dense(layer, lin):
        layer.set_weights([n(lin.weight).T] + ([n(lin.bias)] if lin.bias is not None else []))

    def lstm(layer, wi, wh, bi, bh):           # both order the gates i, f, g, o
        layer.set_weights([n(wi).T, n(wh).T, n(bi) + n(bh)])

    m, w = ported.manager, ported.worker
    dense(ported.percept, original.percept[0])
    dense(m.space, original.m_space)
    c = original.m_rnn.cell
    lstm(m.cell, c.weight_ih, c.weight_hh, c.bias_ih, c.bias_hh)
    dense(m.value, original.m_value)
    r = original.w_rnn
    lstm(w.rnn, r.weight_ih_l0, r.weight_hh_l0, r.bias_ih_l0, r.bias_hh_l0)
    dense(w.embed_goal, original.phi)
    dense(w.v1, original.w_value[0])
    dense(w.v2, original.w_value[2])
