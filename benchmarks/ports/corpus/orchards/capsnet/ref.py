"""CapsNet with dynamic routing (Sabour et al. 2017), plain TensorFlow, NHWC."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
SIDE, MAPS, PRIMARY, PDIM, CLASSES, CDIM, ROUTINGS = 14, 16, 4, 6, 5, 8, 3


def squash(s, axis=-1):
    square = tf.reduce_sum(tf.square(s), axis=axis, keepdims=True)
    scale = square / (1.0 + square)
    return scale * s / tf.sqrt(square + 1e-7)


class CapsNet(tf.Module):
    def __init__(self, rng):
        super().__init__()

        def var(std, *shape):
            return tf.Variable(rng.normal(0, std, shape), dtype=tf.float32)

        self.conv_w, self.conv_b = var(0.3, 5, 5, 1, MAPS), var(0.1, MAPS)
        self.prim_w, self.prim_b = var(0.08, 3, 3, MAPS, PRIMARY * PDIM), var(0.1, PRIMARY * PDIM)
        self.capsules = 4 * 4 * PRIMARY
        self.votes = var(0.3, self.capsules, CLASSES, PDIM, CDIM)
        self.d1_w, self.d1_b = var(0.4, CLASSES * CDIM, 32), var(0.1, 32)
        self.d2_w, self.d2_b = var(0.3, 32, SIDE * SIDE), var(0.1, SIDE * SIDE)

    def primary(self, image):
        h = tf.nn.relu(tf.nn.conv2d(image, self.conv_w, 1, "VALID") + self.conv_b)
        h = tf.nn.conv2d(h, self.prim_w, 2, "VALID") + self.prim_b
        return squash(tf.reshape(h, [-1, self.capsules, PDIM]))

    def route(self, u):
        u_hat = tf.einsum("bnd,ncde->bnce", u, self.votes)
        logits = tf.zeros(tf.shape(u_hat)[:3])
        for i in range(ROUTINGS):
            coupling = tf.nn.softmax(logits, axis=2)
            s = tf.reduce_sum(coupling[..., None] * u_hat, axis=1)
            v = squash(s)
            if i < ROUTINGS - 1:
                logits += tf.reduce_sum(u_hat * v[:, None], axis=-1)
        return v

    def decode(self, v, lengths):
        winner = tf.one_hot(tf.argmax(lengths, axis=1), CLASSES)
        kept = v * winner[:, :, None]
        h = tf.reshape(kept, [-1, CLASSES * CDIM])
        h = tf.nn.relu(tf.matmul(h, self.d1_w) + self.d1_b)
        return tf.sigmoid(tf.matmul(h, self.d2_w) + self.d2_b)

    def __call__(self, image):
        v = self.route(self.primary(image))
        lengths = tf.sqrt(tf.reduce_sum(tf.square(v), axis=-1) + 1e-7)
        return lengths, self.decode(v, lengths)


def make(seed=0):
    return CapsNet(np.random.default_rng(seed))


def inputs(seed):
    rng = np.random.default_rng(seed)
    images = np.zeros((4, SIDE, SIDE, 1))
    for image in images:
        r, c = rng.integers(2, 8, size=2)
        image[r : r + 2, 2:12] = 1
        image[2:12, c : c + 2] = 0.8
    return ((images + 0.1 * rng.uniform(size=images.shape)).astype("float32"),)
