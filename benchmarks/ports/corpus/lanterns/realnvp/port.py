"""RealNVP as a Chainer chain."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"


class FlowStep(chainer.Chain):
    """actnorm -> permutation -> affine coupling"""

    def __init__(self, dim, hidden, perm):
        super().__init__()
        self.perm = perm
        self.half = dim // 2
        with self.init_scope():
            self.shift = chainer.Parameter(0, (dim,))
            self.log_scale = chainer.Parameter(0, (dim,))
            self.l1 = L.Linear(self.half, hidden)
            self.l2 = L.Linear(hidden, hidden)
            self.l3 = L.Linear(hidden, 2 * (dim - self.half))
            self.bound = chainer.Parameter(1, (dim - self.half,))

    def actnorm(self, x):
        shift = F.broadcast_to(self.shift, x.shape)
        scale = F.broadcast_to(F.exp(self.log_scale), x.shape)
        return (x + shift) * scale, F.sum(self.log_scale)

    def coupling(self, x):
        x1, x2 = F.split_axis(x, [self.half], axis=1)
        h = F.relu(self.l1(x1))
        h = F.relu(self.l2(h))
        s, t = F.split_axis(self.l3(h), 2, axis=1)
        s = F.tanh(s) * F.broadcast_to(self.bound, s.shape)
        y2 = x2 * F.exp(s) + t
        return F.concat([x1, y2], axis=1), F.sum(s, axis=1)

    def forward(self, x):
        x, ld_norm = self.actnorm(x)
        x = x[:, self.perm]
        x, ld_coupling = self.coupling(x)
        return x, ld_coupling + F.broadcast_to(ld_norm, ld_coupling.shape)


class Flow(chainer.ChainList):
    def __init__(self, dim=8, hidden=20, steps=4):
        perms = [np.random.RandomState(100 + k).permutation(dim) for k in range(steps)]
        super().__init__(*[FlowStep(dim, hidden, perm) for perm in perms])

    def forward(self, x):
        total = 0
        for step in self:
            x, ld = step(x)
            total = total + ld
        dim = x.shape[1]
        log_pz = -0.5 * F.sum(x * x, axis=1) - 0.5 * dim * float(np.log(2 * np.pi))
        return x, log_pz + total


def make(seed=1):
    rng = np.random.RandomState(seed)
    flow = Flow()
    for name, p in sorted(flow.namedparams()):
        p.array[...] = rng.randn(*p.shape) * 0.3
    return flow


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    mix = np.random.default_rng(99).normal(size=(8, 8)) / 8 ** 0.5
    return (rng.normal(size=(6, 8)) @ mix).astype("float32")


def load(ported, original):
    for k, step in enumerate(ported):
        norm, coupling = original.norms[k], original.couplings[k]
        step.shift.array[...] = norm.loc.detach().numpy()
        step.log_scale.array[...] = norm.log_scale.detach().numpy()
        step.bound.array[...] = coupling.bound.detach().numpy()
        for link, i in ((step.l1, 0), (step.l2, 2), (step.l3, 4)):
            link.W.array[...] = coupling.net[i].weight.detach().numpy()
            link.b.array[...] = coupling.net[i].bias.detach().numpy()
