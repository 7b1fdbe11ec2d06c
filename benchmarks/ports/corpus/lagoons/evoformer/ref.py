"""One Evoformer block (Jumper et al. 2021) as OpenFold writes it: modules and permuted heads."""
import math
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
S, R, C_M, C_Z, H, C_H, C_OPM = 3, 5, 8, 6, 2, 4, 3


def permute_final_dims(t, inds):
    zero = -len(inds)
    first = list(range(len(t.shape[:zero])))
    return t.permute(first + [zero + i for i in inds])


class Attention(nn.Module):
    def __init__(self, c_q, c_hidden=C_H, no_heads=H):
        super().__init__()
        self.c_hidden, self.no_heads = c_hidden, no_heads
        self.linear_q = nn.Linear(c_q, c_hidden * no_heads, bias=False)
        self.linear_k = nn.Linear(c_q, c_hidden * no_heads, bias=False)
        self.linear_v = nn.Linear(c_q, c_hidden * no_heads, bias=False)
        self.linear_g = nn.Linear(c_q, c_hidden * no_heads)
        self.linear_o = nn.Linear(c_hidden * no_heads, c_q)

    def forward(self, x, biases):
        q, k, v = self.linear_q(x), self.linear_k(x), self.linear_v(x)
        q, k, v = (t.view(t.shape[:-1] + (self.no_heads, -1)).transpose(-2, -3) for t in (q, k, v))
        q = q / math.sqrt(self.c_hidden)
        a = torch.matmul(q, permute_final_dims(k, (1, 0)))
        for b in biases:
            a = a + b
        a = torch.softmax(a, -1)
        o = torch.matmul(a, v).transpose(-2, -3)
        g = torch.sigmoid(self.linear_g(x))
        g = g.view(g.shape[:-1] + (self.no_heads, -1))
        o = o * g
        return self.linear_o(o.reshape(o.shape[:-2] + (-1,)))


class MSARowAttentionWithPairBias(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer_norm_m = nn.LayerNorm(C_M)
        self.layer_norm_z = nn.LayerNorm(C_Z)
        self.linear_z = nn.Linear(C_Z, H, bias=False)
        self.mha = Attention(C_M)

    def forward(self, m, z, mask):
        m = self.layer_norm_m(m)
        mask_bias = (1e9 * (mask - 1))[..., :, None, None, :]
        z = permute_final_dims(self.linear_z(self.layer_norm_z(z)), (2, 0, 1)).unsqueeze(-4)
        return self.mha(m, [mask_bias, z])


class MSAColumnAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer_norm_m = nn.LayerNorm(C_M)
        self.mha = Attention(C_M)

    def forward(self, m, mask):
        m = self.layer_norm_m(m.transpose(-2, -3))
        mask_bias = (1e9 * (mask.transpose(-1, -2) - 1))[..., :, None, None, :]
        return self.mha(m, [mask_bias]).transpose(-2, -3)


class Transition(nn.Module):
    def __init__(self, c, n=2):
        super().__init__()
        self.layer_norm = nn.LayerNorm(c)
        self.linear_1 = nn.Linear(c, n * c)
        self.linear_2 = nn.Linear(n * c, c)

    def forward(self, x):
        return self.linear_2(torch.relu(self.linear_1(self.layer_norm(x))))


class OuterProductMean(nn.Module):
    def __init__(self, eps=1e-3):
        super().__init__()
        self.eps = eps
        self.layer_norm = nn.LayerNorm(C_M)
        self.linear_1 = nn.Linear(C_M, C_OPM)
        self.linear_2 = nn.Linear(C_M, C_OPM)
        self.linear_out = nn.Linear(C_OPM ** 2, C_Z)

    def forward(self, m, mask):
        ln = self.layer_norm(m)
        mask = mask.unsqueeze(-1)
        a = (self.linear_1(ln) * mask).transpose(-2, -3)
        b = (self.linear_2(ln) * mask).transpose(-2, -3)
        outer = torch.einsum("...bac,...dae->...bdce", a, b)
        outer = self.linear_out(outer.reshape(outer.shape[:-2] + (-1,)))
        norm = torch.einsum("...abc,...adc->...bdc", mask, mask) + self.eps
        return outer / norm


class TriangleMultiplicationOutgoing(nn.Module):
    def __init__(self, c_hidden=C_H):
        super().__init__()
        self.layer_norm_in = nn.LayerNorm(C_Z)
        self.layer_norm_out = nn.LayerNorm(c_hidden)
        self.linear_a_p = nn.Linear(C_Z, c_hidden)
        self.linear_a_g = nn.Linear(C_Z, c_hidden)
        self.linear_b_p = nn.Linear(C_Z, c_hidden)
        self.linear_b_g = nn.Linear(C_Z, c_hidden)
        self.linear_g = nn.Linear(C_Z, C_Z)
        self.linear_z = nn.Linear(c_hidden, C_Z)

    def forward(self, z):
        z = self.layer_norm_in(z)
        a = torch.sigmoid(self.linear_a_g(z)) * self.linear_a_p(z)
        b = torch.sigmoid(self.linear_b_g(z)) * self.linear_b_p(z)
        p = torch.matmul(permute_final_dims(a, (2, 0, 1)), permute_final_dims(b, (2, 1, 0)))
        x = self.linear_z(self.layer_norm_out(permute_final_dims(p, (1, 2, 0))))
        return x * torch.sigmoid(self.linear_g(z))


class TriangleAttentionStarting(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer_norm = nn.LayerNorm(C_Z)
        self.linear = nn.Linear(C_Z, H, bias=False)
        self.mha = Attention(C_Z)

    def forward(self, z):
        z = self.layer_norm(z)
        bias = permute_final_dims(self.linear(z), (2, 0, 1)).unsqueeze(-4)
        return self.mha(z, [bias])


class EvoformerBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.msa_att_row = MSARowAttentionWithPairBias()
        self.msa_att_col = MSAColumnAttention()
        self.msa_transition = Transition(C_M)
        self.outer_product_mean = OuterProductMean()
        self.tri_mul_out = TriangleMultiplicationOutgoing()
        self.tri_att_start = TriangleAttentionStarting()
        self.pair_transition = Transition(C_Z)

    def forward(self, m, z, msa_mask):
        m = m + self.msa_att_row(m, z, msa_mask)
        m = m + self.msa_att_col(m, msa_mask)
        m = m + self.msa_transition(m)
        z = z + self.outer_product_mean(m, msa_mask)
        z = z + self.tri_mul_out(z)
        z = z + self.tri_att_start(z)
        z = z + self.pair_transition(z)
        return m, z


def make():
    m = EvoformerBlock()
    g = torch.Generator().manual_seed(16)
    with torch.no_grad():
        for n, p in m.named_parameters():
            r = torch.randn(p.shape, generator=g)
            if "layer_norm" in n:
                p.copy_((1.0 if n.endswith("weight") else 0.0) + 0.25 * r)
            else:
                p.copy_(r * (0.3 if p.dim() == 1 else 1.4 / p.shape[1] ** 0.5))
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    mask = (r.rand(4, S, R) > 0.25).astype("float32")
    mask[:, 0] = 1
    mask[:, :, 0] = 1
    return r.randn(4, S, R, C_M).astype("float32"), r.randn(4, R, R, C_Z).astype("float32"), mask
