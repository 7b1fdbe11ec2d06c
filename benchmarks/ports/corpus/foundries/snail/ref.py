"""SNAIL: a meta-learner of causal dilated convolutions and attention over an agent's own history (Keras)."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
T, OBS, ACTIONS, EMB = 8, 6, 4, 16


class Dense2(layers.Layer):
    """A dense block: gated causal convolution, appended to its input."""

    def __init__(self, filters, dilation):
        super().__init__()
        self.filter = layers.Conv1D(filters, 2, padding="causal", dilation_rate=dilation, activation="tanh")
        self.gate = layers.Conv1D(filters, 2, padding="causal", dilation_rate=dilation, activation="sigmoid")

    def call(self, x):
        return ops.concatenate([x, self.filter(x) * self.gate(x)], axis=-1)


class CausalAttention(layers.Layer):
    def __init__(self, key_size, value_size):
        super().__init__()
        self.key_size = key_size
        self.query, self.key = layers.Dense(key_size), layers.Dense(key_size)
        self.value = layers.Dense(value_size)

    def call(self, x):
        scores = ops.matmul(self.query(x), ops.transpose(self.key(x), (0, 2, 1)))
        scores = scores / np.sqrt(self.key_size).astype("float32")
        visible = ops.tril(ops.ones((T, T), dtype="bool"))
        scores = ops.where(visible, scores, -1e9)
        read = ops.matmul(ops.softmax(scores, axis=-1), self.value(x))
        return ops.concatenate([x, read], axis=-1)


class Snail(keras.Model):
    def __init__(self):
        super().__init__()
        self.action_embedding = layers.Embedding(ACTIONS + 1, 5)
        self.obs_in = layers.Dense(EMB, activation="relu")
        self.tc1 = [Dense2(8, d) for d in (1, 2, 4)]
        self.attention1 = CausalAttention(10, 12)
        self.tc2 = [Dense2(6, d) for d in (1, 2, 4)]
        self.attention2 = CausalAttention(14, 9)
        self.policy, self.value = layers.Dense(ACTIONS), layers.Dense(1)

    def call(self, data):
        obs, action, reward, done = data
        start = ops.full_like(action[:, :1], ACTIONS)
        previous = ops.concatenate([start, action[:, :-1]], axis=1)
        previous_reward = ops.pad(reward[:, :-1], [[0, 0], [1, 0]])
        previous_done = ops.pad(done[:, :-1], [[0, 0], [1, 0]])
        flags = ops.stack([ops.tanh(previous_reward), previous_done], axis=-1)
        x = ops.concatenate([self.obs_in(obs), self.action_embedding(previous), flags], axis=-1)
        for block in self.tc1:
            x = block(x)
        x = self.attention1(x)
        for block in self.tc2:
            x = block(x)
        x = self.attention2(x)
        return {"logits": self.policy(x), "value": self.value(x)[..., 0]}


def make(seed=23):
    net = Snail()
    net([ops.convert_to_tensor(a) for a in inputs(0)])
    rng = np.random.default_rng(seed)
    for w in net.weights:
        if len(w.shape) == 1:
            w.assign(rng.normal(0, 0.2, w.shape))
        else:
            scale = 1.0 if "embed" in w.path else 1.3 / np.sqrt(np.prod(w.shape[:-1]))
            w.assign(rng.normal(0, scale, w.shape))
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(4, T, OBS)).astype("float32")
    action = rng.integers(0, ACTIONS, size=(4, T)).astype("int32")
    reward = rng.normal(size=(4, T)).astype("float32")
    done = np.zeros((4, T), "float32")
    done[0, 3] = done[2, 6] = done[3, 7] = done[1, 1] = 1
    return obs, action, reward, done
