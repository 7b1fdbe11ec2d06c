"""V-MoE style ViT (Riquelme et al. 2021): sparse top-2 mixture of experts in place of the MLP."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class SparseMoE(nn.Module):
    def __init__(self, dim, hidden, experts=4, k=2):
        super().__init__()
        self.k = k
        self.router = nn.Linear(dim, experts)
        self.experts = nn.ModuleList([
            nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim)) for _ in range(experts)])

    def forward(self, x):
        shape = x.shape
        tokens = x.reshape(-1, shape[-1])
        logits = self.router(tokens)
        top, chosen = torch.topk(logits, self.k, dim=-1)
        gates = torch.softmax(top, dim=-1)
        out = torch.zeros_like(tokens)
        for e, expert in enumerate(self.experts):
            rows, slot = torch.where(chosen == e)
            if rows.numel() == 0:
                continue
            out.index_add_(0, rows, gates[rows, slot].unsqueeze(1) * expert(tokens[rows]))
        probs = torch.softmax(logits, dim=-1)
        load = F.one_hot(chosen[:, 0], len(self.experts)).float().mean(0)
        balance = len(self.experts) * torch.sum(load * probs.mean(0))
        return out.view(shape), balance


class Block(nn.Module):
    def __init__(self, dim, heads, hidden):
        super().__init__()
        self.ln1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ln2 = nn.LayerNorm(dim)
        self.moe = SparseMoE(dim, hidden)

    def forward(self, x):
        y = self.ln1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        y, balance = self.moe(self.ln2(x))
        return x + y, balance


class VMoE(nn.Module):
    def __init__(self, size=12, patch=4, dim=16, heads=2, depth=2, classes=6):
        super().__init__()
        n = (size // patch) ** 2
        self.patch_embed = nn.Conv2d(3, dim, patch, stride=patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.zeros(1, n + 1, dim))
        self.blocks = nn.ModuleList([Block(dim, heads, 24) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, images):
        x = self.patch_embed(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], dim=1) + self.pos
        aux = 0.0
        for block in self.blocks:
            x, balance = block(x)
            aux = aux + balance
        return self.head(self.norm(x)[:, 0]), aux / len(self.blocks)


def make():
    torch.manual_seed(101)
    model = VMoE()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name in ("cls", "pos"):
                p.normal_(0, 0.5)
            elif "ln" in name or name.startswith("norm"):
                p.add_(0.2 * torch.randn_like(p))
            elif name.endswith("bias"):
                p.normal_(0, 0.2)
            else:
                p.mul_(1.8)
    return model.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(4, 3, 12, 12)).astype(np.float32),)
