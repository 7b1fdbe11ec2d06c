"""QMIX in Chainer; the agents' GRU is the n-step one, over all agents as sequences."""
import parity  # noqa: F401
import numpy as np



import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
N, OBS, STATE, ACT, HID, EMB = 3, 7, 10, 5, 20, 12


class AgentNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l_in = L.Linear(OBS + ACT + N, HID, initial_bias=chainer.initializers.Normal(0.1))
            self.gru = L.NStepGRU(1, HID, HID, 0.0)
            self.l_out = L.Linear(HID, ACT, initial_bias=chainer.initializers.Normal(0.1))

    def forward(self, obs, actions):
        b, t = obs.shape[:2]
        hot = np.eye(ACT, dtype="float32")[actions]
        last = np.zeros_like(hot)
        last[:, 1:] = hot[:, :-1]
        ids = np.broadcast_to(np.eye(N, dtype="float32"), (b, t, N, N))
        x = F.concat([obs, last, ids], axis=3)
        x = F.relu(self.l_in(x, n_batch_axes=3))
        seqs = F.reshape(F.transpose(x, (0, 2, 1, 3)), (b * N, t, HID))
        _, ys = self.gru(None, [s for s in seqs])
        q = self.l_out(F.stack(ys), n_batch_axes=2)
        return F.transpose(F.reshape(q, (b, N, t, ACT)), (0, 2, 1, 3))


class MixingNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        b = chainer.initializers.Normal(0.1)
        with self.init_scope():
            self.w1 = L.Linear(STATE, N * EMB, initial_bias=b)
            self.b1 = L.Linear(STATE, EMB, initial_bias=b)
            self.w2a, self.w2b = L.Linear(STATE, 16, initial_bias=b), L.Linear(16, EMB, initial_bias=b)
            self.va, self.vb = L.Linear(STATE, EMB, initial_bias=b), L.Linear(EMB, 1, initial_bias=b)

    def forward(self, qs, state):
        shape = qs.shape[:2]
        state = F.reshape(F.cast(state, "float32"), (-1, STATE))
        w1 = F.absolute(F.reshape(self.w1(state), (-1, N, EMB)))
        qs = F.reshape(qs, (-1, N, 1))
        hidden = F.elu(F.sum(F.broadcast_to(qs, w1.shape) * w1, axis=1) + self.b1(state))
        w2 = F.absolute(self.w2b(F.relu(self.w2a(state))))
        v = self.vb(F.relu(self.va(state)))
        return F.reshape(F.sum(hidden * w2, axis=1) + v[:, 0], shape)


class QMIX(chainer.Chain):
    def __init__(self, gamma=0.98):
        super().__init__()
        self.gamma = gamma
        with self.init_scope():
            self.agents = AgentNet()
            self.mixer = MixingNet()

    def forward(self, obs, state, avail, actions, reward, terminated):
        q = self.agents(obs, actions)
        b, t = obs.shape[:2]
        taken = F.select_item(F.reshape(q, (-1, ACT)), actions.reshape(-1))
        taken = F.reshape(taken, (b, t, N))[:, :-1]
        q_tot = self.mixer(taken, state[:, :-1])
        blocked = np.full(q.shape, -1e8, "float32")
        greedy = F.max(F.where(avail.astype(bool), q, blocked)[:, 1:], axis=3)
        target = self.mixer(greedy, state[:, 1:])
        alive = np.cumprod(1 - terminated, axis=1)
        mask = np.concatenate([np.ones((b, 1), "float32"), alive[:, :-1]], axis=1)
        td = mask * (q_tot - (reward + self.gamma * (1 - terminated) * target))
        loss = F.sum(F.square(td)) / float(mask.sum())
        return q, q_tot, td, loss


def make():
    np.random.seed(55)
    return QMIX()


def load(model, reference):
    w = {k: v.detach().numpy() for k, v in reference.state_dict().items()}
    pairs = {
        "agent.fc1": model.agents.l_in, "agent.fc2": model.agents.l_out,
        "mixer.hyper_w1": model.mixer.w1, "mixer.hyper_b1": model.mixer.b1,
        "mixer.hyper_w2.0": model.mixer.w2a, "mixer.hyper_w2.2": model.mixer.w2b,
        "mixer.v.0": model.mixer.va, "mixer.v.2": model.mixer.vb,
    }
    for key, link in pairs.items():
        link.W.array[...] = w[key + ".weight"]
        link.b.array[...] = w[key + ".bias"]
    cell = model.agents.gru[0]
    for half, side in enumerate(("ih", "hh")):
        for gate in range(3):  # r, z, n in both
            rows = slice(gate * HID, (gate + 1) * HID)
            getattr(cell, f"w{3 * half + gate}").array[...] = w["agent.rnn.weight_" + side][rows]
            getattr(cell, f"b{3 * half + gate}").array[...] = w["agent.rnn.bias_" + side][rows]
