"""Koopman predictor with complex-conjugate eigen-blocks; eigenvalues modulated by the neighbours (set attention pooling)."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
NX, NU, NN, PAIRS, EMB, HEADS = 4, 2, 5, 5, 16, 4


class SetPool(nn.Module):
    """Pooling by multi-head attention with learned seeds, then rFF (Set Transformer)."""

    def __init__(self, seeds=2):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(NN, EMB), nn.ReLU(), nn.Linear(EMB, EMB))
        self.seeds = nn.Parameter(torch.randn(seeds, EMB))
        self.att = nn.MultiheadAttention(EMB, HEADS, batch_first=True)
        self.ln = nn.LayerNorm(EMB)
        self.ff = nn.Linear(EMB, EMB)

    def forward(self, s, mask):
        e = self.phi(s)
        q = self.seeds.expand(s.shape[0], -1, -1)
        o, w = self.att(q, e, e, key_padding_mask=mask < 0.5, average_attn_weights=True)
        h = self.ln(q + o)
        h = h + F.relu(self.ff(h))
        return h.flatten(1), w


class Koopman(nn.Module):
    def __init__(self, dt=0.2):
        super().__init__()
        self.dt = dt
        self.pool = SetPool()
        self.lift = nn.Sequential(nn.Linear(NX, 24), nn.Tanh(), nn.Linear(24, 2 * PAIRS))
        self.spec = nn.Linear(2 * EMB, 2 * PAIRS)
        self.B = nn.Parameter(torch.randn(2 * PAIRS, NU) * 0.4)
        self.C = nn.Linear(2 * PAIRS, NX)

    def advance(self, z, mu, om):
        """Each pair (z_2i, z_2i+1) is scaled by exp(mu dt) and rotated by om dt."""
        re, im = z[:, 0::2], z[:, 1::2]
        r, c, s = torch.exp(mu * self.dt), torch.cos(om * self.dt), torch.sin(om * self.dt)
        return torch.stack([r * (c * re - s * im), r * (s * re + c * im)], -1).flatten(1)

    def forward(self, x, u, nbrs, mask):
        ctx, w = self.pool(nbrs, mask)
        mu, om = self.spec(ctx).chunk(2, dim=-1)
        mu = -F.softplus(mu)
        z = self.lift(x)
        xs = []
        for k in range(u.shape[1]):
            z = self.advance(z, mu, om) + u[:, k] @ self.B.T
            xs.append(self.C(z))
        return torch.stack(xs, 1), z, w


def make():
    torch.manual_seed(51)
    m = Koopman()
    nn.init.normal_(m.pool.att.in_proj_bias, 0, 0.3)
    nn.init.normal_(m.pool.att.out_proj.bias, 0, 0.3)
    nn.init.uniform_(m.pool.ln.weight, 0.6, 1.4)
    nn.init.normal_(m.pool.ln.bias, 0, 0.2)
    with torch.no_grad():
        m.pool.att.in_proj_weight.mul_(2.0)
        m.spec.weight.mul_(3.0)
        m.spec.bias.add_(1.0)
    return m.eval()


def inputs(seed):
    g = np.random.default_rng(seed + 900)
    mask = np.arange(6)[None] < np.array([6, 3, 4, 2])[:, None]
    return (g.normal(size=(4, NX)).astype(np.float32), g.normal(size=(4, 5, NU)).astype(np.float32),
            g.normal(size=(4, 6, NN)).astype(np.float32), mask.astype(np.float32))
