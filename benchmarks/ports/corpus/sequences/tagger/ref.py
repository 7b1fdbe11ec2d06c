"""A bidirectional GRU tagger over packed sequences, and a CRF's scores."""
import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

FRAMEWORK = "torch"
V, E, HID, L, B, T = 30, 12, 10, 6, 4, 9


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(V, E, padding_idx=0)
        self.gru = nn.GRU(E, HID, batch_first=True, bidirectional=True)
        self.emit = nn.Linear(2 * HID, L)
        self.start = nn.Parameter(torch.randn(L))
        self.end = nn.Parameter(torch.randn(L))
        self.trans = nn.Parameter(torch.randn(L, L))

    def forward(self, tokens, tags, lengths):
        b, t = tokens.shape
        packed = pack_padded_sequence(self.embed(tokens), lengths.cpu(), batch_first=True, enforce_sorted=False)
        h, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True, total_length=t)
        e = self.emit(h)
        mask = torch.arange(t)[None] < lengths[:, None]
        alpha = self.start + e[:, 0]
        rows = torch.arange(b)
        score = self.start[tags[:, 0]] + e[rows, 0, tags[:, 0]]
        for i in range(1, t):
            step = torch.logsumexp(alpha[:, :, None] + self.trans[None] + e[:, i, None, :], dim=1)
            alpha = torch.where(mask[:, i, None], step, alpha)
            s = self.trans[tags[:, i - 1], tags[:, i]] + e[rows, i, tags[:, i]]
            score = score + s * mask[:, i]
        logz = torch.logsumexp(alpha + self.end, dim=1)
        score = score + self.end[tags[rows, lengths - 1]]
        return e * mask[..., None], logz, logz - score


def make():
    torch.manual_seed(9)
    t = Tagger().eval()
    with torch.no_grad():
        for p in t.gru.parameters():
            p.mul_(1.8)
    return t


def inputs(seed):
    g = np.random.default_rng(seed + 9)
    lengths = np.array([9, 5, 7, 3])
    tokens = g.integers(1, V, (B, T)) * (np.arange(T)[None] < lengths[:, None])
    return tokens, g.integers(0, L, (B, T)), lengths
