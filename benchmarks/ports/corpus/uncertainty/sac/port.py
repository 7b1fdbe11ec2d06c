"""The SAC networks in Keras 3."""
import math

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
OBS, ACT, HIDDEN = 11, 3, 32
LOG_STD_MAX, LOG_STD_MIN = 2.0, -5.0
EPS = 1e-6


def mlp(size_in, size_out, name):
    return keras.Sequential(
        [
            keras.Input((size_in,)),
            layers.Dense(HIDDEN, activation="relu"),
            layers.Dense(HIDDEN, activation="relu"),
            layers.Dense(size_out),
        ],
        name=name,
    )


class SquashedGaussian:
    def __init__(self, mean, log_std, seed):
        self.mean = mean
        self.log_std = log_std
        self.std = ops.exp(log_std)
        self.seed = seed

    def sample(self):
        noise = keras.random.normal(ops.shape(self.mean), seed=self.seed)
        return self.mean + self.std * noise

    def log_prob(self, u, scale):
        z = (u - self.mean) / self.std
        gauss = -0.5 * ops.square(z) - self.log_std - 0.5 * math.log(2 * math.pi)
        squash = ops.log(scale * (1.0 - ops.square(ops.tanh(u))) + EPS)
        return ops.sum(gauss - squash, axis=-1, keepdims=True)


class SAC(keras.Model):
    def __init__(self):
        super().__init__()
        self.seed_generator = keras.random.SeedGenerator(1)
        self.policy = mlp(OBS, 2 * ACT, "policy")
        self.q1 = mlp(OBS + ACT, 1, "q1")
        self.q2 = mlp(OBS + ACT, 1, "q2")
        self.log_alpha = self.add_weight(shape=(), initializer="zeros", name="log_alpha")
        self.high = np.array([1.0, 2.0, 0.4], "float32")
        self.low = np.array([-1.0, -1.0, -0.4], "float32")

    def distribution(self, obs):
        mean, raw = ops.split(self.policy(obs), 2, axis=-1)
        half = 0.5 * (LOG_STD_MAX - LOG_STD_MIN)
        log_std = LOG_STD_MIN + half * (ops.tanh(raw) + 1.0)
        return SquashedGaussian(mean, log_std, self.seed_generator)

    def call(self, obs):
        scale = (self.high - self.low) / 2
        center = (self.high + self.low) / 2
        pi = self.distribution(obs)
        u = pi.sample()
        action = center + scale * ops.tanh(u)
        logp = pi.log_prob(u, scale)
        greedy = center + scale * ops.tanh(pi.mean)
        both = ops.concatenate([obs, action], axis=-1)
        q = ops.minimum(self.q1(both), self.q2(both))
        loss = ops.mean(ops.exp(self.log_alpha) * logp - q)
        return action, logp, greedy, q, loss


def make():
    keras.utils.set_random_seed(1)
    return SAC()


def load(model, reference):
    def wb(linear):
        return [linear.weight.detach().numpy().T, linear.bias.detach().numpy()]

    actor = reference.actor
    mean, std = wb(actor.fc_mean), wb(actor.fc_logstd)
    head = [np.concatenate([m, s], axis=-1) for m, s in zip(mean, std)]
    model.policy.set_weights(wb(actor.fc1) + wb(actor.fc2) + head)
    for q, qf in ((model.q1, reference.qf1), (model.q2, reference.qf2)):
        q.set_weights(wb(qf.fc1) + wb(qf.fc2) + wb(qf.fc3))
    model.log_alpha.assign(reference.log_alpha.item())
