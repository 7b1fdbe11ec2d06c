"""RLPD in Keras 3."""
import math

import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "keras"
OBS, ACT, HIDDEN, ENSEMBLE, N_STEP = 9, 3, 16, 5, 3
GAMMA = 0.97
SUBSET = [0, 2]


class EnsembleDense(layers.Layer):
    """Dense layers side by side; with a layer norm and relu behind unless it is the last."""

    def __init__(self, units, members=ENSEMBLE, norm=True, **kwargs):
        super().__init__(**kwargs)
        self.units, self.members, self.norm = units, members, norm

    def build(self, shape):
        e = self.members
        self.kernel = self.add_weight(shape=(e, shape[-1], self.units), name="kernel")
        self.bias = self.add_weight(shape=(e, self.units), name="bias")
        if self.norm:
            self.gamma = self.add_weight(shape=(e, self.units), name="gamma")
            self.beta = self.add_weight(shape=(e, self.units), name="beta")

    def call(self, x):
        x = ops.einsum("ebi,eio->ebo", x, self.kernel) + self.bias[:, None]
        if not self.norm:
            return x
        mean, variance = ops.moments(x, axes=-1, keepdims=True)
        x = (x - mean) * ops.rsqrt(variance + 1e-5)
        x = x * self.gamma[:, None] + self.beta[:, None]
        return ops.relu(x)


class Critic(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.hidden = [EnsembleDense(HIDDEN), EnsembleDense(HIDDEN)]
        self.head = EnsembleDense(1, norm=False)

    def call(self, obs, action):
        x = ops.concatenate([obs, action], axis=-1)
        x = ops.repeat(x[None], ENSEMBLE, axis=0)
        for layer in self.hidden:
            x = layer(x)
        return self.head(x)[..., 0]


class Actor(layers.Layer):
    def __init__(self, low=-5.0, high=2.0, **kwargs):
        super().__init__(**kwargs)
        self.low, self.high = low, high
        self.dense = [layers.Dense(HIDDEN), layers.Dense(HIDDEN)]
        self.norms = [layers.LayerNormalization(epsilon=1e-5) for _ in range(2)]
        self.mean_head = layers.Dense(ACT)
        self.std_head = layers.Dense(ACT)

    def call(self, obs, noise):
        h = obs
        for dense, norm in zip(self.dense, self.norms):
            h = ops.relu(norm(dense(h)))
        mean = self.mean_head(h)
        squashed = ops.tanh(self.std_head(h))
        log_std = self.low + 0.5 * (self.high - self.low) * (squashed + 1.0)
        u = mean + ops.exp(log_std) * noise
        gaussian = -0.5 * (ops.square(noise) + math.log(2 * math.pi)) - log_std
        jacobian = 2.0 * (math.log(2.0) - u - ops.softplus(-2.0 * u))
        return ops.tanh(u), ops.sum(gaussian - jacobian, axis=-1)


class RLPD(keras.Model):
    def __init__(self):
        super().__init__()
        self.actor = Actor()
        self.critic = Critic()
        self.target_critic = Critic()
        self.log_alpha = self.add_weight(shape=(), name="log_alpha")

    def call(self, obs, action, rewards, masks, next_obs, noise):
        next_action, log_prob = self.actor(next_obs, noise)
        next_qs = self.target_critic(next_obs, next_action)
        next_q = ops.min(ops.take(next_qs, SUBSET, axis=0), axis=0)
        value = next_q - ops.exp(self.log_alpha) * log_prob
        for k in reversed(range(N_STEP)):
            value = rewards[:, k] + GAMMA * masks[:, k] * value
        q = self.critic(obs, action)
        loss = ops.mean(ops.square(q - value[None]), axis=0)
        return next_action, log_prob, q, value, loss


def make():
    net = RLPD()
    net(*inputs(0))
    rng = np.random.default_rng(5)
    for w in net.weights:
        value = 0.3 * rng.normal(size=w.shape)
        w.assign((1 + value if w.name == "gamma" else value).astype("float32"))
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 6
    return tuple(a.astype("float32") for a in (
        rng.normal(size=(b, OBS)),
        np.tanh(rng.normal(size=(b, ACT))),
        rng.normal(size=(b, N_STEP)),
        (rng.random((b, N_STEP)) > 0.15),
        rng.normal(size=(b, OBS)),
        rng.normal(size=(b, ACT)),
    ))


def load(ported, original):
    s = {k: v.detach().numpy() for k, v in original.state_dict().items()}
    for i, dense in enumerate(ported.actor.dense):
        dense.set_weights([s[f"actor.trunk.{3 * i}.weight"].T, s[f"actor.trunk.{3 * i}.bias"]])
        ported.actor.norms[i].set_weights(
            [s[f"actor.trunk.{3 * i + 1}.weight"], s[f"actor.trunk.{3 * i + 1}.bias"]])
    for head, name in ((ported.actor.mean_head, "mean"), (ported.actor.std_head, "log_std")):
        head.set_weights([s[f"actor.{name}.weight"].T, s[f"actor.{name}.bias"]])
    for critic, name in ((ported.critic, "critic"), (ported.target_critic, "target")):
        for i, layer in enumerate(critic.hidden, 1):
            layer.kernel.assign(s[f"{name}.fc{i}.weight"])
            layer.bias.assign(s[f"{name}.fc{i}.bias"][:, 0])
            layer.gamma.assign(s[f"{name}.norm{i}.scale"][:, 0])
            layer.beta.assign(s[f"{name}.norm{i}.shift"][:, 0])
        critic.head.kernel.assign(s[f"{name}.out.weight"])
        critic.head.bias.assign(s[f"{name}.out.bias"][:, 0])
    ported.log_alpha.assign(s["log_alpha"])
