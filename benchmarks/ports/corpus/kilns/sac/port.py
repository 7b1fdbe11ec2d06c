"""SAC's networks and target in Keras 3."""
import math

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
LOW = np.array([-2.0, -1.0, 0.0], "float32")
HIGH = np.array([2.0, 1.5, 3.0], "float32")


def critic(name):
    obs, act = keras.Input((11,)), keras.Input((3,))
    h = layers.Concatenate()([obs, act])
    for i in (1, 2):
        h = layers.Dense(32, name=f"d{i}")(h)
        h = layers.LayerNormalization(epsilon=1e-5, name=f"n{i}")(h)
        h = layers.ReLU()(h)
    return keras.Model([obs, act], layers.Dense(1, name="q")(h), name=name)


class Policy(keras.Model):
    def __init__(self):
        super().__init__()
        self.trunk = keras.Sequential([layers.Dense(32, "relu"), layers.Dense(32, "relu")])
        self.mu = layers.Dense(3)
        self.raw_std = layers.Dense(3)
        self.half_range = (HIGH - LOW) / 2
        self.centre = (HIGH + LOW) / 2

    def call(self, obs, noise):
        h = self.trunk(obs)
        mu = self.mu(h)
        log_std = -5.0 + 3.5 * (ops.tanh(self.raw_std(h)) + 1.0)
        pre = mu + ops.exp(log_std) * noise
        squashed = ops.tanh(pre)
        gauss = -0.5 * ops.square(noise) - log_std - 0.5 * math.log(2 * math.pi)
        jacobian = ops.log(self.half_range * (1.0 - ops.square(squashed)) + 1e-6)
        logp = ops.sum(gauss - jacobian, axis=-1)
        return self.half_range * squashed + self.centre, logp


class Agent(keras.Model):
    def __init__(self, discount=0.97):
        super().__init__()
        self.policy = Policy()
        self.q1 = critic("q1")
        self.q2 = critic("q2")
        self.discount = discount
        self.log_alpha = self.add_weight(shape=(), initializer="zeros", name="log_alpha")

    def call(self, inputs):
        obs, act, rew, done, next_obs, noise = inputs
        next_act, logp = self.policy(next_obs, noise)
        qs = ops.stack([self.q1([next_obs, next_act]), self.q2([next_obs, next_act])], axis=0)
        bootstrap = ops.min(qs, axis=0)[:, 0] - ops.exp(self.log_alpha) * logp
        not_done = 1.0 - done
        target = rew + self.discount * not_done * bootstrap
        td1 = ops.squeeze(self.q1([obs, act]), -1) - target
        td2 = ops.squeeze(self.q2([obs, act]), -1) - target
        return next_act, logp, target, ops.square(td1) + ops.square(td2)


def make():
    net = Agent()
    net([ops.convert_to_tensor(a) for a in inputs(0)])
    rng = np.random.default_rng(9)
    for w in net.weights:
        w.assign(0.25 * rng.normal(size=w.shape) + (1.0 if "gamma" in w.path else 0.0))
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b = 8
    return (
        rng.normal(size=(b, 11)).astype("float32"),
        rng.uniform(-1, 1, size=(b, 3)).astype("float32"),
        rng.normal(size=b).astype("float32"),
        (rng.random(b) < 0.4).astype("float32"),
        rng.normal(size=(b, 11)).astype("float32"),
        rng.normal(size=(b, 3)).astype("float32"),
    )


def load(ported, original):
    def dense(layer, m):
        layer.set_weights([m.weight.detach().numpy().T, m.bias.detach().numpy()])

    def norm(layer, m):
        layer.set_weights([m.weight.detach().numpy(), m.bias.detach().numpy()])

    dense(ported.policy.trunk.layers[0], original.actor.fc1)
    dense(ported.policy.trunk.layers[1], original.actor.fc2)
    dense(ported.policy.mu, original.actor.fc_mean)
    dense(ported.policy.raw_std, original.actor.fc_logstd)
    for q, m in ((ported.q1, original.qf1), (ported.q2, original.qf2)):
        dense(q.get_layer("d1"), m.fc1)
        norm(q.get_layer("n1"), m.ln1)
        dense(q.get_layer("d2"), m.fc2)
        norm(q.get_layer("n2"), m.ln2)
        dense(q.get_layer("q"), m.fc3)
    ported.log_alpha.assign(original.log_alpha.detach().numpy()[0])
