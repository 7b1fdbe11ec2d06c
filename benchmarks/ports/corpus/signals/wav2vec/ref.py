"""A small wav2vec 2.0 encoder: strided convolutions, convolutional positions, one layer. torch."""

import numpy as np
import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

FRAMEWORK = "torch"


class FeatureExtractor(nn.Module):
    """Raw audio to frames; the first layer has a group norm with a group for each channel."""

    def __init__(self, channels=24):
        super().__init__()
        self.conv0 = nn.Conv1d(1, channels, 10, stride=5, bias=False)
        self.norm0 = nn.GroupNorm(channels, channels)
        self.conv1 = nn.Conv1d(channels, channels, 3, stride=2, bias=False)
        self.conv2 = nn.Conv1d(channels, channels, 2, stride=2, bias=False)
        self.act = nn.GELU()

    def forward(self, audio):
        x = audio.unsqueeze(1)
        x = self.act(self.norm0(self.conv0(x)))
        x = self.act(self.conv1(x))
        x = self.act(self.conv2(x))
        return x.transpose(1, 2)


class PositionalConv(nn.Module):
    def __init__(self, dim, kernel=8, groups=4):
        super().__init__()
        self.conv = weight_norm(
            nn.Conv1d(dim, dim, kernel, padding=kernel // 2, groups=groups), dim=2
        )
        self.act = nn.GELU()

    def forward(self, x):
        y = self.conv(x.transpose(1, 2))[:, :, :-1]  # an even kernel gives one frame too many
        return self.act(y).transpose(1, 2)


class Encoder(nn.Module):
    def __init__(self, channels=24, dim=40, heads=4, vocab=13):
        super().__init__()
        self.extractor = FeatureExtractor(channels)
        self.feature_norm = nn.LayerNorm(channels)
        self.project = nn.Linear(channels, dim)
        self.positions = PositionalConv(dim)
        self.norm = nn.LayerNorm(dim)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                dim, heads, 80, dropout=0.1, activation="gelu", batch_first=True
            )
            for _ in range(2)
        )
        self.dropout = nn.Dropout(0.1)
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, audio):
        mean = audio.mean(dim=-1, keepdim=True)
        var = audio.var(dim=-1, unbiased=False, keepdim=True)
        audio = (audio - mean) / torch.sqrt(var + 1e-7)
        features = self.feature_norm(self.extractor(audio))
        hidden = self.project(features)
        hidden = self.norm(hidden + self.positions(hidden))
        for layer in self.layers:
            hidden = layer(hidden)
        return self.lm_head(self.dropout(hidden)), features


def make():
    torch.manual_seed(11)
    model = Encoder().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name and name.endswith("weight"):
                parameter.uniform_(0.5, 1.5)
            elif name.endswith("bias"):
                parameter.normal_(0, 0.15)
    return model


def inputs(seed):
    rng = np.random.default_rng(seed)
    t = np.arange(420) / 160
    audio = np.sin(2 * np.pi * t * rng.uniform(2, 30, size=(2, 1))) * 0.02 + 0.01
    return (audio + rng.normal(size=(2, 420)) * 0.01).astype("float32")
