"""WaveNet: a gated dilated causal stack with a local skip sum, in plain TensorFlow."""
import tensorflow as tf

FRAMEWORK = "tensorflow"
K, DIL = 2, (1, 2, 4, 8)


class TFWaveNet(tf.Module):
    """(batch, time) tokens -> (batch, classes, time) log-probabilities."""

    def __init__(self):
        super().__init__()
        self.w = {}

    def conv(self, x, name, d=1):
        return tf.nn.conv1d(x, self.w[name + ".weight"], 1, "VALID", dilations=d) + self.w[name + ".bias"]

    def __call__(self, tokens):
        x = tf.gather(self.w["embed.weight"], tokens)
        skips = []
        for i, d in enumerate(DIL):
            n = (K - 1) * d
            p = tf.pad(x, [[0, 0], [n, 0], [0, 0]])
            a = self.conv(p, f"layers.{i}.filter", d)
            b = self.conv(p, f"layers.{i}.gate", d)
            z = tf.tanh(a) * tf.sigmoid(b)
            skips.append(self.conv(z, f"layers.{i}.skip"))
            r = self.conv(z, f"layers.{i}.res")
            x = x + r
        y = tf.nn.relu(tf.add_n(skips))
        y = tf.nn.relu(self.conv(y, "post1"))
        return tf.transpose(tf.nn.log_softmax(self.conv(y, "post2"), axis=-1), (0, 2, 1))


def make():
    return TFWaveNet()


def load(net, ref):
    out = {}
    for k, v in ref.state_dict().items():
        v = v.numpy()
        out[k] = v.transpose(2, 1, 0).copy() if v.ndim == 3 else v.copy()
    net.w = {k: tf.Variable(v) for k, v in out.items()}
