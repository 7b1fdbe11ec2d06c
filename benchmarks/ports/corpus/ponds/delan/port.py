"""DeLaN, functional: a ParameterDict and einsums, derivatives of L as one [B, J, J, J] tensor."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
J, H = 3, 10


def dense(p, name, x, jac):
    a = x @ p[name + "_w"].t() + p[name + "_b"]
    return a, torch.einsum("oi,bij->boj", p[name + "_w"], jac)


def softplus(a, jac):
    return F.softplus(a), torch.sigmoid(a)[..., None] * jac


def fill_lower(diag, off):
    """[B, J, ...], [B, J(J-1)/2, ...] -> [B, J, J, ...]"""
    out = diag.new_zeros((diag.shape[0], J, J) + diag.shape[2:])
    d = torch.arange(J)
    out[:, d, d] = diag
    i, j = torch.tril_indices(J, J, offset=-1)
    out[:, i, j] = off
    return out


def cholesky_and_potential(p, q):
    cos, sin = torch.cos(q), torch.sin(q)
    eye = torch.eye(J)
    x = torch.cat([cos, sin], dim=1)
    jac = torch.cat([-sin[:, :, None] * eye, cos[:, :, None] * eye], dim=1)
    x, jac = softplus(*dense(p, "fc1", x, jac))
    x, jac = softplus(*dense(p, "fc2", x, jac))
    off, d_off = dense(p, "lo", x, jac)
    diag, d_diag = softplus(*dense(p, "ld", x, jac))
    v, d_v = dense(p, "v", x, jac)
    return fill_lower(diag + 0.7, off), fill_lower(d_diag, d_off), v, d_v[:, 0]


def dynamics(p, q, qd, qdd, tau):
    L, dL, v, g = cholesky_and_potential(p, q)
    mass = torch.einsum("bik,bjk->bij", L, L)
    half = torch.einsum("bikq,bjk->bijq", dL, L)
    dmass = half + half.transpose(1, 2)
    mass_dot = torch.einsum("bijq,bq->bij", dmass, qd)
    quad = torch.einsum("bi,bijq,bj->bq", qd, dmass, qd)
    coriolis = torch.einsum("bij,bj->bi", mass_dot, qd) - 0.5 * quad
    bias = coriolis + g + F.softplus(p["friction"]) * qd
    tau_pred = torch.einsum("bij,bj->bi", mass, qdd) + bias
    acc = torch.cholesky_solve((tau - bias)[:, :, None], L)[:, :, 0]
    kinetic = 0.5 * torch.einsum("bi,bij,bj->b", qd, mass, qd)
    return tau_pred, acc, kinetic[:, None] + v


class DeLaN(nn.Module):
    def __init__(self):
        super().__init__()
        shapes = {"fc1": (H, 2 * J), "fc2": (H, H), "lo": (J * (J - 1) // 2, H), "ld": (J, H), "v": (1, H)}
        self.p = nn.ParameterDict()
        for n, (o, i) in shapes.items():
            self.p[n + "_w"] = nn.Parameter(torch.randn(o, i) * 0.3)
            self.p[n + "_b"] = nn.Parameter(torch.randn(o) * 0.3)
        self.p["friction"] = nn.Parameter(torch.randn(J) * 0.3)

    def forward(self, q, qd, qdd, tau):
        return dynamics(self.p, q, qd, qdd, tau)


def make():
    torch.manual_seed(88)
    return DeLaN().eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    return tuple(r.randn(5, J).astype("f") for _ in range(4))


def load(ported, original):
    for n, l in (("fc1", original.fc1), ("fc2", original.fc2), ("lo", original.net_lo),
                 ("ld", original.net_ld), ("v", original.net_v)):
        ported.p[n + "_w"].data = l.weight.data.clone()
        ported.p[n + "_b"].data = l.bias.data.clone()
    ported.p["friction"].data = original.friction.data.clone()
