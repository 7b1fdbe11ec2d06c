"""LSTNet for PyTorch."""
import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"


class LSTNet(nn.Module):
    def __init__(self, n_series=6, kernel=6, channels=10, hidden=12, skip=5, skip_hidden=4, ar=8):
        super().__init__()
        self.skip, self.ar = skip, ar
        # the convolution spans all series, so it is a 1-d one with series as channels
        self.conv = nn.Conv1d(n_series, channels, kernel)
        self.rnn = nn.GRU(channels, hidden, batch_first=True)
        self.skip_rnn = nn.GRU(channels, skip_hidden, batch_first=True)
        self.fc = nn.Linear(hidden + skip * skip_hidden, n_series)
        self.linear = nn.Linear(ar, 1)

    def forward(self, x):
        B, T, S = x.shape
        norm = x.abs().amax(dim=1, keepdim=True) + 1e-3
        x = x / norm

        feat = self.conv(x.permute(0, 2, 1)).relu()          # B, C, T'
        seq = feat.permute(0, 2, 1)
        _, last = self.rnn(seq)

        pt = feat.size(2) // self.skip
        folded = feat[:, :, -pt * self.skip:].reshape(B, feat.size(1), pt, self.skip)
        folded = folded.permute(0, 3, 2, 1).reshape(B * self.skip, pt, -1)
        _, last_skip = self.skip_rnn(folded)

        h = torch.cat([last[0], last_skip[0].reshape(B, -1)], dim=1)
        out = self.fc(h)

        recent = x[:, -self.ar:, :].permute(0, 2, 1).reshape(B * S, self.ar)
        out = out + self.linear(recent).reshape(B, S)
        return out * norm.squeeze(1)


def make(seed=12):
    torch.manual_seed(seed)
    return LSTNet().eval()


def inputs(seed=0):
    r = np.random.default_rng(seed)
    t = np.arange(30)[None, :, None]
    level = r.uniform(0.5, 4, (6, 1, 6))
    wave = np.sin(2 * np.pi * (t / 5 + r.random((6, 1, 6))))
    return ((level * (1 + 0.5 * wave + 0.02 * t) + 0.1 * r.normal(size=(6, 30, 6))).astype("float32"),)


def load(ported, original):
    def tensor(v):
        return torch.from_numpy(np.array(v))

    def zrh_to_rzn(w):
        z, r, h = np.split(np.array(w), 3, axis=-1)
        return torch.from_numpy(np.concatenate([r, z, h], axis=-1))

    with torch.no_grad():
        k = tensor(original.conv.kernel)                     # K, S, 1, C
        ported.conv.weight.copy_(k[:, :, 0].permute(2, 1, 0))
        ported.conv.bias.copy_(tensor(original.conv.bias))
        for gru, keras_gru in ((ported.rnn, original.gru), (ported.skip_rnn, original.gru_skip)):
            cell = keras_gru.cell
            gru.weight_ih_l0.copy_(zrh_to_rzn(cell.kernel).T)
            gru.weight_hh_l0.copy_(zrh_to_rzn(cell.recurrent_kernel).T)
            b = zrh_to_rzn(cell.bias)
            gru.bias_ih_l0.copy_(b[0])
            gru.bias_hh_l0.copy_(b[1])
        for lin, dense in ((ported.fc, original.mix), (ported.linear, original.highway)):
            lin.weight.copy_(tensor(dense.kernel).T)
            lin.bias.copy_(tensor(dense.bias))
