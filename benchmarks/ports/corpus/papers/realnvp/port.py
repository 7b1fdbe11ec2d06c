"""RealNVP density in Chainer: the couplings work on index sets in place of masks."""
import numpy as np


import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
LOG_2PI = float(np.log(2 * np.pi))


class Coupling(chainer.Chain):
    def __init__(self, dim, n_context, n_hidden, keep):
        super().__init__()
        self.keep = np.asarray(keep)
        self.change = np.setdiff1d(np.arange(dim), self.keep)
        order = np.concatenate([self.keep, self.change])
        self.restore = np.argsort(order)
        with self.init_scope():
            self.fc1 = L.Linear(len(self.keep) + n_context, n_hidden)
            self.fc2 = L.Linear(n_hidden, n_hidden)
            self.st = L.Linear(n_hidden, 2 * len(self.change))
            self.amplitude = chainer.Parameter(np.ones(len(self.change), np.float32))

    def __call__(self, x, context):
        a = x[:, self.keep]
        b = x[:, self.change]
        h = F.elu(self.fc1(F.concat((a, context), axis=1)))
        h = F.elu(self.fc2(h))
        s, t = F.split_axis(self.st(h), 2, axis=1)
        s = F.tanh(s) * F.broadcast_to(self.amplitude, s.shape)
        b = b * F.exp(s) + t
        return F.concat((a, b), axis=1)[:, self.restore], F.sum(s, axis=1)


class Flow(chainer.Chain):
    def __init__(self, dim=6, n_obs=9, n_context=10, n_hidden=24, steps=4):
        super().__init__()
        self.dim = dim
        evens, odds = np.arange(0, dim, 2), np.arange(1, dim, 2)
        with self.init_scope():
            self.c1 = L.Linear(n_obs, n_hidden)
            self.c2 = L.Linear(n_hidden, n_context)
            self.log_scale = chainer.Parameter(np.zeros((steps, dim), np.float32))
            self.shift = chainer.Parameter(np.zeros((steps, dim), np.float32))
            self.couplings = chainer.ChainList(*[
                Coupling(dim, n_context, n_hidden, evens if i % 2 == 0 else odds) for i in range(steps)])

    def __call__(self, action, obs):
        context = self.c2(F.elu(self.c1(obs)))
        x = chainer.as_variable(action)
        total = F.broadcast_to(F.sum(self.log_scale), (x.shape[0],))
        for i, coupling in enumerate(self.couplings):
            u = F.scale(F.bias(x, self.shift[i]), F.exp(self.log_scale[i]))
            y, log_det = coupling(u, context)
            total = total + log_det
            x = F.flip(y, axis=1)
        energy = 0.5 * F.sum(F.square(x), axis=1)
        log_p = total - energy - 0.5 * self.dim * LOG_2PI
        return x, log_p


def make():
    np.random.seed(4)
    return Flow()


def _linear(dst, src, rows=None, cols=None):
    w, b = src.weight.detach().numpy(), src.bias.detach().numpy()
    if cols is not None:
        w = w[:, cols]
    if rows is not None:
        w, b = w[rows], b[rows]
    dst.W.array[...] = w
    dst.b.array[...] = b


def load(model, reference):
    _linear(model.c1, reference.context[0])
    _linear(model.c2, reference.context[2])
    for i, (dst, src) in enumerate(zip(model.couplings, reference.couplings)):
        model.log_scale.array[i] = reference.norms[i].log_scale.detach().numpy()
        model.shift.array[i] = reference.norms[i].shift.detach().numpy()
        n_in = src.net[0].in_features
        cols = np.concatenate([dst.keep, np.arange(model.dim, n_in)])
        _linear(dst.fc1, src.net[0], cols=cols)
        _linear(dst.fc2, src.net[2])
        dst.st.W.array[...] = np.concatenate([
            src.s.weight.detach().numpy()[dst.change], src.t.weight.detach().numpy()[dst.change]])
        dst.st.b.array[...] = np.concatenate([
            src.s.bias.detach().numpy()[dst.change], src.t.bias.detach().numpy()[dst.change]])
        dst.amplitude.array[...] = src.rescale.detach().numpy()[dst.change]
