"""ON-LSTM language model (Shen et al., 2019, Ordered Neurons). PyTorch."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
VOCAB, EMB, HID, CHUNK, STEPS = 20, 8, 12, 4, 5


def cumax(x):
    return torch.cumsum(torch.softmax(x, dim=-1), dim=-1)


class ONLSTMCell(nn.Module):
    def __init__(self, input_size, hidden_size, chunk_size):
        super().__init__()
        self.hidden_size, self.chunk_size = hidden_size, chunk_size
        self.n_chunk = hidden_size // chunk_size
        self.ih = nn.Linear(input_size, 4 * hidden_size + 2 * self.n_chunk)
        self.hh = nn.Linear(hidden_size, 4 * hidden_size + 2 * self.n_chunk)

    def forward(self, transformed_input, hx, cx):
        gates = transformed_input + self.hh(hx)
        cingate, cforgetgate = gates[:, :self.n_chunk * 2].chunk(2, 1)
        outgate, cell, ingate, forgetgate = gates[:, self.n_chunk * 2:].view(
            -1, self.n_chunk * 4, self.chunk_size).chunk(4, 1)
        cingate = 1.0 - cumax(cingate)
        cforgetgate = cumax(cforgetgate)
        distance_cforget = 1.0 - cforgetgate.sum(dim=-1) / self.n_chunk
        cingate = cingate[:, :, None]
        cforgetgate = cforgetgate[:, :, None]
        ingate = torch.sigmoid(ingate)
        forgetgate = torch.sigmoid(forgetgate)
        cell = torch.tanh(cell)
        outgate = torch.sigmoid(outgate)
        overlap = cforgetgate * cingate
        forgetgate = forgetgate * overlap + (cforgetgate - overlap)
        ingate = ingate * overlap + (cingate - overlap)
        cy = forgetgate * cx + ingate * cell
        hy = outgate * torch.tanh(cy)
        return hy.view(-1, self.hidden_size), cy, distance_cforget


class ONLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Embedding(VOCAB, EMB)
        self.cells = nn.ModuleList([ONLSTMCell(EMB, HID, CHUNK), ONLSTMCell(HID, EMB, CHUNK)])
        self.decoder = nn.Linear(EMB, VOCAB)
        self.decoder.weight = self.encoder.weight

    def forward(self, tokens):
        x = self.encoder(tokens)
        B = tokens.shape[0]
        dist = []
        for cell in self.cells:
            hx = x.new_zeros(B, cell.hidden_size)
            cx = x.new_zeros(B, cell.n_chunk, cell.chunk_size)
            pre = cell.ih(x)
            outs, ds = [], []
            for t in range(x.shape[1]):
                hx, cx, d = cell(pre[:, t], hx, cx)
                outs.append(hx)
                ds.append(d)
            x = torch.stack(outs, dim=1)
            dist.append(torch.stack(ds, dim=1))
        return self.decoder(x), torch.stack(dist)


def make():
    model = ONLSTM()
    rs = np.random.RandomState(3)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rs.randn(*p.shape) * 0.6))
    return model.eval()


def inputs(seed):
    return (np.random.RandomState(seed).randint(0, VOCAB, (4, STEPS)).astype("int64"),)
