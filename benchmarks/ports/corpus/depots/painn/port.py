"""PaiNN in Chainer."""

import parity  # noqa: F401  (lets chainer load)
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
TYPES, DIM, RBF, CUTOFF, BLOCKS = 10, 12, 8, 4.0, 2


def silu(x):
    return x * F.sigmoid(x)


def apply(link, x):
    """A linear link over the last axis."""
    return link(x, n_batch_axes=x.ndim - 1)


class MLP(chainer.Chain):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(inputs, hidden)
            self.l2 = L.Linear(hidden, outputs)

    def forward(self, x):
        return apply(self.l2, silu(apply(self.l1, x)))


class Message(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.phi = MLP(DIM, DIM, 3 * DIM)
            self.filters = L.Linear(RBF, 3 * DIM)

    def forward(self, s, v, rbf, fcut, unit):
        b, n, _ = s.shape
        w = apply(self.filters, rbf)
        w = w * F.broadcast_to(F.expand_dims(fcut, 3), w.shape)
        x = w * F.broadcast_to(F.expand_dims(self.phi(s), 1), w.shape)
        ds, dvr, dvv = F.split_axis(x, 3, axis=3)
        full = (b, n, n, 3, DIM)
        along = F.broadcast_to(F.expand_dims(dvr, 3), full) * F.broadcast_to(F.expand_dims(unit, 4), full)
        across = F.broadcast_to(F.expand_dims(dvv, 3), full) * F.broadcast_to(F.expand_dims(v, 1), full)
        s = s + F.sum(ds, axis=2)
        v = v + F.sum(along + across, axis=2)
        return s, v


class Update(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.mix = L.Linear(DIM, 2 * DIM, nobias=True)
            self.mlp = MLP(2 * DIM, DIM, 3 * DIM)

    def forward(self, s, v):
        left, right = F.split_axis(apply(self.mix, v), 2, axis=3)
        norm = F.sqrt(F.sum(left**2, axis=2) + 1e-8)
        a_ss, a_vv, a_sv = F.split_axis(self.mlp(F.concat([s, norm], axis=2)), 3, axis=2)
        inner = F.sum(left * right, axis=2)
        s = s + a_ss + a_sv * inner
        v = v + F.broadcast_to(F.expand_dims(a_vv, 2), right.shape) * right
        return s, v


class Readout(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.mix = L.Linear(DIM, 7, nobias=True)
            self.gate = MLP(DIM + 6, 8, 2)

    def forward(self, s, v):
        mixed = apply(self.mix, v)
        norm = F.sqrt(F.sum(mixed[..., :6] ** 2, axis=2))
        x = self.gate(F.concat([s, norm], axis=2))
        local = mixed[..., 6]
        return x[..., :1], F.broadcast_to(x[..., 1:], local.shape) * local


class PaiNN(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(TYPES, DIM)
            self.messages = chainer.ChainList(*[Message() for _ in range(BLOCKS)])
            self.updates = chainer.ChainList(*[Update() for _ in range(BLOCKS)])
            self.energy = MLP(DIM, 8, 1)
            self.readout = Readout()

    def geometry(self, positions, mask):
        b, n, _ = positions.shape
        xp = self.xp
        pos_i = F.broadcast_to(F.expand_dims(positions, 2), (b, n, n, 3))
        pos_j = F.broadcast_to(F.expand_dims(positions, 1), (b, n, n, 3))
        r = pos_j - pos_i
        eye = xp.broadcast_to(xp.eye(n, dtype=xp.float32), (b, n, n))
        d = F.sqrt(F.sum(r**2, axis=3) + eye)
        unit = r / F.broadcast_to(F.expand_dims(d, 3), r.shape)
        freqs = xp.arange(1, RBF + 1, dtype=xp.float32) * np.float32(np.pi / CUTOFF)
        wide = F.broadcast_to(F.expand_dims(d, 3), (b, n, n, RBF))
        rbf = F.sin(wide * freqs) / wide
        fcut = 0.5 * (F.cos(d * np.float32(np.pi / CUTOFF)) + 1.0)
        fcut = fcut * (d.array < CUTOFF).astype(xp.float32)
        pairs = F.matmul(F.expand_dims(mask, 2), F.expand_dims(mask, 1)) * (1 - eye)
        return unit, rbf, fcut * pairs

    def forward(self, numbers, positions, mask):
        positions, mask = chainer.as_variable(positions), chainer.as_variable(mask)
        unit, rbf, fcut = self.geometry(positions, mask)
        s = self.embed(numbers)
        v = self.xp.zeros(s.shape[:2] + (3, DIM), dtype=self.xp.float32)
        for message, update in zip(self.messages, self.updates):
            s, v = message(s, v, rbf, fcut, unit)
            s, v = update(s, v)
        present = F.expand_dims(mask, 2)
        energy = F.sum(self.energy(s) * present, axis=1)
        charge, local = self.readout(s, v)
        moment = local + positions * F.broadcast_to(charge, positions.shape)
        dipole = F.sum(moment * F.broadcast_to(present, moment.shape), axis=1)
        return energy, dipole


def make():
    rng = np.random.default_rng(8)
    model = PaiNN()
    for _, p in sorted(model.namedparams()):
        scale = 0.2 if p.array.ndim == 1 else 1 / np.sqrt(p.shape[1])
        p.array[...] = rng.normal(0, scale, p.shape)
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(1, TYPES, (4, 6))
    positions = rng.normal(0, 1.4, (4, 6, 3)).astype("float32")
    mask = (np.arange(6)[None] < np.array([6, 5, 6, 4])[:, None]).astype("float32")
    return numbers, positions, mask


def load(ported, original):
    def put(link, layer):
        link.W.array[...] = layer.weight.detach().numpy()
        if getattr(layer, "bias", None) is not None:
            link.b.array[...] = layer.bias.detach().numpy()

    put(ported.embed, original.embedding)
    for ours, theirs in zip(ported.messages, original.interactions):
        put(ours.phi.l1, theirs.dense1)
        put(ours.phi.l2, theirs.dense2)
        put(ours.filters, theirs.filter)
    for ours, theirs in zip(ported.updates, original.mixing):
        put(ours.mix, theirs.mu_channel_mix)
        put(ours.mlp.l1, theirs.dense1)
        put(ours.mlp.l2, theirs.dense2)
    put(ported.energy.l1, original.energy1)
    put(ported.energy.l2, original.energy2)
    put(ported.readout.mix, original.readout.mix)
    put(ported.readout.gate.l1, original.readout.gate1)
    put(ported.readout.gate.l2, original.readout.gate2)
