"""The interaction network in Chainer; edges are gathered and pooled by incidence matrices."""
import numpy as np

import parity  # noqa: F401  makes Chainer importable here
import chainer
import chainer.functions as F
import chainer.links as L

FRAMEWORK = "chainer"
NODES, NODE, EDGE, GLOBAL, WIDTH = 6, 5, 3, 2, 18
SRC = np.array([0, 1, 2, 3, 4, 5, 0, 1, 2, 4, 3])
DST = np.array([1, 2, 3, 4, 5, 0, 3, 0, 0, 1, 0])
EDGES = len(SRC)


class MLP(chainer.Chain):
    def __init__(self, n_in, n_out):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(n_in, 24)
            self.b = L.Linear(24, n_out)

    def forward(self, x):
        h = F.leaky_relu(self.a(x, n_batch_axes=x.ndim - 1), slope=0.1)
        return self.b(h, n_batch_axes=x.ndim - 1)


class GraphBlock(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.f_edge = MLP(3 * WIDTH + GLOBAL, WIDTH)
            self.f_node = MLP(2 * WIDTH + GLOBAL, WIDTH)
            self.f_global = MLP(2 * WIDTH + GLOBAL, GLOBAL)
            self.norm = L.LayerNormalization(WIDTH, eps=1e-5)

    def forward(self, v, e, u, pool):
        b, n, d = v.shape
        u_e = F.broadcast_to(u[:, None, :], (b, e.shape[1], GLOBAL))
        u_v = F.broadcast_to(u[:, None, :], (b, n, GLOBAL))
        e = e + self.f_edge(F.concat([v[:, SRC], v[:, DST], e, u_e], axis=2))
        gathered = F.matmul(F.broadcast_to(pool, (b,) + pool.shape), e)
        dv = self.f_node(F.concat([v, gathered, u_v], axis=2))
        v = F.reshape(self.norm(F.reshape(v + dv, (-1, d))), v.shape)
        summary = F.concat([F.mean(v, axis=1), F.mean(e, axis=1), u], axis=1)
        return v, e, u + self.f_global(summary)


class GraphDynamics(chainer.Chain):
    def __init__(self, n_steps=2):
        super().__init__()
        incidence = np.zeros((NODES, EDGES), "float32")
        incidence[DST, np.arange(EDGES)] = 1.0
        self.pool = incidence / np.maximum(incidence.sum(1, keepdims=True), 1.0)
        with self.init_scope():
            self.enc_v = L.Linear(NODE, WIDTH)
            self.enc_e = L.Linear(EDGE, WIDTH)
            self.blocks = chainer.ChainList(*[GraphBlock() for _ in range(n_steps)])
            self.dec = MLP(WIDTH, 2)

    def forward(self, bodies, springs, forces):
        v = F.tanh(self.enc_v(bodies, n_batch_axes=2))
        e = F.tanh(self.enc_e(springs, n_batch_axes=2))
        u = chainer.as_variable(forces)
        for block in self.blocks:
            v, e, u = block(v, e, u, self.pool)
        vel = bodies[:, :, 2:4] + 0.1 * self.dec(v)
        pos = bodies[:, :, 0:2] + 0.1 * vel
        return F.concat([pos, vel], axis=2), u


def make():
    np.random.seed(12)
    return GraphDynamics()


def inputs(seed):
    rng = np.random.default_rng(seed)
    bodies = rng.normal(size=(4, NODES, NODE)).astype("float32")
    springs = rng.normal(size=(4, EDGES, EDGE)).astype("float32")
    forces = rng.normal(size=(4, GLOBAL)).astype("float32")
    return bodies, springs, forces


def load(ported, original):
    def linear(link, layer):
        link.W.array[...] = layer.weight.detach().numpy()
        link.b.array[...] = layer.bias.detach().numpy()

    def mlp(link, layers):
        linear(link.a, layers[0])
        linear(link.b, layers[2])

    linear(ported.enc_v, original.node_encoder)
    linear(ported.enc_e, original.edge_encoder)
    mlp(ported.dec, original.decoder)
    for block, step in zip(ported.blocks, original.steps):
        mlp(block.f_edge, step.edge_model)
        mlp(block.f_node, step.node_model)
        mlp(block.f_global, step.global_model)
        block.norm.gamma.array[...] = step.norm.weight.detach().numpy()
        block.norm.beta.array[...] = step.norm.bias.detach().numpy()
