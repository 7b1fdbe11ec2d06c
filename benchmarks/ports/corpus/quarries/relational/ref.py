"""Relational deep RL agent (Box-World): entities from a conv map, shared self-attention rounds."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


class MHDPA(nn.Module):
    """Multi-head dot-product attention over entities with normalised q, k, v."""

    def __init__(self, dim, heads, d_head):
        super().__init__()
        self.heads, self.d_head = heads, d_head
        self.to_q = nn.Linear(dim, heads * d_head, bias=False)
        self.to_k = nn.Linear(dim, heads * d_head, bias=False)
        self.to_v = nn.Linear(dim, heads * d_head, bias=False)
        self.norm_q = nn.LayerNorm(d_head)
        self.norm_k = nn.LayerNorm(d_head)
        self.norm_v = nn.LayerNorm(d_head)
        self.g = nn.Sequential(
            nn.Linear(heads * d_head, 64), nn.ReLU(), nn.Linear(64, dim), nn.ReLU()
        )
        self.norm_out = nn.LayerNorm(dim)

    def split(self, x):
        b, n, _ = x.shape
        return x.view(b, n, self.heads, self.d_head).permute(0, 2, 1, 3)

    def forward(self, e):
        q = self.norm_q(self.split(self.to_q(e)))
        k = self.norm_k(self.split(self.to_k(e)))
        v = self.norm_v(self.split(self.to_v(e)))
        logits = torch.einsum("bhid,bhjd->bhij", q, k) * self.d_head ** -0.5
        w = logits.softmax(dim=-1)
        a = torch.einsum("bhij,bhjd->bhid", w, v)
        a = a.permute(0, 2, 1, 3).flatten(2)
        return self.norm_out(e + self.g(a))


class RelationalAgent(nn.Module):
    def __init__(self, n_actions=4, rounds=2):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 2)
        self.conv2 = nn.Conv2d(12, 24, 2)
        self.embed = nn.Linear(26, 32)
        self.attend = MHDPA(32, heads=2, d_head=16)
        self.rounds = rounds
        self.fc = nn.Sequential(nn.Linear(32, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.pi = nn.Linear(48, n_actions)
        self.v = nn.Linear(48, 1)

    def forward(self, obs):
        x = torch.relu(self.conv2(torch.relu(self.conv1(obs))))
        b, _, h, w = x.shape
        rows = torch.linspace(-1, 1, h).view(1, 1, h, 1).expand(b, 1, h, w)
        cols = torch.linspace(-1, 1, w).view(1, 1, 1, w).expand(b, 1, h, w)
        x = torch.cat([x, cols, rows], dim=1)
        e = self.embed(x.flatten(2).transpose(1, 2))
        for _ in range(self.rounds):
            e = self.attend(e)
        pooled = e.max(dim=1).values
        z = self.fc(pooled)
        return {"log_pi": self.pi(z).log_softmax(-1), "value": self.v(z).squeeze(-1)}


def make():
    torch.manual_seed(31)
    net = RelationalAgent()
    for m in net.modules():
        if isinstance(m, nn.LayerNorm):
            nn.init.normal_(m.weight, 1.0, 0.2)
            nn.init.normal_(m.bias, 0.0, 0.1)
        elif isinstance(m, (nn.Linear, nn.Conv2d)):
            nn.init.kaiming_normal_(m.weight)
            if m.bias is not None:
                nn.init.normal_(m.bias, 0.0, 0.1)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    palette = rng.uniform(size=(8, 3))
    palette[0] = 0.86
    board = rng.choice(8, size=(6, 9, 9), p=[0.65] + [0.05] * 7)
    return palette[board].transpose(0, 3, 1, 2).astype(np.float32).copy()
