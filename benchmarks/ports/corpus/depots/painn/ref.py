"""PaiNN (Schuett et al. 2021), dense over all pairs of a padded batch of molecules."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
TYPES, DIM, RBF, CUTOFF, BLOCKS = 10, 12, 8, 4.0, 2


class BesselBasis(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("freqs", torch.arange(1, RBF + 1) * math.pi / CUTOFF)

    def forward(self, d):
        return torch.sin(d[..., None] * self.freqs) / d[..., None]


def cosine_cutoff(d):
    fcut = 0.5 * (torch.cos(d * math.pi / CUTOFF) + 1.0)
    return fcut * (d < CUTOFF).float()


class Interaction(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense1 = nn.Linear(DIM, DIM)
        self.dense2 = nn.Linear(DIM, 3 * DIM)
        self.filter = nn.Linear(RBF, 3 * DIM)

    def forward(self, q, mu, rbf, fcut, direction):
        x = self.dense2(F.silu(self.dense1(q)))
        W = self.filter(rbf) * fcut[..., None]
        x = W * x[:, None, :, :]
        dq, dmuR, dmumu = torch.split(x, DIM, dim=-1)
        dq = dq.sum(dim=2)
        dmu = dmuR[..., None, :] * direction[..., None] + dmumu[..., None, :] * mu[:, None]
        dmu = dmu.sum(dim=2)
        return q + dq, mu + dmu


class Mixing(nn.Module):
    def __init__(self, epsilon=1e-8):
        super().__init__()
        self.mu_channel_mix = nn.Linear(DIM, 2 * DIM, bias=False)
        self.dense1 = nn.Linear(2 * DIM, DIM)
        self.dense2 = nn.Linear(DIM, 3 * DIM)
        self.epsilon = epsilon

    def forward(self, q, mu):
        mu_mix = self.mu_channel_mix(mu)
        mu_V, mu_W = torch.split(mu_mix, DIM, dim=-1)
        mu_Vn = torch.sqrt(torch.sum(mu_V**2, dim=-2) + self.epsilon)
        ctx = torch.cat([q, mu_Vn], dim=-1)
        x = self.dense2(F.silu(self.dense1(ctx)))
        dq_intra, dmu_intra, dqmu_intra = torch.split(x, DIM, dim=-1)
        dmu_intra = dmu_intra[..., None, :] * mu_W
        dqmu_intra = dqmu_intra * torch.sum(mu_V * mu_W, dim=-2)
        return q + dq_intra + dqmu_intra, mu + dmu_intra


class GatedEquivariant(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(DIM, 7, bias=False)
        self.gate1 = nn.Linear(DIM + 6, 8)
        self.gate2 = nn.Linear(8, 2)

    def forward(self, q, mu):
        v, w = torch.split(self.mix(mu), [6, 1], dim=-1)
        norm = torch.norm(v, dim=-2)
        x = self.gate2(F.silu(self.gate1(torch.cat([q, norm], dim=-1))))
        charge, gate = torch.split(x, 1, dim=-1)
        return charge, gate * w[..., 0]


class PaiNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(TYPES, DIM)
        self.radial_basis = BesselBasis()
        self.interactions = nn.ModuleList(Interaction() for _ in range(BLOCKS))
        self.mixing = nn.ModuleList(Mixing() for _ in range(BLOCKS))
        self.energy1 = nn.Linear(DIM, 8)
        self.energy2 = nn.Linear(8, 1)
        self.readout = GatedEquivariant()

    def forward(self, numbers, positions, mask):
        n = numbers.shape[1]
        r_ij = positions[:, None, :, :] - positions[:, :, None, :]
        pairs = mask[:, :, None] * mask[:, None, :] * (1 - torch.eye(n))
        d_ij = torch.sqrt((r_ij**2).sum(-1) + torch.eye(n))
        direction = r_ij / d_ij[..., None]
        rbf = self.radial_basis(d_ij)
        fcut = cosine_cutoff(d_ij) * pairs

        q = self.embedding(numbers)
        mu = torch.zeros(q.shape[0], n, 3, DIM)
        for interaction, mixing in zip(self.interactions, self.mixing):
            q, mu = interaction(q, mu, rbf, fcut, direction)
            q, mu = mixing(q, mu)

        atomic = self.energy2(F.silu(self.energy1(q))) * mask[..., None]
        energy = atomic.sum(dim=1)
        charge, local = self.readout(q, mu)
        dipole = ((local + positions * charge) * mask[..., None]).sum(dim=1)
        return energy, dipole


def make():
    torch.manual_seed(41)
    model = PaiNN()
    for name, p in model.named_parameters():
        if p.ndim == 1:
            nn.init.normal_(p, 0, 0.2)
        elif "embedding" not in name:
            nn.init.normal_(p, 0, 1 / math.sqrt(p.shape[1]))
    return model.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(1, TYPES, (4, 6))
    positions = rng.normal(0, 1.4, (4, 6, 3)).astype("float32")
    mask = (np.arange(6)[None] < np.array([6, 5, 6, 4])[:, None]).astype("float32")
    return numbers, positions, mask
