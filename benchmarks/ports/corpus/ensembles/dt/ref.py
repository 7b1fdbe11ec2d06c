"""Decision transformer: GPT-2 blocks over (return, state, action) tokens."""
import math
import numpy as np, torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
S, A, H, HEADS, K, MAXT, BLOCKS = 6, 3, 32, 4, 5, 20, 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(H), nn.LayerNorm(H)
        self.qkv, self.proj = nn.Linear(H, 3 * H), nn.Linear(H, H)
        self.fc, self.out = nn.Linear(H, 4 * H), nn.Linear(4 * H, H)

    def forward(self, x, mask):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.ln1(x)).split(H, -1)
        q, k, v = (z.view(b, t, HEADS, H // HEADS).transpose(1, 2) for z in (q, k, v))
        w = q @ k.transpose(-2, -1) / math.sqrt(H // HEADS)
        w = torch.softmax(w.masked_fill(~mask, float("-inf")), -1)
        y = (w @ v).transpose(1, 2).reshape(b, t, H)
        x = x + self.proj(y)
        return x + self.out(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))


class TorchDT(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Embedding(MAXT, H)
        self.ret, self.state, self.action = nn.Linear(1, H), nn.Linear(S, H), nn.Linear(A, H)
        self.ln = nn.LayerNorm(H)
        self.blocks = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.lnf = nn.LayerNorm(H)
        self.head_a, self.head_s = nn.Linear(H, A), nn.Linear(H, S)

    def forward(self, returns, states, actions, timesteps):
        b, t, _ = states.shape
        time = self.time(timesteps)
        tokens = torch.stack([self.ret(returns) + time, self.state(states) + time, self.action(actions) + time], 2)
        x = self.ln(tokens.reshape(b, 3 * t, H))
        mask = torch.tril(torch.ones(3 * t, 3 * t, dtype=torch.bool))
        for block in self.blocks:
            x = block(x, mask)
        x = self.lnf(x).reshape(b, t, 3, H)
        return {"action": torch.tanh(self.head_a(x[:, :, 1])), "state": self.head_s(x[:, :, 2])}


def make():
    torch.manual_seed(4)
    net = TorchDT().eval()
    with torch.no_grad():
        for n, p in net.named_parameters():
            p.mul_(1.5).add_(0.05 * torch.randn_like(p))
    return net


def inputs(seed):
    r = np.random.default_rng(seed + 4)
    n = lambda *s: r.normal(size=s).astype("float32")
    t = (np.array([[0], [3], [7]]) + np.arange(K)).astype("int64")
    return n(3, K, 1), n(3, K, S), n(3, K, A), t
