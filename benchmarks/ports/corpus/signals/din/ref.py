"""Deep interest network (Zhou et al. 2018) with Dice, in training mode. torch."""

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
MODE = "train"
ITEMS, CATEGORIES, USERS, K, HISTORY = 40, 8, 12, 8, 9


class Dice(nn.Module):
    """Batch standardised gate between x and alpha x."""

    def __init__(self, size, eps=1e-8):
        super().__init__()
        self.bn = nn.BatchNorm1d(size, eps=eps, affine=False)
        self.alpha = nn.Parameter(torch.randn(size) * 0.3)

    def forward(self, x):
        shape = x.shape
        flat = x.reshape(-1, shape[-1])
        p = torch.sigmoid(self.bn(flat))
        return (p * flat + (1 - p) * self.alpha * flat).reshape(shape)


class LocalActivation(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.fc1 = nn.Linear(4 * size, 16)
        self.dice = Dice(16)
        self.fc2 = nn.Linear(16, 1)

    def forward(self, query, keys, lengths):
        """query (B, D), keys (B, T, D), lengths (B,)"""
        q = query.unsqueeze(1).expand(-1, keys.size(1), -1)
        x = torch.cat([q, keys, q - keys, q * keys], dim=-1)
        scores = self.fc2(self.dice(self.fc1(x))).squeeze(-1)
        mask = torch.arange(keys.size(1)).expand(len(keys), -1) < lengths.unsqueeze(1)
        scores = scores / keys.size(-1) ** 0.5
        scores = scores.masked_fill(~mask, torch.finfo(torch.float32).min)
        weights = torch.softmax(scores, dim=-1)
        return torch.bmm(weights.unsqueeze(1), keys).squeeze(1)


class DIN(nn.Module):
    def __init__(self):
        super().__init__()
        self.item = nn.Embedding(ITEMS, K, padding_idx=0)
        self.category = nn.Embedding(CATEGORIES, K, padding_idx=0)
        self.user = nn.Embedding(USERS, K)
        self.attention = LocalActivation(2 * K)
        self.norm = nn.BatchNorm1d(7 * K)
        self.fc1 = nn.Linear(7 * K, 32)
        self.dice1 = Dice(32)
        self.fc2 = nn.Linear(32, 16)
        self.dice2 = Dice(16)
        self.out = nn.Linear(16, 1)

    def embed(self, item, category):
        return torch.cat([self.item(item), self.category(category)], dim=-1)

    def forward(self, user, item, category, history, history_category, length):
        target = self.embed(item, category)
        past = self.embed(history, history_category)
        interest = self.attention(target, past, length)
        mask = (torch.arange(HISTORY) < length[:, None]).to(past.dtype).unsqueeze(-1)
        average = (past * mask).sum(1) / length[:, None].to(past.dtype)
        x = torch.cat([self.user(user), target, interest, target * average], dim=-1)
        x = self.dice1(self.fc1(self.norm(x)))
        x = self.dice2(self.fc2(x))
        return torch.sigmoid(self.out(x).squeeze(-1))


def make():
    torch.manual_seed(9)
    model = DIN()
    with torch.no_grad():
        model.norm.weight.uniform_(0.5, 1.5)
        model.norm.bias.normal_(0, 0.2)
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 12
    length = rng.integers(2, HISTORY + 1, b)
    keep = np.arange(HISTORY) < length[:, None]
    return {
        "user": rng.integers(0, USERS, b),
        "item": rng.integers(1, ITEMS, b),
        "category": rng.integers(1, CATEGORIES, b),
        "history": np.where(keep, rng.integers(1, ITEMS, (b, HISTORY)), 0),
        "history_category": np.where(keep, rng.integers(1, CATEGORIES, (b, HISTORY)), 0),
        "length": length,
    }
