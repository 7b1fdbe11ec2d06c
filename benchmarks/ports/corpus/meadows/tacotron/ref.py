"""Tacotron 2 (Shen et al. 2018), reduced: encoder, location-sensitive attention, teacher-forced decoder."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
SYMBOLS, MELS = 30, 8
TEXT, FRAMES = 11, 6


class Encoder(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.embed = nn.Embedding(SYMBOLS, dim)
        self.convs = nn.ModuleList([nn.Conv1d(dim, dim, 5, padding=2) for _ in range(2)])
        self.norms = nn.ModuleList([nn.BatchNorm1d(dim) for _ in range(2)])
        self.lstm = nn.LSTM(dim, dim // 2, batch_first=True, bidirectional=True)

    def forward(self, text):
        x = self.embed(text).transpose(1, 2)
        for conv, norm in zip(self.convs, self.norms):
            x = F.relu(norm(conv(x)))
        out, _ = self.lstm(x.transpose(1, 2))
        return out


class LocationAttention(nn.Module):
    def __init__(self, query, memory, dim=16, filters=6, kernel=5):
        super().__init__()
        self.query = nn.Linear(query, dim, bias=False)
        self.memory = nn.Linear(memory, dim, bias=False)
        self.location_conv = nn.Conv1d(2, filters, kernel, padding=kernel // 2, bias=False)
        self.location = nn.Linear(filters, dim, bias=False)
        self.score = nn.Linear(dim, 1)

    def forward(self, query, memory, keys, previous, total, mask):
        where = self.location_conv(torch.stack([previous, total], dim=1)).transpose(1, 2)
        energy = self.score(torch.tanh(self.query(query)[:, None] + keys + self.location(where)))
        energy = energy.squeeze(-1).masked_fill(~mask, -1e9)
        weights = torch.softmax(energy, dim=1)
        context = torch.bmm(weights[:, None], memory).squeeze(1)
        return context, weights


class Tacotron(nn.Module):
    def __init__(self, dim=24, hidden=32, prenet=12):
        super().__init__()
        self.hidden = hidden
        self.encoder = Encoder(dim)
        self.prenet = nn.Sequential(
            nn.Linear(MELS, prenet), nn.ReLU(), nn.Linear(prenet, prenet), nn.ReLU()
        )
        self.attention_rnn = nn.LSTMCell(prenet + dim, hidden)
        self.attention = LocationAttention(hidden, dim)
        self.decoder_rnn = nn.LSTMCell(hidden + dim, hidden)
        self.mel = nn.Linear(hidden + dim, MELS)
        self.stop = nn.Linear(hidden + dim, 1)

    def forward(self, text, lengths, mels):
        memory = self.encoder(text)
        keys = self.attention.memory(memory)
        mask = torch.arange(text.shape[1])[None] < lengths[:, None]
        batch = text.shape[0]
        zeros = memory.new_zeros(batch, self.hidden)
        ha, ca, hd, cd = zeros, zeros, zeros, zeros
        context = memory.new_zeros(batch, memory.shape[2])
        weights = memory.new_zeros(batch, text.shape[1])
        total = weights
        go = mels.new_zeros(batch, 1, MELS)
        frames = self.prenet(torch.cat([go, mels[:, :-1]], dim=1))
        out, stops, alignments = [], [], []
        for t in range(mels.shape[1]):
            ha, ca = self.attention_rnn(torch.cat([frames[:, t], context], 1), (ha, ca))
            context, weights = self.attention(ha, memory, keys, weights, total, mask)
            total = total + weights
            hd, cd = self.decoder_rnn(torch.cat([ha, context], 1), (hd, cd))
            features = torch.cat([hd, context], 1)
            out.append(self.mel(features))
            stops.append(self.stop(features))
            alignments.append(weights)
        return torch.stack(out, 1), torch.cat(stops, 1), torch.stack(alignments, 1)


def make(seed=0):
    torch.manual_seed(seed)
    net = Tacotron()
    for name, p in net.named_parameters():
        if p.dim() == 1:
            nn.init.normal_(p, 0, 0.2)
        elif "attention." in name:
            nn.init.normal_(p, 0, 0.6)
        else:
            nn.init.normal_(p, 0, 1.3 / p[0].numel() ** 0.5)
    for norm in net.encoder.norms:
        nn.init.uniform_(norm.weight, 0.6, 1.4)
        norm.running_mean.normal_(0, 0.2)
        norm.running_var.uniform_(0.5, 1.5)
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    lengths = np.array([11, 8, 5, 9])
    text = rng.integers(1, SYMBOLS, size=(4, TEXT))
    text[np.arange(TEXT)[None] >= lengths[:, None]] = 0
    return text, lengths, rng.normal(size=(4, FRAMES, MELS)).astype("float32")
