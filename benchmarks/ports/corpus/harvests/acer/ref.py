"""ACER for continuous control (Wang et al. 2017): stochastic dueling network and its weights."""
import math

import parity  # noqa: F401  (chainer on this Python)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
OBS, ACT, SAMPLES = 17, 4, 5


def log_density(x, mean, std):
    z = (x - mean) / std
    per_dim = -0.5 * z ** 2 - F.log(std) - 0.5 * math.log(2 * math.pi)
    return F.sum(per_dim, axis=-1)


class SDN(chainer.Chain):
    """Q~(x, a) = V(x) + A(x, a) - 1/n sum_i A(x, u_i), with u_i drawn from the policy."""

    def __init__(self, trunc=5.0):
        super().__init__()
        self.trunc = trunc
        with self.init_scope():
            self.body = L.Linear(OBS, 48)
            self.body2 = L.Linear(48, 32)
            self.mean = L.Linear(32, ACT)
            self.spread = L.Linear(32, ACT)
            self.value1 = L.Linear(32, 24)
            self.value2 = L.Linear(24, 1)
            self.adv1 = L.Linear(32 + ACT, 24)
            self.adv2 = L.Linear(24, 1)

    def advantage(self, phi, a):
        return self.adv2(F.relu(self.adv1(F.concat([phi, a], axis=1))))[:, 0]

    def forward(self, obs, action, mu_mean, mu_std, noise):
        phi = F.elu(self.body2(F.elu(self.body(obs))))
        mean = F.tanh(self.mean(phi))
        std = F.softplus(self.spread(phi)) + 0.05
        v = self.value2(F.relu(self.value1(phi)))[:, 0]

        n, b = noise.shape[:2]
        u = F.broadcast_to(mean, noise.shape) + F.broadcast_to(std, noise.shape) * noise
        tiled = F.reshape(F.broadcast_to(phi, (n,) + phi.shape), (n * b, -1))
        baseline = F.reshape(self.advantage(tiled, F.reshape(u, (n * b, -1))), (n, b))
        q = v + self.advantage(phi, action) - F.mean(baseline, axis=0)

        ratio = F.exp(log_density(action, mean, std) - log_density(action, mu_mean, mu_std))
        c = F.minimum(ratio ** (1.0 / ACT), self.xp.ones(b, "float32"))
        other = u[0]
        ratio_other = F.exp(log_density(other, mean, std) - log_density(other, mu_mean, mu_std))
        truncated = F.clip(ratio, 0.0, self.trunc)
        correction = F.relu(1.0 - self.trunc / ratio_other)
        return {"mean": mean, "std": std, "q": q, "v": v, "c": c, "rho": truncated,
                "correction": correction}


def make(seed=5):
    rng = np.random.RandomState(seed)
    net = SDN()
    for name, p in net.namedparams():
        scale = 0.15 if name.endswith("b") else 1.2 / math.sqrt(p.shape[1])
        p.array[...] = rng.normal(0, scale, p.shape)
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    f = lambda *s: rng.normal(size=s).astype("float32")
    obs = f(6, OBS)
    mu_mean = np.tanh(0.4 * f(6, ACT))
    mu_std = (0.35 + 0.3 * rng.random((6, ACT))).astype("float32")
    action = mu_mean + mu_std * f(6, ACT)
    return obs, action, mu_mean, mu_std, f(SAMPLES, 6, ACT)
