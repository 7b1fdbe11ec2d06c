"""Decision Transformer (Chen et al., 2021) on low-dimensional observations."""
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FRAMEWORK = "torch"


@dataclass
class Config:
    state_dim: int = 11
    act_dim: int = 3
    hidden: int = 32
    n_layer: int = 2
    n_head: int = 4
    context: int = 6
    max_ep_len: int = 64
    ln_eps: float = 1e-5


class CausalSelfAttention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.n_head = cfg.n_head
        self.c_attn = nn.Linear(cfg.hidden, 3 * cfg.hidden)
        self.c_proj = nn.Linear(cfg.hidden, cfg.hidden)

    def forward(self, x, pad_mask):
        b, t, c = x.shape
        q, k, v = self.c_attn(x).split(c, dim=-1)

        def heads(z):
            return z.view(b, t, self.n_head, c // self.n_head).transpose(1, 2)

        q, k, v = heads(q), heads(k), heads(v)
        att = q @ k.transpose(-2, -1) / (c // self.n_head) ** 0.5
        causal = torch.tril(torch.ones(t, t, dtype=torch.bool, device=x.device))
        allowed = causal[None, None] & pad_mask[:, None, None, :]
        att = att.masked_fill(~allowed, -1e9)
        att = F.softmax(att, dim=-1)
        y = (att @ v).transpose(1, 2).reshape(b, t, c)
        return self.c_proj(y)


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.ln_1 = nn.LayerNorm(cfg.hidden, eps=cfg.ln_eps)
        self.attn = CausalSelfAttention(cfg)
        self.ln_2 = nn.LayerNorm(cfg.hidden, eps=cfg.ln_eps)
        self.c_fc = nn.Linear(cfg.hidden, 4 * cfg.hidden)
        self.c_proj = nn.Linear(4 * cfg.hidden, cfg.hidden)

    def forward(self, x, pad_mask):
        x = x + self.attn(self.ln_1(x), pad_mask)
        h = F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh")
        return x + self.c_proj(h)


class DecisionTransformer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.embed_timestep = nn.Embedding(cfg.max_ep_len, cfg.hidden)
        self.embed_return = nn.Linear(1, cfg.hidden)
        self.embed_state = nn.Linear(cfg.state_dim, cfg.hidden)
        self.embed_action = nn.Linear(cfg.act_dim, cfg.hidden)
        self.embed_ln = nn.LayerNorm(cfg.hidden, eps=cfg.ln_eps)
        self.blocks = nn.ModuleList(Block(cfg) for _ in range(cfg.n_layer))
        self.ln_f = nn.LayerNorm(cfg.hidden, eps=cfg.ln_eps)
        self.predict_return = nn.Linear(cfg.hidden, 1)
        self.predict_state = nn.Linear(cfg.hidden, cfg.state_dim)
        self.predict_action = nn.Sequential(nn.Linear(cfg.hidden, cfg.act_dim), nn.Tanh())

    def forward(self, states, actions, returns_to_go, timesteps, mask):
        b, t = states.shape[:2]
        time = self.embed_timestep(timesteps)
        s = self.embed_state(states) + time
        a = self.embed_action(actions) + time
        r = self.embed_return(returns_to_go) + time

        # (R_1, s_1, a_1, R_2, s_2, a_2, ...)
        x = torch.stack((r, s, a), dim=1).permute(0, 2, 1, 3).reshape(b, 3 * t, -1)
        x = self.embed_ln(x)
        pad = torch.stack((mask, mask, mask), dim=1).permute(0, 2, 1).reshape(b, 3 * t) > 0
        for block in self.blocks:
            x = block(x, pad)
        x = self.ln_f(x)

        x = x.reshape(b, t, 3, -1).permute(0, 2, 1, 3)
        return_preds = self.predict_return(x[:, 2])
        state_preds = self.predict_state(x[:, 2])
        action_preds = self.predict_action(x[:, 1])
        keep = mask.unsqueeze(-1).to(x.dtype)
        return state_preds * keep, action_preds * keep, return_preds * keep


def make(seed=0):
    torch.manual_seed(seed)
    model = DecisionTransformer(Config())
    for name, p in model.named_parameters():
        if "ln" in name:
            nn.init.normal_(p, 1.0 if name.endswith("weight") else 0.0, 0.1)
    return model.eval()


def load(model, reference):
    pass


def inputs(seed):
    rng = np.random.default_rng(seed)
    cfg = Config()
    b, t = 5, cfg.context
    start = rng.integers(0, cfg.max_ep_len - t, size=(b, 1))
    mask = np.ones((b, t), np.int64)
    mask[1, :2] = 0
    mask[3, :4] = 0
    live = mask[..., None].astype(np.float32)
    states = rng.normal(size=(b, t, cfg.state_dim)).astype(np.float32) * live
    actions = rng.uniform(-1, 1, size=(b, t, cfg.act_dim)).astype(np.float32) * live
    rtg = (rng.uniform(0.5, 3.6, size=(b, t, 1))).astype(np.float32) * live
    timesteps = (start + np.arange(t)) * mask
    return states, actions, rtg, timesteps.astype(np.int64), mask
