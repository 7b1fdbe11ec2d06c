"""Trajectory Transformer (Janner et al. 2021): discretised transitions, GPT, a head per dimension."""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
OBS, ACT, BINS, STEPS, WIDTH, HEADS, LAYERS = 4, 2, 16, 4, 32, 4, 2
DIM = OBS + ACT + 2                      # a transition: observation, action, reward, value
BLOCK = STEPS * DIM


class CausalSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = nn.Linear(WIDTH, WIDTH)
        self.query = nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)
        mask = torch.tril(torch.ones(BLOCK, BLOCK))
        mask[:, DIM - 1::DIM] = 0        # nobody reads earlier value estimates
        self.register_buffer("mask", mask[None, None], persistent=False)

    def forward(self, x):
        b, t, c = x.shape
        k = self.key(x).view(b, t, HEADS, c // HEADS).transpose(1, 2)
        q = self.query(x).view(b, t, HEADS, c // HEADS).transpose(1, 2)
        v = self.value(x).view(b, t, HEADS, c // HEADS).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        y = (att @ v).transpose(1, 2).contiguous().view(b, t, c)
        return self.proj(y)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1 = nn.LayerNorm(WIDTH)
        self.ln2 = nn.LayerNorm(WIDTH)
        self.attn = CausalSelfAttention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        x = x + self.mlp(self.ln2(x))
        return x


class TrajectoryTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("thresholds", torch.sort(torch.randn(DIM, BINS - 1), dim=1).values)
        self.tok_emb = nn.Embedding(BINS * DIM, WIDTH)
        self.pos_emb = nn.Parameter(0.3 * torch.randn(1, BLOCK, WIDTH))
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.ln_f = nn.LayerNorm(WIDTH)
        self.head = nn.Parameter(torch.randn(DIM, BINS, WIDTH) / WIDTH ** 0.5)
        self.head_bias = nn.Parameter(0.1 * torch.randn(DIM, BINS))

    def discretise(self, transitions):
        return (transitions.unsqueeze(-1) > self.thresholds).sum(dim=-1)

    def forward(self, transitions):
        b = transitions.shape[0]
        tokens = self.discretise(transitions).reshape(b, -1)
        t = tokens.shape[1]
        offsets = (torch.arange(DIM) * BINS).repeat(t // DIM)
        x = self.tok_emb(tokens + offsets) + self.pos_emb[:, :t]
        x = self.ln_f(self.blocks(x))
        x = x.view(b, t // DIM, DIM, WIDTH)
        logits = torch.einsum("bsdw,dow->bsdo", x, self.head) + self.head_bias
        logits = logits.reshape(b, t, BINS)
        # log-likelihood of every next token but of those that open a transition
        logp = F.log_softmax(logits[:, :-1], dim=-1)
        chosen = logp.gather(-1, tokens[:, 1:, None]).squeeze(-1)
        counts = (torch.arange(1, t) % DIM != 0).float()
        return logits, (chosen * counts).sum(dim=1) / counts.sum()


def make(seed=2):
    torch.manual_seed(seed)
    net = TrajectoryTransformer()
    with torch.no_grad():
        for p in net.parameters():
            p.add_(0.08 * torch.randn_like(p))
    return net.eval()


def inputs(seed=0):
    return np.random.default_rng(seed).normal(size=(4, STEPS, DIM)).astype("float32")
