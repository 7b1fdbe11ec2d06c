"""PEARL in Chainer."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
TASKS, CTX, T, OBS, ACT, LAT = 4, 7, 5, 8, 3, 5


class MLP(chainer.ChainList):
    def __init__(self, *sizes):
        super().__init__(*[L.Linear(a, b) for a, b in zip(sizes, sizes[1:])])

    def forward(self, x):
        for i in range(len(self) - 1):
            x = F.relu(self[i](x))
        return self[-1](x)


class Policy(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.fc1 = L.Linear(OBS + LAT, 32)
            self.fc2 = L.Linear(32, 32)
            self.out = L.Linear(32, 2 * ACT)

    def forward(self, x, noise):
        h = F.relu(self.fc2(F.relu(self.fc1(x))))
        mean, log_std = F.split_axis(self.out(h), 2, axis=1)
        log_std = F.clip(log_std, -20.0, 2.0)
        u = mean + F.exp(log_std) * noise
        a = F.tanh(u)
        log_prob = F.sum(-0.5 * noise ** 2 - log_std, axis=1) - 0.5 * ACT * np.log(2 * np.pi)
        log_prob -= F.sum(F.log(1 - a ** 2 + 1e-6), axis=1)
        return a, F.expand_dims(log_prob, 1)


class Agent(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.encoder = MLP(OBS + ACT + 1, 32, 32, 2 * LAT)
            self.pi = Policy()
            self.qf1 = MLP(OBS + ACT + LAT, 32, 1)
            self.qf2 = MLP(OBS + ACT + LAT, 32, 1)

    def infer_posterior(self, o, a, r):
        n, c, _ = o.shape
        c_in = F.reshape(F.concat((o, a, r), axis=2), (n * c, -1))
        out = F.reshape(self.encoder(c_in), (n, c, 2 * LAT))
        mu, raw = out[:, :, :LAT], out[:, :, LAT:]
        var = F.clip(F.softplus(raw), 1e-7, 1e7)
        precision = F.sum(1.0 / var, axis=1)
        mean = F.sum(mu / var, axis=1) / precision
        return mean, 1.0 / precision

    def forward(self, ctx_obs, ctx_act, ctx_rew, obs, z_noise, a_noise):
        mean, var = self.infer_posterior(ctx_obs, ctx_act, ctx_rew)
        kl = 0.5 * F.sum(var + mean ** 2 - 1.0 - F.log(var), axis=1)
        z = mean + F.sqrt(var) * z_noise

        n, t, d = obs.shape
        z = F.reshape(F.broadcast_to(z[:, None, :], (n, t, LAT)), (n * t, LAT))
        s = obs.reshape(n * t, d)
        act, log_prob = self.pi(F.concat((s, z), axis=1), a_noise.reshape(n * t, ACT))
        x = F.concat((s, act, z), axis=1)
        v = F.minimum(self.qf1(x), self.qf2(x)) - 0.2 * log_prob
        return kl, act, log_prob, v


def make(seed=4):
    rng = np.random.RandomState(seed)
    m = Agent()
    for _, p in sorted(m.namedparams()):
        p.array[...] = rng.randn(*p.shape) * (0.7 / p.shape[-1] ** 0.5 if p.ndim == 2 else 0.15)
    return m


def inputs(seed=0):
    r = np.random.RandomState(seed)
    f = lambda *s: r.randn(*s).astype("float32")
    return (f(TASKS, CTX, OBS), np.tanh(f(TASKS, CTX, ACT)), f(TASKS, CTX, 1), f(TASKS, T, OBS),
            f(TASKS, LAT), f(TASKS, T, ACT))


def load(ported, original):
    def put(link, *lins):
        link.W.array[...] = np.concatenate([l.weight.detach().numpy() for l in lins])
        link.b.array[...] = np.concatenate([l.bias.detach().numpy() for l in lins])
    for dst, src in ((ported.encoder, original.context_encoder), (ported.qf1, original.q1), (ported.qf2, original.q2)):
        for i, link in enumerate(dst):
            put(link, src[2 * i])
    p, o = ported.pi, original.policy
    put(p.fc1, o.trunk[0]), put(p.fc2, o.trunk[2]), put(p.out, o.mean, o.log_std)
