import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"


class GatedAttention(nn.Module):
    def __init__(self, c, heads, dim):
        super().__init__()
        self.h, self.d = heads, dim
        self.linear_q = nn.Linear(c, heads * dim, bias=False)
        self.linear_k = nn.Linear(c, heads * dim, bias=False)
        self.linear_v = nn.Linear(c, heads * dim, bias=False)
        self.linear_g = nn.Linear(c, heads * dim)
        self.linear_o = nn.Linear(heads * dim, c)

    def forward(self, x, mask_bias, pair_bias=None):
        b, g, n, _ = x.shape
        q = self.linear_q(x).view(b, g, n, self.h, self.d) * self.d ** -0.5
        k = self.linear_k(x).view(b, g, n, self.h, self.d)
        v = self.linear_v(x).view(b, g, n, self.h, self.d)
        logits = torch.einsum("bgihd,bgjhd->bghij", q, k) + mask_bias
        if pair_bias is not None:
            logits = logits + pair_bias.unsqueeze(1)
        w = torch.softmax(logits, dim=-1)
        o = torch.einsum("bghij,bgjhd->bgihd", w, v)
        gate = torch.sigmoid(self.linear_g(x)).view(b, g, n, self.h, self.d)
        o = (o * gate).reshape(b, g, n, self.h * self.d)
        return self.linear_o(o)


class RowAttention(nn.Module):
    def __init__(self, cm, cz, heads, dim):
        super().__init__()
        self.norm_m = nn.LayerNorm(cm)
        self.norm_z = nn.LayerNorm(cz)
        self.linear_z = nn.Linear(cz, heads, bias=False)
        self.mha = GatedAttention(cm, heads, dim)

    def forward(self, m, z, mask):
        bias = (1e9 * (mask - 1.0))[:, :, None, None, :]
        pair = self.linear_z(self.norm_z(z)).permute(0, 3, 1, 2)
        return self.mha(self.norm_m(m), bias, pair)


class ColumnAttention(nn.Module):
    def __init__(self, cm, heads, dim):
        super().__init__()
        self.norm_m = nn.LayerNorm(cm)
        self.mha = GatedAttention(cm, heads, dim)

    def forward(self, m, mask):
        m = m.transpose(1, 2)
        mask = mask.transpose(1, 2)
        bias = (1e9 * (mask - 1.0))[:, :, None, None, :]
        return self.mha(self.norm_m(m), bias).transpose(1, 2)


class Transition(nn.Module):
    def __init__(self, c, n=2):
        super().__init__()
        self.norm = nn.LayerNorm(c)
        self.linear_1 = nn.Linear(c, n * c)
        self.linear_2 = nn.Linear(n * c, c)

    def forward(self, x):
        return self.linear_2(torch.relu(self.linear_1(self.norm(x))))


class OuterProductMean(nn.Module):
    def __init__(self, cm, cz, hid):
        super().__init__()
        self.norm = nn.LayerNorm(cm)
        self.linear_1 = nn.Linear(cm, hid)
        self.linear_2 = nn.Linear(cm, hid)
        self.linear_out = nn.Linear(hid * hid, cz)

    def forward(self, m, mask):
        m = self.norm(m)
        a = self.linear_1(m) * mask[..., None]
        b = self.linear_2(m) * mask[..., None]
        outer = torch.einsum("bsic,bsjd->bijcd", a, b)
        outer = self.linear_out(outer.flatten(-2))
        norm = torch.einsum("bsi,bsj->bij", mask, mask)[..., None]
        return outer / (norm + 1e-3)


class TriangleMultiplication(nn.Module):
    def __init__(self, cz, hid, outgoing):
        super().__init__()
        self.outgoing = outgoing
        self.norm_in = nn.LayerNorm(cz)
        self.linear_a_p = nn.Linear(cz, hid)
        self.linear_a_g = nn.Linear(cz, hid)
        self.linear_b_p = nn.Linear(cz, hid)
        self.linear_b_g = nn.Linear(cz, hid)
        self.norm_out = nn.LayerNorm(hid)
        self.linear_z = nn.Linear(hid, cz)
        self.linear_g = nn.Linear(cz, cz)

    def forward(self, z):
        z = self.norm_in(z)
        a = torch.sigmoid(self.linear_a_g(z)) * self.linear_a_p(z)
        b = torch.sigmoid(self.linear_b_g(z)) * self.linear_b_p(z)
        if self.outgoing:
            x = torch.einsum("bikc,bjkc->bijc", a, b)
        else:
            x = torch.einsum("bkic,bkjc->bijc", a, b)
        x = self.linear_z(self.norm_out(x))
        return x * torch.sigmoid(self.linear_g(z))


class Block(nn.Module):
    def __init__(self, cm, cz):
        super().__init__()
        self.row = RowAttention(cm, cz, 2, 6)
        self.col = ColumnAttention(cm, 2, 6)
        self.trans_m = Transition(cm)
        self.opm = OuterProductMean(cm, cz, 5)
        self.tri_out = TriangleMultiplication(cz, 6, True)
        self.tri_in = TriangleMultiplication(cz, 6, False)
        self.trans_z = Transition(cz)

    def forward(self, m, z, mask):
        m = m + self.row(m, z, mask)
        m = m + self.col(m, mask)
        m = m + self.trans_m(m)
        z = z + self.opm(m, mask)
        z = z + self.tri_out(z)
        z = z + self.tri_in(z)
        z = z + self.trans_z(z)
        return m, z


class Evoformer(nn.Module):
    def __init__(self, cm=16, cz=8, cs=12, blocks=2):
        super().__init__()
        self.blocks = nn.ModuleList([Block(cm, cz) for _ in range(blocks)])
        self.linear = nn.Linear(cm, cs)

    def forward(self, m, z, mask):
        for b in self.blocks:
            m, z = b(m, z, mask)
        s = self.linear(m[:, 0])
        return s, z


def make():
    torch.manual_seed(1)
    m = Evoformer()
    g = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for n, p in m.named_parameters():
            if p.ndim == 1 and "norm" in n and n.endswith("weight"):
                p.copy_(torch.rand(p.shape, generator=g) + 0.5)
            elif p.ndim == 1:
                p.copy_(torch.randn(p.shape, generator=g) * 0.3)
            else:
                p.copy_(torch.randn(p.shape, generator=g) * (1.0 / p.shape[1]) ** 0.5)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    m = r.randn(4, 5, 7, 16).astype("float32")
    z = r.randn(4, 7, 7, 8).astype("float32")
    mask = np.ones((4, 5, 7), "float32")
    mask[1, 3:] = 0
    mask[2, 4, 2:] = 0
    mask[3, 2:4, 5] = 0
    return m, z, mask
