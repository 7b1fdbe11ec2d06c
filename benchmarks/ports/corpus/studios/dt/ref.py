"""A tiny Decision Transformer: (return, state, action) tokens interleaved, causal attention with padding mask."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
D, NH, L, K, S, A = 24, 3, 2, 5, 7, 3


class TBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.attn = nn.MultiheadAttention(D, NH, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def forward(self, x, mask):
        q = self.ln1(x)
        a, _ = self.attn(q, q, q, attn_mask=mask, need_weights=False)
        x = x + a
        return x + self.mlp(self.ln2(x))


class TorchDT(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Embedding(40, D)
        self.er, self.es, self.ea = nn.Linear(1, D), nn.Linear(S, D), nn.Linear(A, D)
        self.ln = nn.LayerNorm(D)
        self.blocks = nn.ModuleList(TBlock() for _ in range(L))
        self.head = nn.Linear(D, A)

    def forward(self, rtg, states, actions, timesteps, valid):
        b, k = timesteps.shape
        t = self.time(timesteps)
        tokens = torch.stack((self.er(rtg) + t, self.es(states) + t, self.ea(actions) + t), dim=2)
        x = self.ln(tokens.reshape(b, 3 * k, D))
        causal = torch.ones(3 * k, 3 * k, dtype=torch.bool).tril()
        keep = causal & valid.bool().repeat_interleave(3, 1)[:, None, :] | torch.eye(3 * k, dtype=torch.bool)
        mask = torch.zeros(b, 3 * k, 3 * k).masked_fill(~keep, float("-inf")).repeat_interleave(NH, 0)
        for block in self.blocks:
            x = block(x, mask)
        h = x.reshape(b, k, 3, D)
        return torch.tanh(self.head(h[:, :, 1]))


def make():
    torch.manual_seed(7)
    ref = TorchDT().eval()
    with torch.no_grad():
        for p in ref.parameters():
            if p.ndim == 1: p.add_(0.1 * torch.randn_like(p))
    return ref


def inputs(seed):
    rng = np.random.default_rng(seed + 7)
    f = lambda *s: rng.normal(size=s).astype("float32")
    valid = np.ones((4, K), "int64"); valid[1, :2] = 0; valid[3, :1] = 0
    steps = (rng.integers(0, 30, (4, 1)) + np.arange(K)).astype("int64")
    return f(4, K, 1), f(4, K, S), f(4, K, A), steps, valid
