"""Tagger in torch: causal dilated convolutions, linear-chain CRF with mask, triplet loss on pooled features."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class Causal(nn.Module):
    """Gated as in WaveNet, with a residual and a skip connection."""

    def __init__(self, width, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv = nn.Conv1d(width, 2 * width, kernel_size=3, dilation=dilation)
        self.residual = nn.Conv1d(width, width, 1)
        self.skip = nn.Conv1d(width, width, 1)

    def forward(self, x):
        a, b = self.conv(F.pad(x, (self.pad, 0))).chunk(2, dim=1)
        h = torch.tanh(a) * torch.sigmoid(b)
        return x + self.residual(h), self.skip(h)


class Tagger(nn.Module):
    def __init__(self, features=4, width=6, tags=5):
        super().__init__()
        self.inputs = nn.Conv1d(features, width, 1)
        self.blocks = nn.ModuleList(Causal(width, d) for d in (1, 2))
        self.emit = nn.Linear(width, tags)
        self.transitions = nn.Parameter(0.5 * torch.randn(tags, tags))
        self.start = nn.Parameter(0.5 * torch.randn(tags))
        self.end = nn.Parameter(0.5 * torch.randn(tags))

    def forward(self, signal, tags, mask):
        x = self.inputs(signal.transpose(1, 2))
        skips = 0
        for block in self.blocks:
            x, skip = block(x)
            skips = skips + skip
        hidden = F.relu(skips).transpose(1, 2)
        emissions = self.emit(hidden)
        score = self.score(emissions, tags, mask)
        partition = self.partition(emissions, mask)
        vectors = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return emissions, partition, partition - score, triplet(vectors)

    def partition(self, emissions, mask):
        alpha = self.start + emissions[:, 0]
        for t in range(1, emissions.shape[1]):
            inner = alpha[:, :, None] + self.transitions + emissions[:, t, None, :]
            step = torch.logsumexp(inner, dim=1)
            alpha = torch.where(mask[:, t, None] > 0, step, alpha)
        return torch.logsumexp(alpha + self.end, dim=1)

    def score(self, emissions, tags, mask):
        picked = emissions.gather(2, tags[..., None]).squeeze(2)
        moves = self.transitions[tags[:, :-1], tags[:, 1:]]
        total = self.start[tags[:, 0]] + (picked * mask).sum(1) + (moves * mask[:, 1:]).sum(1)
        last = mask.sum(1).long() - 1
        return total + self.end[tags.gather(1, last[:, None]).squeeze(1)]


def triplet(v, margin=0.2):
    """Anchors are even rows and positives the odd ones after them, negatives the next pair's."""
    v = F.normalize(v, dim=-1)
    anchor, positive = v[0::2], v[1::2]
    negative = positive.roll(-1, dims=0)
    near = (anchor - positive).norm(dim=-1)
    far = (anchor - negative).norm(dim=-1)
    return F.relu(near - far + margin)


def make():
    torch.manual_seed(10)
    net = Tagger()
    for p in net.parameters():
        p.data *= 1.5
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=(6, 8, 4)).astype("float32")
    tags = rng.integers(0, 5, size=(6, 8))
    lengths = np.array([8, 5, 7, 3, 6, 8])
    mask = (np.arange(8)[None] < lengths[:, None]).astype("float32")
    return signal, tags, mask
