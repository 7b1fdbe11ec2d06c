"""The T5 encoder for TensorFlow serving: einsums over head-shaped kernels."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
VOCAB, DIM, HEADS, HEAD, FF, DEPTH = 60, 32, 4, 8, 64, 2
BUCKETS, MAX_DISTANCE = 16, 40


def weight(*shape):
    return tf.Variable(tf.random.normal(shape, stddev=0.2))


def rms_norm(x, scale):
    mean_square = tf.reduce_mean(tf.square(x), axis=-1, keepdims=True)
    return x * tf.math.rsqrt(mean_square + 1e-6) * scale


def gelu(x):
    inner = np.sqrt(2 / np.pi).astype("float32") * (x + 0.044715 * tf.pow(x, 3))
    return 0.5 * x * (1.0 + tf.tanh(inner))


def relative_buckets(length):
    """The table is fixed, so NumPy makes it once."""
    position = np.arange(length)
    offset = position[None, :] - position[:, None]
    half = BUCKETS // 2
    exact = half // 2
    away = np.abs(offset)
    logarithmic = np.log(np.maximum(away, 1) / exact) / np.log(MAX_DISTANCE / exact)
    coarse = np.minimum(exact + (logarithmic * (half - exact)).astype(int), half - 1)
    bucket = np.where(away < exact, away, coarse)
    return bucket + np.where(offset > 0, half, 0)


class Layer(tf.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (weight(DIM, HEADS, HEAD) for _ in range(3))
        self.output = weight(HEADS, HEAD, DIM)
        self.scale_attention, self.scale_ff = weight(DIM), weight(DIM)
        self.gate, self.linear, self.down = weight(DIM, FF), weight(DIM, FF), weight(FF, DIM)

    def attend(self, x, bias):
        q = tf.einsum("bld,dhk->blhk", x, self.query)
        k = tf.einsum("bld,dhk->blhk", x, self.key)
        v = tf.einsum("bld,dhk->blhk", x, self.value)
        logits = tf.einsum("bqhk,bshk->bhqs", q, k)
        logits += bias
        probabilities = tf.nn.softmax(logits, axis=-1)
        context = tf.einsum("bhqs,bshk->bqhk", probabilities, v)
        return tf.einsum("bqhk,hkd->bqd", context, self.output)

    def __call__(self, x, bias):
        x += self.attend(rms_norm(x, self.scale_attention), bias)
        h = rms_norm(x, self.scale_ff)
        h = gelu(h @ self.gate) * (h @ self.linear)
        return x + h @ self.down


class Encoder(tf.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.bias = weight(VOCAB, DIM), weight(BUCKETS, HEADS)
        self.layers = [Layer() for _ in range(DEPTH)]
        self.scale = weight(DIM)

    def __call__(self, ids, mask):
        x = tf.gather(self.embedding, ids)
        table = relative_buckets(ids.shape[1])
        bias = tf.transpose(tf.gather(self.bias, table), [2, 0, 1])
        padding = (1.0 - mask) * -1e9
        bias = bias[None] + padding[:, None, None, :]
        for layer in self.layers:
            x = layer(x, bias)
        x = rms_norm(x, self.scale)
        lengths = tf.reduce_sum(mask, axis=1)
        total = tf.einsum("bld,bl->bd", x, mask)
        return x, total / lengths[:, None]


def make():
    return Encoder()


def load(port, ref):
    def numbers(tensor):
        return tensor.detach().numpy()

    port.embedding.assign(numbers(ref.shared.weight))
    port.bias.assign(numbers(ref.relative_attention_bias.weight))
    port.scale.assign(numbers(ref.final.weight))
    for ours, theirs in zip(port.layers, ref.blocks):
        attention = theirs.attention
        for variable, linear in (
            (ours.query, attention.q), (ours.key, attention.k), (ours.value, attention.v),
        ):
            variable.assign(numbers(linear.weight).T.reshape(DIM, HEADS, HEAD))
        ours.output.assign(numbers(attention.o.weight).T.reshape(HEADS, HEAD, DIM))
        ours.scale_attention.assign(numbers(theirs.norm1.weight))
        ours.scale_ff.assign(numbers(theirs.norm2.weight))
        ours.gate.assign(numbers(theirs.wi_0.weight).T)
        ours.linear.assign(numbers(theirs.wi_1.weight).T)
        ours.down.assign(numbers(theirs.wo.weight).T)
