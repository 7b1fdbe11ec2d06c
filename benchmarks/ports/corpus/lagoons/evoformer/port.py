"""Evoformer block, functional: one ParameterDict, einsum and fused kernels."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
S, R, C_M, C_Z, H, C_H, C_OPM = 3, 5, 8, 6, 2, 4, 3


def shapes():
    d = {}

    def lin(n, i, o, bias=True):
        d[n + "_w"] = (o, i)
        if bias:
            d[n + "_b"] = (o,)

    def ln(n, c):
        d[n + "_w"] = d[n + "_b"] = (c,)

    def att(n, c):
        lin(n + "_qkv", c, 3 * H * C_H, False)
        lin(n + "_gate", c, H * C_H)
        lin(n + "_out", H * C_H, c)

    ln("row_ln", C_M); ln("row_lnz", C_Z); lin("row_bias", C_Z, H, False); att("row", C_M)
    ln("col_ln", C_M); att("col", C_M)
    ln("mt_ln", C_M); lin("mt_1", C_M, 2 * C_M); lin("mt_2", 2 * C_M, C_M)
    ln("opm_ln", C_M); lin("opm_ab", C_M, 2 * C_OPM); lin("opm_out", C_OPM ** 2, C_Z)
    ln("tm_ln", C_Z); lin("tm_p", C_Z, 2 * C_H); lin("tm_g", C_Z, 2 * C_H)
    ln("tm_lno", C_H); lin("tm_out", C_H, C_Z); lin("tm_og", C_Z, C_Z)
    ln("ta_ln", C_Z); lin("ta_bias", C_Z, H, False); att("ta", C_Z)
    ln("pt_ln", C_Z); lin("pt_1", C_Z, 2 * C_Z); lin("pt_2", 2 * C_Z, C_Z)
    return d


class Evoformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.ParameterDict({k: nn.Parameter(torch.zeros(s)) for k, s in shapes().items()})

    def lin(self, x, n):
        return F.linear(x, self.p[n + "_w"], self.p[n + "_b"] if n + "_b" in self.p else None)

    def ln(self, x, n):
        w = self.p[n + "_w"]
        return F.layer_norm(x, w.shape, w, self.p[n + "_b"])

    def attend(self, x, n, bias):
        """x (b, rows, len, c); bias broadcastable to (b, rows, heads, len, len)."""
        q, k, v = self.lin(x, n + "_qkv").unflatten(-1, (3, H, C_H)).unbind(-3)
        logits = torch.einsum("brihc,brjhc->brhij", q * C_H ** -0.5, k) + bias
        o = torch.einsum("brhij,brjhc->brihc", logits.softmax(-1), v).flatten(-2)
        return self.lin(o * torch.sigmoid(self.lin(x, n + "_gate")), n + "_out")

    def row(self, m, z, mask):
        pair = torch.einsum("bijc,hc->bhij", self.ln(z, "row_lnz"), self.p["row_bias_w"])
        bias = (mask - 1)[:, :, None, None, :] * 1e9 + pair[:, None]
        return self.attend(self.ln(m, "row_ln"), "row", bias)

    def col(self, m, mask):
        bias = (mask.transpose(1, 2) - 1)[:, :, None, None, :] * 1e9
        return self.attend(self.ln(m.transpose(1, 2), "col_ln"), "col", bias).transpose(1, 2)

    def transition(self, x, n):
        return self.lin(F.relu(self.lin(self.ln(x, n + "_ln"), n + "_1")), n + "_2")

    def outer(self, m, mask):
        ab = self.lin(self.ln(m, "opm_ln"), "opm_ab") * mask[..., None]
        a, b = ab.chunk(2, -1)
        o = self.lin(torch.einsum("bsic,bsjd->bijcd", a, b).flatten(-2), "opm_out")
        return o / (torch.einsum("bsi,bsj->bij", mask, mask)[..., None] + 1e-3)

    def tri_mul(self, z):
        z = self.ln(z, "tm_ln")
        a, b = (torch.sigmoid(self.lin(z, "tm_g")) * self.lin(z, "tm_p")).chunk(2, -1)
        x = torch.einsum("bikc,bjkc->bijc", a, b)
        return self.lin(self.ln(x, "tm_lno"), "tm_out") * torch.sigmoid(self.lin(z, "tm_og"))

    def tri_att(self, z):
        z = self.ln(z, "ta_ln")
        bias = torch.einsum("bijc,hc->bhij", z, self.p["ta_bias_w"])
        return self.attend(z, "ta", bias[:, None])

    def forward(self, m, z, msa_mask):
        m = m + self.row(m, z, msa_mask)
        m = m + self.col(m, msa_mask)
        m = m + self.transition(m, "mt")
        z = z + self.outer(m, msa_mask)
        z = z + self.tri_mul(z)
        z = z + self.tri_att(z)
        z = z + self.transition(z, "pt")
        return m, z


def make():
    m = Evoformer()
    g = torch.Generator().manual_seed(26)
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.4)
    return m.eval()


def load(ported, original):
    P, o = ported.p, original

    def put(n, *mods):
        P[n + "_w"].data.copy_(torch.cat([x.weight.data for x in mods], 0))
        if mods[0].bias is not None:
            P[n + "_b"].data.copy_(torch.cat([x.bias.data for x in mods], 0))

    def att(n, a):
        put(n + "_qkv", a.linear_q, a.linear_k, a.linear_v)
        put(n + "_gate", a.linear_g)
        put(n + "_out", a.linear_o)

    r, c = o.msa_att_row, o.msa_att_col
    put("row_ln", r.layer_norm_m); put("row_lnz", r.layer_norm_z); put("row_bias", r.linear_z); att("row", r.mha)
    put("col_ln", c.layer_norm_m); att("col", c.mha)
    for n, t in (("mt", o.msa_transition), ("pt", o.pair_transition)):
        put(n + "_ln", t.layer_norm); put(n + "_1", t.linear_1); put(n + "_2", t.linear_2)
    q = o.outer_product_mean
    put("opm_ln", q.layer_norm); put("opm_ab", q.linear_1, q.linear_2); put("opm_out", q.linear_out)
    t = o.tri_mul_out
    put("tm_ln", t.layer_norm_in); put("tm_p", t.linear_a_p, t.linear_b_p); put("tm_g", t.linear_a_g, t.linear_b_g)
    put("tm_lno", t.layer_norm_out); put("tm_out", t.linear_z); put("tm_og", t.linear_g)
    t = o.tri_att_start
    put("ta_ln", t.layer_norm); put("ta_bias", t.linear); att("ta", t.mha)


def inputs(seed):
    r = np.random.RandomState(seed)
    mask = (r.rand(4, S, R) > 0.25).astype("float32")
    mask[:, 0] = 1
    mask[:, :, 0] = 1
    return r.randn(4, S, R, C_M).astype("float32"), r.randn(4, R, R, C_Z).astype("float32"), mask
