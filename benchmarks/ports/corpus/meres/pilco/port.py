"""PILCO in PyTorch: GP dynamics + RBF policy with moment matching."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
D, U, N, HORIZON = 3, 2, 6, 2
MAX_ACTION = 1.5


class GP(nn.Module):
    def __init__(self, dims, outs, deterministic=False):
        super().__init__()
        self.deterministic = deterministic
        self.inducing = nn.Parameter(torch.randn(N, dims))
        self.targets = nn.Parameter(torch.randn(N, outs) * 0.5)
        self.ls = nn.Parameter(torch.rand(outs, dims) + 1.0)
        self.var = nn.Parameter(torch.rand(outs) + 0.5)
        self.noise = nn.Parameter(torch.rand(outs) * 0.2 + 0.1)

    def kernel(self):
        z = self.inducing.unsqueeze(0) / self.ls.unsqueeze(1)
        sq = (z.unsqueeze(2) - z.unsqueeze(1)).pow(2).sum(-1)
        K = self.var.view(-1, 1, 1) * torch.exp(-sq / 2)
        return K + self.noise.view(-1, 1, 1) * torch.eye(N)

    def forward(self, m, s):
        K = self.kernel()
        K_inv = torch.linalg.inv(K)
        beta = (K_inv @ self.targets.t().unsqueeze(-1)).squeeze(-1)
        eye = torch.eye(m.shape[-1])
        nu = self.inducing - m.unsqueeze(1)
        inv_ls = self.ls.reciprocal()
        scaled = nu.unsqueeze(1) * inv_ls[None, :, None, :]
        B = inv_ls[None, :, :, None] * s.unsqueeze(1) * inv_ls[None, :, None, :] + eye
        t = torch.linalg.solve(B, scaled.transpose(-1, -2)).transpose(-1, -2)
        w = torch.exp(-0.5 * (scaled * t).sum(-1)) * beta
        c = self.var * torch.linalg.det(B).rsqrt()
        mean = w.sum(-1) * c
        V = ((t * inv_ls[None, :, None, :]) * w.unsqueeze(-1)).sum(2) * c.unsqueeze(-1)
        V = V.transpose(1, 2)

        prec = inv_ls.pow(2)
        pair = prec.unsqueeze(1) + prec.unsqueeze(0)
        R = s[:, None, None] * pair[None, :, :, None, :] + eye
        zeta = nu.unsqueeze(1) * prec[None, :, None, :]
        zz = zeta[:, :, None, :, None] + zeta[:, None, :, None, :]
        Q = torch.linalg.solve(R, s[:, None, None].expand_as(R))
        quad = 0.5 * torch.einsum("bijnmd,bijde,bijnme->bijnm", zz, Q, zz)
        logk = torch.log(self.var)[None, :, None] - scaled.pow(2).sum(-1) / 2
        L = torch.exp(logk[:, :, None, :, None] + logk[:, None, :, None, :] + quad)
        cov = torch.einsum("in,bijnm,jm->bij", beta, L, beta)
        if self.deterministic:
            cov = cov * torch.linalg.det(R).rsqrt()
            cov = cov + 1e-6 * torch.eye(cov.shape[-1])
        else:
            diag = torch.diagonal(L, dim1=1, dim2=2).permute(0, 3, 1, 2)
            trace = (K_inv * diag.transpose(-1, -2)).sum((-1, -2))
            cov = (cov - torch.diag_embed(trace)) * torch.linalg.det(R).rsqrt()
            cov = cov + torch.diag(self.var)
        cov = cov - mean.unsqueeze(2) * mean.unsqueeze(1)
        return mean, cov, V


def sin_squash(m, s, top):
    v = torch.diagonal(s, dim1=-2, dim2=-1)
    damp = torch.exp(-v / 2)
    mean = top * damp * torch.sin(m)
    lq = -(v.unsqueeze(2) + v.unsqueeze(1)) / 2
    q = lq.exp()
    minus = m.unsqueeze(2) - m.unsqueeze(1)
    plus = m.unsqueeze(2) + m.unsqueeze(1)
    cov = (torch.exp(lq + s) - q) * torch.cos(minus) - (torch.exp(lq - s) - q) * torch.cos(plus)
    return mean, 0.5 * top ** 2 * cov, torch.diag_embed(top * damp * torch.cos(m))


class PILCO(nn.Module):
    def __init__(self):
        super().__init__()
        self.controller = GP(D, U, deterministic=True)
        self.model = GP(D + U, D)
        self.goal = nn.Parameter(torch.randn(D) * 0.5)
        self.w = nn.Parameter(torch.rand(D) + 0.3)

    def cost(self, m, s):
        W = torch.diag(self.w)
        A = torch.eye(D) + s @ W
        e = (m - self.goal).unsqueeze(1)
        quad = e @ (W @ torch.linalg.inv(A)) @ e.transpose(1, 2)
        return torch.exp(-quad / 2).reshape(-1) / torch.linalg.det(A).sqrt()

    def forward(self, m, s):
        rewards, actions = [], []
        for _ in range(HORIZON):
            mu, su, cu = self.controller(m, s)
            mu, su, C = sin_squash(mu, su, MAX_ACTION)
            sxu = s @ cu @ C
            left = torch.cat([s, sxu], 2)
            joint = torch.cat([left, torch.cat([sxu.transpose(1, 2), su], 2)], 1)
            dm, ds, dc = self.model(torch.cat([m, mu], 1), joint)
            cross = left @ dc
            m = m + dm
            s = s + ds + cross + cross.transpose(1, 2)
            rewards.append(self.cost(m, s))
            actions.append(mu)
        return torch.stack(rewards, 1), torch.stack(actions, 1), m, s


def make():
    torch.manual_seed(1)
    return PILCO().eval()


def load(ported, original):
    def put(p, v):
        p.data = torch.tensor(np.array(v.numpy()))
    for gp, src in ((ported.controller, original.policy), (ported.model, original.dynamics)):
        put(gp.inducing, src.X); put(gp.targets, src.Y); put(gp.ls, src.lengthscales)
        put(gp.var, src.variance); put(gp.noise, src.noise)
    put(ported.goal, original.target)
    put(ported.w, original.weight)


def inputs(seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(4, D, D)) * 0.3
    s = a @ a.transpose(0, 2, 1) + 0.05 * np.eye(D)
    return rng.normal(size=(4, D)).astype("float32"), s.astype("float32")
