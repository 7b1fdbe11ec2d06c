"""The actor critic in Keras 3."""
import math

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
O, A, B = 9, 3, 8


class KActorCritic(keras.Model):
    def __init__(self):
        super().__init__()
        self.obs_mean, self.obs_var = ops.zeros(O), ops.ones(O)
        self.seeds = keras.random.SeedGenerator(4)
        mlp = lambda n: [layers.Dense(32, activation="tanh"), layers.Dense(32, activation="tanh"), layers.Dense(n)]
        self.actor, self.critic = mlp(A), mlp(1)
        self.log_std = self.add_weight(shape=(A,), initializer="zeros", name="log_std")

    def call(self, obs):
        x = (obs - self.obs_mean) / ops.sqrt(self.obs_var + 1e-3)
        x = ops.clip(x, -3.0, 3.0)
        mean = x
        for layer in self.actor:
            mean = layer(mean)
        value = x
        for layer in self.critic:
            value = layer(value)
        std = ops.exp(self.log_std)
        noise = keras.random.normal(ops.shape(mean), seed=self.seeds)
        action = mean + std * noise
        logp = -0.5 * ops.square((action - mean) / std) - self.log_std - 0.5 * math.log(2 * math.pi)
        logp = ops.sum(logp, axis=-1)
        entropy = ops.sum(0.5 + 0.5 * math.log(2 * math.pi) + self.log_std, axis=-1)
        return action, logp, entropy + ops.zeros_like(logp), value[:, 0]


def make():
    k = KActorCritic()
    k(np.zeros((B, O), "float32"))
    return k


def load(k, t):
    k.obs_mean = ops.convert_to_tensor(t.norm.mean.numpy())
    k.obs_var = ops.convert_to_tensor(t.norm.var.numpy())
    k.log_std.assign(t.log_std.detach().numpy())
    for a, b in ((t.actor, k.actor), (t.critic, k.critic)):
        for i, layer in zip((0, 2, 4), b):
            layer.set_weights([a[i].weight.detach().numpy().T, a[i].bias.detach().numpy()])
