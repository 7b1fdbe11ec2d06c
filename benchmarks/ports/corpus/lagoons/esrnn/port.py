"""ES-RNN in TensorFlow: a dictionary of tf.Variables and plain functions."""
import numpy as np
import tensorflow as tf

FRAMEWORK = "tensorflow"
T, SEAS, N_CAT, HID, OUT = 9, 4, 3, 6, 4


def init_params(seed):
    r = np.random.RandomState(seed)

    def v(*shape):
        return tf.Variable((0.4 * r.randn(*shape)).astype("float32"))

    p = {"alpha": v(N_CAT, 1), "gamma": v(N_CAT, 1), "seas": v(N_CAT, SEAS),
         "nl_w": v(HID, HID), "nl_b": v(HID), "out_w": v(HID, OUT), "out_b": v(OUT)}
    for name, n_in in (("rnn1", SEAS + N_CAT), ("rnn2", HID)):
        p[name + "_k"], p[name + "_u"], p[name + "_b"] = v(n_in, 4 * HID), v(HID, 4 * HID), v(4 * HID)
    return p


def lstm(p, name, x):
    """x (batch, time, features) -> (batch, time, HID)."""
    h = c = tf.zeros([tf.shape(x)[0], HID])
    proj = x @ p[name + "_k"] + p[name + "_b"]
    outs = []
    for t in range(x.shape[1]):
        i, f, g, o = tf.split(proj[:, t] + h @ p[name + "_u"], 4, axis=-1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        outs.append(h)
    return tf.stack(outs, axis=1)


def dilated_lstm(p, name, x, rate):
    steps, width = x.shape[1] // rate, x.shape[2]
    x = tf.transpose(tf.reshape(x, [-1, steps, rate, width]), [0, 2, 1, 3])
    h = lstm(p, name, tf.reshape(x, [-1, steps, width]))
    h = tf.transpose(tf.reshape(h, [-1, rate, steps, HID]), [0, 2, 1, 3])
    return tf.reshape(h, [-1, steps * rate, HID])


def holt_winters(y, alpha, gamma, init):
    seas = tf.unstack(init, axis=1) + [init[:, 0]]
    levels = [y[:, 0] / seas[0]]
    for t in range(1, T):
        level = alpha * y[:, t] / seas[t] + (1 - alpha) * levels[-1]
        seas.append(gamma * y[:, t] / level + (1 - gamma) * seas[t])
        levels.append(level)
    return tf.stack(levels, 1), tf.stack(seas, 1)


class ESRNN(tf.Module):
    def __init__(self, seed=28):
        super().__init__()
        self.p = init_params(seed)

    def __call__(self, y, cats):
        p = self.p
        alpha = tf.sigmoid(cats @ p["alpha"])[:, 0]
        gamma = tf.sigmoid(cats @ p["gamma"])[:, 0]
        levels, seas = holt_winters(y, alpha, gamma, tf.exp(cats @ p["seas"]))

        growth = tf.math.log(levels[:, 1:] / levels[:, :-1])
        penalty = tf.square(growth[:, 1:] - growth[:, :-1])

        deseas = y / seas[:, :T]
        n = T - SEAS + 1
        windows = tf.stack([deseas[:, i:i + SEAS] for i in range(n)], axis=1)
        windows = tf.math.log(windows / levels[:, SEAS - 1:, None])
        x = tf.concat([windows, tf.repeat(cats[:, None], n, axis=1)], axis=-1)

        h = dilated_lstm(p, "rnn1", x, 1)
        h = h + dilated_lstm(p, "rnn2", h, 2)
        pred = tf.tanh(h @ p["nl_w"] + p["nl_b"]) @ p["out_w"] + p["out_b"]
        forecast = tf.exp(pred[:, -1]) * levels[:, -1:] * seas[:, T:T + OUT]
        return forecast, pred, penalty


def make():
    return ESRNN()


def load(ported, original):
    p = ported.p

    def a(t):
        return t.detach().numpy()

    p["alpha"].assign(a(original.lev_sms)[:, None])
    p["gamma"].assign(a(original.seas_sms)[:, None])
    p["seas"].assign(a(original.init_seas))
    for n, m in (("nl", original.nl_layer), ("out", original.scoring)):
        p[n + "_w"].assign(a(m.weight).T)
        p[n + "_b"].assign(a(m.bias))
    for n in ("rnn1", "rnn2"):
        c = getattr(original, n).cell
        p[n + "_k"].assign(a(c.weight_ih_l0).T)
        p[n + "_u"].assign(a(c.weight_hh_l0).T)
        p[n + "_b"].assign(a(c.bias_ih_l0) + a(c.bias_hh_l0))


def inputs(seed):
    r = np.random.RandomState(seed)
    y = np.exp(0.6 * r.randn(6, T) + 0.1 * np.arange(T)).astype("float32")
    return y, np.eye(N_CAT, dtype="float32")[[0, 1, 2, 0, 1, 2]]
