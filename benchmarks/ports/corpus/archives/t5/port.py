"""The T5 encoder block as a tf.Module."""
import math
import tensorflow as tf

FRAMEWORK = "tensorflow"
D, H, DK, FF, BUCKETS, MAXD, V = 24, 3, 8, 32, 8, 16, 40


def bucket_tf(rel):
    half = BUCKETS // 2
    out = tf.cast(rel > 0, tf.int32) * half
    rel = tf.abs(rel)
    exact = half // 2
    large = exact + tf.cast(tf.math.log(tf.maximum(tf.cast(rel, tf.float32), 1.0) / exact) / math.log(MAXD / exact) * (half - exact), tf.int32)
    return out + tf.where(rel < exact, rel, tf.minimum(large, half - 1))


class TFBlock(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = {}

    def rms(self, x, weight):
        return weight * x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + 1e-6)

    def heads(self, x, name):
        y = x @ self.w[name]
        return tf.transpose(tf.reshape(y, (x.shape[0], x.shape[1], H, DK)), (0, 2, 1, 3))

    def __call__(self, ids, mask):
        w = self.w
        x = tf.gather(w["embed"], ids)
        b, n, _ = x.shape
        h = self.rms(x, w["norm1"])
        q, k, v = self.heads(h, "q"), self.heads(h, "k"), self.heads(h, "v")
        pos = tf.range(n)
        rel = pos[None, :] - pos[:, None]
        bias = tf.transpose(tf.gather(w["rel"], bucket_tf(rel)), (2, 0, 1))[None]
        scores = tf.matmul(q, k, transpose_b=True)
        scores = scores + bias + (1.0 - mask)[:, None, None, :] * -1e9
        ctx = tf.reshape(tf.transpose(tf.nn.softmax(scores) @ v, (0, 2, 1, 3)), (b, n, H * DK))
        x = x + ctx @ w["o"]
        h = self.rms(x, w["norm2"])
        return x + (tf.nn.gelu(h @ w["wi0"], approximate=True) * (h @ w["wi1"])) @ w["wo"]


def make():
    return TFBlock()


def load(net, ref):
    for name, p in ref.named_parameters():
        value = p.detach().numpy()
        linear = name.split(".")[0] in ("q", "k", "v", "o", "wi0", "wi1", "wo")
        net.w[name.split(".")[0]] = tf.Variable(value.T if linear else value, name=name.replace(".", "_"))
