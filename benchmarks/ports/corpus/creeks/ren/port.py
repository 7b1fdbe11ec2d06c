"""PyTorch port of the recurrent equilibrium network."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
NX, NV, NU, NY, T = 4, 4, 3, 2, 4


class ContractingREN(nn.Module):
    def __init__(self, alpha=0.9, eps=0.05):
        super().__init__()
        self.alpha, self.eps = alpha, eps
        n = 2 * NX + NV
        self.X = nn.Parameter(0.4 * torch.randn(n, n))
        self.Y = nn.Parameter(0.8 * torch.randn(NX, NX))
        self.B2 = nn.Parameter(0.5 * torch.randn(NX, NU))
        self.D12 = nn.Parameter(0.5 * torch.randn(NV, NU))
        self.C2 = nn.Parameter(0.5 * torch.randn(NY, NX))
        self.D21 = nn.Parameter(0.5 * torch.randn(NY, NV))
        self.D22 = nn.Parameter(0.5 * torch.randn(NY, NU))
        self.bx = nn.Parameter(0.3 * torch.randn(NX))
        self.bv = nn.Parameter(0.3 * torch.randn(NV))
        self.by = nn.Parameter(0.3 * torch.randn(NY))

    def build(self):
        H = self.X.T @ self.X + self.eps * torch.eye(2 * NX + NV)
        rows = torch.split(H, [NX, NV, NX], dim=0)
        blocks = [torch.split(r, [NX, NV, NX], dim=1) for r in rows]
        P = blocks[2][2]
        E = 0.5 * (blocks[0][0] + P / self.alpha ** 2 + self.Y - self.Y.T)
        lam = 0.5 * torch.diagonal(blocks[1][1])
        D11 = -torch.tril(blocks[1][1], diagonal=-1)
        C1 = -blocks[1][0]
        return E, blocks[2][0], blocks[2][1], lam, D11, C1

    def equilibrium(self, pre, D11, lam):
        w = torch.zeros_like(pre)
        for i in range(NV):
            v = (pre[:, i] + w @ D11[i]) / lam[i]
            col = F.one_hot(torch.tensor(i), NV).to(pre.dtype)
            w = w + torch.tanh(v)[:, None] * col
        return w

    def forward(self, x, u):
        E, A, B1, lam, D11, C1 = self.build()
        ys = []
        for t in range(T):
            ut = u[:, t]
            w = self.equilibrium(F.linear(x, C1) + F.linear(ut, self.D12, self.bv), D11, lam)
            ys.append(F.linear(x, self.C2) + F.linear(w, self.D21) + F.linear(ut, self.D22, self.by))
            rhs = F.linear(x, A) + F.linear(w, B1) + F.linear(ut, self.B2, self.bx)
            x = torch.linalg.solve(E, rhs.T).T
        return torch.stack(ys, dim=1), x


def make():
    torch.manual_seed(61)
    return ContractingREN().eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    return r.randn(5, NX).astype("float32"), r.randn(5, T, NU).astype("float32")


@torch.no_grad()
def load(ported, original):
    for n in ("X", "Y", "B2", "D12", "C2", "D21", "D22", "bx", "bv", "by"):
        getattr(ported, n).copy_(torch.from_numpy(getattr(original, n).numpy()))
