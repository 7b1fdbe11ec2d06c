"""The Glow steps in TensorFlow."""
import math
import tensorflow as tf

FRAMEWORK = "tensorflow"
LAYOUT = "NHWC"
C = 8


class TFGlow(tf.Module):
    def __init__(self):
        super().__init__()
        self.steps = []

    def step(self, p, x, logdet):
        pixels = x.shape[1] * x.shape[2]
        x = (x + p["shift"]) * tf.exp(p["log_scale"])
        logdet += pixels * tf.reduce_sum(p["log_scale"])
        x = tf.matmul(x, p["w"], transpose_b=True)
        logabsdet = tf.linalg.slogdet(p["w"]).log_abs_determinant
        logdet += pixels * logabsdet
        a, b = tf.split(x, 2, axis=-1)
        h = a
        for i in (0, 2, 4):
            h = tf.nn.conv2d(h, p[f"k{i}"], 1, "SAME") + p[f"b{i}"]
            if i < 4:
                h = tf.nn.relu(h)
        s, t = tf.split(h, 2, axis=-1)
        s = tf.sigmoid(s + 2.0)
        b = (b + t) * s
        logdet += tf.reduce_sum(tf.math.log(s), axis=(1, 2, 3))
        return tf.concat([a, b], axis=-1), logdet

    def __call__(self, x):
        b, h, w, c = x.shape
        x = tf.reshape(x, (b, h // 2, 2, w // 2, 2, c))
        x = tf.reshape(tf.transpose(x, (0, 1, 3, 5, 2, 4)), (b, h // 2, w // 2, 4 * c))
        logdet = tf.zeros(b)
        for p in self.steps:
            x, logdet = self.step(p, x, logdet)
        base = 0.5 * math.log(2 * math.pi)
        prior = tf.reduce_sum(-0.5 * tf.square(x) - base, axis=(1, 2, 3))
        return x, (prior + logdet) / (math.log(2) * c * h * w)


def make():
    return TFGlow()


def load(net, ref):
    steps = []
    for s in ref.steps:
        p = {"log_scale": s.log_scale.detach().numpy().reshape(C), "shift": s.shift.detach().numpy().reshape(C), "w": s.weight.detach().numpy()}
        for i in (0, 2, 4):
            p[f"k{i}"] = s.net[i].weight.detach().numpy().transpose(2, 3, 1, 0)
            p[f"b{i}"] = s.net[i].bias.detach().numpy()
        steps.append({k: tf.Variable(v, name=k) for k, v in p.items()})
    net.steps = steps
