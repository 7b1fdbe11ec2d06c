"""RetNet (Sun et al. 2023), parallel form, after torchscale."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
VOCAB, DIM, HEADS, FFN, LAYERS, LENGTH = 30, 16, 2, 24, 2, 9


def rotate_every_two(x):
    x1 = x[:, :, :, ::2]
    x2 = x[:, :, :, 1::2]
    return torch.stack((-x2, x1), dim=-1).flatten(-2)


def theta_shift(x, sin, cos):
    return (x * cos) + (rotate_every_two(x) * sin)


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6, elementwise_affine=True):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim)) if elementwise_affine else None

    def forward(self, x):
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x if self.weight is None else x * self.weight


class RetNetRelPos(nn.Module):
    def __init__(self):
        super().__init__()
        angle = 1.0 / (10000 ** torch.linspace(0, 1, DIM // HEADS // 2))
        angle = angle.unsqueeze(-1).repeat(1, 2).flatten()
        decay = torch.log(1 - 2 ** (-5 - torch.arange(HEADS, dtype=torch.float)))
        self.register_buffer("angle", angle)
        self.register_buffer("decay", decay)

    def forward(self, slen):
        index = torch.arange(slen).to(self.decay)
        sin = torch.sin(index[:, None] * self.angle[None, :])
        cos = torch.cos(index[:, None] * self.angle[None, :])
        mask = torch.tril(torch.ones(slen, slen).to(self.decay))
        mask = torch.masked_fill(index[:, None] - index[None, :], ~mask.bool(), float("inf"))
        mask = torch.exp(mask * self.decay[:, None, None])
        mask = torch.nan_to_num(mask)
        mask = mask / mask.sum(dim=-1, keepdim=True).sqrt()
        return (sin, cos), mask


class MultiScaleRetention(nn.Module):
    def __init__(self):
        super().__init__()
        self.key_dim = DIM // HEADS
        self.scaling = self.key_dim**-0.5
        self.q_proj = nn.Linear(DIM, DIM, bias=False)
        self.k_proj = nn.Linear(DIM, DIM, bias=False)
        self.v_proj = nn.Linear(DIM, 2 * DIM, bias=False)
        self.g_proj = nn.Linear(DIM, 2 * DIM, bias=False)
        self.out_proj = nn.Linear(2 * DIM, DIM, bias=False)
        self.group_norm = RMSNorm(2 * DIM // HEADS, elementwise_affine=False)

    def parallel(self, qr, kr, v, mask):
        bsz, tgt_len, _ = v.size()
        vr = v.view(bsz, tgt_len, HEADS, -1).transpose(1, 2)
        qk_mat = qr @ kr.transpose(-1, -2)
        qk_mat = qk_mat * mask
        qk_mat = qk_mat / qk_mat.detach().abs().sum(dim=-1, keepdim=True).clamp(min=1, max=5e4)
        return torch.matmul(qk_mat, vr).transpose(1, 2)

    def forward(self, x, rel_pos):
        bsz, tgt_len, _ = x.size()
        (sin, cos), mask = rel_pos
        q, k, v, g = self.q_proj(x), self.k_proj(x), self.v_proj(x), self.g_proj(x)
        k = k * self.scaling
        q = q.view(bsz, tgt_len, HEADS, self.key_dim).transpose(1, 2)
        k = k.view(bsz, tgt_len, HEADS, self.key_dim).transpose(1, 2)
        qr = theta_shift(q, sin, cos)
        kr = theta_shift(k, sin, cos)
        output = self.parallel(qr, kr, v, mask)
        output = self.group_norm(output).reshape(bsz, tgt_len, 2 * DIM)
        output = F.silu(g) * output
        return self.out_proj(output)


class GLU(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(DIM, FFN, bias=False)
        self.gate = nn.Linear(DIM, FFN, bias=False)
        self.fc2 = nn.Linear(FFN, DIM, bias=False)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)) * self.gate(x))


class DecoderLayer(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.alpha = math.pow(2.0 * LAYERS, 0.25)
        self.retention = MultiScaleRetention()
        self.retention_layer_norm = RMSNorm(DIM)
        self.ffn = GLU()
        self.final_layer_norm = RMSNorm(DIM)

    def forward(self, x, rel_pos):
        x = x * self.alpha + self.retention(self.retention_layer_norm(x), rel_pos)
        return x * self.alpha + self.ffn(self.final_layer_norm(x))


class RetNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(VOCAB, DIM)
        self.embed_scale = math.sqrt(DIM)
        self.layernorm_embedding = RMSNorm(DIM)
        self.rel_pos = RetNetRelPos()
        self.layers = nn.ModuleList(DecoderLayer(i) for i in range(LAYERS))
        self.layer_norm = RMSNorm(DIM)
        self.output_projection = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, tokens):
        x = self.layernorm_embedding(self.embed_scale * self.embed_tokens(tokens))
        rel_pos = self.rel_pos(tokens.size(1))
        for layer in self.layers:
            x = layer(x, rel_pos)
        return self.output_projection(self.layer_norm(x))


def make():
    torch.manual_seed(31)
    model = RetNet()
    for name, p in model.named_parameters():
        if p.ndim == 1:
            nn.init.uniform_(p, 0.6, 1.5)
        else:
            nn.init.normal_(p, 0, 1.4 / math.sqrt(p.shape[1]))
    return model.eval()


def inputs(seed):
    return (np.random.default_rng(seed).integers(0, VOCAB, (5, LENGTH)),)
