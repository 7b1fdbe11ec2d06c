"""Transformer-XL's attention in TensorFlow."""
import tensorflow as tf

FRAMEWORK = "tensorflow"
D, H, Q, M = 24, 4, 5, 4
DH, K = D // H, Q + M


class TFRelAttention(tf.Module):
    def norm(self, x, gain, bias):
        mean, var = tf.nn.moments(x, axes=[-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(var + 1e-5) * gain + bias

    def positions(self):
        freq = 1 / 10000 ** (tf.range(0, D, 2, dtype=tf.float32) / D)
        pos = tf.range(K - 1, -1, -1, dtype=tf.float32)
        angle = pos[:, None] * freq
        return tf.concat([tf.sin(angle), tf.cos(angle)], axis=-1)

    def shift(self, x):
        b, h, q, k = x.shape
        x = tf.reshape(tf.pad(x, [[0, 0], [0, 0], [0, 0], [1, 0]]), [b, h, k + 1, q])
        return tf.reshape(x[:, :, 1:], [b, h, q, k])

    def __call__(self, x, memory):
        c = tf.concat([memory, x], axis=1)
        q, k, v = tf.split(c @ self.w["qkv"], 3, axis=-1)
        q = tf.reshape(q[:, -Q:], [-1, Q, H, DH])
        k, v = tf.reshape(k, [-1, K, H, DH]), tf.reshape(v, [-1, K, H, DH])
        r = tf.reshape(self.positions() @ self.w["r"], [K, H, DH])
        ac = tf.einsum("bihd,bjhd->bhij", q + self.r_w_bias, k)
        bd = self.shift(tf.einsum("bihd,jhd->bhij", q + self.r_r_bias, r))
        scores = (ac + bd) / DH**0.5
        mask = tf.linalg.band_part(tf.ones([Q, K]), -1, M)
        scores = tf.where(mask > 0, scores, -1e30)
        p = tf.nn.softmax(scores, axis=-1)
        y = tf.reshape(tf.einsum("bhij,bjhd->bihd", p, v), [-1, Q, D]) @ self.w["o"]
        x = self.norm(x + y, self.g1, self.h1)
        h = tf.nn.relu(x @ self.w["ff1"] + self.b1)
        return self.norm(x + h @ self.w["ff2"] + self.b2, self.g2, self.h2)


def make():
    return TFRelAttention()


def load(k, t):
    v = lambda p: tf.Variable(p.detach().numpy())
    k.w = {n: tf.Variable(getattr(t, n).weight.detach().numpy().T) for n in ("qkv", "r", "o", "ff1", "ff2")}
    k.b1, k.b2 = v(t.ff1.bias), v(t.ff2.bias)
    k.r_w_bias, k.r_r_bias = v(t.r_w_bias), v(t.r_r_bias)
    k.g1, k.h1, k.g2, k.h2 = map(v, (t.norm.weight, t.norm.bias, t.norm2.weight, t.norm2.bias))
