"""Rainbow head: conv trunk, factorised noisy layers, dueling streams, C51 support (Chainer)."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
ACTIONS, ATOMS = 6, 21
V_MIN, V_MAX = -5.0, 5.0


class FactorisedNoisy(chainer.Link):

    def __init__(self, n_in, n_out, sigma0=0.5):
        super().__init__()
        bound = 1.0 / np.sqrt(n_in)
        with self.init_scope():
            self.mu_w = chainer.Parameter(chainer.initializers.Uniform(bound), (n_out, n_in))
            self.mu_b = chainer.Parameter(chainer.initializers.Uniform(bound), (n_out,))
            self.sigma_w = chainer.Parameter(sigma0 * bound, (n_out, n_in))
            self.sigma_b = chainer.Parameter(sigma0 * bound, (n_out,))
        self.add_persistent('eps_in', np.zeros(n_in, np.float32))
        self.add_persistent('eps_out', np.zeros(n_out, np.float32))

    @staticmethod
    def _scale(e):
        return np.sign(e) * np.sqrt(np.abs(e))

    def resample(self, rng):
        self.eps_in[...] = rng.standard_normal(self.eps_in.shape)
        self.eps_out[...] = rng.standard_normal(self.eps_out.shape)

    def __call__(self, x):
        e_in, e_out = self._scale(self.eps_in), self._scale(self.eps_out)
        w = self.mu_w + self.sigma_w * np.outer(e_out, e_in)
        b = self.mu_b + self.sigma_b * e_out
        return F.linear(x, w, b)


class Rainbow(chainer.Chain):

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.c1 = L.Convolution2D(4, 16, 8, stride=4)
            self.c2 = L.Convolution2D(16, 32, 4, stride=2)
            self.c3 = L.Convolution2D(32, 32, 3, stride=1)
            self.v1 = FactorisedNoisy(288, 64)
            self.v2 = FactorisedNoisy(64, ATOMS)
            self.a1 = FactorisedNoisy(288, 64)
            self.a2 = FactorisedNoisy(64, ACTIONS * ATOMS)
        self.add_persistent('z', np.linspace(V_MIN, V_MAX, ATOMS).astype(np.float32))

    def __call__(self, frames):
        h = frames / 255.0
        for conv in (self.c1, self.c2, self.c3):
            h = F.relu(conv(h))
        h = F.reshape(h, (h.shape[0], -1))
        v = self.v2(F.relu(self.v1(h)))
        a = self.a2(F.relu(self.a1(h)))
        v = F.reshape(v, (-1, 1, ATOMS))
        a = F.reshape(a, (-1, ACTIONS, ATOMS))
        mean_a = F.mean(a, axis=1, keepdims=True)
        logits = F.broadcast_to(v, a.shape) + a - F.broadcast_to(mean_a, a.shape)
        logp = F.log_softmax(logits, axis=2)
        q = F.sum(F.exp(logp) * self.z[None, None, :], axis=2)
        return q, logp


def make(seed=0):
    np.random.seed(seed)
    rng = np.random.default_rng(seed)
    net = Rainbow()
    for name, p in net.namedparams():
        if name.endswith('/b'):
            p.array[...] = rng.normal(0, 0.1, p.shape)
        if 'sigma' in name:
            p.array[...] *= rng.uniform(0.5, 1.5, p.shape)
    for noisy in (net.v1, net.v2, net.a1, net.a2):
        noisy.resample(rng)
    return net


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    return (rng.integers(0, 256, (4, 4, 52, 52)).astype(np.float32),)
