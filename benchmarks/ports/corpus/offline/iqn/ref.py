"""Implicit quantile network with a CVaR policy, quantile Huber loss (Dabney et al. 2018)."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FRAMEWORK = "tensorflow"
OBS, ACTIONS, COS = 8, 4, 16


class IQN(keras.Model):
    def __init__(self, width=32):
        super().__init__()
        self.torso = keras.Sequential(
            [layers.Dense(width, activation="relu"), layers.Dense(width, activation="relu")]
        )
        self.phi = layers.Dense(width, activation="relu")
        self.head = keras.Sequential([layers.Dense(width, activation="relu"), layers.Dense(ACTIONS)])

    def call(self, obs, taus):
        features = self.torso(obs)
        i = tf.range(1, COS + 1, dtype=tf.float32)
        cosines = tf.cos(np.pi * i * taus[..., None])
        embedded = self.phi(cosines)
        return self.head(features[:, None, :] * embedded)


class Agent(keras.Model):
    def __init__(self, kappa=1.0, gamma=0.95, cvar=0.25, n=8, n_target=6, k=10):
        super().__init__()
        self.online, self.target = IQN(), IQN()
        self.kappa, self.gamma, self.cvar = kappa, gamma, cvar
        self.n, self.n_target, self.k = n, n_target, k

    def greedy(self, net, obs):
        taus = self.cvar * tf.random.uniform((obs.shape[0], self.k))
        values = tf.reduce_mean(net(obs, taus), axis=1)
        return values, tf.argmax(values, axis=-1)

    def call(self, obs, action, reward, next_obs, discount_mask):
        batch = obs.shape[0]
        q, choice = self.greedy(self.online, next_obs)
        target_taus = tf.random.uniform((batch, self.n_target))
        target_z = self.target(next_obs, target_taus)
        target_z = tf.gather(target_z, choice, axis=2, batch_dims=1)
        y = reward[:, None] + self.gamma * discount_mask[:, None] * target_z

        taus = tf.random.uniform((batch, self.n))
        z = tf.gather(self.online(obs, taus), action, axis=2, batch_dims=1)
        u = y[:, None, :] - z[:, :, None]
        huber = tf.where(
            tf.abs(u) <= self.kappa,
            0.5 * tf.square(u),
            self.kappa * (tf.abs(u) - 0.5 * self.kappa),
        )
        weight = tf.abs(taus[:, :, None] - tf.cast(u < 0, tf.float32))
        loss = tf.reduce_sum(tf.reduce_mean(weight * huber / self.kappa, axis=2), axis=1)
        return {"cvar": q, "targets": y, "quantiles": z, "loss": loss}


def make():
    keras.utils.set_random_seed(17)
    agent = Agent()
    agent(*[a[:2] for a in inputs(0)])
    rng = np.random.default_rng(2)
    for v in agent.weights:
        if len(v.shape) == 1:
            v.assign(0.3 * rng.normal(size=v.shape))
    return agent


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 6
    return (
        rng.normal(size=(b, OBS)).astype("float32"),
        rng.integers(0, ACTIONS, size=b).astype("int64"),
        (2 * rng.normal(size=b)).astype("float32"),
        rng.normal(size=(b, OBS)).astype("float32"),
        (np.arange(b) % 3 != 1).astype("float32"),
    )
