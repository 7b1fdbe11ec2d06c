"""IQN (Dabney et al. 2018) with its quantile Huber loss, after ChainerRL."""
import parity  # noqa: F401  lets Chainer 7.8 run with NumPy 2
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
OBS, ACTIONS, HID, COS = 7, 4, 24, 16


class CosineBasisLinear(chainer.Chain):
    def __init__(self, n_basis, out_size):
        super().__init__()
        self.n_basis = n_basis
        with self.init_scope():
            self.linear = L.Linear(n_basis, out_size)

    def forward(self, taus):
        batch, n = taus.shape
        i_pi = np.arange(1, self.n_basis + 1, dtype=np.float32) * np.float32(np.pi)
        embedding = F.cos(F.broadcast_to(taus[..., None], (batch, n, self.n_basis)) * i_pi)
        out = F.relu(self.linear(F.reshape(embedding, (batch * n, -1))))
        return F.reshape(out, (batch, n, -1))


class IQN(chainer.Chain):
    def __init__(self, n=8, n_prime=6, gamma=0.97):
        super().__init__()
        self.n, self.n_prime, self.gamma = n, n_prime, gamma
        with self.init_scope():
            self.psi = L.Linear(OBS, HID)
            self.phi = CosineBasisLinear(COS, HID)
            self.fc = L.Linear(HID, HID)
            self.out = L.Linear(HID, ACTIONS)

    def quantiles(self, obs, taus):
        psi = F.relu(self.psi(obs))
        phi = self.phi(taus)
        batch, n, width = phi.shape
        h = F.broadcast_to(F.expand_dims(psi, 1), phi.shape) * phi
        h = F.relu(self.fc(F.reshape(h, (batch * n, width))))
        return F.reshape(self.out(h), (batch, n, -1))

    def forward(self, obs, action, reward, next_obs, terminal):
        batch = len(obs)
        taus = np.random.uniform(size=(batch, self.n)).astype(np.float32)
        z = self.quantiles(obs, chainer.Variable(taus))
        q = F.average(z, axis=1)
        y = z[np.arange(batch), :, action]

        taus_prime = np.random.uniform(size=(batch, self.n_prime)).astype(np.float32)
        z_next = self.quantiles(next_obs, chainer.Variable(taus_prime))
        greedy = F.argmax(F.average(z_next, axis=1), axis=1).array
        best = z_next[np.arange(batch), :, greedy]
        t = reward[:, None] + self.gamma * (1 - terminal[:, None]) * best

        y3, t3 = F.broadcast(F.expand_dims(y, 2), F.expand_dims(t, 1))
        huber = F.huber_loss(y3, t3, delta=1.0, reduce="no")
        below = (t3.array - y3.array < 0).astype(np.float32)
        weight = F.absolute(taus[:, :, None] - below)
        loss = F.average(F.sum(F.average(weight * huber, axis=2), axis=1))
        return {"q": q, "quantiles": y, "loss": loss}


def make():
    np.random.seed(21)
    model = IQN()
    rng = np.random.RandomState(21)
    for name, parameter in sorted(model.namedparams()):
        if name.endswith("/b"):
            parameter.array[...] = rng.normal(scale=0.2, size=parameter.shape)
    model.out.W.array *= 3
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    n = 8
    return {
        "obs": rng.normal(size=(n, OBS)).astype("float32"),
        "action": rng.integers(0, ACTIONS, n),
        "reward": rng.normal(size=n).astype("float32"),
        "next_obs": rng.normal(size=(n, OBS)).astype("float32"),
        "terminal": (rng.random(n) < 0.3).astype("float32"),
    }
