"""Branchformer, functional: parameters in one ParameterDict, fused attention."""
import math
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
T, FEAT, D, HEADS, UNITS, KERNEL, LAYERS, VOCAB = 10, 12, 16, 4, 24, 5, 2, 9


def sinusoid(length, dim):
    pos = torch.arange(length, dtype=torch.float32)[:, None]
    inv = 10000.0 ** (-torch.arange(0, dim, 2, dtype=torch.float32) / dim)
    ang = pos * inv
    return torch.stack([ang.sin(), ang.cos()], dim=-1).reshape(length, dim)


class Branchformer(nn.Module):
    def __init__(self, seed=2):
        super().__init__()
        g = torch.Generator().manual_seed(seed)
        self.p = nn.ParameterDict()
        def linear(name, i, o):
            self.p[name + "_w"] = nn.Parameter(torch.randn(o, i, generator=g) / math.sqrt(i))
            self.p[name + "_b"] = nn.Parameter(0.2 * torch.randn(o, generator=g))
        def norm(name, n):
            self.p[name + "_g"] = nn.Parameter(1 + 0.2 * torch.randn(n, generator=g))
            self.p[name + "_b"] = nn.Parameter(0.2 * torch.randn(n, generator=g))
        linear("embed", FEAT, D)
        norm("embed_ln", D)
        for i in range(LAYERS):
            norm(f"l{i}_ln_att", D)
            linear(f"l{i}_qkv", D, 3 * D)
            linear(f"l{i}_out", D, D)
            norm(f"l{i}_ln_mlp", D)
            linear(f"l{i}_up", D, UNITS)
            norm(f"l{i}_ln_gate", UNITS // 2)
            self.p[f"l{i}_conv_w"] = nn.Parameter(torch.randn(UNITS // 2, 1, KERNEL, generator=g) * 0.4)
            self.p[f"l{i}_conv_b"] = nn.Parameter(torch.randn(UNITS // 2, generator=g) * 0.2)
            linear(f"l{i}_down", UNITS // 2, D)
            linear(f"l{i}_merge", 2 * D, D)
        norm("final_ln", D)
        linear("ctc", D, VOCAB)

    def linear(self, name, x):
        return F.linear(x, self.p[name + "_w"], self.p[name + "_b"])

    def norm(self, name, x):
        return F.layer_norm(x, x.shape[-1:], self.p[name + "_g"], self.p[name + "_b"])

    def attention(self, i, x, keep):
        b, t, _ = x.shape
        qkv = self.linear(f"l{i}_qkv", x).view(b, t, 3, HEADS, D // HEADS)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=keep[:, None, None, :])
        return self.linear(f"l{i}_out", out.transpose(1, 2).reshape(b, t, D))

    def cgmlp(self, i, x):
        h = F.gelu(self.linear(f"l{i}_up", x))
        content, gate = h.split(UNITS // 2, dim=-1)
        gate = self.norm(f"l{i}_ln_gate", gate).transpose(1, 2)
        gate = F.pad(gate, (KERNEL // 2, KERNEL // 2))
        gate = F.conv1d(gate, self.p[f"l{i}_conv_w"], self.p[f"l{i}_conv_b"], groups=UNITS // 2)
        return self.linear(f"l{i}_down", content * gate.transpose(1, 2))

    def forward(self, feats, mask):
        keep = mask > 0
        x = self.norm("embed_ln", self.linear("embed", feats))
        x = math.sqrt(D) * x + sinusoid(feats.shape[1], D)
        for i in range(LAYERS):
            att = self.attention(i, self.norm(f"l{i}_ln_att", x), keep)
            mlp = self.cgmlp(i, self.norm(f"l{i}_ln_mlp", x))
            x = x + self.linear(f"l{i}_merge", torch.cat([att, mlp], dim=-1))
        return F.log_softmax(self.linear("ctc", self.norm("final_ln", x)), dim=-1)


def make():
    return Branchformer().eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    lens = np.array([10, 7, 8, 6])
    return (r.randn(4, T, FEAT).astype("float32"), (np.arange(T) < lens[:, None]).astype("float32"))


def load(ported, original):
    sd, p = original.state_dict(), ported.p
    def linear(dst, src):
        p[dst + "_w"].copy_(sd[src + ".weight"])
        p[dst + "_b"].copy_(sd[src + ".bias"])
    def norm(dst, src):
        p[dst + "_g"].copy_(sd[src + ".weight"])
        p[dst + "_b"].copy_(sd[src + ".bias"])
    with torch.no_grad():
        linear("embed", "embed.0")
        norm("embed_ln", "embed.1")
        for i in range(LAYERS):
            e = f"encoders.{i}."
            norm(f"l{i}_ln_att", e + "norm_mha")
            norm(f"l{i}_ln_mlp", e + "norm_mlp")
            norm(f"l{i}_ln_gate", e + "csgu.norm")
            for k, s in (("weight", "_w"), ("bias", "_b")):
                p[f"l{i}_qkv" + s].copy_(torch.cat([sd[e + f"attn.linear_{c}.{k}"] for c in "qkv"]))
            linear(f"l{i}_out", e + "attn.linear_out")
            linear(f"l{i}_up", e + "channel_proj1.0")
            linear(f"l{i}_conv", e + "csgu.conv")
            linear(f"l{i}_down", e + "channel_proj2")
            linear(f"l{i}_merge", e + "merge_proj")
        norm("final_ln", "after_norm")
        linear("ctc", "ctc")
