"""Bidirectional GRU encoder, GRU decoder with additive attention, label-smoothed loss."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class Additive(nn.Module):
    def __init__(self, query, memory, size):
        super().__init__()
        self.w = nn.Linear(query, size, bias=False)
        self.u = nn.Linear(memory, size)
        self.v = nn.Linear(size, 1, bias=False)

    def forward(self, query, memory, lengths):
        energy = self.v(torch.tanh(self.w(query).unsqueeze(1) + self.u(memory))).squeeze(-1)
        steps = torch.arange(memory.shape[1])
        energy = energy.masked_fill(steps[None] >= lengths[:, None], float("-inf"))
        weights = torch.softmax(energy, dim=-1)
        return torch.bmm(weights.unsqueeze(1), memory).squeeze(1), weights


class Seq2Seq(nn.Module):
    def __init__(self, source=19, target=13, embed=7, hidden=10):
        super().__init__()
        self.source_embedding = nn.Embedding(source, embed)
        self.target_embedding = nn.Embedding(target, embed)
        self.encoder = nn.GRU(embed, hidden, bidirectional=True, batch_first=True)
        self.bridge = nn.Linear(2 * hidden, hidden)
        self.attention = Additive(hidden, 2 * hidden, 8)
        self.cell = nn.GRUCell(embed + 2 * hidden, hidden)
        self.readout = nn.Linear(hidden + 2 * hidden + embed, target)

    def forward(self, source, lengths, target):
        memory, final = self.encoder(self.source_embedding(source))
        state = torch.tanh(self.bridge(torch.cat([final[0], final[1]], dim=-1)))
        scores, attentions = [], []
        for t in range(target.shape[1] - 1):
            word = self.target_embedding(target[:, t])
            context, weights = self.attention(state, memory, lengths)
            state = self.cell(torch.cat([word, context], dim=-1), state)
            scores.append(self.readout(torch.cat([state, context, word], dim=-1)))
            attentions.append(weights)
        scores = torch.stack(scores, dim=1)
        loss = F.cross_entropy(
            scores.flatten(0, 1),
            target[:, 1:].flatten(),
            ignore_index=0,
            label_smoothing=0.1,
        )
        return F.log_softmax(scores, dim=-1), torch.stack(attentions, dim=1), loss


def make():
    torch.manual_seed(4)
    net = Seq2Seq().eval()
    for p in net.parameters():
        p.data *= 1.6
    return net


def inputs(seed):
    rng = np.random.default_rng(seed)
    source = rng.integers(1, 19, size=(4, 7))
    lengths = np.array([7, 5, 3, 6])
    target = rng.integers(1, 13, size=(4, 6))
    target[1, 4:] = 0
    target[2, 5:] = 0
    return source, lengths, target
