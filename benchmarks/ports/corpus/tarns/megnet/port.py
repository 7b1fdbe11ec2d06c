"""MEGNet in PyTorch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
ELEMENTS, NODES, DIM, CENTERS, STATE, BLOCKS, STEPS = 6, 5, 8, 10, 2, 2, 2
CUTOFF, WIDTH = 3.0, 0.5


class ShiftedSoftplus(nn.Module):
    def forward(self, x):
        return F.softplus(x) - np.log(2.0)


def mlp(*sizes):
    mods = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        mods += [nn.Linear(a, b), ShiftedSoftplus()]
    return nn.Sequential(*mods)


class GaussianExpansion(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("centers", torch.linspace(0.0, CUTOFF, CENTERS))
        self.gamma = 1.0 / WIDTH ** 2

    def forward(self, d):
        return torch.exp(-self.gamma * (d.unsqueeze(-1) - self.centers) ** 2)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.edge = mlp(4 * dim, 12, dim)
        self.node = mlp(3 * dim, 12, dim)
        self.state = mlp(3 * dim, 12, dim)

    def forward(self, v, e, u, adj):
        N = v.shape[1]
        pair = torch.cat([
            v.unsqueeze(2).expand(-1, -1, N, -1),
            v.unsqueeze(1).expand(-1, N, -1, -1),
            e,
            u[:, None, None].expand(-1, N, N, -1)], dim=-1)
        de = self.edge(pair)
        messages = torch.einsum("bij,bijd->bid", adj, de)
        messages = messages / adj.sum(-1, keepdim=True).clamp(min=1)
        dv = self.node(torch.cat([messages, v, u.unsqueeze(1).expand(-1, N, -1)], dim=-1))
        du = self.state(torch.cat([messages.mean(1), dv.mean(1), u], dim=-1))
        return v + dv, e + de, u + du


class Set2Set(nn.Module):
    def __init__(self, dim, steps):
        super().__init__()
        self.dim, self.steps = dim, steps
        self.cell = nn.LSTMCell(2 * dim, dim)

    def forward(self, x):
        B = x.shape[0]
        h = c = x.new_zeros(B, self.dim)
        q_star = x.new_zeros(B, 2 * self.dim)
        for _ in range(self.steps):
            h, c = self.cell(q_star, (h, c))
            a = torch.softmax(torch.einsum("bnd,bd->bn", x, h), dim=1)
            r = torch.einsum("bn,bnd->bd", a, x)
            q_star = torch.cat([h, r], dim=-1)
        return q_star


class MEGNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(ELEMENTS, DIM)
        self.expand = GaussianExpansion()
        self.edge_in = mlp(CENTERS, DIM)
        self.state_in = mlp(STATE, DIM)
        self.blocks = nn.ModuleList([Block(DIM) for _ in range(BLOCKS)])
        self.pool = Set2Set(DIM, STEPS)
        self.head = nn.Sequential(nn.Linear(3 * DIM, 12), ShiftedSoftplus(), nn.Linear(12, 2))

    def forward(self, atoms, dist, state):
        adj = ((dist < CUTOFF) & (dist > 0)).float()
        v = self.embed(atoms)
        e = self.edge_in(self.expand(dist))
        u = self.state_in(state)
        for block in self.blocks:
            v, e, u = block(v, e, u, adj)
        return self.head(torch.cat([self.pool(v), u], dim=-1))


def make():
    model = MEGNet()
    rs = np.random.RandomState(12)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rs.randn(*p.shape) * 0.35))
    return model.eval()


def inputs(seed):
    rs = np.random.RandomState(seed)
    atoms = rs.randint(0, ELEMENTS, (4, NODES)).astype("int64")
    xyz = rs.randn(4, NODES, 3) * 1.3
    dist = np.sqrt(((xyz[:, :, None] - xyz[:, None]) ** 2).sum(-1)).astype("float32")
    return atoms, dist, rs.randn(4, STATE).astype("float32")


def load(ported, original):
    def lin(a, b):
        a.weight.copy_(torch.from_numpy(b.W.array))
        a.bias.copy_(torch.from_numpy(b.b.array))

    def seq(a, b):
        for x, y in zip([m for m in a if isinstance(m, nn.Linear)], b):
            lin(x, y)

    def gates(w):
        # chainer interleaves (a, i, f, o) per unit in F.lstm, in blocks of the whole; torch wants i, f, g, o
        w = w.reshape((DIM, 4) + w.shape[1:])
        return torch.from_numpy(np.concatenate([w[:, 1], w[:, 2], w[:, 0], w[:, 3]]))

    with torch.no_grad():
        ported.embed.weight.copy_(torch.from_numpy(original.embed.W.array))
        seq(ported.edge_in, original.edge_in)
        seq(ported.state_in, original.state_in)
        for a, b in zip(ported.blocks, original.blocks):
            seq(a.edge, b.phi_e)
            seq(a.node, b.phi_v)
            seq(a.state, b.phi_u)
        lstm = original.set2set.lstm
        ported.pool.cell.weight_ih.copy_(gates(lstm.upward.W.array))
        ported.pool.cell.bias_ih.copy_(gates(lstm.upward.b.array))
        ported.pool.cell.weight_hh.copy_(gates(lstm.lateral.W.array))
        ported.pool.cell.bias_hh.zero_()
        seq(ported.head[:1], original.head)
        lin(ported.head[2], original.out)
