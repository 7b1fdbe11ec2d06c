"""Behaviour transformer: a small GPT over observations, action bins by k-means, and offsets."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
OBS, ACT, WIDTH, HEADS, STEPS, BINS = 7, 3, 16, 2, 6, 5


class CausalSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("mask", torch.tril(torch.ones(STEPS, STEPS)).bool())

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).split(c, dim=2)
        q = q.view(b, t, HEADS, c // HEADS).transpose(1, 2)
        k = k.view(b, t, HEADS, c // HEADS).transpose(1, 2)
        v = v.view(b, t, HEADS, c // HEADS).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
        att = att.masked_fill(~self.mask[:t, :t], float("-inf"))
        att = F.softmax(att, dim=-1)
        y = (att @ v).transpose(1, 2).contiguous().view(b, t, c)
        return self.proj(y)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1 = nn.LayerNorm(WIDTH)
        self.attn = CausalSelfAttention()
        self.ln2 = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


def focal_loss(logits, target, gamma=2.0):
    log_p = F.log_softmax(logits, dim=-1)
    log_pt = log_p.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return -((1 - log_pt.exp()) ** gamma) * log_pt


class BehaviorTransformer(nn.Module):
    OFFSET_SCALE = 3.0

    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(OBS, WIDTH)
        self.pos = nn.Parameter(0.3 * torch.randn(1, STEPS, WIDTH))
        self.blocks = nn.ModuleList([Block(), Block()])
        self.ln = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, BINS * (1 + ACT), bias=False)
        self.register_buffer("centers", torch.randn(BINS, ACT))

    def encode(self, actions):
        distance = (actions.unsqueeze(-2) - self.centers).pow(2).sum(-1)
        bins = distance.argmin(-1)
        return bins, actions - self.centers[bins]

    def forward(self, obs, actions):
        b, t, _ = obs.shape
        x = self.embed(obs) + self.pos[:, :t]
        for block in self.blocks:
            x = block(x)
        out = self.head(self.ln(x))
        logits, offsets = out[..., :BINS], out[..., BINS:].view(b, t, BINS, ACT)
        bins, true_offset = self.encode(actions)
        chosen = offsets.gather(2, bins[..., None, None].expand(-1, -1, -1, ACT)).squeeze(2)
        offset_loss = F.mse_loss(chosen, true_offset, reduction="none").mean(-1)
        loss = focal_loss(logits, bins) + self.OFFSET_SCALE * offset_loss
        best = logits.argmax(-1)
        action = self.centers[best] + offsets.gather(
            2, best[..., None, None].expand(-1, -1, -1, ACT)).squeeze(2)
        return logits, action, loss


def make():
    torch.manual_seed(3)
    net = BehaviorTransformer()
    for name, p in net.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(p, 0.0, 0.2)
        elif "ln" in name:
            nn.init.normal_(p, 1.0, 0.2)
        elif p.ndim == 2:
            nn.init.normal_(p, 0.0, 1.3 / math.sqrt(p.shape[1]))
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(5, STEPS, OBS)).astype("float32"),
            rng.normal(size=(5, STEPS, ACT)).astype("float32"))
