"""Deep coordination graphs (Boehmer et al. 2020), max-plus message passing."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
N, A, OBS, HID, ITERS = 4, 3, 6, 8, 3
EDGES = [(i, j) for i in range(N) for j in range(i + 1, N)]
E = len(EDGES)
SRC = np.array([i for i, _ in EDGES], "int32")
DST = np.array([j for _, j in EDGES], "int32")


class DCG(keras.Model):
    def __init__(self):
        super().__init__()
        self.fc = layers.Dense(HID, activation="relu", name="fc")
        self.rnn = layers.GRUCell(HID, name="rnn")
        self.utility = layers.Dense(A, name="utility")
        self.payoff_hidden = layers.Dense(16, activation="relu", name="payoff_hidden")
        self.payoff_out = layers.Dense(A * A, name="payoff_out")
        self.to_dst = np.eye(N, dtype="float32")[DST]
        self.to_src = np.eye(N, dtype="float32")[SRC]

    def payoffs(self, h):
        hi, hj = ops.take(h, SRC, axis=1), ops.take(h, DST, axis=1)
        fwd = self.payoff_out(self.payoff_hidden(ops.concatenate([hi, hj], axis=-1)))
        bwd = self.payoff_out(self.payoff_hidden(ops.concatenate([hj, hi], axis=-1)))
        fwd = ops.reshape(fwd, (-1, E, A, A))
        bwd = ops.swapaxes(ops.reshape(bwd, (-1, E, A, A)), -1, -2)
        return (fwd + bwd) / 2.0

    def value(self, onehot, f_i, f_ij):
        u = ops.sum(onehot * f_i, axis=(1, 2))
        a_i, a_j = ops.take(onehot, SRC, axis=1), ops.take(onehot, DST, axis=1)
        p = ops.einsum("bea,bec,beac->b", a_i, a_j, f_ij)
        return ops.expand_dims(u + p, -1)

    def call(self, obs, hidden, avail):
        b = obs.shape[0]
        x = ops.reshape(self.fc(obs), (b * N, HID))
        h, _ = self.rnn(x, [ops.reshape(hidden, (b * N, HID))])
        h = ops.reshape(h, (b, N, HID))

        f_i = self.utility(h) / N
        f_ij = self.payoffs(h) / E

        utils = f_i
        msg_f = ops.zeros((b, E, A))
        msg_b = ops.zeros((b, E, A))
        best_value = ops.full((b, 1), -1e9)
        best_action = ops.zeros((b, N, A))
        for _ in range(ITERS):
            joint_f = ops.expand_dims(ops.take(utils, SRC, axis=1) - msg_b, -1) + f_ij
            joint_b = ops.expand_dims(ops.take(utils, DST, axis=1) - msg_f, -2) + f_ij
            msg_f = ops.max(joint_f, axis=2)
            msg_b = ops.max(joint_b, axis=3)
            msg_f = msg_f - ops.mean(msg_f, axis=-1, keepdims=True)
            msg_b = msg_b - ops.mean(msg_b, axis=-1, keepdims=True)
            utils = f_i + ops.einsum("bea,en->bna", msg_f, self.to_dst) + ops.einsum("bea,en->bna", msg_b, self.to_src)
            masked = ops.where(avail > 0, utils, -1e8)
            action = ops.one_hot(ops.argmax(masked, axis=-1), A)
            value = self.value(action, f_i, f_ij)
            improved = value > best_value
            best_value = ops.where(improved, value, best_value)
            best_action = ops.where(ops.expand_dims(improved, -1), action, best_action)
        return utils, best_value, best_action, h


def make():
    m = DCG()
    m(*[ops.convert_to_tensor(a) for a in inputs(0)])
    r = np.random.RandomState(4)
    for w in m.weights:
        w.assign(r.randn(*w.shape) * 0.6)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    B = 6
    obs = r.randn(B, N, OBS).astype("float32")
    hidden = np.tanh(r.randn(B, N, HID)).astype("float32")
    avail = (r.rand(B, N, A) > 0.35).astype("float32")
    avail[..., 0] = 1
    return obs, hidden, avail
