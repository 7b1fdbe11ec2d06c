"""Pointer network policy for routing (Bello et al., 2016) in Chainer: scores a given tour."""
import parity  # noqa: F401
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"


class Attention(chainer.Chain):
    """Additive attention's scores over the nodes."""

    def __init__(self, n_units):
        super().__init__()
        with self.init_scope():
            self.query = L.Linear(n_units, n_units)
            self.ref = L.Linear(n_units, n_units)
            self.v = chainer.Parameter(chainer.initializers.Normal(0.5), (n_units,))

    def project(self, nodes):
        return self.ref(nodes, n_batch_axes=2)

    def forward(self, query, projected):
        hidden = F.tanh(self.query(query)[:, None, :] + projected)
        return F.sum(hidden * self.v, axis=2)


class PointerPolicy(chainer.Chain):
    clip = 5.0
    blocked = -1e9

    def __init__(self, n_in=2, n_units=16):
        super().__init__()
        self.n_units = n_units
        with self.init_scope():
            self.embed = L.Linear(n_in, n_units)
            self.encoder = L.StatelessLSTM(n_units, n_units)
            self.decoder = L.StatelessLSTM(n_units, n_units)
            self.glimpse = Attention(n_units)
            self.pointer = Attention(n_units)
            self.start = chainer.Parameter(chainer.initializers.Normal(0.5), (n_units,))
            self.critic1 = L.Linear(n_units, n_units)
            self.critic2 = L.Linear(n_units, 1)

    def encode(self, x, lengths):
        """Outputs for each node; the state stops at each tour's own length."""
        c = h = None
        outputs = []
        for t in range(x.shape[1]):
            c_new, h_new = self.encoder(c, h, x[:, t])
            if c is None:
                c, h = c_new, h_new
            else:
                live = self.xp.broadcast_to((t < lengths)[:, None], h.shape)
                c, h = F.where(live, c_new, c), F.where(live, h_new, h)
            outputs.append(h)
        return F.stack(outputs, axis=1), c, h

    def mask_scores(self, scores, mask):
        return F.where(mask, scores, self.xp.full(scores.shape, self.blocked, "f"))

    def forward(self, coords, lengths, tour):
        xp = self.xp
        batch, n, _ = coords.shape
        x = F.tanh(self.embed(coords, n_batch_axes=2))
        nodes, c, h = self.encode(x, lengths)
        glimpse_ref = self.glimpse.project(nodes)
        pointer_ref = self.pointer.project(nodes)

        baseline = self.critic2(F.relu(self.critic1(h)))[:, 0]
        mask = xp.arange(n)[None, :] < lengths[:, None]
        rows = xp.arange(batch)
        step_input = F.broadcast_to(self.start, (batch, self.n_units))
        total = chainer.Variable(xp.zeros(batch, "f"))
        probs = []
        for t in range(n):
            c, h = self.decoder(c, h, step_input)
            weights = F.softmax(self.mask_scores(self.glimpse(h, glimpse_ref), mask))
            query = F.sum(weights[:, :, None] * nodes, axis=1)
            scores = self.clip * F.tanh(self.pointer(query, pointer_ref))
            log_p = F.log_softmax(self.mask_scores(scores, mask))

            node = tour[:, t]
            live = t < lengths
            total += F.where(live, log_p[rows, node], xp.zeros(batch, "f"))
            probs.append(F.where(xp.broadcast_to(live[:, None], mask.shape), F.exp(log_p), xp.zeros(mask.shape, "f")))
            step_input = x[rows, node]
            # the last node of a finished tour stays open, so that the softmax has something to do
            mask = mask.copy()
            mask[rows[t + 1 < lengths], node[t + 1 < lengths]] = False
        return total, F.stack(probs, axis=1), baseline


def make(seed=0):
    np.random.seed(seed)
    model = PointerPolicy()
    rng = np.random.RandomState(seed)
    for name, p in model.namedparams():
        if name.endswith("/b"):
            p.array[...] += rng.normal(0, 0.2, p.shape)
    return model


def load(model, reference):
    pass


def inputs(seed):
    rng = np.random.default_rng(seed)
    b, n = 6, 7
    lengths = np.array([7, 5, 7, 6, 7, 4], np.int64)
    coords = rng.uniform(0, 1, size=(b, n, 2)).astype(np.float32)
    tour = np.zeros((b, n), np.int64)
    for i, length in enumerate(lengths):
        coords[i, length:] = 0
        order = rng.permutation(length)
        tour[i, :length] = order
        tour[i, length:] = order[-1]
    return coords, lengths, tour
