"""The generator of HiFi-GAN (Kong et al. 2020), small, without weight norm: mel spectrogram to waveform."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
MELS, CHANNELS = 20, 32
RATES, UP_KERNELS = (4, 2), (8, 4)
RES_KERNELS, DILATIONS = (3, 5), (1, 3)
SLOPE = 0.1


class ResBlock(nn.Module):
    def __init__(self, channels, kernel):
        super().__init__()
        self.convs1 = nn.ModuleList(
            nn.Conv1d(channels, channels, kernel, dilation=d, padding=d * (kernel - 1) // 2) for d in DILATIONS
        )
        self.convs2 = nn.ModuleList(
            nn.Conv1d(channels, channels, kernel, padding=(kernel - 1) // 2) for _ in DILATIONS
        )

    def forward(self, x):
        for c1, c2 in zip(self.convs1, self.convs2):
            xt = F.leaky_relu(x, SLOPE)
            xt = c1(xt)
            xt = F.leaky_relu(xt, SLOPE)
            xt = c2(xt)
            x = xt + x
        return x


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv_pre = nn.Conv1d(MELS, CHANNELS, 7, padding=3)
        self.ups, self.resblocks = nn.ModuleList(), nn.ModuleList()
        width = CHANNELS
        for rate, kernel in zip(RATES, UP_KERNELS):
            self.ups.append(nn.ConvTranspose1d(width, width // 2, kernel, rate, padding=(kernel - rate) // 2))
            width //= 2
            self.resblocks.extend(ResBlock(width, k) for k in RES_KERNELS)
        self.conv_post = nn.Conv1d(width, 1, 7, padding=3)

    def forward(self, mel):
        x = self.conv_pre(mel)
        for i, up in enumerate(self.ups):
            x = F.leaky_relu(x, SLOPE)
            x = up(x)
            xs = 0
            for j in range(len(RES_KERNELS)):
                xs = xs + self.resblocks[i * len(RES_KERNELS) + j](x)
            x = xs / len(RES_KERNELS)
        x = F.leaky_relu(x)
        return torch.tanh(self.conv_post(x))


def make():
    torch.manual_seed(41)
    net = Generator()
    for p in net.parameters():
        nn.init.normal_(p, std=0.1)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    walk = np.cumsum(rng.normal(size=(4, MELS, 11)), axis=2) * 0.4 - 1.0
    return walk.astype("float32")
