"""QMIX in Keras: recurrent agents with shared weights, a monotonic mixer made by hypernetworks."""
import keras
import numpy as np
from keras import layers, ops

FRAMEWORK = "tensorflow"
AGENTS, OBS, STATE, ACTIONS, HIDDEN, MIX = 3, 7, 10, 5, 16, 8


class AgentNetwork(layers.Layer):
    def __init__(self):
        super().__init__()
        self.fc = layers.Dense(HIDDEN, activation="relu")
        self.rnn = layers.GRUCell(HIDDEN)
        self.q = layers.Dense(ACTIONS)

    def call(self, x, h):
        y, _ = self.rnn(self.fc(x), [h])
        return self.q(y), y


class Mixer(layers.Layer):
    def __init__(self):
        super().__init__()
        self.w1 = layers.Dense(AGENTS * MIX)
        self.b1 = layers.Dense(MIX)
        self.w2 = keras.Sequential([layers.Dense(12, activation="relu"), layers.Dense(MIX)])
        self.v = keras.Sequential([layers.Dense(MIX, activation="relu"), layers.Dense(1)])

    def call(self, qs, state):
        w1 = ops.abs(ops.reshape(self.w1(state), (-1, AGENTS, MIX)))
        hidden = ops.elu(ops.einsum("ba,bam->bm", qs, w1) + self.b1(state))
        w2 = ops.abs(self.w2(state))
        return ops.sum(hidden * w2, axis=-1) + self.v(state)[:, 0]


class QMIX(keras.Model):
    def __init__(self):
        super().__init__()
        self.agent = AgentNetwork()
        self.mixer = Mixer()

    def call(self, obs, states, avail, actions):
        b, t = obs.shape[:2]
        ids = ops.broadcast_to(ops.eye(AGENTS), (b, AGENTS, AGENTS))
        h = ops.zeros((b * AGENTS, HIDDEN))
        previous = ops.zeros((b, AGENTS, ACTIONS))
        chosen, greedy = [], []
        for i in range(t):
            x = ops.concatenate([obs[:, i], previous, ids], axis=-1)
            q, h = self.agent(ops.reshape(x, (b * AGENTS, -1)), h)
            q = ops.reshape(q, (b, AGENTS, ACTIONS))
            onehot = ops.one_hot(actions[:, i], ACTIONS)
            taken = ops.sum(q * onehot, axis=-1)
            best = ops.max(ops.where(avail[:, i] > 0, q, -1e9), axis=-1)
            chosen.append(self.mixer(taken, states[:, i]))
            greedy.append(self.mixer(best, states[:, i]))
            previous = onehot
        return ops.stack(chosen, axis=1), ops.stack(greedy, axis=1)


def make():
    keras.utils.set_random_seed(0)
    net = QMIX()
    net(*inputs(0))
    rng = np.random.default_rng(100)
    for w in net.weights:
        scale = 1.4 / np.sqrt(w.shape[0]) if len(w.shape) > 1 and w.shape[0] > 2 else 0.3
        w.assign(rng.normal(size=w.shape).astype("float32") * scale)
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    b, t = 4, 4
    obs = rng.normal(size=(b, t, AGENTS, OBS)).astype("float32")
    states = rng.normal(size=(b, t, STATE)).astype("float32")
    avail = (rng.random((b, t, AGENTS, ACTIONS)) < 0.6).astype("float32")
    actions = rng.integers(0, ACTIONS, size=(b, t, AGENTS)).astype("int64")
    np.put_along_axis(avail, actions[..., None], 1.0, axis=-1)
    return obs, states, avail, actions
