"""MEGNet (Chen et al., 2019): node, edge and state updates on molecules, Set2Set readout. Chainer."""
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

FRAMEWORK = "chainer"
ELEMENTS, NODES, DIM, CENTERS, STATE, BLOCKS, STEPS = 6, 5, 8, 10, 2, 2, 2
CUTOFF, WIDTH = 3.0, 0.5


def softplus2(x):
    """Softplus shifted to pass through the origin."""
    return F.softplus(x) - np.log(2.0)


class MLP(chainer.ChainList):
    def __init__(self, *sizes):
        super().__init__(*[L.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:])])

    def forward(self, x):
        for linear in self:
            x = softplus2(linear(x, n_batch_axes=x.ndim - 1))
        return x


class MEGNetBlock(chainer.Chain):
    def __init__(self, dim):
        super().__init__()
        with self.init_scope():
            self.phi_e = MLP(4 * dim, 12, dim)
            self.phi_v = MLP(3 * dim, 12, dim)
            self.phi_u = MLP(3 * dim, 12, dim)

    def forward(self, v, e, u, adj):
        B, N, D = v.shape
        vi = F.broadcast_to(v[:, :, None], (B, N, N, D))
        vj = F.broadcast_to(v[:, None], (B, N, N, D))
        ue = F.broadcast_to(u[:, None, None], (B, N, N, D))
        e_new = self.phi_e(F.concat([vi, vj, e, ue], axis=3))
        weight = F.broadcast_to(adj[:, :, :, None], e_new.shape)
        degree = F.clip(F.sum(adj, axis=2), 1.0, float(N))
        e_mean = F.sum(e_new * weight, axis=2)
        e_mean = e_mean / F.broadcast_to(degree[:, :, None], e_mean.shape)
        uv = F.broadcast_to(u[:, None], (B, N, D))
        v_new = self.phi_v(F.concat([e_mean, v, uv], axis=2))
        e_pool = F.mean(e_mean, axis=1)
        v_pool = F.mean(v_new, axis=1)
        u_new = self.phi_u(F.concat([e_pool, v_pool, u], axis=1))
        return v + v_new, e + e_new, u + u_new


class Set2Set(chainer.Chain):
    def __init__(self, dim, steps):
        super().__init__()
        self.steps = steps
        with self.init_scope():
            self.lstm = L.StatelessLSTM(2 * dim, dim)

    def forward(self, x):
        B, N, D = x.shape
        q_star = self.xp.zeros((B, 2 * D), "float32")
        c = h = None
        for _ in range(self.steps):
            c, h = self.lstm(c, h, q_star)
            energy = F.sum(x * F.broadcast_to(h[:, None], x.shape), axis=2)
            a = F.softmax(energy, axis=1)
            r = F.sum(x * F.broadcast_to(a[:, :, None], x.shape), axis=1)
            q_star = F.concat([h, r], axis=1)
        return q_star


class MEGNet(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(ELEMENTS, DIM)
            self.edge_in = MLP(CENTERS, DIM)
            self.state_in = MLP(STATE, DIM)
            self.blocks = chainer.ChainList(*[MEGNetBlock(DIM) for _ in range(BLOCKS)])
            self.set2set = Set2Set(DIM, STEPS)
            self.head = MLP(3 * DIM, 12)
            self.out = L.Linear(12, 2)

    def forward(self, atoms, dist, state):
        B, N = atoms.shape
        centers = np.linspace(0.0, CUTOFF, CENTERS).astype("float32")
        d = F.broadcast_to(dist[:, :, :, None], (B, N, N, CENTERS))
        e = F.exp(-((d - F.broadcast_to(centers, d.shape)) ** 2) / WIDTH ** 2)
        d_arr = dist.array if isinstance(dist, chainer.Variable) else dist
        adj = F.cast((d_arr < CUTOFF) & (d_arr > 0), "float32")
        v = self.embed(atoms)
        e = self.edge_in(e)
        u = self.state_in(state)
        for block in self.blocks:
            v, e, u = block(v, e, u, adj)
        y = F.concat([self.set2set(v), u], axis=1)
        return self.out(self.head(y))


def make():
    chainer.global_config.train = False
    chainer.config.train = False
    model = MEGNet()
    rs = np.random.RandomState(11)
    for name, p in sorted(model.namedparams()):
        fan = p.shape[1] if p.ndim > 1 else 12
        if "embed" in name:
            fan = 1
        p.array[...] = rs.randn(*p.shape) * 1.3 / fan ** 0.5
    return model


def inputs(seed):
    rs = np.random.RandomState(seed)
    atoms = rs.randint(0, ELEMENTS, (4, NODES)).astype("int32")
    xyz = rs.randn(4, NODES, 3) * 1.3
    dist = np.sqrt(((xyz[:, :, None] - xyz[:, None]) ** 2).sum(-1)).astype("float32")
    return atoms, dist, rs.randn(4, STATE).astype("float32")
