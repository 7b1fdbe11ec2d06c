"""T5 encoder in PyTorch."""
import math

import torch
from torch import nn

FRAMEWORK = "torch"


class T5Config:
    vocab_size = 31
    d_model = 24
    d_kv = 6
    num_heads = 4
    d_ff = 40
    num_layers = 2
    relative_attention_num_buckets = 8
    relative_attention_max_distance = 12
    layer_norm_epsilon = 1e-6


class T5LayerNorm(nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        var = x.pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(var + self.eps))


class T5SelfAttention(nn.Module):
    def __init__(self, c):
        super().__init__()
        inner = c.num_heads * c.d_kv
        self.h, self.d = c.num_heads, c.d_kv
        self.q = nn.Linear(c.d_model, inner, bias=False)
        self.k = nn.Linear(c.d_model, inner, bias=False)
        self.v = nn.Linear(c.d_model, inner, bias=False)
        self.o = nn.Linear(inner, c.d_model, bias=False)

    def forward(self, x, bias):
        B, T, _ = x.shape
        q, k, v = (f(x).view(B, T, self.h, self.d).transpose(1, 2) for f in (self.q, self.k, self.v))
        scores = torch.matmul(q, k.transpose(-1, -2))
        probs = (scores + bias).softmax(dim=-1)
        return self.o((probs @ v).transpose(1, 2).reshape(B, T, -1))


class T5GatedFF(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.wi_0 = nn.Linear(c.d_model, c.d_ff, bias=False)
        self.wi_1 = nn.Linear(c.d_model, c.d_ff, bias=False)
        self.wo = nn.Linear(c.d_ff, c.d_model, bias=False)
        self.act = nn.GELU(approximate="tanh")

    def forward(self, x):
        return self.wo(self.act(self.wi_0(x)) * self.wi_1(x))


class T5Encoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.shared = nn.Embedding(c.vocab_size, c.d_model)
        self.relative_attention_bias = nn.Embedding(c.relative_attention_num_buckets, c.num_heads)
        self.layers = nn.ModuleList([
            nn.ModuleDict({
                "norm_att": T5LayerNorm(c.d_model, c.layer_norm_epsilon),
                "att": T5SelfAttention(c),
                "norm_ff": T5LayerNorm(c.d_model, c.layer_norm_epsilon),
                "ff": T5GatedFF(c),
            }) for _ in range(c.num_layers)])
        self.final_norm = T5LayerNorm(c.d_model, c.layer_norm_epsilon)

    def bucket(self, rel):
        nb = self.c.relative_attention_num_buckets // 2
        out = (rel > 0).long() * nb
        rel = rel.abs()
        exact = nb // 2
        scale = math.log(self.c.relative_attention_max_distance / exact)
        large = exact + (torch.log(rel.clamp(min=1).float() / exact) / scale * (nb - exact)).long()
        return out + torch.where(rel < exact, rel, large.clamp(max=nb - 1))

    def position_bias(self, T):
        query = torch.arange(T)[:, None]
        memory = torch.arange(T)[None, :]
        buckets = self.bucket(memory - query)
        return self.relative_attention_bias(buckets).permute(2, 0, 1).unsqueeze(0)

    def forward(self, input_ids, attention_mask):
        m = attention_mask.float()
        bias = self.position_bias(input_ids.shape[1]) + (1.0 - m)[:, None, None, :] * -1e9
        x = self.shared(input_ids)
        for layer in self.layers:
            x = x + layer["att"](layer["norm_att"](x), bias)
            x = x + layer["ff"](layer["norm_ff"](x))
        x = self.final_norm(x)
        pooled = (x * m.unsqueeze(-1)).sum(1) / m.sum(1, keepdim=True)
        return {"last_hidden_state": x, "pooled": pooled}


def make():
    return T5Encoder(T5Config()).eval()


@torch.no_grad()
def load(port_model, ref_model):
    def put(param, var, transpose=False):
        value = torch.from_numpy(var.numpy())
        param.copy_(value.t() if transpose else value)

    put(port_model.shared.weight, ref_model.shared)
    put(port_model.relative_attention_bias.weight, ref_model.rel_bias)
    for layer, blk in zip(port_model.layers, ref_model.blocks):
        put(layer["norm_att"].weight, blk["ln1"])
        put(layer["norm_ff"].weight, blk["ln2"])
        for n in ("q", "k", "v", "o"):
            put(getattr(layer["att"], n).weight, blk[n], transpose=True)
        put(layer["ff"].wi_0.weight, blk["wi0"], transpose=True)
        put(layer["ff"].wi_1.weight, blk["wi1"], transpose=True)
        put(layer["ff"].wo.weight, blk["wo"], transpose=True)
    put(port_model.final_norm.weight, ref_model.ln_f)
    return port_model
