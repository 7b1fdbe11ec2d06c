"""QMIX's agents and mixer in Keras 3."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
N, T, O, ST, A, EMB, HID = 3, 4, 8, 12, 5, 16, 20


class KerasQMIX(keras.Model):
    def __init__(self):
        super().__init__()
        self.fc = layers.Dense(HID, activation="relu")
        self.lstm = layers.LSTM(HID, return_sequences=True)
        self.q = layers.Dense(A)
        self.hw1, self.hb1, self.hw2 = layers.Dense(N * EMB), layers.Dense(EMB), layers.Dense(EMB)
        self.hb2a, self.hb2b = layers.Dense(EMB, activation="relu"), layers.Dense(1)

    def call(self, obs, avail, state):
        b = ops.shape(obs)[0]
        ids = ops.broadcast_to(ops.eye(N), (b, T, N, N))
        x = ops.concatenate([obs, ids], axis=-1)
        x = ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (b * N, T, O + N))
        y = self.lstm(self.fc(x))
        q = ops.transpose(ops.reshape(self.q(y), (b, N, T, A)), (0, 2, 1, 3))
        best = ops.max(ops.where(ops.equal(avail, 0), -1e10, q), axis=-1)
        w1 = ops.abs(self.hw1(state))
        w1 = ops.reshape(w1, (b, T, N, EMB))
        hidden = ops.matmul(ops.expand_dims(best, 2), w1) + ops.expand_dims(self.hb1(state), 2)
        hidden = ops.elu(hidden)
        w2 = ops.expand_dims(ops.abs(self.hw2(state)), -1)
        b2 = self.hb2b(self.hb2a(state))
        total = ops.matmul(hidden, w2) + ops.expand_dims(b2, 2)
        return ops.reshape(total, (b, T)), best


def make():
    model = KerasQMIX()
    z = lambda *s: np.zeros(s, "float32")
    model(z(4, T, N, O), z(4, T, N, A), z(4, T, ST))
    return model


def load(dst, src):
    def lin(k, t): k.set_weights([t.weight.detach().numpy().T, t.bias.detach().numpy()])
    for n in ("fc", "q", "hw1", "hb1", "hw2"): lin(getattr(dst, n), getattr(src, n))
    lin(dst.hb2a, src.hb2[0]); lin(dst.hb2b, src.hb2[2])
    wi, wh, bi, bh = (p.detach().numpy() for p in src.lstm.parameters())
    def order(w):
        i, f, g, o = np.split(w, 4)
        return np.concatenate([i, f, g, o])
    dst.lstm.set_weights([order(wi).T, order(wh).T, order(bi + bh)])
