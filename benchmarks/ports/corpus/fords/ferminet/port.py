"""FermiNet in PyTorch."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
SPINS, H1, H2, LAYERS, DETS = (3, 2), 12, 6, 2, 3
NE = sum(SPINS)
ATOMS = [[0.0, 0.0, -0.7], [0.1, 0.0, 0.8]]


class Orbitals(nn.Module):
    def __init__(self, n_el):
        super().__init__()
        self.n_el = n_el
        self.proj = nn.Linear(H1, DETS * n_el)
        self.pi = nn.Parameter(torch.ones(len(ATOMS), DETS * n_el))
        self.sigma = nn.Parameter(torch.ones(len(ATOMS), DETS * n_el))

    def forward(self, h, r):                                    # r: b, e, m
        decay = torch.exp(-(r.unsqueeze(-1) * self.sigma).abs())
        envelope = (self.pi * decay).sum(dim=-2)
        phi = (self.proj(h) * envelope).view(-1, self.n_el, DETS, self.n_el)
        return phi.permute(0, 2, 1, 3)


class FermiNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("atoms", torch.tensor(ATOMS), persistent=False)
        one = [4 * len(ATOMS)] + [H1] * LAYERS
        two = [4] + [H2] * (LAYERS - 1)
        self.single = nn.ModuleList(nn.Linear(3 * one[i] + 2 * two[i], one[i + 1]) for i in range(LAYERS))
        self.pairs = nn.ModuleList(nn.Linear(two[i], two[i + 1]) for i in range(LAYERS - 1))
        self.orbitals = nn.ModuleList(Orbitals(n) for n in SPINS)
        self.w_dets = nn.Parameter(torch.ones(DETS))

    def pair_features(self, x):
        diff = x.unsqueeze(2) - x.unsqueeze(1)
        eye = torch.eye(NE).unsqueeze(-1)
        dist = (diff + eye).norm(dim=-1, keepdim=True) * (1 - eye)
        return torch.cat([dist, diff], dim=-1)

    def mix(self, h, g):
        parts = [h]
        for hs in h.split(SPINS, dim=1):
            parts.append(hs.mean(dim=1, keepdim=True).expand(-1, NE, -1))
        for gs in g.split(SPINS, dim=2):
            parts.append(gs.mean(dim=2))
        return torch.cat(parts, dim=-1)

    def forward(self, x):
        ae = x.unsqueeze(2) - self.atoms
        r = ae.norm(dim=-1)
        h = torch.cat([r.unsqueeze(-1), ae], dim=-1).flatten(2)
        g = self.pair_features(x)
        for i, layer in enumerate(self.single):
            out = torch.tanh(layer(self.mix(h, g)))
            h = h + out if h.shape == out.shape else out
            if i < len(self.pairs):
                g = torch.tanh(self.pairs[i](g))
        sign, logdet = 1.0, 0.0
        for orb, hs, rs in zip(self.orbitals, h.split(SPINS, dim=1), r.split(SPINS, dim=1)):
            s, l = torch.linalg.slogdet(orb(hs, rs))
            sign, logdet = sign * s, logdet + l
        biggest = logdet.amax(dim=-1, keepdim=True)
        psi = (self.w_dets * sign * torch.exp(logdet - biggest)).sum(dim=-1, keepdim=True)
        return psi.abs().log() + biggest, h


def make():
    g = torch.Generator().manual_seed(9)
    m = FermiNet()
    with torch.no_grad():
        for n, p in m.named_parameters():
            base = 1.0 if n.split(".")[-1] in ("pi", "sigma", "w_dets") else 0.0
            p.copy_(base + torch.randn(p.shape, generator=g) * 0.25)
    return m.eval()


inputs = lambda seed: (np.random.RandomState(seed).randn(4, NE, 3).astype("float32"),)


def load(ported, original):
    t = lambda v: torch.from_numpy(v.numpy().copy())
    def linear(dst, src):
        dst.weight.copy_(t(src.w).T)
        dst.bias.copy_(t(src.b))
    with torch.no_grad():
        for a, b in zip(ported.single, original.one):
            linear(a, b)
        for a, b in zip(ported.pairs, original.two):
            linear(a, b)
        for a, lin, env in zip(ported.orbitals, (original.orbital_up, original.orbital_dn),
                               (original.env_up, original.env_dn)):
            linear(a.proj, lin)
            a.pi.copy_(t(env.pi))
            a.sigma.copy_(t(env.sigma))
        ported.w_dets.copy_(t(original.w_dets))
