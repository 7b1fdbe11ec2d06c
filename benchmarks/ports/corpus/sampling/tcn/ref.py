"""A temporal convolutional network (Bai et al. 2018) over observation histories, in train mode."""
import numpy as np
import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import weight_norm

FRAMEWORK = "torch"
MODE = "train"
OBS, ACTIONS = 4, 5


class Chomp1d(nn.Module):
    def __init__(self, chomp_size):
        super().__init__()
        self.chomp_size = chomp_size

    def forward(self, x):
        return x[:, :, : -self.chomp_size].contiguous()


class TemporalBlock(nn.Module):
    def __init__(self, n_inputs, n_outputs, kernel_size, dilation, dropout):
        super().__init__()
        padding = (kernel_size - 1) * dilation
        self.conv1 = weight_norm(nn.Conv1d(n_inputs, n_outputs, kernel_size, padding=padding, dilation=dilation))
        self.conv2 = weight_norm(nn.Conv1d(n_outputs, n_outputs, kernel_size, padding=padding, dilation=dilation))
        self.net = nn.Sequential(
            self.conv1, Chomp1d(padding), nn.ReLU(), nn.Dropout(dropout),
            self.conv2, Chomp1d(padding), nn.ReLU(), nn.Dropout(dropout),
        )
        self.downsample = nn.Conv1d(n_inputs, n_outputs, 1) if n_inputs != n_outputs else None
        self.relu = nn.ReLU()

    def forward(self, x):
        out = self.net(x)
        res = x if self.downsample is None else self.downsample(x)
        return self.relu(out + res)


class TCNPolicy(nn.Module):
    def __init__(self, channels=(12, 12, 16), kernel_size=3, dropout=0.2):
        super().__init__()
        blocks = []
        sizes = [OBS, *channels]
        for i in range(len(channels)):
            blocks.append(TemporalBlock(sizes[i], sizes[i + 1], kernel_size, 2**i, dropout))
        self.tcn = nn.Sequential(*blocks)
        self.linear = nn.Linear(channels[-1], ACTIONS)

    def forward(self, history):
        y = self.tcn(history.transpose(1, 2))
        return self.linear(y[:, :, -1])


def make():
    torch.manual_seed(13)
    model = TCNPolicy()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("original0"):
                parameter.mul_(1.3 + torch.rand_like(parameter))
    return model.train()


def inputs(seed):
    return np.random.default_rng(seed).normal(size=(6, 20, OBS)).astype("float32")
