"""ACT (action chunking with transformers): a CVAE over chunks of demonstrated actions, DETR-style."""
import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
D, HEADS, FF, CHUNK, JOINTS, PATCHES, FEAT, Z = 24, 3, 40, 6, 5, 7, 10, 4


def sinusoid(n, d):
    angle = torch.arange(n)[:, None] / 10000 ** (2 * (torch.arange(d)[None] // 2) / d)
    table = torch.where(torch.arange(d) % 2 == 0, torch.sin(angle), torch.cos(angle))
    return table.float()


class EncoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn = nn.MultiheadAttention(D, HEADS, dropout=0.1, batch_first=True)
        self.lin1, self.lin2 = nn.Linear(D, FF), nn.Linear(FF, D)
        self.norm1, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.drop = nn.Dropout(0.1)

    def forward(self, x, pos, pad=None):
        qk = x + pos
        a, _ = self.attn(qk, qk, x, key_padding_mask=pad, need_weights=False)
        x = self.norm1(x + self.drop(a))
        f = self.lin2(self.drop(torch.relu(self.lin1(x))))
        return self.norm2(x + self.drop(f))


class DecoderLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(D, HEADS, batch_first=True)
        self.cross = nn.MultiheadAttention(D, HEADS, batch_first=True)
        self.lin1, self.lin2 = nn.Linear(D, FF), nn.Linear(FF, D)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(D), nn.LayerNorm(D), nn.LayerNorm(D)

    def forward(self, tgt, memory, pos, query_pos):
        q = tgt + query_pos
        tgt = self.norm1(tgt + self.self_attn(q, q, tgt, need_weights=False)[0])
        q = tgt + query_pos
        tgt = self.norm2(tgt + self.cross(q, memory + pos, memory, need_weights=False)[0])
        return self.norm3(tgt + self.lin2(torch.relu(self.lin1(tgt))))


class ACT(nn.Module):
    def __init__(self):
        super().__init__()
        self.cls = nn.Parameter(torch.zeros(1, 1, D))
        self.enc_action, self.enc_qpos = nn.Linear(JOINTS, D), nn.Linear(JOINTS, D)
        self.cvae = EncoderLayer()
        self.latent = nn.Linear(D, 2 * Z)
        self.latent_out = nn.Linear(Z, D)
        self.in_qpos, self.in_feat = nn.Linear(JOINTS, D), nn.Linear(FEAT, D)
        self.pos = nn.Parameter(torch.zeros(2 + PATCHES, D))
        self.encoder = nn.ModuleList([EncoderLayer(), EncoderLayer()])
        self.decoder = DecoderLayer()
        self.query = nn.Parameter(torch.zeros(CHUNK, D))
        self.action_head, self.pad_head = nn.Linear(D, JOINTS), nn.Linear(D, 1)

    def forward(self, qpos, feats, actions, is_pad, eps):
        b = qpos.shape[0]
        tokens = torch.cat([self.cls.expand(b, 1, D), self.enc_qpos(qpos)[:, None], self.enc_action(actions)], 1)
        pad = torch.cat([torch.zeros(b, 2, dtype=torch.bool), is_pad], dim=1)
        summary = self.cvae(tokens, sinusoid(CHUNK + 2, D), pad)[:, 0]
        mu, logvar = self.latent(summary).chunk(2, dim=1)
        z = mu + (logvar / 2).exp() * eps

        x = torch.cat([self.latent_out(z)[:, None], self.in_qpos(qpos)[:, None], self.in_feat(feats)], dim=1)
        for layer in self.encoder:
            x = layer(x, self.pos)
        tgt = torch.zeros(b, CHUNK, D)
        out = self.decoder(tgt, x, self.pos, self.query)
        a_hat, pad_hat = self.action_head(out), self.pad_head(out)[..., 0]

        l1 = ((actions - a_hat).abs() * ~is_pad[..., None]).mean(dim=(1, 2))
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1)
        return {"a_hat": a_hat, "pad_hat": pad_hat, "l1": l1, "kl": kl, "loss": (l1 + 10 * kl).mean()}


def make(seed=41):
    gen = torch.Generator().manual_seed(seed)
    net = ACT()
    with torch.no_grad():
        for name, p in net.named_parameters():
            if "norm" in name and name.endswith("weight"):
                p.copy_(1 + 0.2 * torch.randn(p.shape, generator=gen))
            elif p.ndim == 1:
                p.copy_(0.2 * torch.randn(p.shape, generator=gen))
            elif name in ("cls", "pos", "query"):
                p.copy_(torch.randn(p.shape, generator=gen))
            else:
                p.copy_(1.3 * torch.randn(p.shape, generator=gen) / math.sqrt(p.shape[1]))
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    qpos = rng.normal(size=(5, JOINTS)).astype("float32")
    feats = rng.normal(size=(5, PATCHES, FEAT)).astype("float32")
    actions = rng.normal(size=(5, CHUNK, JOINTS)).astype("float32")
    is_pad = np.arange(CHUNK)[None] >= np.array([6, 4, 6, 2, 5])[:, None]
    eps = rng.normal(size=(5, Z)).astype("float32")
    return qpos, feats, actions, is_pad, eps
