"""Weave (Kearnes et al. 2016), after chainer_chemistry's WeaveNet, with the paper's Gaussian-membership readout."""
import numpy as np
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
A, CP, CH, LAYERS = 5, 4, 8, 2
GAUSS = ((-1.6, 0.6), (0.0, 0.5), (1.6, 0.7))


class LinearLayer(chainer.Chain):
    def __init__(self, n_in, n_out):
        super().__init__()
        with self.init_scope():
            self.dense = L.Linear(n_in, n_out)

    def __call__(self, x):
        return F.relu(self.dense(x, n_batch_axes=x.ndim - 1))


class AtomToPair(chainer.Chain):
    def __init__(self, n_in, n_out):
        super().__init__()
        with self.init_scope():
            self.linear = LinearLayer(2 * n_in, n_out)

    def __call__(self, atom_x):
        n, a, c = atom_x.shape
        atom_repeat = F.broadcast_to(F.reshape(atom_x, (n, 1, a, c)), (n, a, a, c))
        atom_tile = F.broadcast_to(F.reshape(atom_x, (n, a, 1, c)), (n, a, a, c))
        pair0 = self.linear(F.concat((atom_tile, atom_repeat), axis=3))
        pair1 = self.linear(F.concat((atom_repeat, atom_tile), axis=3))
        return pair0 + pair1


class PairToAtom(chainer.Chain):
    def __init__(self, n_in, n_out):
        super().__init__()
        with self.init_scope():
            self.linear = LinearLayer(n_in, n_out)

    def __call__(self, pair_x, pair_mask):
        h = self.linear(pair_x)
        h = h * F.broadcast_to(pair_mask, h.shape)
        return F.sum(h, axis=2)


class WeaveModule(chainer.Chain):
    def __init__(self, ca, cp, ch):
        super().__init__()
        with self.init_scope():
            self.atom_to_atom = LinearLayer(ca, ch)
            self.pair_to_atom = PairToAtom(cp, ch)
            self.atom_layer = LinearLayer(2 * ch, ch)
            self.atom_to_pair = AtomToPair(ca, ch)
            self.pair_to_pair = LinearLayer(cp, ch)
            self.pair_layer = LinearLayer(2 * ch, ch)

    def __call__(self, atom_x, pair_x, pair_mask):
        a1 = self.atom_to_atom(atom_x)
        a2 = self.pair_to_atom(pair_x, pair_mask)
        a = self.atom_layer(F.concat([a1, a2], axis=2))
        p1 = self.atom_to_pair(atom_x)
        p2 = self.pair_to_pair(pair_x)
        p = self.pair_layer(F.concat([p1, p2], axis=3))
        return a, p


class WeaveNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(9, CH)
            self.weaves = chainer.ChainList(*[WeaveModule(CH, CP if i == 0 else CH, CH) for i in range(LAYERS)])
            self.pre = L.Linear(CH, 6)
            self.fc = L.Linear(6 * len(GAUSS), 3)

    def readout(self, h, mask):
        hists = []
        for mu, sigma in GAUSS:
            hists.append(F.exp(-0.5 * ((h - mu) / sigma) ** 2))
        total = sum(hists) + 1e-7
        out = [F.sum(g / total * mask, axis=1) for g in hists]
        return F.concat(out, axis=1)

    def __call__(self, atoms, pair_x, adj_mask):
        x = self.embed(atoms)
        mask = F.broadcast_to((atoms > 0).astype("float32")[:, :, None], (atoms.shape[0], A, 6))
        pair_mask = F.reshape(adj_mask, (-1, A, A, 1))
        for weave in self.weaves:
            x, pair_x = weave(x, pair_x, pair_mask)
        h = F.tanh(self.pre(x, n_batch_axes=2)) * 2.0
        return self.fc(self.readout(h, mask))


def make():
    m = WeaveNet()
    r = np.random.RandomState(6)
    for _, p in sorted(m.namedparams()):
        p.array[...] = r.randn(*p.shape) * (0.3 if p.ndim == 1 else 1.3 / p.shape[1] ** 0.5)
    return m


def inputs(seed):
    r = np.random.RandomState(seed)
    atoms = r.randint(1, 9, (4, A)).astype("int32")
    atoms[1, 4:] = 0
    atoms[2, 3:] = 0
    real = (atoms > 0).astype("float32")
    return atoms, r.randn(4, A, A, CP).astype("float32"), real[:, :, None] * real[:, None, :]
