import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

FRAMEWORK = "tensorflow"


class NegativeBinomialHead(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.loc = layers.Dense(1, activation="softplus", name="loc")
        self.disp = layers.Dense(1, activation="softplus", name="disp")

    def call(self, h, scale):
        mu = ops.squeeze(self.loc(h), -1) * scale
        alpha = ops.squeeze(self.disp(h), -1) / ops.sqrt(scale)
        return mu, alpha

    @staticmethod
    def log_prob(y, mu, alpha):
        r = 1.0 / alpha
        am = alpha * mu
        norm = tf.math.lgamma(y + r) - tf.math.lgamma(y + 1.0) - tf.math.lgamma(r)
        return norm - r * ops.log(1.0 + am) + y * (ops.log(am) - ops.log(1.0 + am))


class DeepAR(keras.Model):
    def __init__(self, context=28, horizon=6, lags=(1, 2, 7), n_series=15, hidden=24):
        super().__init__()
        self.context, self.horizon, self.lags = context, horizon, lags
        self.ids = layers.Embedding(n_series, 5, name="ids")
        self.lstm1 = layers.LSTM(hidden, return_sequences=True, return_state=True, name="lstm1")
        self.lstm2 = layers.LSTM(hidden, return_sequences=True, return_state=True, name="lstm2")
        self.head = NegativeBinomialHead(name="head")

    def mean_scale(self, y, seen):
        count = ops.maximum(ops.sum(seen, axis=1, keepdims=True), 1.0)
        return 1.0 + ops.sum(ops.abs(y) * seen, axis=1, keepdims=True) / count

    def recur(self, x, states=(None, None)):
        x, *s1 = self.lstm1(x, initial_state=states[0])
        x, *s2 = self.lstm2(x, initial_state=states[1])
        return x, (s1, s2)

    def call(self, args):
        y, seen, cov, sid = args
        scale = self.mean_scale(y, seen)
        z = y * seen / scale
        const = ops.concatenate([self.ids(sid), ops.log(scale)], axis=-1)

        start = max(self.lags)
        n = self.context - start
        lagged = ops.stack([z[:, start - k: self.context - k] for k in self.lags], axis=-1)
        tiled = ops.repeat(const[:, None, :], n, axis=1)
        feats = ops.concatenate([lagged, cov[:, start:self.context], tiled], axis=-1)
        h, state = self.recur(feats)
        mu, alpha = self.head(h, scale)

        past = [z[:, i] for i in range(self.context)]
        preds = []
        for step in range(self.horizon):
            lag = ops.stack([past[-k] for k in self.lags], axis=-1)
            inp = ops.concatenate([lag, cov[:, self.context + step], const], axis=-1)
            h, state = self.recur(inp[:, None, :], state)
            m, a = self.head(h, scale)
            preds.append(ops.concatenate([m, a], axis=-1))
            past.append((m / scale)[:, 0])
        preds = ops.stack(preds, axis=1)

        lp = self.head.log_prob(y[:, start:], mu, alpha)
        w = seen[:, start:]
        nll = -ops.sum(lp * w, axis=1) / ops.sum(w, axis=1)
        return mu, preds, nll


def make():
    keras.utils.set_random_seed(41)
    net = DeepAR()
    net(inputs(0))
    g = np.random.default_rng(41)
    for v in net.weights:
        v.assign(g.normal(0, 0.3, v.shape))
    return net


def load(ported, original):
    sd = {k: v.numpy() for k, v in original.state_dict().items()}
    ported.ids.set_weights([sd["series.weight"]])
    for n, layer in enumerate((ported.lstm1, ported.lstm2)):
        layer.set_weights([sd[f"rnn.weight_ih_l{n}"].T, sd[f"rnn.weight_hh_l{n}"].T,
                           sd[f"rnn.bias_ih_l{n}"] + sd[f"rnn.bias_hh_l{n}"]])
    ported.head.loc.set_weights([sd["mu.weight"].T, sd["mu.bias"]])
    ported.head.disp.set_weights([sd["alpha.weight"].T, sd["alpha.bias"]])


def inputs(seed=0):
    g = np.random.default_rng(seed)
    level = g.uniform(2, 30, (6, 1))
    week = 1 + 0.5 * np.sin(2 * np.pi * (np.arange(28) + g.integers(0, 7, (6, 1))) / 7)
    past = g.poisson(level * week).astype("float32")
    observed = (g.uniform(size=(6, 28)) > 0.1).astype("float32")
    cov = g.standard_normal((6, 34, 3)).astype("float32")
    return past, observed, cov, g.integers(0, 15, 6)
