"""BC-GMM in bare TensorFlow: variables in a tf.Module, everything else written out."""
import math

import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def group_norm(x, groups, gamma, beta, eps=1e-5):
    n, h, w, c = x.shape
    g = tf.reshape(x, (n, h, w, groups, c // groups))
    mean, var = tf.nn.moments(g, axes=[1, 2, 4], keepdims=True)
    g = (g - mean) * tf.math.rsqrt(var + eps)
    return tf.reshape(g, (n, h, w, c)) * gamma + beta


def soft_argmax(x, temperature):
    n, h, w, c = x.shape
    weights = tf.nn.softmax(tf.reshape(x, (n, h * w, c)) / temperature, axis=1)
    weights = tf.reshape(weights, (n, h, w, c))
    ex = tf.einsum("nhwc,w->nc", weights, tf.linspace(-1.0, 1.0, w))
    ey = tf.einsum("nhwc,h->nc", weights, tf.linspace(-1.0, 1.0, h))
    return tf.reshape(tf.stack([ex, ey], axis=-1), (n, 2 * c))


class Cloner(tf.Module):
    def __init__(self, modes=5, act=4):
        super().__init__()
        self.modes, self.act = modes, act
        glorot = tf.keras.initializers.GlorotUniform(seed=0)
        self.k1 = tf.Variable(glorot((5, 5, 3, 8)), name="k1")
        self.b1 = tf.Variable(tf.zeros(8), name="b1")
        self.gamma = tf.Variable(tf.ones(8), name="gamma")
        self.beta = tf.Variable(tf.zeros(8), name="beta")
        self.k2 = tf.Variable(glorot((3, 3, 8, 12)), name="k2")
        self.b2 = tf.Variable(tf.zeros(12), name="b2")
        self.w = {}
        self.b = {}
        sizes = {"trunk": (30, 40), "mean": (40, 20), "scale": (40, 20), "logits": (40, 5)}
        for name, size in sizes.items():
            self.w[name] = tf.Variable(glorot(size), name=f"w_{name}")
            self.b[name] = tf.Variable(tf.zeros(size[1]), name=f"b_{name}")

    def dense(self, name, x):
        return tf.nn.bias_add(tf.matmul(x, self.w[name]), self.b[name])

    def __call__(self, image, proprio, action):
        x = tf.transpose(image, (0, 2, 3, 1))
        x = (x - 127.5) / 255.0
        x = tf.pad(x, [[0, 0], [2, 2], [2, 2], [0, 0]])
        x = tf.nn.conv2d(x, self.k1, strides=2, padding="VALID") + self.b1
        x = group_norm(x, 4, self.gamma, self.beta)
        x = tf.nn.leaky_relu(x, alpha=0.1)
        x = tf.nn.conv2d(x, self.k2, strides=1, padding="SAME") + self.b2
        h = tf.concat([soft_argmax(x, 0.8), proprio], axis=1)
        h = tf.nn.relu(self.dense("trunk", h))
        mu = tf.tanh(tf.reshape(self.dense("mean", h), (-1, self.modes, self.act)))
        raw = tf.reshape(self.dense("scale", h), (-1, self.modes, self.act))
        sigma = tf.math.softplus(raw) + 0.05
        logits = self.dense("logits", h)
        log_weight = tf.nn.log_softmax(logits, axis=-1)
        z = (action[:, None, :] - mu) / sigma
        log_normal = -0.5 * tf.square(z) - tf.math.log(sigma) - HALF_LOG_2PI
        joint = log_weight + tf.reduce_sum(log_normal, axis=-1)
        nll = -tf.reduce_logsumexp(joint, axis=-1)
        expected = tf.reduce_sum(tf.exp(log_weight)[:, :, None] * mu, axis=1)
        greedy = tf.gather(mu, tf.argmax(logits, axis=-1), axis=1, batch_dims=1)
        return {"nll": nll, "mean": expected, "greedy": greedy}


def make():
    return Cloner()


def load(port, ref):
    arr = lambda p: p.detach().numpy()
    port.k1.assign(np.transpose(arr(ref.conv1.weight), (2, 3, 1, 0)))
    port.b1.assign(arr(ref.conv1.bias))
    port.gamma.assign(arr(ref.norm1.weight))
    port.beta.assign(arr(ref.norm1.bias))
    port.k2.assign(np.transpose(arr(ref.conv2.weight), (2, 3, 1, 0)))
    port.b2.assign(arr(ref.conv2.bias))
    for name in port.w:
        layer = getattr(ref, name)
        port.w[name].assign(arr(layer.weight).T)
        port.b[name].assign(arr(layer.bias))
