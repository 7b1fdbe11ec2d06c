"""SAC in Chainer."""
import numpy as np

import parity  # noqa: F401  makes Chainer importable here
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
OBS, ACT = 11, 3
LO, HI = -5.0, 2.0


class GaussianPolicy(chainer.Chain):
    def __init__(self, n_units=32):
        super().__init__()
        self.scale = np.array([1.0, 2.0, 0.5], "float32")
        self.offset = np.array([0.0, 0.5, -0.25], "float32")
        with self.init_scope():
            self.l0 = L.Linear(OBS, n_units)
            self.norm = L.LayerNormalization(n_units, eps=1e-5)
            self.l1 = L.Linear(n_units, n_units)
            self.head = L.Linear(n_units, 2 * ACT)

    def forward(self, obs, noise):
        h = F.tanh(self.norm(self.l0(obs)))
        h = F.elu(self.l1(h))
        mu, raw = F.split_axis(self.head(h), 2, axis=1)
        ln_sigma = LO + (HI - LO) * 0.5 * (F.tanh(raw) + 1.0)
        sigma = F.exp(ln_sigma)
        pre = mu + sigma * noise
        normal = -0.5 * F.square((pre - mu) / sigma) - ln_sigma - 0.5 * np.log(2 * np.pi).astype("float32")
        log_det = 2.0 * (float(np.log(2.0)) - pre - F.softplus(-2.0 * pre)) + np.log(self.scale)
        logp = F.sum(normal - log_det, axis=1)
        return F.tanh(pre) * self.scale + self.offset, logp


class QFunction(chainer.Chain):
    def __init__(self, n_units=32):
        super().__init__()
        with self.init_scope():
            self.l0 = L.Linear(OBS + ACT, n_units)
            self.l1 = L.Linear(n_units, n_units)
            self.l2 = L.Linear(n_units, 1)

    def forward(self, obs, action):
        h = F.relu(self.l0(F.concat((obs, action), axis=1)))
        return F.flatten(self.l2(F.relu(self.l1(h))))


class SoftActorCritic(chainer.Chain):
    def __init__(self, gamma=0.97):
        super().__init__()
        self.gamma = gamma
        with self.init_scope():
            self.policy = GaussianPolicy()
            self.qf1 = QFunction()
            self.qf2 = QFunction()
            self.log_temperature = chainer.Parameter(np.zeros((1,), "float32"))

    def forward(self, next_obs, noise, reward, done):
        action, logp = self.policy(next_obs, noise)
        q1 = self.qf1(next_obs, action)
        q2 = self.qf2(next_obs, action)
        temperature = F.broadcast_to(F.exp(self.log_temperature), logp.shape)
        v = F.minimum(q1, q2) - temperature * logp
        target = reward + self.gamma * (1.0 - done) * v
        return action, logp, target


def make():
    np.random.seed(4)
    return SoftActorCritic()


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 6
    obs = rng.normal(size=(b, OBS)).astype("float32")
    noise = rng.normal(size=(b, ACT)).astype("float32")
    reward = rng.normal(size=(b,)).astype("float32")
    done = np.array([0, 1, 0, 0, 1, 0], "float32")
    return obs, noise, reward, done


def _linear(link, W, b):
    link.W.array[...] = W
    link.b.array[...] = b


def load(ported, original):
    sd = {k: v.detach().numpy() for k, v in original.state_dict().items()}
    policy = ported.policy
    _linear(policy.l0, sd["actor.fc1.weight"], sd["actor.fc1.bias"])
    _linear(policy.l1, sd["actor.fc2.weight"], sd["actor.fc2.bias"])
    policy.norm.gamma.array[...] = sd["actor.ln.weight"]
    policy.norm.beta.array[...] = sd["actor.ln.bias"]
    W = np.concatenate([sd["actor.mean.weight"], sd["actor.log_std.weight"]])
    b = np.concatenate([sd["actor.mean.bias"], sd["actor.log_std.bias"]])
    _linear(policy.head, W, b)
    for qf, name in ((ported.qf1, "q1"), (ported.qf2, "q2")):
        for link, i in ((qf.l0, 0), (qf.l1, 2), (qf.l2, 4)):
            _linear(link, sd[f"{name}.net.{i}.weight"], sd[f"{name}.net.{i}.bias"])
    ported.log_temperature.array[...] = sd["log_alpha"]
