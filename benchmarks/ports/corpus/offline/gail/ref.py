"""GAIL discriminator: running observation normaliser, MLP, and the losses of the imitation library."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
STATE, N_ACT = 9, 4


class RunningNorm(layers.Layer):
    def __init__(self, size, clip=3.0, epsilon=1e-2, **kwargs):
        super().__init__(**kwargs)
        self.running_mean = self.add_weight(
            shape=(size,), initializer="zeros", trainable=False, name="running_mean"
        )
        self.running_var = self.add_weight(
            shape=(size,), initializer="ones", trainable=False, name="running_var"
        )
        self.clip, self.epsilon = clip, epsilon

    def call(self, x):
        z = (x - self.running_mean) / ops.sqrt(self.running_var + self.epsilon)
        return ops.clip(z, -self.clip, self.clip)


class Discriminator(keras.Model):
    def __init__(self, hidden=32, smoothing=0.1, entropy_weight=1e-1):
        super().__init__()
        self.norm = RunningNorm(STATE)
        self.body = keras.Sequential(
            [
                layers.Dense(hidden, activation="tanh"),
                layers.Dense(hidden, activation="tanh"),
                layers.Dense(1),
            ]
        )
        self.smoothing, self.entropy_weight = smoothing, entropy_weight

    def logits(self, state, action, next_state):
        onehot = ops.one_hot(action, N_ACT)
        x = ops.concatenate([self.norm(state), onehot, self.norm(next_state)], axis=-1)
        return ops.squeeze(self.body(x), -1)

    def call(self, state, action, next_state, is_expert, log_policy):
        logits = self.logits(state, action, next_state) - log_policy
        labels = is_expert * (1.0 - self.smoothing) + 0.5 * self.smoothing
        bce = ops.maximum(logits, 0.0) - logits * labels + ops.log1p(ops.exp(-ops.abs(logits)))
        p = ops.sigmoid(logits)
        entropy = (1.0 - p) * logits + ops.softplus(-logits)
        loss = ops.mean(bce - self.entropy_weight * entropy)
        reward = ops.softplus(logits)
        accuracy = ops.mean(ops.cast((logits > 0) == (is_expert > 0.5), "float32"))
        return {"reward": reward, "entropy": entropy, "bce": bce, "loss": loss, "accuracy": accuracy}


def make():
    keras.utils.set_random_seed(5)
    net = Discriminator()
    net(*[a[:1] for a in inputs(0)])
    rng = np.random.default_rng(1)
    net.norm.running_mean.assign(rng.normal(size=STATE))
    net.norm.running_var.assign(rng.uniform(0.1, 2.0, size=STATE))
    for layer in net.body.layers:
        layer.bias.assign(0.3 * rng.normal(size=layer.bias.shape))
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 12
    state = 2 * rng.normal(size=(b, STATE))
    return (
        state.astype("float32"),
        rng.integers(0, N_ACT, size=b).astype("int32"),
        (state + 0.5 * rng.normal(size=(b, STATE))).astype("float32"),
        (np.arange(b) < b // 2).astype("float32"),
        np.log(rng.uniform(0.05, 0.9, size=b)).astype("float32"),
    )
