"""LSTM seq2seq with Bahdanau attention, teacher forcing, in torch."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


class Seq2Seq(nn.Module):
    def __init__(self, vocab=30, e=16, h=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, e)
        self.enc = nn.LSTM(e, h, batch_first=True)
        self.key, self.query, self.score = nn.Linear(h, h), nn.Linear(h, h, bias=False), nn.Linear(h, 1, bias=False)
        self.cell = nn.LSTMCell(e + h, h)
        self.out = nn.Linear(2 * h, vocab)

    def forward(self, src, tgt):
        memory, (h, c) = self.enc(self.emb(src))
        h, c = h[0], c[0]
        keys, pad = self.key(memory), src == 0
        logits = []
        for t in range(tgt.shape[1]):
            energy = self.score(torch.tanh(keys + self.query(h)[:, None])).squeeze(-1)
            weights = torch.softmax(energy.masked_fill(pad, float("-inf")), dim=-1)
            context = torch.einsum("bt,bth->bh", weights, memory)
            h, c = self.cell(torch.cat([self.emb(tgt[:, t]), context], dim=-1), (h, c))
            logits.append(self.out(torch.cat([h, context], dim=-1)))
        return torch.stack(logits, dim=1)


def make():
    torch.manual_seed(0)
    return Seq2Seq().eval()


def inputs(seed):
    r = np.random.default_rng(seed + 4)
    src = r.integers(1, 30, (5, 9))
    for i, n in enumerate((9, 5, 7, 3, 8)):
        src[i, n:] = 0
    return src, r.integers(1, 30, (5, 6))
