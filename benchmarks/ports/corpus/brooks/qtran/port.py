"""QTRAN-base in Keras 3."""
import numpy as np
import keras
from keras import layers, ops

FRAMEWORK = "keras"
N_AGENTS, N_ACTIONS, OBS, STATE, HID, T = 3, 4, 5, 7, 8, 3
GAMMA = 0.95


def mlp(units, name):
    return keras.Sequential(
        [layers.Dense(u, activation="relu") for u in units[:-1]] + [layers.Dense(units[-1])], name=name)


class QTran(keras.Model):
    def __init__(self):
        super().__init__()
        self.fc1 = layers.Dense(HID, activation="relu", name="fc1")
        self.cell = layers.GRUCell(HID, name="rnn")
        self.fc2 = layers.Dense(N_ACTIONS, name="fc2")
        ae = HID + N_ACTIONS
        self.encoder = mlp([ae, ae], "action_encoding")
        self.q_net = mlp([16, 16, 1], "Q")
        self.v_net = mlp([16, 16, 1], "V")

    def unroll(self, obs, actions):
        b = obs.shape[0]
        ids = ops.broadcast_to(ops.eye(N_AGENTS)[None], (b, N_AGENTS, N_AGENTS))
        last_actions = ops.concatenate([ops.zeros_like(actions[:, :1]), actions[:, :-1]], axis=1)
        h = ops.zeros((b * N_AGENTS, HID))
        qs, hs = [], []
        for t in range(T):
            x = ops.concatenate([obs[:, t], last_actions[:, t], ids], axis=-1)
            x = self.fc1(ops.reshape(x, (b * N_AGENTS, -1)))
            h, _ = self.cell(x, [h])
            qs.append(ops.reshape(self.fc2(h), (b, N_AGENTS, N_ACTIONS)))
            hs.append(ops.reshape(h, (b, N_AGENTS, HID)))
        return ops.stack(qs, axis=1), ops.stack(hs, axis=1)

    def joint(self, state, hs, actions):
        enc = self.encoder(ops.concatenate([hs, actions], axis=-1))
        enc = ops.sum(enc, axis=2)
        return self.q_net(ops.concatenate([state, enc], axis=-1))

    def call(self, obs, state, actions, avail, reward, terminated):
        qs, hs = self.unroll(obs, actions)
        chosen = ops.sum(qs * actions, axis=-1)
        masked = ops.where(avail > 0, qs, -9999999.0)
        greedy_q = ops.max(masked, axis=-1)
        greedy = ops.one_hot(ops.argmax(masked, axis=-1), N_ACTIONS)

        joint_q = self.joint(state, hs, actions)
        joint_max = self.joint(state, hs, greedy)
        v = self.v_net(state)

        target = reward[:, :-1] + GAMMA * (1.0 - terminated[:, :-1]) * joint_max[:, 1:]
        td_error = joint_q[:, :-1] - ops.stop_gradient(target)
        opt_error = ops.sum(greedy_q, axis=2, keepdims=True) - ops.stop_gradient(joint_max) + v
        nopt_error = ops.sum(chosen, axis=2, keepdims=True) - ops.stop_gradient(joint_q) + v
        nopt_error = ops.minimum(nopt_error, 0.0)
        return qs, td_error, opt_error, nopt_error


def make():
    m = QTran()
    m(*[ops.convert_to_tensor(a) for a in inputs(0)])
    r = np.random.RandomState(5)
    for w in m.weights:
        w.assign(r.randn(*w.shape) * 0.4)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    B = 5
    obs = r.randn(B, T, N_AGENTS, OBS).astype("float32")
    state = r.randn(B, T, STATE).astype("float32")
    actions = np.eye(N_ACTIONS, dtype="float32")[r.randint(0, N_ACTIONS, (B, T, N_AGENTS))]
    avail = np.maximum((r.rand(B, T, N_AGENTS, N_ACTIONS) > 0.5).astype("float32"), actions)
    reward = r.randn(B, T, 1).astype("float32")
    terminated = (r.rand(B, T, 1) > 0.7).astype("float32")
    return obs, state, actions, avail, reward, terminated


def load(ported, original):
    sd = {k: v.detach().numpy() for k, v in original.state_dict().items()}

    def dense(layer, key):
        layer.set_weights([sd[key + ".weight"].T, sd[key + ".bias"]])

    def zrh(w):
        r, z, n = np.split(w, 3, axis=0)
        return np.concatenate([z, r, n], axis=0)

    dense(ported.fc1, "agent.fc1")
    dense(ported.fc2, "agent.fc2")
    ported.cell.set_weights([
        zrh(sd["agent.rnn.weight_ih"]).T, zrh(sd["agent.rnn.weight_hh"]).T,
        np.stack([zrh(sd["agent.rnn.bias_ih"]), zrh(sd["agent.rnn.bias_hh"])])])
    for seq, key in ((ported.encoder, "action_encoding"), (ported.q_net, "Q"), (ported.v_net, "V")):
        for i, layer in enumerate(seq.layers):
            dense(layer, f"mixer.{key}.{2 * i}")
