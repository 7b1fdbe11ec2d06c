"""ROMA (Wang et al., 2020): emergent roles; a role decides the last layer of an agent's utility network."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
AGENTS, OBS, ACTIONS, ROLE, HIDDEN, STEPS = 3, 11, 5, 3, 24, 4


class RoleEncoder(chainer.Chain):
    def __init__(self, n_in):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(n_in, 12)
            self.norm = L.LayerNormalization(12, eps=1e-5)
            self.out = L.Linear(12, 2 * ROLE)

    def forward(self, x):
        mu, log_sigma = F.split_axis(self.out(F.leaky_relu(self.norm(self.fc(x)), 0.01)), 2, axis=1)
        return mu, F.maximum(F.exp(log_sigma), np.full(log_sigma.shape, 0.1, "f"))


class HyperDecoder(chainer.Chain):
    """The role generates the weights of the utility layer."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.latent = L.Linear(ROLE, 16)
            self.to_w = L.Linear(16, HIDDEN * ACTIONS)
            self.to_b = L.Linear(16, ACTIONS)

    def forward(self, h, role):
        e = F.leaky_relu(self.latent(role), 0.01)
        w = F.reshape(self.to_w(e), (-1, HIDDEN, ACTIONS))
        b = self.to_b(e)
        return F.squeeze(F.matmul(F.expand_dims(h, 1), w), 1) + b


def gaussian_kl(mu0, sigma0, mu1, sigma1):
    ratio = (sigma0 / sigma1) ** 2
    distance = ((mu0 - mu1) / sigma1) ** 2
    return 0.5 * F.sum(ratio + distance - 1 - F.log(ratio), axis=1)


class ROMA(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.role = RoleEncoder(OBS + AGENTS)
            self.inference = RoleEncoder(OBS + AGENTS + HIDDEN)
            self.fc = L.Linear(OBS + AGENTS + ACTIONS, HIDDEN)
            self.gru = L.StatelessGRU(HIDDEN, HIDDEN)
            self.decoder = HyperDecoder()

    def forward(self, obs, last_action, available, noise):
        batch = obs.shape[0]
        rows = batch * AGENTS
        ids = np.tile(np.eye(AGENTS, dtype="f"), (batch, 1))
        h = chainer.Variable(np.zeros((rows, HIDDEN), "f"))
        qs, kls, diversity = [], [], []
        for t in range(STEPS):
            o = F.concat([F.reshape(obs[:, t], (rows, OBS)), ids], axis=1)
            mu, sigma = self.role(o)
            role = mu + sigma * F.reshape(noise[:, t], (rows, ROLE))
            mu_q, sigma_q = self.inference(F.concat([o, h.array], axis=1))
            kls.append(F.reshape(gaussian_kl(mu, sigma, mu_q, sigma_q), (batch, AGENTS)))

            previous = F.reshape(last_action[:, t], (rows, ACTIONS))
            x = F.relu(self.fc(F.concat([o, previous], axis=1)))
            h = self.gru(h, x)
            q = F.reshape(self.decoder(h, role), (batch, AGENTS, ACTIONS))
            q = F.where(available[:, t] > 0, q, np.full(q.shape, -1e6, "f"))
            qs.append(q)

            means = F.reshape(mu, (batch, AGENTS, ROLE))
            left = F.expand_dims(means, 1)
            right = F.expand_dims(means, 2)
            left, right = F.broadcast(left, right)
            distance = F.sum(F.absolute(left - right), axis=3)
            diversity.append(F.sum(distance, axis=(1, 2)) / (AGENTS * (AGENTS - 1)))
        q = F.stack(qs, axis=1)
        chosen = F.max(q, axis=3)
        return chosen, F.softmax(q, axis=3), F.stack(kls, axis=1), F.stack(diversity, axis=1)


def make():
    rng = np.random.RandomState(66)
    model = ROMA()
    for name, p in sorted(model.namedparams()):
        if p.ndim > 1:
            p.array[...] = 1.2 * rng.randn(*p.shape) / np.sqrt(p.shape[1])
        else:
            p.array[...] = (1.0 if name.endswith("gamma") else 0.0) + 0.2 * rng.randn(*p.shape)
    return model


def inputs(seed=0):
    rng = np.random.RandomState(seed)
    b = 5
    obs = rng.randn(b, STEPS, AGENTS, OBS).astype("f")
    last = np.eye(ACTIONS, dtype="f")[rng.randint(0, ACTIONS, (b, STEPS, AGENTS))]
    last[:, 0] = 0
    available = (rng.rand(b, STEPS, AGENTS, ACTIONS) < 0.7).astype("f")
    available[..., 0] = 1
    return obs, last, available, rng.randn(b, STEPS, AGENTS, ROLE).astype("f")
