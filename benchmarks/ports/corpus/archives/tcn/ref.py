"""Log-mel front end, weight-normalised causal TCN, CTC log-softmax."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import parametrizations

FRAMEWORK = "torch"
FFT, HOP, MELS, CH, CLASSES = 64, 16, 10, 12, 7


def mel_filters():
    hz = np.linspace(0, 4000, FFT // 2 + 1)
    to_mel = lambda f: 2595 * np.log10(1 + f / 700)
    points = 700 * (10 ** (np.linspace(0, to_mel(4000), MELS + 2) / 2595) - 1)
    up = (hz[:, None] - points[:-2]) / (points[1:-1] - points[:-2])
    down = (points[2:] - hz[:, None]) / (points[2:] - points[1:-1])
    return np.maximum(0, np.minimum(up, down)).astype("float32")


class TemporalBlock(nn.Module):
    def __init__(self, cin, cout, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv1 = parametrizations.weight_norm(nn.Conv1d(cin, cout, 3, dilation=dilation))
        self.conv2 = parametrizations.weight_norm(nn.Conv1d(cout, cout, 3, dilation=dilation))
        self.skip = nn.Conv1d(cin, cout, 1) if cin != cout else None

    def forward(self, x):
        y = F.relu(self.conv1(F.pad(x, (self.pad, 0))))
        y = F.relu(self.conv2(F.pad(y, (self.pad, 0))))
        return F.relu(y + (x if self.skip is None else self.skip(x)))


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mel", torch.from_numpy(mel_filters()))
        self.block1, self.block2 = TemporalBlock(MELS, CH, 1), TemporalBlock(CH, CH, 2)
        self.out = nn.Linear(CH, CLASSES)

    def forward(self, wave):
        spec = torch.stft(wave, FFT, HOP, window=torch.hann_window(FFT), center=True, pad_mode="reflect", return_complex=True)
        power = spec.abs().pow(2).transpose(1, 2)
        logmel = torch.log(torch.clamp(power @ self.mel, min=1e-5))
        logmel = (logmel - logmel.mean(1, keepdim=True)) / (logmel.std(1, keepdim=True) + 1e-3)
        y = self.block2(self.block1(logmel.transpose(1, 2))).transpose(1, 2)
        return torch.log_softmax(self.out(y), dim=-1)


def make():
    torch.manual_seed(10)
    net = Recogniser()
    for b in (net.block1, net.block2):
        for c in (b.conv1, b.conv2):
            g = c.parametrizations.weight.original0
            g.data.mul_(torch.rand_like(g) + 0.7)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    t = np.arange(256) / 8000
    wave = np.sin(2 * np.pi * rng.uniform(200, 2500, size=(3, 1)) * t) + 0.3 * rng.normal(size=(3, 256))
    return wave.astype("float32")
