"""The entity policy in Keras on TensorFlow."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
D = 24


class Encoder(layers.Layer):
    def __init__(self):
        super().__init__()
        self.types = layers.Embedding(7, D)
        self.features = layers.Dense(D)
        self.mha = layers.MultiHeadAttention(num_heads=4, key_dim=D // 4)
        self.ln_a = layers.LayerNormalization(epsilon=1e-5)
        self.ln_b = layers.LayerNormalization(epsilon=1e-5)
        self.ff_in = layers.Dense(2 * D, activation="relu")
        self.ff_out = layers.Dense(D)

    def call(self, units, kinds, alive):
        h = self.features(units) + self.types(kinds)
        seen = alive[:, tf.newaxis, :]
        h = self.ln_a(h + self.mha(h, h, attention_mask=seen))
        h = self.ln_b(h + self.ff_out(self.ff_in(h)))
        present = tf.cast(alive, h.dtype)[..., tf.newaxis]
        count = tf.reduce_sum(present, axis=1)
        average = tf.reduce_sum(h * present, axis=1) / count
        highest = tf.reduce_max(tf.where(alive[..., tf.newaxis], h, -1e9), axis=1)
        return h, average, highest


class UnitAgent(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.self_in = layers.Dense(D, activation="relu")
        self.core = layers.Dense(32, activation="relu")
        self.act = layers.Dense(6)
        self.act_in = layers.Dense(16)
        self.q = layers.Dense(16)
        self.k = layers.Dense(16)
        self.v = layers.Dense(1, activation="tanh")

    def call(self, units, kinds, alive, me):
        h, average, highest = self.encoder(units, kinds, alive)
        core = self.core(tf.concat([average, highest, self.self_in(me)], axis=1))
        pi = tf.nn.softmax(self.act(core))
        query = self.q(core)
        query = query + self.act_in(pi)
        keys = self.k(h)
        scores = tf.linalg.matvec(keys, query) * 0.25
        scores = tf.where(alive, scores, tf.constant(-1e9, scores.dtype))
        return pi, tf.nn.softmax(scores), self.v(core)


def make():
    net = UnitAgent()
    net(*[tf.constant(a) for a in inputs(0)])
    rng = np.random.default_rng(12)
    for w in net.weights:
        w.assign(0.2 * rng.normal(size=w.shape) + (1.0 if "gamma" in w.path else 0.0))
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b, n = 5, 6
    counts = np.array([6, 3, 4, 2, 5])
    mask = np.arange(n) < counts[:, None]
    types = np.where(mask, rng.integers(1, 7, size=(b, n)), 0)
    return (
        rng.normal(size=(b, n, 9)).astype("float32"),
        types.astype("int64"),
        mask,
        rng.normal(size=(b, 7)).astype("float32"),
    )


def load(ported, original):
    def lin(layer, m):
        layer.set_weights([m.weight.detach().numpy().T, m.bias.detach().numpy()])

    def norm(layer, m):
        layer.set_weights([m.weight.detach().numpy(), m.bias.detach().numpy()])

    enc, ours = original.encoder, ported.encoder
    ours.types.set_weights([enc.type_embedding.weight.detach().numpy()])
    lin(ours.features, enc.project)
    weights = []
    kernels = np.split(enc.attention.in_proj_weight.detach().numpy(), 3)
    biases = np.split(enc.attention.in_proj_bias.detach().numpy(), 3)
    by_name = {"query": 0, "key": 1, "value": 2}
    for w in ours.mha.weights:
        part = w.path.split("/")[-2]
        if part in by_name:
            if "kernel" in w.path.split("/")[-1]:
                weights.append(kernels[by_name[part]].T.reshape(D, 4, D // 4))
            else:
                weights.append(biases[by_name[part]].reshape(4, D // 4))
        elif "kernel" in w.path.split("/")[-1]:
            weights.append(enc.attention.out_proj.weight.detach().numpy().T.reshape(4, D // 4, D))
        else:
            weights.append(enc.attention.out_proj.bias.detach().numpy())
    ours.mha.set_weights(weights)
    norm(ours.ln_a, enc.norm1)
    norm(ours.ln_b, enc.norm2)
    lin(ours.ff_in, enc.ff[0])
    lin(ours.ff_out, enc.ff[2])
    lin(ported.self_in, original.own)
    lin(ported.core, original.core)
    lin(ported.act, original.action_head)
    lin(ported.act_in, original.action_embedding)
    lin(ported.q, original.query)
    lin(ported.k, original.key)
    lin(ported.v, original.value)
