"""A decision transformer."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
D, H, T, S, A = 32, 4, 6, 11, 3


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1 = nn.LayerNorm(D)
        self.qkv = nn.Linear(D, 3 * D)
        self.proj = nn.Linear(D, D)
        self.ln_2 = nn.LayerNorm(D)
        self.fc1 = nn.Linear(D, 4 * D)
        self.fc2 = nn.Linear(4 * D, D)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.qkv(self.ln_1(x)).chunk(3, dim=-1)
        q, k, v = (t.view(b, n, H, D // H).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, n, D))
        return x + self.fc2(F.gelu(self.fc1(self.ln_2(x)), approximate="tanh"))


class DecisionTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed_time = nn.Embedding(50, D)
        self.embed_return = nn.Linear(1, D)
        self.embed_state = nn.Linear(S, D)
        self.embed_action = nn.Linear(A, D)
        self.ln = nn.LayerNorm(D)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(D, A)

    def forward(self, states, actions, returns, timesteps):
        b = states.shape[0]
        time = self.embed_time(timesteps)
        s = self.embed_state(states) + time
        a = self.embed_action(actions) + time
        r = self.embed_return(returns) + time
        x = torch.stack((r, s, a), dim=1).permute(0, 2, 1, 3).reshape(b, 3 * T, D)
        x = self.ln(x)
        for block in self.blocks:
            x = block(x)
        x = x.reshape(b, T, 3, D).permute(0, 2, 1, 3)
        return torch.tanh(self.head(x[:, 1]))


def make():
    torch.manual_seed(1)
    t = DecisionTransformer().eval()
    with torch.no_grad():
        for p in t.parameters():
            if p.dim() == 1:
                p.add_(0.2 * torch.randn_like(p))
            else:
                p.mul_(1.5)
    return t


def inputs(seed):
    g = np.random.default_rng(seed + 1)
    f = lambda *s: g.normal(size=s).astype("float32")
    return f(4, T, S), f(4, T, A), f(4, T, 1), g.integers(0, 50, (4, T))
