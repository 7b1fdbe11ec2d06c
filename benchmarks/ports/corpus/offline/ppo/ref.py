"""PPO's clipped loss on advantages by GAE, in Chainer (after ChainerRL's agent)."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
OBS, ACT = 6, 2


class ActorCritic(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.pi1 = L.Linear(OBS, 24)
            self.pi2 = L.Linear(24, 24)
            self.mu = L.Linear(24, ACT)
            self.log_std = chainer.Parameter(np.array([-0.4, 0.2], "f"))
            self.v1 = L.Linear(OBS, 24)
            self.v2 = L.Linear(24, 1)

    def policy(self, x):
        h = F.tanh(self.pi2(F.tanh(self.pi1(x))))
        return self.mu(h)

    def value(self, x):
        return F.reshape(self.v2(F.tanh(self.v1(x))), (len(x),))


class PPOLoss(chainer.Chain):
    def __init__(self, gamma=0.97, lam=0.9, clip=0.2, clip_vf=0.3, vf_coef=0.5, ent_coef=0.01):
        super().__init__()
        with self.init_scope():
            self.net = ActorCritic()
        self.gamma, self.lam, self.clip, self.clip_vf = gamma, lam, clip, clip_vf
        self.vf_coef, self.ent_coef = vf_coef, ent_coef

    def gae(self, rewards, values, nonterminal, last_value):
        adv, out = 0.0, []
        for t in reversed(range(len(rewards))):
            v_next = last_value if t == len(rewards) - 1 else values[t + 1]
            delta = rewards[t] + self.gamma * nonterminal[t] * v_next - values[t]
            adv = delta + self.gamma * self.lam * nonterminal[t] * adv
            out.append(adv)
        return F.stack(out[::-1])

    def forward(self, obs, actions, old_logp, old_values, rewards, nonterminal, last_value):
        steps, envs = rewards.shape
        flat = F.reshape(obs, (steps * envs, OBS))
        mu = self.net.policy(flat)
        log_std = F.broadcast_to(self.net.log_std, mu.shape)
        act = F.reshape(actions, mu.shape)
        logp = -F.sum(F.gaussian_nll(act, mu, 2 * log_std, reduce="no"), axis=1)
        entropy = F.sum(log_std + 0.5 * np.log(2 * np.pi * np.e).astype("f"), axis=1)
        adv = F.reshape(self.gae(rewards, old_values, nonterminal, last_value), (steps * envs,))
        v_old = F.reshape(old_values, (steps * envs,))
        v_target = adv + v_old
        mean = F.mean(adv)
        std = F.sqrt(F.mean(F.square(adv - F.broadcast_to(mean, adv.shape))))
        adv_n = (adv - F.broadcast_to(mean, adv.shape)) / F.broadcast_to(std + 1e-2, adv.shape)
        ratio = F.exp(logp - F.reshape(old_logp, logp.shape))
        surrogate = F.minimum(ratio * adv_n, F.clip(ratio, 1 - self.clip, 1 + self.clip) * adv_n)
        v = self.net.value(flat)
        v_clipped = v_old + F.clip(v - v_old, -self.clip_vf, self.clip_vf)
        v_loss = F.maximum(F.square(v - v_target), F.square(v_clipped - v_target))
        per_step = -surrogate + self.vf_coef * v_loss - self.ent_coef * entropy
        return adv, ratio, v_loss, F.mean(per_step)


def make():
    np.random.seed(8)
    model = PPOLoss()
    rng = np.random.RandomState(4)
    for link in model.links():
        if isinstance(link, L.Linear):
            link.b.array[...] = 0.3 * rng.randn(*link.b.shape)
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    t, e = 6, 4
    n = lambda *s: rng.normal(size=s).astype("float32")
    nonterminal = np.ones((t, e), "float32")
    nonterminal[2, 1] = nonterminal[4, 0] = nonterminal[5, 2] = 0
    return (n(t, e, OBS), n(t, e, ACT), 0.3 * n(t, e) - 3.0, n(t, e), n(t, e), nonterminal, n(e))
