"""Soft actor-critic losses in Chainer; reparametrisation noise is an input."""
import parity  # noqa: F401  (makes chainer importable)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
OBS, ACT, HID = 6, 3, 18


class Actor(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(OBS, HID)
            self.ln1 = L.LayerNormalization(HID)
            self.l2 = L.Linear(HID, HID)
            self.ln2 = L.LayerNormalization(HID)
            self.mean = L.Linear(HID, ACT)
            self.log_std = L.Linear(HID, ACT)

    def __call__(self, obs, eps):
        h = F.relu(self.ln1(self.l1(obs)))
        h = F.relu(self.ln2(self.l2(h)))
        mu = self.mean(h)
        log_std = F.clip(self.log_std(h), -20.0, 2.0)
        u = mu + F.exp(log_std) * eps
        logp = -0.5 * eps ** 2 - log_std - 0.5 * float(np.log(2 * np.pi))
        logp -= 2.0 * (float(np.log(2.0)) - u - F.softplus(-2.0 * u))
        return F.tanh(u), F.sum(logp, axis=1), F.tanh(mu)


class Critic(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(OBS + ACT, HID)
            self.l2 = L.Linear(HID, HID)
            self.l3 = L.Linear(HID, 1)

    def __call__(self, obs, act):
        h = F.relu(self.l1(F.concat([obs, act], axis=1)))
        h = F.relu(self.l2(h))
        return F.squeeze(self.l3(h), 1)


class SAC(chainer.Chain):
    gamma = 0.95

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.actor = Actor()
            self.q1, self.q2 = Critic(), Critic()
            self.q1_target, self.q2_target = Critic(), Critic()
            self.log_alpha = chainer.Parameter(np.zeros((), "f"))

    def __call__(self, obs, act, reward, done, next_obs, eps, next_eps):
        alpha = F.exp(self.log_alpha)
        q1, q2 = self.q1(obs, act), self.q2(obs, act)
        a2, logp2, _ = self.actor(next_obs, next_eps)
        q_next = F.minimum(self.q1_target(next_obs, a2), self.q2_target(next_obs, a2))
        q_next = q_next - F.broadcast_to(alpha, logp2.shape) * logp2
        target = reward + self.gamma * (1.0 - done) * q_next
        critic_loss = F.mean((q1 - target) ** 2) + F.mean((q2 - target) ** 2)
        pi, logp, greedy = self.actor(obs, eps)
        q_pi = F.minimum(self.q1(obs, pi), self.q2(obs, pi))
        actor_loss = F.mean(F.broadcast_to(alpha, logp.shape) * logp - q_pi)
        return {"q1": q1, "q2": q2, "target": target, "critic_loss": critic_loss, "pi": pi,
                "logp": logp, "greedy": greedy, "actor_loss": actor_loss}


def make():
    m = SAC()
    g = np.random.RandomState(3)
    for name, p in sorted(m.namedparams()):
        if p.ndim == 0:
            p.array[...] = -0.7
        elif p.ndim == 2:
            s = 1.3 / np.sqrt(p.shape[1])
            if name.endswith("/log_std/W"):
                s *= 5
            if "/ln" not in name and name.startswith("/actor/l1"):
                s *= 0.5
            p.array[...] = s * g.randn(*p.shape)
        elif name.endswith("gamma"):
            p.array[...] = 1 + 0.3 * g.randn(*p.shape)
        else:
            p.array[...] = 0.2 * g.randn(*p.shape)
    m.actor.log_std.b.array[...] -= np.array([5.0, 4.0, 6.5], "f")
    return m


def inputs(seed):
    g = np.random.RandomState(seed + 100)
    f = lambda *s: g.randn(*s).astype("f")
    n = 7
    return (f(n, OBS), np.tanh(f(n, ACT)), f(n), (g.rand(n) < 0.3).astype("f"), f(n, OBS), f(n, ACT), f(n, ACT))
