"""MDN-RNN in Keras 3: one LSTM over the sequence and one dense layer for the mixture."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"


def log_normal(x, mean, log_std):
    return -0.5 * ops.square((x - mean) / ops.exp(log_std)) - log_std - 0.5 * np.log(2 * np.pi)


class WorldModel(keras.Model):
    def __init__(self, z_dim=6, hidden=24, mixtures=4):
        super().__init__()
        self.z_dim, self.k = z_dim, mixtures
        self.lstm = layers.LSTM(hidden, return_sequences=True)
        self.mixture = layers.Dense(3 * mixtures * z_dim)
        self.done = layers.Dense(1, activation="sigmoid")

    def call(self, z, a, z_next):
        batch, time = z.shape[0], z.shape[1]
        h = self.lstm(ops.concatenate([z, a], axis=-1))
        params = ops.reshape(self.mixture(h), (batch, time, 3, self.k, self.z_dim))
        logits, mean, log_std = params[:, :, 0], params[:, :, 1], params[:, :, 2]
        log_pi = logits - ops.logsumexp(logits, axis=2, keepdims=True)
        log_prob = log_pi + log_normal(ops.expand_dims(z_next, 2), mean, log_std)
        nll = -ops.sum(ops.logsumexp(log_prob, axis=2), axis=-1)
        return mean, ops.squeeze(self.done(h), -1), nll


def make():
    keras.utils.set_random_seed(8)
    model = WorldModel()
    rng = np.random.default_rng(0)
    model(rng.normal(size=(2, 5, 6)).astype("float32"), rng.normal(size=(2, 5, 3)).astype("float32"),
          rng.normal(size=(2, 5, 6)).astype("float32"))
    return model


def _gates(array, hidden):
    """Chainer interleaves its gates (a, i, f, o for unit 0, then unit 1, ...); Keras keeps blocks i, f, c, o."""
    gates = array.reshape((hidden, 4) + array.shape[1:])
    a, i, f, o = (gates[:, n] for n in range(4))
    return np.concatenate([i, f, a, o], axis=0)


def load(model, reference):
    hidden = reference.rnn.lateral.W.shape[1]
    model.lstm.set_weights([
        _gates(reference.rnn.upward.W.array, hidden).T,
        _gates(reference.rnn.lateral.W.array, hidden).T,
        _gates(reference.rnn.upward.b.array, hidden),
    ])
    heads = (reference.coef, reference.mu, reference.ln_sigma)
    model.mixture.set_weights([
        np.concatenate([head.W.array for head in heads]).T,
        np.concatenate([head.b.array for head in heads]),
    ])
    model.done.set_weights([reference.done.W.array.T, reference.done.b.array])
