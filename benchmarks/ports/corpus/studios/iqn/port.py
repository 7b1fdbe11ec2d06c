"""IQN with a dueling head in Keras on TensorFlow."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

FRAMEWORK = "tensorflow"
N_COS, N_TAU, D, A = 16, 12, 32, 5


class KerasIQN(keras.Model):
    def __init__(self):
        super().__init__()
        self.fc1 = layers.Dense(D, activation="relu")
        self.fc2 = layers.Dense(D, activation="relu")
        self.phi = layers.Dense(D)
        self.pis = np.pi * np.arange(0, N_COS, dtype="float32")
        self.h = layers.Dense(D)
        self.act = layers.LeakyReLU(negative_slope=0.01)
        self.adv, self.val = layers.Dense(A), layers.Dense(1)

    def call(self, obs):
        psi = self.fc2(self.fc1(obs))
        taus = tf.random.uniform((ops.shape(obs)[0], N_TAU))
        cos = ops.cos(taus[:, :, None] * self.pis)
        phi = self.phi(cos)
        phi = ops.relu(phi)
        x = psi[:, None, :] * phi
        x = self.act(self.h(x))
        adv, val = self.adv(x), self.val(x)
        q = val + adv - ops.mean(adv, axis=2, keepdims=True)
        return q, ops.mean(q, axis=1), taus


def make():
    tf.random.set_seed(4)
    model = KerasIQN()
    model(np.zeros((1, 9), "float32"))
    return model


def load(dst, src):
    for name in ("fc1", "fc2", "phi", "h", "adv", "val"):
        lin = getattr(src, name)
        getattr(dst, name).set_weights([lin.weight.detach().numpy().T, lin.bias.detach().numpy()])
