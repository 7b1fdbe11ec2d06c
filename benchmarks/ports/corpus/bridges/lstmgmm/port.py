import math
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
MODES, ACT, POINTS, HID = 5, 7, 8, 40


class Dense(tf.Module):
    def __init__(self, rng, n_in, n_out, name=None):
        super().__init__(name=name)
        self.w = tf.Variable(rng.normal(0, n_in ** -0.5, (n_in, n_out)).astype("f"))
        self.b = tf.Variable(rng.normal(0, 0.1, n_out).astype("f"))

    def __call__(self, x):
        return tf.tensordot(x, self.w, 1) + self.b


class Conv(tf.Module):
    def __init__(self, rng, k, n_in, n_out, stride=1, name=None):
        super().__init__(name=name)
        self.stride = stride
        self.w = tf.Variable(rng.normal(0, (k * k * n_in) ** -0.5, (k, k, n_in, n_out)).astype("f"))
        self.b = tf.Variable(rng.normal(0, 0.1, n_out).astype("f"))

    def __call__(self, x):
        return tf.nn.conv2d(x, self.w, self.stride, "VALID") + self.b


class GroupNorm(tf.Module):
    def __init__(self, rng, channels, groups=4, name=None):
        super().__init__(name=name)
        self.groups = groups
        self.gamma = tf.Variable(rng.uniform(0.5, 1.5, channels).astype("f"))
        self.beta = tf.Variable(rng.normal(0, 0.1, channels).astype("f"))

    def __call__(self, x):
        n, h, w, c = x.shape
        g = tf.reshape(x, (n, h * w, self.groups, c // self.groups))
        mean, var = tf.nn.moments(g, axes=(1, 3), keepdims=True)
        g = (g - mean) * tf.math.rsqrt(var + 1e-5)
        return tf.reshape(g, x.shape) * self.gamma + self.beta


class LSTMLayer(tf.Module):
    """Gates in TF's order: i, j (candidate), f, o."""

    def __init__(self, rng, n_in, n_hidden, name=None):
        super().__init__(name=name)
        self.hidden = n_hidden
        self.kernel = tf.Variable(rng.normal(0, 0.2, (n_in + n_hidden, 4 * n_hidden)).astype("f"))
        self.bias = tf.Variable(rng.normal(0, 0.1, 4 * n_hidden).astype("f"))

    def __call__(self, xs):
        h = c = tf.zeros((xs.shape[0], self.hidden))
        out = []
        for x in tf.unstack(xs, axis=1):
            gates = tf.concat([x, h], 1) @ self.kernel + self.bias
            i, j, f, o = tf.split(gates, 4, axis=1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(j)
            h = tf.sigmoid(o) * tf.tanh(c)
            out.append(h)
        return tf.stack(out, axis=1)


def soft_argmax(heat, temperature):
    """Expected (x, y) in [-1, 1] of each channel of a NHWC heat map."""
    n, h, w, c = heat.shape
    prob = tf.nn.softmax(tf.reshape(heat, (n, h * w, c)) / temperature, axis=1)
    prob = tf.reshape(prob, (n, h, w, c))
    x = tf.einsum("nhwc,w->nc", prob, tf.linspace(-1.0, 1.0, w))
    y = tf.einsum("nhwc,h->nc", prob, tf.linspace(-1.0, 1.0, h))
    return tf.stack([x, y], axis=-1)


class Actor(tf.Module):
    def __init__(self, seed=5):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.conv1, self.gn1 = Conv(rng, 5, 3, 16, 2), GroupNorm(rng, 16)
        self.conv2, self.gn2 = Conv(rng, 3, 16, 24), GroupNorm(rng, 24)
        self.heat = Conv(rng, 1, 24, POINTS)
        self.temperature = tf.Variable([0.8])
        self.vision = Dense(rng, 2 * POINTS, 20)
        self.shift = tf.Variable(rng.normal(0, 0.3, 9).astype("f"), trainable=False)
        self.scale = tf.Variable(rng.uniform(0.5, 1.5, 9).astype("f"), trainable=False)
        self.lstm1, self.lstm2 = LSTMLayer(rng, 29, HID), LSTMLayer(rng, HID, HID)
        self.mu, self.sigma, self.mix = Dense(rng, HID, MODES * ACT), Dense(rng, HID, MODES * ACT), Dense(rng, HID, MODES)

    def see(self, image):
        b, t = image.shape[:2]
        x = tf.transpose(tf.reshape(image, (b * t,) + tuple(image.shape[2:])), (0, 2, 3, 1)) - 0.5
        x = tf.nn.relu(self.gn1(self.conv1(x)))
        x = tf.nn.relu(self.gn2(self.conv2(x)))
        points = soft_argmax(self.heat(x), self.temperature)
        return tf.reshape(self.vision(tf.reshape(points, (b * t, 2 * POINTS))), (b, t, 20))

    def __call__(self, image, proprio, action):
        b, t = action.shape[:2]
        x = tf.concat([self.see(image), (proprio - self.shift) / self.scale], axis=-1)
        h = self.lstm2(self.lstm1(x))
        mu = tf.reshape(tf.tanh(self.mu(h)), (b, t, MODES, ACT))
        std = tf.reshape(tf.nn.softplus(self.sigma(h)) + 0.01, (b, t, MODES, ACT))
        log_mix = tf.nn.log_softmax(self.mix(h), axis=-1)
        z = (action[:, :, None] - mu) / std
        log_normal = -0.5 * z ** 2 - tf.math.log(std) - 0.5 * math.log(2 * math.pi)
        log_prob = tf.reduce_logsumexp(log_mix + tf.reduce_sum(log_normal, -1), axis=-1)
        mean = tf.reduce_sum(tf.exp(log_mix)[..., None] * mu, axis=2)
        return log_prob, mean


def make():
    return Actor()


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    batch = rng.rand(4, 6, 3, 28, 28), rng.randn(4, 6, 9), np.tanh(rng.randn(4, 6, ACT))
    return tuple(x.astype("float32") for x in batch)


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}

    def put(m, key):
        w = sd[key + ".weight"]
        m.w.assign(w.transpose(2, 3, 1, 0) if w.ndim == 4 else w.T)
        m.b.assign(sd[key + ".bias"])

    def gn(m, key):
        m.gamma.assign(sd[key + ".weight"])
        m.beta.assign(sd[key + ".bias"])

    def gates(w):  # i f g o -> i g f o
        i, f, g, o = np.split(w, 4)
        return np.concatenate([i, g, f, o])

    put(ported.conv1, "visual.conv1")
    gn(ported.gn1, "visual.gn1")
    put(ported.conv2, "visual.conv2")
    gn(ported.gn2, "visual.gn2")
    put(ported.heat, "visual.pool.nets")
    ported.temperature.assign(sd["visual.pool.temperature"])
    put(ported.vision, "visual.fc")
    ported.shift.assign(sd["proprio_mean"])
    ported.scale.assign(sd["proprio_std"])
    for n, layer in enumerate((ported.lstm1, ported.lstm2)):
        wi, wh = gates(sd[f"rnn.weight_ih_l{n}"]), gates(sd[f"rnn.weight_hh_l{n}"])
        layer.kernel.assign(np.concatenate([wi.T, wh.T]))
        layer.bias.assign(gates(sd[f"rnn.bias_ih_l{n}"] + sd[f"rnn.bias_hh_l{n}"]))
    for m, key in ((ported.mu, "mean"), (ported.sigma, "scale"), (ported.mix, "logits")):
        put(m, key)
