"""R2D2's network in Keras 3."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
O, A, HID, B, T = 10, 5, 24, 5, 7
EPS = 1e-3


class KR2D2(keras.Model):
    def __init__(self):
        super().__init__()
        self.torso = [layers.Dense(32, activation="relu"), layers.Dense(20, activation="relu")]
        self.lstm = layers.LSTM(HID, return_sequences=True, return_state=True)
        self.v1, self.v2 = layers.Dense(16, activation="relu"), layers.Dense(1)
        self.a1, self.a2 = layers.Dense(16, activation="relu"), layers.Dense(A)

    def call(self, obs, prev_action, prev_reward, h0, c0):
        x = obs
        for layer in self.torso:
            x = layer(x)
        onehot = ops.one_hot(prev_action, A)
        reward = ops.tanh(prev_reward)
        x = ops.concatenate([x, onehot, reward[..., None]], axis=-1)
        y, h, c = self.lstm(x, initial_state=[h0, c0])
        a = self.a2(self.a1(y))
        q = self.v2(self.v1(y)) + a - ops.mean(a, axis=-1, keepdims=True)
        root = ops.sqrt(1.0 + 4.0 * EPS * (ops.abs(q) + 1.0 + EPS))
        target = ops.sign(q) * (ops.square((root - 1.0) / (2.0 * EPS)) - 1.0)
        return {"q": q, "target": target, "h": h, "c": c}


def make():
    k = KR2D2()
    z = lambda *s: np.zeros(s, "float32")
    k(z(B, T, O), np.zeros((B, T), "int64"), z(B, T), z(B, HID), z(B, HID))
    return k


def load(k, t):
    lin = lambda l: [l.weight.detach().numpy().T, l.bias.detach().numpy()]
    for a, b in zip((t.torso[0], t.torso[2], t.value[0], t.value[2], t.advantage[0], t.advantage[2]),
                    (*k.torso, k.v1, k.v2, k.a1, k.a2)):
        b.set_weights(lin(a))
    wi, wh, bi, bh = (getattr(t.lstm, n).detach().numpy() for n in
                      ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"))
    order = [0, 1, 2, 3]

    def gates(w):
        return np.concatenate([w[i * HID : (i + 1) * HID] for i in order])

    bias = bi + bh
    k.lstm.set_weights([gates(wi).T, gates(wh).T, gates(bias)])
