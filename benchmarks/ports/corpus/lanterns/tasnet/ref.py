"""Conv-TasNet: time-domain separation of two speakers."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class GlobalNorm(nn.Module):
    """gLN: statistics over channels and time."""

    def __init__(self, channels, eps=1e-8):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(1, channels, 1))
        self.beta = nn.Parameter(torch.zeros(1, channels, 1))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(dim=(1, 2), keepdim=True)
        var = ((x - mean) ** 2).mean(dim=(1, 2), keepdim=True)
        return self.gamma * (x - mean) / torch.sqrt(var + self.eps) + self.beta


class TemporalBlock(nn.Module):
    def __init__(self, bottleneck, hidden, skip, kernel, dilation):
        super().__init__()
        self.expand = nn.Conv1d(bottleneck, hidden, 1)
        self.act1 = nn.PReLU()
        self.norm1 = GlobalNorm(hidden)
        self.depthwise = nn.Conv1d(hidden, hidden, kernel, dilation=dilation, groups=hidden,
                                   padding=dilation * (kernel - 1) // 2)
        self.act2 = nn.PReLU()
        self.norm2 = GlobalNorm(hidden)
        self.res = nn.Conv1d(hidden, bottleneck, 1)
        self.skip = nn.Conv1d(hidden, skip, 1)

    def forward(self, x):
        y = self.norm1(self.act1(self.expand(x)))
        y = self.norm2(self.act2(self.depthwise(y)))
        return x + self.res(y), self.skip(y)


class ConvTasNet(nn.Module):
    def __init__(self, filters=16, length=8, bottleneck=12, hidden=20, skip=12, kernel=3,
                 blocks=3, repeats=2, speakers=2):
        super().__init__()
        self.filters, self.speakers = filters, speakers
        self.encoder = nn.Conv1d(1, filters, length, stride=length // 2, bias=False)
        self.norm = GlobalNorm(filters)
        self.bottleneck = nn.Conv1d(filters, bottleneck, 1)
        self.tcn = nn.ModuleList(
            TemporalBlock(bottleneck, hidden, skip, kernel, 2 ** b)
            for _ in range(repeats) for b in range(blocks))
        self.act = nn.PReLU()
        self.mask = nn.Conv1d(skip, speakers * filters, 1)
        self.decoder = nn.ConvTranspose1d(filters, 1, length, stride=length // 2, bias=False)

    def forward(self, mixture):
        code = F.relu(self.encoder(mixture.unsqueeze(1)))
        x = self.bottleneck(self.norm(code))
        total = 0.
        for block in self.tcn:
            x, skip = block(x)
            total = total + skip
        mask = torch.sigmoid(self.mask(self.act(total)))
        batch, _, frames = mask.shape
        mask = mask.view(batch, self.speakers, self.filters, frames)
        masked = mask * code.unsqueeze(1)
        waves = self.decoder(masked.reshape(batch * self.speakers, self.filters, frames))
        return waves.view(batch, self.speakers, -1)


def make(seed=0):
    torch.manual_seed(seed)
    net = ConvTasNet()
    for m in net.modules():
        if isinstance(m, GlobalNorm):
            nn.init.uniform_(m.gamma, 0.6, 1.4)
            nn.init.normal_(m.beta, std=0.2)
        elif isinstance(m, nn.PReLU):
            nn.init.uniform_(m.weight, 0.1, 0.4)
        elif isinstance(m, (nn.Conv1d, nn.ConvTranspose1d)):
            nn.init.xavier_normal_(m.weight)
            if m.bias is not None:
                nn.init.normal_(m.bias, std=0.1)
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(160) / 160
    f = rng.uniform(3, 30, size=(4, 2, 1))
    return (np.sin(2 * np.pi * f * t).sum(1) + 0.1 * rng.normal(size=(4, 160))).astype("float32")
