"""The implicit quantile network in Keras, as Dopamine writes it."""
import math

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
A, D, S = 5, 32, 8


class KIQN(tf.keras.Model):
    def __init__(self):
        super().__init__()
        dense = tf.keras.layers.Dense
        self.torso1, self.torso2 = dense(64, "relu"), dense(48, "relu")
        self.phi = dense(48, "relu")
        self.fc1, self.fc2 = dense(64, "relu"), dense(A)

    def call(self, state):
        batch = tf.shape(state)[0]
        x = self.torso2(self.torso1(state))
        quantiles = tf.random.uniform([S * batch, 1], 0, 1)
        quantile_net = tf.tile(quantiles, [1, D])
        index = tf.range(1, D + 1, 1)
        quantile_net = tf.cast(index, tf.float32) * tf.constant(math.pi) * quantile_net
        quantile_net = self.phi(tf.cos(quantile_net))
        x = tf.tile(x, [S, 1])
        x = self.fc1(tf.multiply(x, quantile_net))
        values = self.fc2(x)
        q = tf.reduce_mean(tf.reshape(values, [S, batch, A]), axis=0)
        return values, q


def make():
    net = KIQN()
    net(np.zeros((2, 10), "float32"))
    return net


def load(net, ref):
    for mine, theirs in ((net.torso1, ref.torso[0]), (net.torso2, ref.torso[2]), (net.phi, ref.phi),
                         (net.fc1, ref.fc1), (net.fc2, ref.fc2)):
        mine.set_weights([theirs.weight.detach().numpy().T, theirs.bias.detach().numpy()])
