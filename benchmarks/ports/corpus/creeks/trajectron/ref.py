"""Trajectron++-like forecaster: edge-influence attention, discrete latent, GRU decoder, unicycle dynamics."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
HIST, N, STATE, KLAT, STEPS, DT = 5, 3, 6, 3, 3, 0.5


class EdgeEncoder(layers.Layer):
    def __init__(self, units=8, **kw):
        super().__init__(**kw)
        self.rnn = layers.LSTM(units)

    def call(self, hist, neigh, mask):
        summed = ops.sum(neigh * mask[:, :, None, None], axis=1)
        return self.rnn(ops.concatenate([summed, hist], axis=-1))


class AdditiveAttention(layers.Layer):
    def __init__(self, dim=6, **kw):
        super().__init__(**kw)
        self.w1 = layers.Dense(dim, use_bias=False)
        self.w2 = layers.Dense(dim, use_bias=False)
        self.v = layers.Dense(1, use_bias=False)

    def call(self, edges, query):
        score = self.v(ops.tanh(self.w1(edges) + self.w2(query)[:, None]))
        w = ops.softmax(score, axis=1)
        return ops.sum(w * edges, axis=1)


class Trajectron(keras.Model):
    def __init__(self):
        super().__init__()
        self.hist_rnn = layers.LSTM(8, return_state=True)
        self.veh = EdgeEncoder()
        self.ped = EdgeEncoder()
        self.att = AdditiveAttention()
        self.p_z1 = layers.Dense(10, activation="relu")
        self.p_z2 = layers.Dense(KLAT)
        self.init_h = layers.Dense(12)
        self.init_a = layers.Dense(2)
        self.cell = layers.GRUCell(12)
        self.mu = layers.Dense(2)
        self.log_sigma = layers.Dense(2)
        self.corr = layers.Dense(1)

    def integrate(self, s, u):
        x, y, phi, v = s
        w, a = u[:, 0], u[:, 1]
        small = ops.abs(w) < 0.1
        ws = ops.where(small, ops.ones_like(w), w)
        phi_n = phi + ws * DT
        dsin = (ops.sin(phi_n) - ops.sin(phi)) / ws
        dcos = (ops.cos(phi_n) - ops.cos(phi)) / ws
        xt = x + (a / ws) * dcos + v * dsin + (a / ws) * ops.sin(phi_n) * DT
        yt = y - v * dcos + (a / ws) * dsin - (a / ws) * ops.cos(phi_n) * DT
        xl = x + v * ops.cos(phi) * DT + 0.5 * a * ops.cos(phi) * DT ** 2
        yl = y + v * ops.sin(phi) * DT + 0.5 * a * ops.sin(phi) * DT ** 2
        return ops.where(small, xl, xt), ops.where(small, yl, yt), phi + w * DT, v + a * DT

    def call(self, hist, veh, veh_mask, ped, ped_mask):
        _, h, _ = self.hist_rnn(hist)
        edges = ops.stack([self.veh(hist, veh, veh_mask), self.ped(hist, ped, ped_mask)], axis=1)
        enc = ops.concatenate([self.att(edges, h), h], axis=-1)
        logits = self.p_z2(self.p_z1(enc))
        log_pi = ops.log_softmax(logits, axis=-1)
        b = hist.shape[0]
        z = ops.tile(ops.eye(KLAT), (b, 1))
        zx = ops.concatenate([z, ops.repeat(enc, KLAT, axis=0)], axis=-1)
        state = self.init_h(zx)
        last = ops.repeat(hist[:, -1], KLAT, axis=0)
        a = self.init_a(last)
        s = (last[:, 0], last[:, 1], last[:, 4], ops.sqrt(last[:, 2] ** 2 + last[:, 3] ** 2))
        pos, sig = [], []
        for _ in range(STEPS):
            out, state = self.cell(ops.concatenate([zx, a], axis=-1), [state])
            state = state[0] if isinstance(state, (list, tuple)) else state
            mu = self.mu(out)
            sigma = ops.exp(ops.clip(self.log_sigma(out), -2.0, 2.0))
            rho = ops.tanh(self.corr(out))
            s = self.integrate(s, mu)
            pos.append(ops.stack([s[0], s[1]], axis=-1))
            cov = ops.concatenate([sigma ** 2, rho * ops.prod(sigma, axis=-1, keepdims=True)], axis=-1)
            sig.append(cov)
            a = mu
        pos = ops.reshape(ops.stack(pos, axis=1), (b, KLAT, STEPS, 2))
        sig = ops.reshape(ops.stack(sig, axis=1), (b, KLAT, STEPS, 3))
        best = ops.sum(ops.exp(log_pi)[:, :, None, None] * pos, axis=1)
        return pos, sig, log_pi, best


def make():
    m = Trajectron()
    m(*inputs(0))
    r = np.random.RandomState(41)
    for w in m.weights:
        a = r.randn(*w.shape)
        w.assign((a / np.sqrt(w.shape[0]) if len(w.shape) > 1 and w.name != "bias" else 0.2 * a).astype("float32"))
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    b = 4
    m1 = np.array([[1, 1, 0], [1, 1, 1], [1, 0, 0], [1, 1, 1]], "float32")
    m2 = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1]], "float32")
    f = lambda *s: r.randn(*s).astype("float32")
    return f(b, HIST, STATE), f(b, N, HIST, STATE), m1, f(b, N, HIST, STATE), m2
