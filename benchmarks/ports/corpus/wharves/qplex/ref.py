"""QPLEX duplex-dueling mixer (Wang et al. 2021) in Chainer, with shared dueling agent networks."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
AGENTS, OBS, ACTIONS, STATE, KERNELS = 3, 10, 5, 16, 4


class AgentQ(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(OBS + AGENTS, 24)
            self.adv = L.Linear(24, ACTIONS)
            self.val = L.Linear(24, 1)

    def forward(self, obs):
        b, n, _ = obs.shape
        ids = np.tile(np.eye(AGENTS, dtype="f"), (b, 1))
        x = F.concat((F.reshape(obs, (b * n, -1)), ids), axis=1)
        h = F.leaky_relu(self.l1(x), slope=0.01)
        a = self.adv(h)
        a = a - F.broadcast_to(F.mean(a, axis=1, keepdims=True), a.shape)
        q = F.broadcast_to(self.val(h), a.shape) + a
        return F.reshape(q, (b, n, ACTIONS))


class LambdaWeights(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.keys = chainer.ChainList(*[L.Linear(STATE, 1) for _ in range(KERNELS)])
            self.agents = chainer.ChainList(*[L.Linear(STATE, AGENTS) for _ in range(KERNELS)])
            self.actions = chainer.ChainList(*[L.Linear(STATE + AGENTS * ACTIONS, AGENTS) for _ in range(KERNELS)])

    def forward(self, state, act):
        data = F.concat((state, act), axis=1)
        total = 0
        for k, g, a in zip(self.keys, self.agents, self.actions):
            x_key = F.broadcast_to(F.absolute(k(state)) + 1e-10, (len(state), AGENTS))
            total = total + x_key * F.sigmoid(g(state)) * F.sigmoid(a(data))
        return total


class QPLEX(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.agent = AgentQ()
            self.w1 = L.Linear(STATE, 20)
            self.w2 = L.Linear(20, AGENTS)
            self.v1 = L.Linear(STATE, 20)
            self.v2 = L.Linear(20, AGENTS)
            self.lam = LambdaWeights()

    def forward(self, obs, state, actions, avail):
        q = self.agent(obs)
        chosen = F.sum(q * actions, axis=2)
        best = F.max(F.where(avail > 0, q, np.full(q.shape, -9999.0, "f")), axis=2)
        w = F.absolute(self.w2(F.relu(self.w1(state)))) + 1e-10
        v = self.v2(F.relu(self.v1(state)))
        chosen = w * chosen + v
        best = w * best + v
        v_tot = F.sum(chosen, axis=1)
        adv = chosen - best
        lam = self.lam(state, F.reshape(actions, (len(actions), -1)))
        a_tot = F.sum(adv * (lam - 1.0), axis=1)
        return v_tot + a_tot, v_tot, F.sum(best, axis=1)


def make(seed=0):
    rng = np.random.RandomState(seed)
    m = QPLEX()
    for name, p in sorted(m.namedparams()):
        p.array[...] = rng.randn(*p.shape) * (1.3 / p.shape[1] ** 0.5 if p.ndim > 1 else 0.2)
    return m


def inputs(seed=0):
    r = np.random.RandomState(seed)
    avail = (r.rand(6, AGENTS, ACTIONS) < 0.6).astype("f")
    act = r.randint(0, ACTIONS, (6, AGENTS))
    onehot = np.eye(ACTIONS, dtype="f")[act]
    return r.randn(6, AGENTS, OBS).astype("f"), r.randn(6, STATE).astype("f"), onehot, np.maximum(avail, onehot)
