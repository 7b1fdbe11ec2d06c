"""World Models (Ha & Schmidhuber 2018): the MDN-RNN, in Chainer."""
import numpy as np


import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
LOG_SQRT_2PI = float(0.5 * np.log(2.0 * np.pi))


class MDNRNN(chainer.Chain):
    def __init__(self, z_dim=6, a_dim=3, hidden=24, mixtures=4):
        super().__init__()
        self.z_dim, self.mixtures = z_dim, mixtures
        normal = chainer.initializers.Normal(0.3)
        with self.init_scope():
            self.rnn = L.LSTM(z_dim + a_dim, hidden, bias_init=normal, upward_init=chainer.initializers.Normal(0.4))
            self.coef = L.Linear(hidden, mixtures * z_dim, initial_bias=normal)
            self.mu = L.Linear(hidden, mixtures * z_dim, initial_bias=normal)
            self.ln_sigma = L.Linear(hidden, mixtures * z_dim, initial_bias=normal)
            self.done = L.Linear(hidden, 1, initial_bias=normal)

    def step(self, z, a):
        h = self.rnn(F.concat((z, a), axis=1))
        shape = (z.shape[0], self.mixtures, self.z_dim)
        coef = F.log_softmax(F.reshape(self.coef(h), shape), axis=1)
        mu = F.reshape(self.mu(h), shape)
        ln_sigma = F.reshape(self.ln_sigma(h), shape)
        return coef, mu, ln_sigma, F.sigmoid(self.done(h))

    def nll(self, coef, mu, ln_sigma, target):
        target = F.broadcast_to(F.expand_dims(target, 1), mu.shape)
        scaled = (target - mu) * F.exp(-ln_sigma)
        log_prob = -0.5 * scaled ** 2 - ln_sigma - LOG_SQRT_2PI
        return -F.sum(F.logsumexp(coef + log_prob, axis=1), axis=1)

    def __call__(self, z, a, z_next):
        self.rnn.reset_state()
        mus, dones, losses = [], [], []
        for t in range(z.shape[1]):
            coef, mu, ln_sigma, done = self.step(z[:, t], a[:, t])
            mus.append(mu)
            dones.append(done)
            losses.append(self.nll(coef, mu, ln_sigma, z_next[:, t]))
        return F.stack(mus, axis=1), F.concat(dones, axis=1), F.stack(losses, axis=1)


def make():
    np.random.seed(71)
    return MDNRNN()


def inputs(seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(4, 6, 6)).astype(np.float32)
    a = rng.uniform(-1, 1, size=(4, 5, 3)).astype(np.float32)
    return z[:, :-1], a, z[:, 1:]
