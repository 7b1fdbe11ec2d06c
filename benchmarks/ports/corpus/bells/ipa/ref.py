"""Invariant point attention and backbone update (AlphaFold 2 structure module)."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
B, N, CS, CZ, C, H, PQ, PV, STEPS = 4, 6, 12, 8, 6, 3, 4, 5, 2


def quat_to_rot(q):
    w, x, y, z = q.unbind(-1)
    return torch.stack([
        w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z], -1).reshape(q.shape[:-1] + (3, 3))


def rigid_apply(R, t, pts):
    return torch.einsum("bnij,bn...j->bn...i", R, pts) + t[:, :, None, None, :]


def rigid_invert_apply(R, t, pts):
    return torch.einsum("bnji,bn...j->bn...i", R, pts - t[:, :, None, None, :])


class InvariantPointAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear_q = nn.Linear(CS, H * C)
        self.linear_kv = nn.Linear(CS, 2 * H * C)
        self.linear_q_points = nn.Linear(CS, H * PQ * 3)
        self.linear_kv_points = nn.Linear(CS, H * (PQ + PV) * 3)
        self.linear_b = nn.Linear(CZ, H)
        self.head_weights = nn.Parameter(torch.zeros(H))
        self.linear_out = nn.Linear(H * (CZ + C + PV * 4), CS)

    def points(self, lin, s, R, t, p):
        pts = lin(s)
        pts = torch.stack(torch.split(pts, pts.shape[-1] // 3, dim=-1), dim=-1)
        return rigid_apply(R, t, pts.view(pts.shape[:2] + (H, p, 3)))

    def forward(self, s, z, R, t, mask):
        b, n = s.shape[:2]
        q = self.linear_q(s).view(b, n, H, C)
        kv = self.linear_kv(s).view(b, n, H, 2 * C)
        k, v = torch.split(kv, C, dim=-1)
        q_pts = self.points(self.linear_q_points, s, R, t, PQ)
        kv_pts = self.points(self.linear_kv_points, s, R, t, PQ + PV)
        k_pts, v_pts = torch.split(kv_pts, [PQ, PV], dim=-2)
        bias = self.linear_b(z)
        a = torch.einsum("bihc,bjhc->bhij", q, k) * (1.0 / (3 * C)) ** 0.5
        a = a + (1.0 / 3) ** 0.5 * bias.permute(0, 3, 1, 2)
        d = q_pts[:, :, None] - k_pts[:, None]
        pt_att = (d ** 2).sum(-1)
        hw = F.softplus(self.head_weights) * (1.0 / (3 * (PQ * 9.0 / 2))) ** 0.5
        pt_att = (pt_att * hw[:, None]).sum(-1) * (-0.5)
        a = a + pt_att.permute(0, 3, 1, 2)
        a = a + (1e5 * (mask - 1))[:, None, None, :]
        a = torch.softmax(a, dim=-1)
        o = torch.einsum("bhij,bjhc->bihc", a, v).reshape(b, n, -1)
        o_pt = torch.einsum("bhij,bjhpx->bihpx", a, v_pts)
        o_pt = rigid_invert_apply(R, t, o_pt)
        o_norm = torch.sqrt((o_pt ** 2).sum(-1) + 1e-8).reshape(b, n, -1)
        o_pt = o_pt.reshape(b, n, -1, 3)
        o_pair = torch.einsum("bhij,bijc->bihc", a, z).reshape(b, n, -1)
        cat = torch.cat([o, *o_pt.unbind(-1), o_norm, o_pair], dim=-1)
        return self.linear_out(cat)


class StructureModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_s = nn.LayerNorm(CS)
        self.norm_z = nn.LayerNorm(CZ)
        self.ipa = InvariantPointAttention()
        self.norm_ipa = nn.LayerNorm(CS)
        self.trans1 = nn.Linear(CS, CS)
        self.trans2 = nn.Linear(CS, CS)
        self.norm_trans = nn.LayerNorm(CS)
        self.bb_update = nn.Linear(CS, 6)

    def forward(self, s, z, R, t, mask):
        s = self.norm_s(s)
        z = self.norm_z(z)
        for _ in range(STEPS):
            s = self.norm_ipa(s + self.ipa(s, z, R, t, mask))
            s = self.norm_trans(s + self.trans2(F.relu(self.trans1(s))))
            upd = self.bb_update(s) * mask[..., None]
            quat = torch.cat([torch.ones_like(upd[..., :1]), upd[..., :3]], dim=-1)
            quat = quat / torch.linalg.norm(quat, dim=-1, keepdim=True)
            t = torch.einsum("bnij,bnj->bni", R, upd[..., 3:]) + t
            R = R @ quat_to_rot(quat)
        return s, R, t


def make():
    m = StructureModule()
    g = torch.Generator().manual_seed(21)
    with torch.no_grad():
        for name, p in m.named_parameters():
            r = torch.randn(p.shape, generator=g)
            p.copy_(1 + 0.2 * r if "norm" in name and name.endswith("weight") else 0.25 * r)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    R = np.linalg.qr(r.randn(B, N, 3, 3))[0]
    R[..., 0] *= np.linalg.det(R)[..., None]
    mask = np.ones((B, N), "float32")
    mask[0, 4:] = 0
    mask[2, 5:] = 0
    return (r.randn(B, N, CS).astype("float32"), r.randn(B, N, N, CZ).astype("float32"), R.astype("float32"),
            r.randn(B, N, 3).astype("float32"), mask)
