"""Rainbow in Keras 3, channels last."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
N_ACT, N_ATOMS = 5, 11
Z = np.linspace(-4.0, 6.0, N_ATOMS, dtype="float32")


class NoisyDense(layers.Layer):
    def __init__(self, units, activation=None, **kw):
        super().__init__(**kw)
        self.units, self.activation = units, keras.activations.get(activation)

    def build(self, shape):
        d = int(shape[-1])
        self.mu_w = self.add_weight(shape=(d, self.units), initializer="glorot_uniform", name="mu_w")
        self.sig_w = self.add_weight(shape=(d, self.units), initializer="ones", name="sig_w")
        self.mu_b = self.add_weight(shape=(self.units,), initializer="zeros", name="mu_b")
        self.sig_b = self.add_weight(shape=(self.units,), initializer="ones", name="sig_b")
        self.p = self.add_weight(shape=(d, 1), trainable=False, initializer="random_normal", name="p")
        self.q = self.add_weight(shape=(1, self.units), trainable=False, initializer="random_normal", name="q")

    def call(self, x):
        f = lambda e: tf.sign(e) * tf.sqrt(tf.abs(e))
        fq = f(self.q)
        y = x @ (self.mu_w + self.sig_w * (f(self.p) * fq)) + self.mu_b + self.sig_b * fq[0]
        return self.activation(y)


class C51Dueling(keras.Model):
    def __init__(self):
        super().__init__()
        self.pad = layers.ZeroPadding2D(2)
        self.c1 = layers.Conv2D(8, 5, strides=2, activation="relu")
        self.c2 = layers.Conv2D(12, 3, strides=2, activation="relu")
        self.flat = layers.Flatten()
        self.v1, self.v2 = NoisyDense(24, "relu"), NoisyDense(N_ATOMS)
        self.a1, self.a2 = NoisyDense(24, "relu"), NoisyDense(N_ACT * N_ATOMS)

    def call(self, frames):
        x = tf.cast(frames, tf.float32) * (1 / 255)
        h = self.flat(self.c2(self.c1(self.pad(x))))
        v = self.v2(self.v1(h))
        a = tf.reshape(self.a2(self.a1(h)), (-1, N_ACT, N_ATOMS))
        a -= tf.reduce_mean(a, axis=1, keepdims=True)
        log_p = tf.nn.log_softmax(v[:, None] + a)
        return tf.linalg.matvec(tf.exp(log_p), Z), log_p


def make():
    keras.utils.set_random_seed(1)
    net = C51Dueling()
    net(np.zeros((1, 16, 16, 2), "uint8"))
    return net


def load(model, reference):
    sd = {k: v.numpy() for k, v in reference.state_dict().items()}
    for mine, his in (("c1", "conv1"), ("c2", "conv2")):
        getattr(model, mine).set_weights([sd[f"{his}.weight"].transpose(2, 3, 1, 0), sd[f"{his}.bias"]])
    hwc = np.arange(108).reshape(12, 3, 3).transpose(1, 2, 0).ravel()
    for mine, his in (("v1", "value_hidden"), ("v2", "value_out"), ("a1", "adv_hidden"), ("a2", "adv_out")):
        layer, g = getattr(model, mine), lambda k: sd[f"{his}.{k}"]
        order = hwc if mine.endswith("1") else slice(None)
        layer.mu_w.assign(g("weight_mu").T[order])
        layer.sig_w.assign(g("weight_sigma").T[order])
        layer.mu_b.assign(g("bias_mu"))
        layer.sig_b.assign(g("bias_sigma"))
        layer.p.assign(g("noise_in")[order][:, None])
        layer.q.assign(g("noise_out")[None])


def inputs(seed):
    x = np.random.default_rng(seed).integers(0, 256, (4, 2, 16, 16), dtype=np.uint8)
    return (np.ascontiguousarray(x.transpose(0, 2, 3, 1)),)
