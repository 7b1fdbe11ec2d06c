"""Tacotron 2's decoder: prenet with dropout, location sensitive attention, two LSTM cells."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
MODE = "train"
MEL, PRE, MEM, ATT, HID, FILT, K = 6, 12, 10, 8, 14, 4, 5


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.pre1, self.pre2 = nn.Linear(MEL, PRE), nn.Linear(PRE, PRE)
        self.att_rnn = nn.LSTMCell(PRE + MEM, HID)
        self.query, self.memory = nn.Linear(HID, ATT, bias=False), nn.Linear(MEM, ATT, bias=False)
        self.loc_conv = nn.Conv1d(2, FILT, K, padding=K // 2, bias=False)
        self.loc_dense = nn.Linear(FILT, ATT, bias=False)
        self.v = nn.Linear(ATT, 1)
        self.dec_rnn = nn.LSTMCell(HID + MEM, HID)
        self.mel, self.gate = nn.Linear(HID + MEM, MEL), nn.Linear(HID + MEM, 1)

    def forward(self, memory, frames, mask):
        b, n, _ = memory.shape
        h1, c1, h2, c2 = (memory.new_zeros(b, HID) for _ in range(4))
        weights, cumulative = memory.new_zeros(b, n), memory.new_zeros(b, n)
        context = memory.new_zeros(b, MEM)
        keys = self.memory(memory)
        mels, gates = [], []
        for t in range(frames.shape[1]):
            x = F.dropout(F.relu(self.pre1(frames[:, t])), 0.5, training=True)
            x = F.dropout(F.relu(self.pre2(x)), 0.5, training=True)
            h1, c1 = self.att_rnn(torch.cat([x, context], -1), (h1, c1))
            loc = self.loc_conv(torch.stack([weights, cumulative], 1)).transpose(1, 2)
            energy = self.v(torch.tanh(self.query(h1)[:, None] + keys + self.loc_dense(loc))).squeeze(-1)
            weights = F.softmax(energy.masked_fill(mask == 0, float("-inf")), dim=1)
            cumulative = cumulative + weights
            context = (weights[:, :, None] * memory).sum(1)
            h2, c2 = self.dec_rnn(torch.cat([h1, context], -1), (h2, c2))
            out = torch.cat([h2, context], -1)
            mels.append(self.mel(out))
            gates.append(self.gate(out))
        return torch.stack(mels, 1), torch.sigmoid(torch.cat(gates, 1))


def make():
    torch.manual_seed(8)
    return Decoder()


def inputs(seed):
    rng = np.random.default_rng(seed)
    mask = (np.arange(9)[None] < np.array([9, 6, 7])[:, None]).astype("float32")
    return rng.normal(size=(3, 9, MEM)).astype("float32"), rng.normal(size=(3, 4, MEL)).astype("float32"), mask
