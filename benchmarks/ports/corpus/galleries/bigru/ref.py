"""Bidirectional GRU speech encoder with lengths, in torch (packed)."""
import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

FRAMEWORK = "torch"


class Encoder(nn.Module):
    def __init__(self, mels=20, hidden=24, out=16):
        super().__init__()
        self.inp = nn.Linear(mels, 32)
        self.gru = nn.GRU(32, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, out)

    def forward(self, mels, lengths):
        x = torch.relu(self.inp(mels))
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        h, _ = pad_packed_sequence(self.gru(packed)[0], batch_first=True, total_length=mels.shape[1])
        pooled = h.sum(1) / lengths.unsqueeze(1)
        return torch.nn.functional.normalize(self.out(pooled), dim=1)


def make():
    torch.manual_seed(0)
    return Encoder().eval()


def inputs(seed):
    r = np.random.default_rng(seed + 3)
    return (r.normal(size=(5, 15, 20)).astype("float32"), np.array([15, 9, 12, 4, 7]))
