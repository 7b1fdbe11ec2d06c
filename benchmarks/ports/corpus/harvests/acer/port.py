"""ACER's stochastic dueling network in Keras 3."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
N_ACTIONS, TRUNCATION = 4, 5.0


class Gaussian:
    def __init__(self, loc, scale):
        self.loc, self.scale = loc, scale

    def log_prob(self, x):
        quad = ops.square((x - self.loc) / self.scale)
        norm = ops.log(2.0 * np.pi * ops.square(self.scale))
        return -0.5 * ops.sum(quad + norm, axis=-1)


class StochasticDueling(keras.Model):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.trunk = keras.Sequential([layers.Dense(48, activation="elu"),
                                       layers.Dense(32, activation="elu")])
        self.loc = layers.Dense(N_ACTIONS, activation="tanh")
        self.scale = layers.Dense(N_ACTIONS, activation="softplus")
        self.state_value = keras.Sequential([layers.Dense(24, activation="relu"), layers.Dense(1)])
        self.adv = keras.Sequential([layers.Dense(24, activation="relu"), layers.Dense(1)])

    def call(self, obs, action, mu_mean, mu_std, noise):
        n = noise.shape[0]
        phi = self.trunk(obs)
        pi = Gaussian(self.loc(phi), self.scale(phi) + 0.05)
        mu = Gaussian(mu_mean, mu_std)

        samples = pi.loc[None] + pi.scale[None] * noise
        flat = ops.reshape(samples, (-1, N_ACTIONS))
        phis = ops.tile(phi, (n, 1))
        a_samples = self.adv(ops.concatenate([phis, flat], axis=-1))
        a_mean = ops.mean(ops.reshape(a_samples, (n, -1)), axis=0)
        a_taken = ops.squeeze(self.adv(ops.concatenate([phi, action], axis=-1)), -1)
        v = ops.squeeze(self.state_value(phi), -1)
        q = v + a_taken - a_mean

        rho = ops.exp(pi.log_prob(action) - mu.log_prob(action))
        c = ops.minimum(1.0, ops.power(rho, 1.0 / N_ACTIONS))
        drawn = samples[0]
        rho_drawn = ops.exp(pi.log_prob(drawn) - mu.log_prob(drawn))
        return {
            "mean": pi.loc,
            "std": pi.scale,
            "q": q,
            "v": v,
            "c": c,
            "rho": ops.minimum(rho, TRUNCATION),
            "correction": ops.maximum(0.0, 1.0 - TRUNCATION / rho_drawn),
        }


def make(seed=2):
    keras.utils.set_random_seed(seed)
    net = StochasticDueling()
    net(*[ops.convert_to_tensor(x) for x in inputs(1)])
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    f = lambda *s: rng.normal(size=s).astype("float32")
    obs = f(6, 17)
    mu_mean = np.tanh(0.4 * f(6, 4))
    mu_std = (0.35 + 0.3 * rng.random((6, 4))).astype("float32")
    action = mu_mean + mu_std * f(6, 4)
    return obs, action, mu_mean, mu_std, f(5, 6, 4)


def load(ported, original):
    table = [
        (ported.trunk.layers[0], original.body), (ported.trunk.layers[1], original.body2),
        (ported.loc, original.mean), (ported.scale, original.spread),
        (ported.state_value.layers[0], original.value1), (ported.state_value.layers[1], original.value2),
        (ported.adv.layers[0], original.adv1), (ported.adv.layers[1], original.adv2),
    ]
    for dense, link in table:
        dense.set_weights([link.W.array.T, link.b.array])
