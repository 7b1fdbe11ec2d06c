"""IC3Net, Keras 3."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
AGENTS, OBS, HID, ACTIONS, STEPS = 4, 6, 10, 5, 3


class IC3Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = layers.Dense(HID, activation="tanh")
        self.comm = layers.Dense(HID)
        self.cell = layers.LSTMCell(HID)
        self.critic = layers.Dense(1)
        self.actor = layers.Dense(ACTIONS)
        self.gate = layers.Dense(2)

    def message(self, h, gate, alive):
        h = ops.reshape(h, (-1, AGENTS, HID))
        pairs = ops.einsum("bi,bj->bij", alive, alive * gate)
        pairs = pairs * (1.0 - ops.eye(AGENTS))
        count = ops.maximum(ops.sum(alive, axis=1) - 1.0, 1.0)
        return ops.einsum("bij,bjh->bih", pairs, h) / count[:, None, None]

    def call(self, obs, alive):
        B = obs.shape[0]
        h = ops.zeros((B * AGENTS, HID))
        c = ops.zeros((B * AGENTS, HID))
        gate = ops.ones((B, AGENTS))
        logps, values, gates = [], [], []
        for t in range(obs.shape[1]):
            x = self.encoder(obs[:, t]) + self.comm(self.message(h, gate, alive))
            _, (h, c) = self.cell(ops.reshape(x, (-1, HID)), [h, c])
            per_agent = ops.reshape(h, (-1, AGENTS, HID))
            logps.append(ops.log_softmax(self.actor(per_agent)))
            values.append(ops.squeeze(self.critic(per_agent), -1))
            talk = ops.log_softmax(self.gate(per_agent))
            gate = ops.cast(ops.argmax(talk, axis=-1), "float32")
            gates.append(talk)
        return ops.stack(logps, 1), ops.stack(values, 1), ops.stack(gates, 1)


def make():
    keras.utils.set_random_seed(23)
    model = IC3Net()
    model(*[ops.convert_to_tensor(v) for v in inputs(0)])
    rng = np.random.RandomState(23)
    for w in model.weights:
        w.assign(w.numpy() + 0.1 * rng.randn(*w.shape).astype(np.float32))
    return model


def inputs(seed):
    rng = np.random.RandomState(seed)
    obs = rng.randn(5, STEPS, AGENTS, OBS).astype(np.float32)
    alive = np.ones((5, AGENTS), np.float32)
    alive[[1, 3], [2, 0]] = 0
    return obs, alive


def load(ported, original):
    for dst, src in ((ported.encoder, original.encoder), (ported.comm, original.C),
                     (ported.critic, original.value), (ported.actor, original.head),
                     (ported.gate, original.gate)):
        dst.kernel.assign(src.W.array.T)
        dst.bias.assign(src.b.array)

    def gates(w):
        """chainer interleaves a, i, f, o; keras has blocks i, f, c, o"""
        w = w.reshape(HID, 4, -1)
        a, i, f, o = (w[:, k] for k in range(4))
        return np.concatenate([i, f, a, o], 0)

    lstm = original.lstm
    ported.cell.kernel.assign(gates(lstm.upward.W.array).T)
    ported.cell.recurrent_kernel.assign(gates(lstm.lateral.W.array).T)
    ported.cell.bias.assign(gates(lstm.upward.b.array)[:, 0])
