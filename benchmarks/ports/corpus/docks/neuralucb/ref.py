"""Neural-linear UCB: a feature network and, for each arm, a Bayesian linear regression on top."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
ARMS, CTX, FEAT = 4, 7, 6


class Residual(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 2 * dim)
        self.down = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(CTX, FEAT)
        self.blocks = nn.ModuleList([Residual(FEAT), Residual(FEAT)])

    def forward(self, x):
        h = self.inp(x)
        for block in self.blocks:
            h = block(h)
        return F.normalize(torch.tanh(h), dim=-1) * FEAT ** 0.5


class ArmPosterior(nn.Module):
    """Sufficient statistics of what was seen: S = sum phi phi^T, b = sum r phi, n = pulls."""

    def __init__(self, ridge=0.5):
        super().__init__()
        self.register_buffer("S", torch.zeros(ARMS, FEAT, FEAT))
        self.register_buffer("b", torch.zeros(ARMS, FEAT))
        self.register_buffer("n", torch.zeros(ARMS))
        self.ridge = ridge

    def forward(self, phi):
        A = self.S + self.ridge * torch.eye(FEAT)
        inv = torch.inverse(A)
        theta = torch.einsum("aij,aj->ai", inv, self.b)
        mean = torch.einsum("bai,ai->ba", phi, theta)
        width = torch.einsum("bai,aij,baj->ba", phi, inv, phi)
        return mean, torch.sqrt(width)


class NeuralUCB(nn.Module):
    def __init__(self, alpha=1.3):
        super().__init__()
        self.features = Features()
        self.posterior = ArmPosterior()
        self.arm_embedding = nn.Parameter(torch.zeros(ARMS, CTX))
        self.log_noise = nn.Parameter(torch.zeros(ARMS))
        self.alpha = alpha

    def forward(self, contexts, shared):
        x = contexts + self.arm_embedding + shared.unsqueeze(1)
        phi = self.features(x)
        mean, width = self.posterior(phi)
        total = self.posterior.n.sum()
        explore = self.alpha * torch.sqrt(torch.log(1 + total)) * width
        ucb = mean + explore
        std = width * torch.exp(self.log_noise)
        gap = ucb.max(dim=1, keepdim=True).values - ucb
        probs = 1.0 / (ARMS + 4.0 * gap)
        return ucb, probs / probs.sum(1, keepdim=True), mean / std


def make():
    g = torch.Generator().manual_seed(8)
    m = NeuralUCB()
    with torch.no_grad():
        for n, p in m.named_parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.4 + (1.0 if n.endswith("norm.weight") else 0.0))
        seen = torch.randn(ARMS, 5, FEAT, generator=g)
        m.posterior.S.copy_(seen.transpose(1, 2) @ seen)
        m.posterior.b.copy_(torch.einsum("aki,ak->ai", seen, torch.randn(ARMS, 5, generator=g)))
        m.posterior.n.copy_(torch.tensor([5.0, 9.0, 2.0, 7.0]))
    return m.eval()


def inputs(seed):
    r = np.random.default_rng(seed)
    return r.normal(size=(6, ARMS, CTX)).astype("float32"), r.normal(size=(6, CTX)).astype("float32") * 0.5
