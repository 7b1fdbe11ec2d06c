"""The MDN-RNN of World Models (Ha and Schmidhuber 2018) in Chainer."""
import numpy as np
import parity  # noqa: F401  makes chainer importable
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
LOG_2PI = float(np.log(2 * np.pi))


class MDNRNN(chainer.Chain):
    def __init__(self, z_dim=6, a_dim=2, hidden=20, mixtures=4):
        super().__init__()
        self.z_dim, self.hidden, self.k = z_dim, hidden, mixtures
        with self.init_scope():
            self.upward = L.Linear(z_dim + a_dim, 4 * hidden)
            self.lateral = L.Linear(hidden, 4 * hidden, nobias=True)
            self.mdn = L.Linear(hidden, 3 * mixtures * z_dim)
            self.reward = L.Linear(hidden, 1)
            self.done = L.Linear(hidden, 1)

    def unroll(self, z, action):
        b, steps = z.shape[:2]
        h = np.zeros((b, self.hidden), np.float32)
        c = np.zeros((b, self.hidden), np.float32)
        hs = []
        for t in range(steps):
            x = F.concat((z[:, t], action[:, t]), axis=1)
            c, h = F.lstm(c, self.upward(x) + self.lateral(h))
            hs.append(h)
        return F.stack(hs, axis=1)

    def forward(self, z, action, target, ended, noise):
        b, steps = z.shape[:2]
        hs = self.unroll(z, action)
        flat = F.reshape(hs, (b * steps, self.hidden))
        out = F.reshape(self.mdn(flat), (b, steps, 3, self.k, self.z_dim))
        log_pi = F.log_softmax(out[:, :, 0], axis=2)
        mu = out[:, :, 1]
        log_sigma = out[:, :, 2]
        goal = F.broadcast_to(F.expand_dims(target, 2), mu.shape)
        scaled = (goal - mu) * F.exp(-log_sigma)
        log_n = -0.5 * (scaled**2 + LOG_2PI) - log_sigma
        nll = -F.sum(F.logsumexp(log_pi + log_n, axis=2), axis=2)
        alive = 1.0 - ended
        ones = np.ones((b, 1), np.float32)
        valid = F.cumprod(F.concat((ones, alive[:, :-1]), axis=1), axis=1)
        loss = F.sum(nll * valid) / F.sum(valid)
        pi = F.exp(log_pi)
        expected = F.sum(pi * mu, axis=2)
        spread = F.sum(pi * F.exp(log_sigma), axis=2) * noise
        reward = F.reshape(self.reward(flat), (b, steps))
        done = F.sigmoid(F.reshape(self.done(flat), (b, steps)))
        return loss, nll, expected + spread, reward, done


def make():
    net = MDNRNN()
    rng = np.random.default_rng(101)
    for p in net.params():
        scale = 0.2 if p.ndim == 1 else 1.3 / np.sqrt(p.shape[1])
        p.array[...] = scale * rng.normal(size=p.shape)
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    b, t = 5, 6
    ended = np.zeros((b, t), "float32")
    ended[0, 3] = ended[2, 1] = ended[4, 4] = 1
    return (
        rng.normal(size=(b, t, 6)).astype("float32"),
        rng.uniform(-1, 1, size=(b, t, 2)).astype("float32"),
        rng.normal(size=(b, t, 6)).astype("float32"),
        ended,
        rng.normal(size=(b, t, 6)).astype("float32"),
    )
