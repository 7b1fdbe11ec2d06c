"""COMA learner networks in Chainer; the actor's GRU is an NStepGRU over whole episodes."""
import numpy as np
import chainer
from chainer import functions as F, links as L

FRAMEWORK = "chainer"
N_AGENTS, N_ACTIONS = 3, 5


def one_hot(idx, n):
    return np.eye(n, dtype=np.float32)[idx]


class AgentNet(chainer.Chain):
    def __init__(self, n_in, hidden):
        super().__init__()
        with self.init_scope():
            self.inp = L.Linear(n_in, hidden)
            self.gru = L.NStepGRU(1, hidden, hidden, 0.0)
            self.out = L.Linear(hidden, N_ACTIONS)

    def forward(self, x):
        """x: (episodes * agents, time, features)"""
        m, t, d = x.shape
        e = F.relu(self.inp(x.reshape(m * t, d)))
        seqs = list(F.separate(F.reshape(e, (m, t, -1)), axis=0))
        _, ys = self.gru(None, seqs)
        return F.reshape(self.out(F.concat(ys, axis=0)), (m, t, N_ACTIONS))


class CentralCritic(chainer.Chain):
    def __init__(self, n_in):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(n_in, 48)
            self.b = L.Linear(48, 48)
            self.c = L.Linear(48, N_ACTIONS)

    def forward(self, x):
        h = F.relu(self.a(x, n_batch_axes=3))
        h = F.relu(self.b(h, n_batch_axes=3))
        return self.c(h, n_batch_axes=3)


class COMA(chainer.Chain):
    floor = 0.1

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.agent = AgentNet(10 + N_ACTIONS + N_AGENTS, 24)
            self.critic = CentralCritic(12 + 10 + 2 * N_AGENTS * N_ACTIONS + N_AGENTS)

    def forward(self, obs, state, actions, avail):
        b, t, n = actions.shape
        acts = one_hot(actions, N_ACTIONS)
        previous = np.zeros_like(acts)
        previous[:, 1:] = acts[:, :-1]
        ids = np.broadcast_to(np.eye(n, dtype=np.float32), (b, t, n, n))

        # actor: agents share weights, one sequence per (episode, agent)
        x = np.concatenate([obs, previous, ids], axis=3)
        x = x.transpose(0, 2, 1, 3).reshape(b * n, t, -1)
        logits = F.transpose(F.reshape(self.agent(x), (b, n, t, N_ACTIONS)), (0, 2, 1, 3))
        logits = F.where(avail > 0, logits, np.full_like(avail, -1e10))
        pi = F.softmax(logits, axis=3)
        n_free = np.broadcast_to(avail.sum(axis=3, keepdims=True), avail.shape)
        pi = avail * ((1 - self.floor) * pi + self.floor / n_free)

        # critic: own action hidden, the others' shown
        joint = np.repeat(acts.reshape(b, t, 1, -1), n, axis=2)
        for i in range(n):
            joint[:, :, i, i * N_ACTIONS:(i + 1) * N_ACTIONS] = 0
        before = np.repeat(previous.reshape(b, t, 1, -1), n, axis=2)
        glob = np.repeat(state[:, :, None], n, axis=2)
        q = self.critic(np.concatenate([glob, obs, joint, before, ids], axis=3))

        baseline = F.sum(pi * q, axis=3)
        advantage = F.sum(q * acts, axis=3) - baseline
        log_pi = F.log(F.sum(pi * acts, axis=3) + 1e-8)
        loss = -F.mean(advantage * log_pi)
        return pi, q, advantage, loss


def make():
    model = COMA()
    rng = np.random.RandomState(33)
    for _, p in sorted(model.namedparams()):
        scale = 0.2 if p.array.ndim == 1 else 1 / np.sqrt(p.shape[-1])
        p.array[...] = rng.randn(*p.shape) * scale
    return model


def load(ported, original):
    def lin(link, mod):
        link.W.array[...] = mod.weight.detach().numpy()
        link.b.array[...] = mod.bias.detach().numpy()

    lin(ported.agent.inp, original.actor.fc1)
    lin(ported.agent.out, original.actor.fc2)
    cell, gru = original.actor.rnn, ported.agent.gru[0]
    parts = lambda p: np.split(p.detach().numpy(), 3)          # r, z, n: the same order in chainer
    for i in range(3):
        getattr(gru, f"w{i}").array[...] = parts(cell.weight_ih)[i]
        getattr(gru, f"b{i}").array[...] = parts(cell.bias_ih)[i]
        getattr(gru, f"w{i + 3}").array[...] = parts(cell.weight_hh)[i]
        getattr(gru, f"b{i + 3}").array[...] = parts(cell.bias_hh)[i]
    for mine, theirs in zip("abc", ("fc1", "fc2", "fc3")):
        lin(getattr(ported.critic, mine), getattr(original.critic, theirs))


def inputs(seed):
    rng = np.random.default_rng(seed)
    B, T = 4, 5
    obs = rng.normal(size=(B, T, 3, 10)).astype(np.float32)
    state = rng.normal(size=(B, T, 12)).astype(np.float32)
    actions = rng.integers(0, 5, size=(B, T, 3))
    avail = (rng.uniform(size=(B, T, 3, 5)) < 0.6).astype(np.float32)
    np.put_along_axis(avail, actions[..., None], 1.0, axis=-1)
    return obs, state, actions, avail
