"""Multi-Agent Transformer (Wen et al. 2022), training-time forward pass with teacher-forced actions."""
import math
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"
AGENTS, OBS, ACT, D, HEADS = 4, 9, 5, 24, 3


class SelfAttention(nn.Module):
    def __init__(self, masked=False):
        super().__init__()
        self.key, self.query, self.value = nn.Linear(D, D), nn.Linear(D, D), nn.Linear(D, D)
        self.proj = nn.Linear(D, D)
        self.masked = masked
        self.register_buffer("mask", torch.tril(torch.ones(AGENTS, AGENTS)).view(1, 1, AGENTS, AGENTS))

    def forward(self, key, value, query):
        B, L, _ = query.shape
        k = self.key(key).view(B, L, HEADS, D // HEADS).transpose(1, 2)
        q = self.query(query).view(B, L, HEADS, D // HEADS).transpose(1, 2)
        v = self.value(value).view(B, L, HEADS, D // HEADS).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        if self.masked:
            att = att.masked_fill(self.mask[:, :, :L, :L] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.proj(y.transpose(1, 2).contiguous().view(B, L, D))


def mlp():
    return nn.Sequential(nn.Linear(D, D), nn.GELU(), nn.Linear(D, D))


class EncodeBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.attn, self.mlp = SelfAttention(), mlp()

    def forward(self, x):
        x = self.ln1(x + self.attn(x, x, x))
        return self.ln2(x + self.mlp(x))


class DecodeBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2, self.ln3 = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)
        self.attn1, self.attn2, self.mlp = SelfAttention(True), SelfAttention(True), mlp()

    def forward(self, x, rep):
        x = self.ln1(x + self.attn1(x, x, x))
        x = self.ln2(rep + self.attn2(key=x, value=x, query=rep))
        return self.ln3(x + self.mlp(x))


class MAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.obs_encoder = nn.Sequential(nn.LayerNorm(OBS), nn.Linear(OBS, D), nn.GELU())
        self.enc_ln = nn.LayerNorm(D)
        self.enc_blocks = nn.ModuleList([EncodeBlock(), EncodeBlock()])
        self.v_head = nn.Sequential(nn.Linear(D, D), nn.GELU(), nn.LayerNorm(D), nn.Linear(D, 1))
        self.action_encoder = nn.Linear(ACT + 1, D, bias=False)
        self.dec_ln = nn.LayerNorm(D)
        self.dec_blocks = nn.ModuleList([DecodeBlock()])
        self.pi_head = nn.Sequential(nn.Linear(D, D), nn.GELU(), nn.LayerNorm(D), nn.Linear(D, ACT))

    def forward(self, obs, actions):
        rep = self.enc_ln(self.obs_encoder(obs))
        for blk in self.enc_blocks:
            rep = blk(rep)
        values = self.v_head(rep)
        shifted = torch.zeros(obs.shape[0], AGENTS, ACT + 1)
        shifted[:, 0, 0] = 1
        shifted[:, 1:, 1:] = F.one_hot(actions, ACT).float()[:, :-1]
        x = self.dec_ln(F.gelu(self.action_encoder(shifted)))
        for blk in self.dec_blocks:
            x = blk(x, rep)
        return values, F.log_softmax(self.pi_head(x), -1)


def make(seed=0):
    torch.manual_seed(seed)
    m = MAT().eval()
    for name, p in m.named_parameters():
        if p.dim() > 1:
            nn.init.normal_(p, 0, 1.5 / p.shape[1] ** 0.5)
        elif name.endswith("weight"):
            nn.init.uniform_(p, 0.6, 1.4)
        else:
            nn.init.normal_(p, 0, 0.2)
    return m


def inputs(seed=0):
    r = np.random.RandomState(seed)
    return r.randn(5, AGENTS, OBS).astype("float32"), r.randint(0, ACT, (5, AGENTS)).astype("int64")
