"""Music Transformer (Huang et al. 2019): relative attention by skewing, in TensorFlow."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
EVENTS, LENGTH, DIM, HEADS, FFN = 24, 10, 16, 4, 32


class Dense(tf.Module):
    def __init__(self, n_in, n_out, rng):
        super().__init__()
        self.w = tf.Variable(rng.normal(0, 1.2 / n_in**0.5, (n_in, n_out)).astype("float32"))
        self.b = tf.Variable(rng.normal(0, 0.2, n_out).astype("float32"))

    def __call__(self, x):
        return tf.matmul(x, self.w) + self.b


class LayerNorm(tf.Module):
    def __init__(self, n, rng):
        super().__init__()
        self.gamma = tf.Variable(rng.uniform(0.6, 1.4, n).astype("float32"))
        self.beta = tf.Variable(rng.normal(0, 0.2, n).astype("float32"))

    def __call__(self, x):
        mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + 1e-6) * self.gamma + self.beta


class RelativeAttention(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.q, self.k, self.v, self.out = (Dense(DIM, DIM, rng) for _ in range(4))
        # row r is for the distance r - (LENGTH - 1): the last row is "here"
        self.relative = tf.Variable(
            rng.normal(0, 0.7, (HEADS, LENGTH, DIM // HEADS)).astype("float32")
        )

    @staticmethod
    def heads(x):
        x = tf.reshape(x, (-1, LENGTH, HEADS, DIM // HEADS))
        return tf.transpose(x, (0, 2, 1, 3))

    @staticmethod
    def skew(x):
        x = tf.pad(x, [[0, 0], [0, 0], [0, 0], [1, 0]])
        x = tf.reshape(x, (-1, HEADS, LENGTH + 1, LENGTH))
        return x[:, :, 1:, :]

    def __call__(self, x, mask):
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
        content = tf.matmul(q, k, transpose_b=True)
        position = self.skew(tf.einsum("bhld,hmd->bhlm", q, self.relative))
        logits = (content + position) / (DIM // HEADS) ** 0.5
        weights = tf.nn.softmax(tf.where(mask, logits, -1e9), axis=-1)
        y = tf.transpose(tf.matmul(weights, v), (0, 2, 1, 3))
        return self.out(tf.reshape(y, (-1, LENGTH, DIM)))


class Layer(tf.Module):
    def __init__(self, rng):
        super().__init__()
        self.attention = RelativeAttention(rng)
        self.norm1, self.norm2 = LayerNorm(DIM, rng), LayerNorm(DIM, rng)
        self.up, self.down = Dense(DIM, FFN, rng), Dense(FFN, DIM, rng)

    def __call__(self, x, mask):
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.down(tf.nn.relu(self.up(x))))


class MusicTransformer(tf.Module):
    def __init__(self, seed, layers=2):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.embedding = tf.Variable(rng.normal(0, 0.3, (EVENTS, DIM)).astype("float32"))
        self.layers = [Layer(rng) for _ in range(layers)]
        self.head = Dense(DIM, EVENTS, rng)

    def __call__(self, events):
        x = tf.gather(self.embedding, events) * DIM**0.5
        mask = tf.linalg.band_part(tf.ones((LENGTH, LENGTH)), -1, 0) > 0
        for layer in self.layers:
            x = layer(x, mask)
        return tf.nn.log_softmax(self.head(x), axis=-1)


def make(seed=0):
    return MusicTransformer(seed)


def inputs(seed=0):
    return np.random.default_rng(seed).integers(0, EVENTS, size=(4, LENGTH)).astype("int32")
