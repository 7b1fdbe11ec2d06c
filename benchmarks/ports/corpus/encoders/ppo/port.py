"""PPO in Keras, NHWC."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
B, HID, ACT = 3, 24, 5


class PPOKeras(keras.Model):
    def __init__(self):
        super().__init__()
        self.c1 = layers.Conv2D(8, 8, 4, activation="relu")
        self.c2 = layers.Conv2D(12, 4, 2, activation="relu")
        self.fc = layers.Dense(32, activation="relu")
        self.gru = layers.GRUCell(HID, reset_after=True)
        self.pi, self.v = layers.Dense(ACT), layers.Dense(1)

    def call(self, pixels, hidden, mask):
        x = pixels / 255.0
        x = self.c1(x)
        x = self.c2(x)
        x = ops.reshape(ops.transpose(x, (0, 3, 1, 2)), (-1, 108))
        x = self.fc(x)
        h, _ = self.gru(x, [hidden])
        logits = self.pi(h) + (1 - mask) * -1e9
        logp = ops.log_softmax(logits, axis=-1)
        entropy = -ops.sum(ops.exp(logp) * logp * mask, axis=-1)
        value = self.v(h)[:, 0]
        return {"logp": logp * mask, "entropy": entropy, "value": value, "hidden": h}


def np_(p):
    return p.detach().numpy()


def make():
    net = PPOKeras()
    z = lambda *s: np.zeros(s, "float32")
    net(z(B, 36, 36, 4), z(B, HID), z(B, ACT))
    return net


def load(net, ref):
    for k, t in ((net.c1, ref.c1), (net.c2, ref.c2)):
        k.set_weights([np_(t.weight).transpose(2, 3, 1, 0), np_(t.bias)])
    for k, t in ((net.fc, ref.fc), (net.pi, ref.pi), (net.v, ref.v)):
        k.set_weights([np_(t.weight).T, np_(t.bias)])

    def order(w):
        a, b, c = np.split(w, 3)
        return np.concatenate([b, a, c])

    wi, wh, bi, bh = (order(np_(p)) for p in (ref.gru.weight_ih, ref.gru.weight_hh, ref.gru.bias_ih, ref.gru.bias_hh))
    net.gru.set_weights([wi.T, wh.T, np.stack([bi, bh])])
