"""Conv-TasNet (Luo & Mesgarani, 2019), small, non-causal."""
import numpy as np
import torch
import torch.nn as nn

FRAMEWORK = "torch"
EPS = 1e-8


class GlobalLayerNorm(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(1, channels, 1))
        self.beta = nn.Parameter(torch.zeros(1, channels, 1))

    def forward(self, y):
        mean = y.mean(dim=(1, 2), keepdim=True)
        var = ((y - mean) ** 2).mean(dim=(1, 2), keepdim=True)
        return self.gamma * (y - mean) / torch.sqrt(var + EPS) + self.beta


class ChannelwiseLayerNorm(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(1, channels, 1))
        self.beta = nn.Parameter(torch.zeros(1, channels, 1))

    def forward(self, y):
        mean = y.mean(dim=1, keepdim=True)
        var = y.var(dim=1, keepdim=True, unbiased=False)
        return self.gamma * (y - mean) / torch.sqrt(var + EPS) + self.beta


class TemporalBlock(nn.Module):
    def __init__(self, b, h, p, dilation):
        super().__init__()
        self.expand = nn.Conv1d(b, h, 1)
        self.act1, self.norm1 = nn.PReLU(), GlobalLayerNorm(h)
        self.depthwise = nn.Conv1d(h, h, p, padding=(p - 1) * dilation // 2, dilation=dilation, groups=h)
        self.act2, self.norm2 = nn.PReLU(), GlobalLayerNorm(h)
        self.res = nn.Conv1d(h, b, 1)
        self.skip = nn.Conv1d(h, b, 1)

    def forward(self, x):
        y = self.norm1(self.act1(self.expand(x)))
        y = self.norm2(self.act2(self.depthwise(y)))
        return x + self.res(y), self.skip(y)


class ConvTasNet(nn.Module):
    def __init__(self, n=24, l=16, b=12, h=20, p=3, x=3, r=2, c=2):
        super().__init__()
        self.n, self.c = n, c
        self.encoder = nn.Conv1d(1, n, l, stride=l // 2, bias=False)
        self.norm = ChannelwiseLayerNorm(n)
        self.bottleneck = nn.Conv1d(n, b, 1)
        self.blocks = nn.ModuleList([TemporalBlock(b, h, p, 2 ** i) for _ in range(r) for i in range(x)])
        self.out_act = nn.PReLU()
        self.mask = nn.Conv1d(b, c * n, 1)
        self.decoder = nn.ConvTranspose1d(n, 1, l, stride=l // 2, bias=False)

    def forward(self, wav):                                   # B, samples
        w = torch.relu(self.encoder(wav.unsqueeze(1)))        # B N K
        x = self.bottleneck(self.norm(w))
        total = 0.0
        for block in self.blocks:
            x, skip = block(x)
            total = total + skip
        m = torch.sigmoid(self.mask(self.out_act(total)))
        m = m.view(wav.shape[0], self.c, self.n, -1)
        masked = (w.unsqueeze(1) * m).flatten(0, 1)
        return self.decoder(masked).view(wav.shape[0], self.c, -1)


def make(seed=21):
    torch.manual_seed(seed)
    net = ConvTasNet()
    for name, p in net.named_parameters():
        if name.endswith("gamma"):
            nn.init.normal_(p, 1.0, 0.3)
        elif p.numel() == 1 and p.dim() == 1:
            nn.init.uniform_(p, 0.1, 0.4)
        elif name.endswith(("beta", "bias")):
            nn.init.normal_(p, 0, 0.2)
        else:
            nn.init.normal_(p, 0, 1.2 / p[0].numel() ** 0.5)
    return net.eval()


def inputs(seed):
    r = np.random.default_rng(seed)
    t = np.arange(240) / 8000.0
    f = r.uniform(150, 900, (4, 2, 3, 1))
    s = (r.uniform(0.2, 1, f.shape) * np.sin(2 * np.pi * f * t + r.uniform(0, 6.28, f.shape))).sum((1, 2))
    return (s + 0.1 * r.standard_normal(s.shape)).astype(np.float32)
