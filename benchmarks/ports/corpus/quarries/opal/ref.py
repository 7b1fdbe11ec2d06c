"""OPAL-like offline skill model: trajectory posterior, state prior and skill-conditioned decoder (Keras)."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "tensorflow"
T, S, A, Z = 9, 10, 3, 6


@keras.saving.register_keras_serializable("opal")
class MaskedLogProb(layers.Layer):
    """mean over valid steps of log N(a | mean, exp(log_std))"""

    def call(self, mean, log_std, action, mask):
        m = ops.cast(mask, mean.dtype)
        z = (action - mean) * ops.exp(-log_std)
        lp = ops.sum(-0.5 * z * z - log_std - 0.5 * float(np.log(2 * np.pi)), axis=-1)
        return ops.sum(lp * m, axis=1) / ops.sum(m, axis=1)


def kl_diag(mu_q, ls_q, mu_p, ls_p):
    var_ratio = ops.exp(2.0 * (ls_q - ls_p))
    diff = (mu_q - mu_p) * ops.exp(-ls_p)
    return ops.sum(ls_p - ls_q + 0.5 * (var_ratio + diff * diff) - 0.5, axis=-1)


def build():
    states = keras.Input((T, S), name="states")
    actions = keras.Input((T, A), name="actions")
    mask = keras.Input((T,), dtype="bool", name="mask")
    noise = keras.Input((Z,), name="noise")

    # posterior q(z | tau)
    x = layers.Concatenate()([states, actions])
    x = layers.Dense(24, activation="relu", name="enc_in")(x)
    h = layers.Bidirectional(layers.GRU(16), merge_mode="concat", name="enc_rnn")(x, mask=mask)
    mu = layers.Dense(Z, name="post_mu")(h)
    log_std = ops.clip(layers.Dense(Z, name="post_ls")(h), -4.0, 1.0)

    # prior p(z | s_0)
    p = layers.Dense(32, activation="tanh", name="prior_h")(states[:, 0])
    p_mu = layers.Dense(Z, name="prior_mu")(p)
    p_ls = ops.clip(layers.Dense(Z, name="prior_ls")(p), -4.0, 1.0)

    # decoder pi(a | s, z)
    z = mu + ops.exp(log_std) * noise
    zt = layers.RepeatVector(T)(z)
    d = layers.Concatenate()([states, zt])
    d = layers.Dense(40, activation="relu", name="dec_1")(d)
    d = layers.Dense(40, activation="relu", name="dec_2")(d)
    a_mu = layers.Dense(A, activation="tanh", name="act_mu")(d)
    a_ls = ops.clip(layers.Dense(A, name="act_ls")(d), -2.0, 1.0)

    log_prob = MaskedLogProb(name="log_prob")(a_mu, a_ls, actions, mask)
    kl = kl_diag(mu, log_std, p_mu, p_ls)
    return keras.Model([states, actions, mask, noise], {"action": a_mu, "log_prob": log_prob, "kl": kl})


def make():
    keras.utils.set_random_seed(51)
    model = build()
    rng = np.random.default_rng(51)
    for w in model.weights:
        if w.path.endswith("bias"):
            w.assign(rng.normal(size=w.shape) * 0.25)
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    B = 6
    lengths = np.array([9, 6, 4, 8, 5, 7])
    mask = np.arange(T)[None] < lengths[:, None]
    s = np.cumsum(rng.normal(size=(B, T, S)) * 0.5, axis=1)
    a = np.clip(rng.normal(size=(B, T, A)) * 0.6, -1, 1)
    eps = rng.normal(size=(B, Z))
    f = lambda v: v.astype(np.float32)
    return f(s), f(a), mask, f(eps)
