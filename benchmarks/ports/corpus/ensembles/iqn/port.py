"""IQN and its loss in Keras 3."""
import numpy as np, keras, tensorflow as tf
from keras import ops

FRAMEWORK = "tensorflow"
OBS, ACT, NCOS, HID, N = 8, 4, 16, 32, 8


class KerasIQN(keras.Model):
    def __init__(self):
        super().__init__()
        self.psi = keras.layers.Dense(HID, activation="relu")
        self.phi = keras.layers.Dense(HID, activation="relu")
        self.hidden = keras.layers.Dense(HID, activation="relu")
        self.out = keras.layers.Dense(ACT)
        start = 0
        self.pis = np.pi * np.arange(start, start + NCOS).astype("float32")

    def call(self, obs, action, targets):
        taus = keras.random.uniform((obs.shape[0], N))
        x = self.psi(obs)
        cos = ops.cos(ops.expand_dims(taus, -1) * self.pis)
        phi = self.phi(cos)
        mixed = ops.expand_dims(x, 1) * phi
        z = self.out(self.hidden(mixed))
        q = ops.mean(z, 1)
        chosen = ops.sum(z * ops.one_hot(ops.cast(action, "int32"), ACT)[:, None, :], -1)
        td = targets[:, None, :] - chosen[:, :, None]
        huber = ops.where(ops.abs(td) <= 1.0, 0.5 * td ** 2, ops.abs(td) - 0.5)
        below = ops.cast(td < 0, "float32")
        weight = ops.abs(taus[:, :, None] - below)
        loss = ops.mean(ops.sum(weight * huber, 1), 1)
        return {"quantiles": z, "q": q, "loss": loss}


def make():
    net = KerasIQN()
    net(tf.zeros((5, OBS)), tf.zeros(5, "int32"), tf.zeros((5, 6)))
    return net


def load(net, ref):
    for k in ("psi", "phi", "hidden", "out"):
        m = getattr(ref, k)
        getattr(net, k).set_weights([m.weight.detach().numpy().T, m.bias.detach().numpy()])
