"""DimeNet++-like directional message passing; graph topology is precomputed on the host."""
import math
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
CUTOFF, N_RADIAL, N_ANGULAR, P = 5.0, 6, 4, 6


def silu(x):
    return x * torch.sigmoid(x)


class Envelope(nn.Module):
    def forward(self, x):
        a = -(P + 1) * (P + 2) / 2
        b = P * (P + 2)
        c = -P * (P + 1) / 2
        xp = x ** (P - 1)
        env = 1 / x + a * xp + b * xp * x + c * xp * x * x
        return torch.where(x < 1, env, torch.zeros_like(x))


class RadialBasis(nn.Module):
    def __init__(self):
        super().__init__()
        self.freq = nn.Parameter(math.pi * torch.arange(1, N_RADIAL + 1).float())
        self.envelope = Envelope()

    def forward(self, d):
        x = d[:, None] / CUTOFF
        return self.envelope(x) * torch.sin(self.freq * x)


class AngularBasis(nn.Module):
    """sin(n pi d / c) / d times Legendre polynomials of the angle."""

    def forward(self, d, cos):
        n = math.pi * torch.arange(1, N_RADIAL + 1, device=d.device)
        radial = math.sqrt(2 / CUTOFF) * torch.sin(n * d[:, None] / CUTOFF) / d[:, None]
        legendre = [torch.ones_like(cos), cos]
        for l in range(2, N_ANGULAR):
            legendre.append(((2 * l - 1) * cos * legendre[-1] - (l - 1) * legendre[-2]) / l)
        angular = torch.stack(legendre, dim=1)
        return (angular[:, :, None] * radial[:, None, :]).flatten(1)


class Residual(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        return x + silu(self.lin2(silu(self.lin1(x))))


class Interaction(nn.Module):
    def __init__(self, dim, small):
        super().__init__()
        self.lin_rbf = nn.Linear(N_RADIAL, dim, bias=False)
        self.lin_sbf = nn.Linear(N_RADIAL * N_ANGULAR, small, bias=False)
        self.lin_ji, self.lin_kj = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.down, self.up = nn.Linear(dim, small, bias=False), nn.Linear(small, dim, bias=False)
        self.before, self.skip, self.after = Residual(dim), nn.Linear(dim, dim), Residual(dim)

    def forward(self, m, rbf, sbf, idx_kj, idx_ji):
        x_ji = silu(self.lin_ji(m))
        x_kj = silu(self.lin_kj(m)) * self.lin_rbf(rbf)
        x_kj = silu(self.down(x_kj))
        x_kj = x_kj[idx_kj] * self.lin_sbf(sbf)
        agg = torch.zeros(m.size(0), x_kj.size(1)).index_add(0, idx_ji, x_kj)
        h = x_ji + silu(self.up(agg))
        h = silu(self.skip(self.before(h))) + m
        return self.after(h)


class OutputBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.lin_rbf = nn.Linear(N_RADIAL, dim, bias=False)
        self.lin, self.out = nn.Linear(dim, dim), nn.Linear(dim, 1)

    def forward(self, m, rbf, i, n_atoms):
        x = m * self.lin_rbf(rbf)
        x = torch.zeros(n_atoms, x.size(1)).index_add(0, i, x)
        return self.out(silu(self.lin(x)))


class DimeNet(nn.Module):
    def __init__(self, dim=24, small=12, blocks=2):
        super().__init__()
        self.emb = nn.Embedding(10, dim)
        self.rbf, self.sbf = RadialBasis(), AngularBasis()
        self.emb_rbf, self.emb_lin = nn.Linear(N_RADIAL, dim), nn.Linear(3 * dim, dim)
        self.blocks = nn.ModuleList([Interaction(dim, small) for _ in range(blocks)])
        self.outputs = nn.ModuleList([OutputBlock(dim) for _ in range(blocks + 1)])

    def forward(self, z, pos, src, dst, idx_kj, idx_ji, mol):
        # message m_ji travels from src=j to dst=i; a triplet is k -> j -> i
        vec = pos[dst] - pos[src]
        d = vec.pow(2).sum(-1).sqrt()
        v1, v2 = vec[idx_ji], -vec[idx_kj]
        cos = (v1 * v2).sum(-1) / (d[idx_ji] * d[idx_kj])
        rbf, sbf = self.rbf(d), self.sbf(d[idx_kj], cos)

        h = self.emb(z)
        m = silu(self.emb_lin(torch.cat([h[dst], h[src], silu(self.emb_rbf(rbf))], -1)))
        atoms = self.outputs[0](m, rbf, dst, z.numel())
        for block, out in zip(self.blocks, self.outputs[1:]):
            m = block(m, rbf, sbf, idx_kj, idx_ji)
            atoms = atoms + out(m, rbf, dst, z.numel())
        energy = torch.zeros(4, 1).index_add(0, mol, atoms)
        return energy.squeeze(-1), atoms


def make():
    torch.manual_seed(17)
    net = DimeNet().eval()
    for n, p in net.named_parameters():
        if n.endswith("bias"):
            nn.init.normal_(p, 0, .2)
        elif "freq" in n:
            p.data += .1 * torch.randn_like(p)
        elif p.ndim == 2:
            nn.init.normal_(p, 0, 1 if n == "emb.weight" else p.shape[1] ** -.5)
    return net


def inputs(seed=0):
    g = np.random.default_rng(seed)
    z, pos, mol, src, dst = [], [], [], [], []
    for b, n in enumerate((5, 7, 6, 4)):
        p = g.uniform(-1.6, 1.6, (n, 3))
        while np.linalg.norm(p[:, None] - p + 9 * np.eye(n)[..., None], axis=-1).min() < .8:
            p = g.uniform(-1.6, 1.6, (n, 3))
        off = sum(map(len, z))
        near = np.linalg.norm(p[:, None] - p, axis=-1) < 3.2
        i, j = np.nonzero(near & ~np.eye(n, dtype=bool))
        z.append(g.integers(1, 10, n)), pos.append(p), mol.append(np.full(n, b)), dst.append(i + off), src.append(j + off)
    z, pos, mol, src, dst = map(np.concatenate, (z, pos, mol, src, dst))
    kj, ji = np.nonzero((dst[:, None] == src[None]) & (src[:, None] != dst[None]))
    return z, pos.astype("float32"), src, dst, kj, ji, mol
