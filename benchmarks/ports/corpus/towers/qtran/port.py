"""QTRAN-base in Keras 3."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
N, O, A, S, H, E, T = 3, 6, 4, 8, 12, 10, 3


def mlp(*units):
    hidden = [layers.Dense(u, activation="relu") for u in units[:-1]]
    return hidden + [layers.Dense(units[-1])]


def apply(stack, x):
    for layer in stack:
        x = layer(x)
    return x


class QTran(keras.Model):
    def __init__(self):
        super().__init__()
        self.embed = layers.Dense(H, activation="relu")
        self.cell = layers.GRUCell(H, reset_after=True)
        self.head = layers.Dense(A)
        self.enc = mlp(H + A, H + A)
        self.q_net = mlp(E, E, 1)
        self.v_net = mlp(E, E, 1)

    def unroll(self, obs, actions):
        b = obs.shape[0]
        # last action, zeros at the first step
        prev = ops.concatenate([ops.zeros_like(actions[:, :1]), actions[:, :-1]], axis=1)
        ids = ops.broadcast_to(ops.eye(N), (b, T, N, N))
        feats = ops.concatenate([obs, prev, ids], axis=-1)
        state = ops.zeros((b * N, H))
        utilities, hiddens = [], []
        for t in range(T):
            x = self.embed(ops.reshape(feats[:, t], (b * N, O + A + N)))
            out, (state,) = self.cell(x, [state])
            utilities.append(ops.reshape(self.head(out), (b, N, A)))
            hiddens.append(ops.reshape(out, (b, N, H)))
        return ops.stack(utilities, axis=1), ops.stack(hiddens, axis=1)

    def joint_q(self, state, hidden, actions):
        code = apply(self.enc, ops.concatenate([hidden, actions], axis=-1))
        code = ops.sum(code, axis=2)
        return apply(self.q_net, ops.concatenate([state, code], axis=-1))

    def call(self, obs, state, actions, avail):
        util, hidden = self.unroll(obs, actions)
        chosen = ops.sum(util * actions, axis=-1)
        masked = ops.where(avail > 0, util, -1e7)
        best = ops.max(masked, axis=-1)
        greedy = ops.one_hot(ops.argmax(masked, axis=-1), A)
        joint = self.joint_q(state, hidden, actions)
        joint_best = self.joint_q(state, hidden, greedy)
        v = apply(self.v_net, state)
        opt_err = ops.sum(best, axis=2, keepdims=True) - joint_best + v
        nopt_err = ops.minimum(ops.sum(chosen, axis=2, keepdims=True) - joint + v, 0.0)
        return util, joint, v, opt_err, nopt_err


def make():
    m = QTran()
    m(*inputs(0))
    r = np.random.RandomState(5)
    for w in m.weights:
        w.assign((r.randn(*w.shape) * 0.3).astype("float32"))
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    obs = r.randn(4, T, N, O).astype("float32")
    state = r.randn(4, T, S).astype("float32")
    actions = np.eye(A, dtype="float32")[r.randint(0, A, (4, T, N))]
    avail = np.maximum((r.rand(4, T, N, A) < 0.5).astype("float32"), actions)
    return obs, state, actions, avail


def load(ported, original):
    sd = {k: v.detach().numpy() for k, v in original.state_dict().items()}

    def dense(layer, name):
        layer.kernel.assign(sd[name + ".weight"].T)
        layer.bias.assign(sd[name + ".bias"])

    def rzn(w):  # torch r,z,n -> keras z,r,h
        r, z, n = np.split(w, 3, axis=0)
        return np.concatenate([z, r, n], axis=0)

    dense(ported.embed, "agent.fc1")
    dense(ported.head, "agent.fc2")
    ported.cell.kernel.assign(rzn(sd["agent.rnn.weight_ih"]).T)
    ported.cell.recurrent_kernel.assign(rzn(sd["agent.rnn.weight_hh"]).T)
    ported.cell.bias.assign(np.stack([rzn(sd["agent.rnn.bias_ih"]), rzn(sd["agent.rnn.bias_hh"])]))
    for stack, name in ((ported.enc, "mixer.action_encoding"), (ported.q_net, "mixer.Q"), (ported.v_net, "mixer.V")):
        for i, layer in enumerate(stack):
            dense(layer, f"{name}.{2 * i}")
