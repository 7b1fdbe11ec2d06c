"""TQC learner step in Chainer: separate MLP critics in a ChainList."""
import numpy as np
import chainer
from chainer import functions as F, links as L

FRAMEWORK = "chainer"


class Actor(chainer.Chain):
    def __init__(self, n_act, n_hidden):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, n_hidden)
            self.l2 = L.Linear(n_hidden, n_hidden)
            self.mu = L.Linear(n_hidden, n_act)
            self.log_sigma = L.Linear(n_hidden, n_act)

    def forward(self, s, eps):
        h = F.relu(self.l2(F.relu(self.l1(s))))
        mu = self.mu(h)
        ln_s = F.clip(self.log_sigma(h) * 3.0 - 1.0, -2.0, 2.0)
        u = mu + F.exp(ln_s) * eps
        ln_p = -0.5 * eps ** 2 - ln_s - np.float32(0.5 * np.log(2 * np.pi))
        ln_p -= 2 * (np.float32(np.log(2)) - u - F.softplus(-2 * u))
        return F.tanh(u), F.sum(ln_p, axis=1, keepdims=True)


class QuantileCritic(chainer.Chain):
    def __init__(self, n_in, n_hidden, n_quantiles):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(n_in, n_hidden)
            self.l2 = L.Linear(n_hidden, n_hidden)
            self.out = L.Linear(n_hidden, n_quantiles)

    def forward(self, s, a):
        h = F.relu(self.l1(F.concat([s, a], axis=1)))
        return self.out(F.relu(self.l2(h)))


class TQCLearner(chainer.Chain):
    def __init__(self, n_obs=11, n_act=3, n_hidden=40, n_critics=5, n_quantiles=9, top_drop=2, alpha=0.2, gamma=0.98):
        super().__init__()
        self.n_quantiles, self.n_critics = n_quantiles, n_critics
        self.top_drop, self.alpha, self.gamma = top_drop, alpha, gamma
        with self.init_scope():
            self.actor = Actor(n_act, n_hidden)
            self.online = chainer.ChainList(*[QuantileCritic(n_obs + n_act, n_hidden, n_quantiles) for _ in range(n_critics)])
            self.target = chainer.ChainList(*[QuantileCritic(n_obs + n_act, n_hidden, n_quantiles) for _ in range(n_critics)])

    def forward(self, s, a, r, d, s2, eps):
        z = F.stack([q(s, a) for q in self.online], axis=1)
        a2, ln_p = self.actor(s2, eps)
        z2 = F.concat([q(s2, a2) for q in self.target], axis=1)
        order = np.argsort(z2.array, axis=1)
        rows = np.arange(len(order))[:, None]
        n_keep = self.n_critics * (self.n_quantiles - self.top_drop)
        z2 = z2[rows, order][:, :n_keep]
        soft = z2 - F.broadcast_to(self.alpha * ln_p, z2.shape)
        y = F.broadcast_to(r, z2.shape) + self.gamma * np.broadcast_to(1 - d, z2.shape) * soft

        shape = (len(s), self.n_critics, self.n_quantiles, n_keep)
        err = F.broadcast_to(y[:, None, None, :], shape) - F.broadcast_to(z[..., None], shape)
        ab = abs(err)
        hub = F.where(ab.array > 1, ab - 0.5, 0.5 * err ** 2)
        tau = (np.arange(self.n_quantiles, dtype=np.float32) + 0.5) / self.n_quantiles
        weight = abs(tau[:, None] - (err.array < 0).astype(np.float32))
        loss = F.mean(weight * hub, axis=(1, 2, 3))
        return z, y, loss


def make(seed=1):
    np.random.seed(seed)
    net = TQCLearner()
    net(*inputs(0))
    for p in net.params():
        if p.ndim == 1:
            p.array[...] = np.random.normal(0, 0.1, p.shape)
    return net


def inputs(seed=0):
    r = np.random.default_rng(seed)
    b = 6
    s, a, rew = r.normal(size=(b, 11)), r.uniform(-1, 1, (b, 3)), r.normal(size=(b, 1))
    done = np.arange(b)[:, None] % 3 == 1
    s2, eps = r.normal(size=(b, 11)), r.normal(size=(b, 3))
    return tuple(np.asarray(v, np.float32) for v in (s, a, rew, done, s2, eps))


def load(ported, original):
    def put(link, w, b):
        link.W.array[...] = w.T
        link.b.array[...] = b

    p = original.policy
    put(ported.actor.l1, p.w1.numpy(), p.b1.numpy())
    put(ported.actor.l2, p.w2.numpy(), p.b2.numpy())
    w3, b3 = p.w3.numpy(), p.b3.numpy()
    put(ported.actor.mu, w3[:, :3], b3[:3])
    put(ported.actor.log_sigma, w3[:, 3:], b3[3:])
    for mine, theirs in ((ported.online, original.critic), (ported.target, original.target)):
        for k, q in enumerate(mine):
            for link, layer in zip((q.l1, q.l2, q.out), theirs):
                put(link, layer.w.numpy()[k], layer.b.numpy()[k, 0])
