"""R2D2 in Keras."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
B, T, OBS, ACT, HID = 4, 6, 9, 5, 24


class R2D2Keras(keras.Model):
    def __init__(self):
        super().__init__()
        self.enc = layers.Dense(20, activation="relu")
        self.lstm = layers.LSTM(HID, recurrent_activation="sigmoid", return_sequences=True, return_state=True)
        self.val1, self.val2 = layers.Dense(16, activation="relu"), layers.Dense(1)
        self.adv1, self.adv2 = layers.Dense(16, activation="relu"), layers.Dense(ACT)

    def unscale(self, x):
        eps = 1e-3
        y = (ops.sqrt(1 + 4 * eps * (ops.abs(x) + 1 + eps)) - 1) / (2 * eps)
        return ops.sign(x) * (ops.square(y) - 1)

    def call(self, obs, action, reward, h, c):
        e = self.enc(obs)
        r = ops.expand_dims(reward, -1)
        z = ops.concatenate([e, action, r], -1)
        out, h, c = self.lstm(z, initial_state=[h, c])
        v = self.val2(self.val1(out))
        a = self.adv2(self.adv1(out))
        q = v + a - ops.mean(a, axis=-1, keepdims=True)
        return {"q": q, "target": self.unscale(q), "h": h, "c": c}


def np_(p):
    return p.detach().numpy()


def make():
    net = R2D2Keras()
    z = lambda *s: np.zeros(s, "float32")
    net(z(B, T, OBS), z(B, T, ACT), z(B, T), z(B, HID), z(B, HID))
    return net


def load(net, ref):
    for k, t in ((net.enc, ref.enc), (net.val1, ref.val[0]), (net.val2, ref.val[2]), (net.adv1, ref.adv[0]), (net.adv2, ref.adv[2])):
        k.set_weights([np_(t.weight).T, np_(t.bias)])
    wi, wh, b = np_(ref.lstm.weight_ih_l0), np_(ref.lstm.weight_hh_l0), np_(ref.lstm.bias_ih_l0) + np_(ref.lstm.bias_hh_l0)
    net.lstm.set_weights([wi.T, wh.T, b])
