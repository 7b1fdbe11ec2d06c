"""Decision Transformer (Chen et al. 2021), small, torch."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x, allowed):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in self.qkv(self.ln_1(x)).chunk(3, -1))
        w = q @ k.transpose(-1, -2) / (d // self.heads) ** 0.5
        w = w.masked_fill(~allowed[:, None], -1e9).softmax(-1)
        x = x + self.proj((w @ v).transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln_2(x))


class DecisionTransformer(nn.Module):
    def __init__(self, state_dim=5, act_dim=3, d=16, heads=4, layers=2, max_ep_len=40):
        super().__init__()
        self.d = d
        self.embed_timestep = nn.Embedding(max_ep_len, d)
        self.embed_return = nn.Linear(1, d)
        self.embed_state = nn.Linear(state_dim, d)
        self.embed_action = nn.Linear(act_dim, d)
        self.embed_ln = nn.LayerNorm(d)
        self.blocks = nn.ModuleList(Block(d, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(d)
        self.predict_state = nn.Linear(d, state_dim)
        self.predict_action = nn.Sequential(nn.Linear(d, act_dim), nn.Tanh())
        self.predict_return = nn.Linear(d, 1)

    def forward(self, states, actions, returns_to_go, timesteps, attention_mask):
        b, n = states.shape[:2]
        te = self.embed_timestep(timesteps)
        x = torch.stack([self.embed_return(returns_to_go) + te, self.embed_state(states) + te,
                         self.embed_action(actions) + te], dim=2)
        x = self.embed_ln(x.reshape(b, 3 * n, self.d))
        pad = attention_mask.bool().unsqueeze(-1).expand(b, n, 3).reshape(b, 3 * n)
        causal = torch.ones(3 * n, 3 * n, dtype=torch.bool).tril()
        allowed = causal[None] & pad[:, None, :]
        for blk in self.blocks:
            x = blk(x, allowed)
        x = self.ln_f(x).view(b, n, 3, self.d)
        m = attention_mask.unsqueeze(-1).float()
        return (self.predict_state(x[:, :, 2]) * m, self.predict_action(x[:, :, 1]) * m,
                self.predict_return(x[:, :, 2]) * m)


def make():
    m = DecisionTransformer()
    g = torch.Generator().manual_seed(77)
    with torch.no_grad():
        for name, p in m.named_parameters():
            z = torch.randn(p.shape, generator=g)
            if p.ndim == 2:
                p.copy_(z * (0.5 if "timestep" in name else 1.2 / p.shape[1] ** 0.5))
            elif "ln" in name and name.endswith("weight"):
                p.copy_(1 + 0.25 * z)
            else:
                p.copy_(0.2 * z)
    return m.eval()


def inputs(seed):
    g = np.random.default_rng(seed)
    b, n = 4, 5
    mask = np.ones((b, n), np.int64)
    mask[1, :2] = 0
    mask[3, :1] = 0
    start = g.integers(0, 30, (b, 1))
    return {
        "states": g.normal(size=(b, n, 5)).astype(np.float32),
        "actions": np.tanh(g.normal(size=(b, n, 3))).astype(np.float32),
        "returns_to_go": np.cumsum(g.normal(size=(b, n, 1)), 1).astype(np.float32),
        "timesteps": start + np.arange(n)[None],
        "attention_mask": mask,
    }
