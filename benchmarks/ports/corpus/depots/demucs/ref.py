"""Demucs (Defossez et al. 2019), two layers deep: gated convolutions around a bidirectional LSTM."""

import math

import numpy as np
import torch
from torch import nn

FRAMEWORK = "torch"
AUDIO, SOURCES, CHANNELS, GROWTH, DEPTH = 2, 2, 6, 2, 2
KERNEL, STRIDE, CONTEXT, LENGTH = 8, 4, 3, 160


class BLSTM(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.lstm = nn.LSTM(bidirectional=True, num_layers=1, hidden_size=dim, input_size=dim)
        self.linear = nn.Linear(2 * dim, dim)

    def forward(self, x):
        x = x.permute(2, 0, 1)
        x = self.lstm(x)[0]
        x = self.linear(x)
        return x.permute(1, 2, 0)


def center_trim(tensor, reference):
    """Trims the last axis to the reference's, as much on either side."""
    delta = tensor.size(-1) - reference.size(-1)
    if delta:
        tensor = tensor[..., delta // 2 : -(delta - delta // 2)]
    return tensor


class Demucs(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.ModuleList(), nn.ModuleList()
        in_channels, channels = AUDIO, CHANNELS
        for index in range(DEPTH):
            encode = [
                nn.Conv1d(in_channels, channels, KERNEL, STRIDE),
                nn.ReLU(),
                nn.Conv1d(channels, 2 * channels, 1),
                nn.GLU(dim=1),
            ]
            self.encoder.append(nn.Sequential(*encode))
            out_channels = in_channels if index > 0 else SOURCES * AUDIO
            decode = [
                nn.Conv1d(channels, 2 * channels, CONTEXT),
                nn.GLU(dim=1),
                nn.ConvTranspose1d(channels, out_channels, KERNEL, STRIDE),
            ]
            if index > 0:
                decode.append(nn.ReLU())
            self.decoder.insert(0, nn.Sequential(*decode))
            in_channels, channels = channels, GROWTH * channels
        self.lstm = BLSTM(in_channels)

    def forward(self, mix):
        x = mix
        mono = mix.mean(dim=1, keepdim=True)
        mean = mono.mean(dim=-1, keepdim=True)
        std = mono.std(dim=-1, keepdim=True)
        x = (x - mean) / (1e-5 + std)
        saved = []
        for encode in self.encoder:
            x = encode(x)
            saved.append(x)
        x = self.lstm(x)
        for decode in self.decoder:
            skip = center_trim(saved.pop(-1), x)
            x = decode(x + skip)
        x = x * std + mean
        return x.view(x.size(0), SOURCES, AUDIO, x.size(-1))


def rescale(model, reference=0.4):
    for sub in model.modules():
        if isinstance(sub, (nn.Conv1d, nn.ConvTranspose1d)):
            scale = (sub.weight.std().detach() / reference) ** 0.5
            sub.weight.data /= scale
            sub.bias.data /= scale


def make():
    torch.manual_seed(101)
    model = Demucs()
    rescale(model)
    with torch.no_grad():
        for p in model.lstm.parameters():
            p.normal_(0, 1.2 / math.sqrt(p.shape[-1]))
    return model.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    t = np.arange(LENGTH)
    tone = np.sin(t * rng.uniform(0.05, 0.5, (4, 2, 1)) + rng.uniform(0, 6, (4, 2, 1)))
    loudness = rng.uniform(0.3, 2.0, (4, 1, 1))
    return ((loudness * tone + 0.2 * rng.normal(size=(4, AUDIO, LENGTH)) + 0.1).astype("float32"),)
