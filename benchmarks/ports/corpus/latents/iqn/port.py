"""IQN with a dueling head in Keras."""
import math
import numpy as np
import keras
import tensorflow as tf

FRAMEWORK = "tensorflow"
O, H, NC, NT, A, KAPPA = 8, 32, 16, 6, 4, 0.5


class KIQN(keras.Model):
    def __init__(self):
        super().__init__()
        D = keras.layers.Dense
        self.f1, self.f2 = D(H, "relu"), D(H, "relu")
        self.phi, self.adv, self.val = D(H), D(A), D(1)

    def call(self, obs, action, target):
        B = obs.shape[0]
        x = self.f2(self.f1(obs))
        taus = tf.random.uniform((B, NT, 1))
        i = tf.range(1, NC + 1, dtype=tf.float32)
        cos = tf.cos(math.pi * i * taus)
        emb = self.phi(tf.reshape(cos, (B * NT, NC)))
        emb = tf.nn.relu(emb)
        feats = tf.repeat(x, NT, axis=0)
        y = feats * emb
        adv, val = self.adv(y), self.val(y)
        z = tf.reshape(val + adv - tf.reduce_mean(adv, 1, keepdims=True), (B, NT, A))
        za = tf.gather(z, action, axis=2, batch_dims=1)[..., None]
        u = target[:, None] - za
        huber = tf.where(tf.abs(u) <= KAPPA, 0.5 * u**2, KAPPA * (tf.abs(u) - 0.5 * KAPPA))
        w = tf.abs(taus - tf.cast(u < 0, tf.float32))
        loss = w * huber
        loss = loss / KAPPA
        return {"q": tf.reduce_mean(z, 1), "loss": tf.reduce_mean(tf.reduce_sum(loss, 1), 1)}


def make():
    net = KIQN()
    net(tf.zeros((5, O)), np.zeros(5, "int64"), tf.zeros((5, 7)))
    return net


def load(net, ref):
    for nm, t in ref.named_children():
        getattr(net, nm).set_weights([t.weight.detach().numpy().T, t.bias.detach().numpy()])
