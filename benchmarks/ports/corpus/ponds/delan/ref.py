"""Deep Lagrangian network (DeLaN): inverse and forward dynamics of a 3-joint arm (torch)."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
J, H = 3, 10


class LagrangianLayer(nn.Module):
    """a dense layer which carries the derivative with respect to q along"""

    def __init__(self, n_in, n_out, activation):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n_out, n_in))
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.activation = activation

    def forward(self, x, der):
        a = F.linear(x, self.weight, self.bias)
        if self.activation == "softplus":
            out = F.softplus(a)
            g = torch.sigmoid(a)
        else:
            out = a
            g = torch.ones_like(a)
        return out, torch.matmul(g.unsqueeze(2) * self.weight, der)


class DeLaN(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = LagrangianLayer(2 * J, H, "softplus")
        self.fc2 = LagrangianLayer(H, H, "softplus")
        self.net_lo = LagrangianLayer(H, J * (J - 1) // 2, "linear")
        self.net_ld = LagrangianLayer(H, J, "softplus")
        self.net_v = LagrangianLayer(H, 1, "linear")
        self.friction = nn.Parameter(torch.zeros(J))

    def assemble(self, ld, lo):
        """[B, 3], [B, 3] -> lower triangular [B, 3, 3], diagonal first, then rows"""
        z = torch.zeros_like(ld[:, 0])
        rows = [torch.stack([ld[:, 0], z, z], 1),
                torch.stack([lo[:, 0], ld[:, 1], z], 1),
                torch.stack([lo[:, 1], lo[:, 2], ld[:, 2]], 1)]
        return torch.stack(rows, 1)

    def forward(self, q, qd, qdd, tau):
        B = q.shape[0]
        x = torch.cat([torch.cos(q), torch.sin(q)], 1)
        der = torch.cat([torch.diag_embed(-torch.sin(q)), torch.diag_embed(torch.cos(q))], 1)
        y, der = self.fc1(x, der)
        y, der = self.fc2(y, der)
        lo, der_lo = self.net_lo(y, der)
        ld, der_ld = self.net_ld(y, der)
        V, der_V = self.net_v(y, der)
        g = der_V.squeeze(1)

        L = self.assemble(ld + 0.7, lo)
        LT = L.transpose(1, 2)
        M = torch.matmul(L, LT)

        qd_ = qd.unsqueeze(2)
        dL_dt = self.assemble(torch.matmul(der_ld, qd_).squeeze(2), torch.matmul(der_lo, qd_).squeeze(2))
        dM_dt = torch.matmul(L, dL_dt.transpose(1, 2)) + torch.matmul(dL_dt, LT)
        quad = []
        for i in range(J):
            dL_i = self.assemble(der_ld[:, :, i], der_lo[:, :, i])
            dM_i = torch.matmul(L, dL_i.transpose(1, 2)) + torch.matmul(dL_i, LT)
            quad.append(torch.matmul(qd_.transpose(1, 2), torch.matmul(dM_i, qd_)).reshape(B))
        quad = torch.stack(quad, 1)
        c = torch.matmul(dM_dt, qd_).squeeze(2) - 0.5 * quad
        damp = F.softplus(self.friction) * qd

        tau_pred = torch.matmul(M, qdd.unsqueeze(2)).squeeze(2) + c + g + damp
        qdd_pred = torch.linalg.solve(M, tau - c - g - damp)
        T = 0.5 * torch.matmul(qd_.transpose(1, 2), torch.matmul(M, qd_)).squeeze(2)
        return tau_pred, qdd_pred, T + V


def make():
    m = DeLaN()
    r = np.random.RandomState(8)
    for n, p in m.named_parameters():
        s = 1.0 / np.sqrt(p.shape[-1]) if p.dim() == 2 else 0.4
        p.data = torch.tensor(r.randn(*p.shape) * s, dtype=torch.float32)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    return tuple(r.randn(5, J).astype("f") for _ in range(4))
