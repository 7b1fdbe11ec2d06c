"""Noise conditional score network (Song & Ermon 2019), small, plus one annealed Langevin step's drift."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LEVELS = 10


class ConditionalInstanceNorm2dPlus(nn.Module):
    def __init__(self, channels, levels=LEVELS, eps=1e-5):
        super().__init__()
        self.channels, self.eps = channels, eps
        self.norm = nn.InstanceNorm2d(channels, affine=False, eps=eps)
        self.embed = nn.Embedding(levels, channels * 3)

    def forward(self, x, y):
        means = x.mean(dim=(2, 3))
        m = means.mean(dim=-1, keepdim=True)
        v = means.var(dim=-1, keepdim=True)
        means = (means - m) / torch.sqrt(v + self.eps)
        h = self.norm(x)
        gamma, alpha, beta = self.embed(y).chunk(3, dim=-1)
        h = h + means[..., None, None] * alpha[..., None, None]
        return gamma[..., None, None] * h + beta[..., None, None]


class ResidualBlock(nn.Module):
    def __init__(self, cin, cout, resample=None, dilation=1):
        super().__init__()
        self.resample = resample
        self.norm1 = ConditionalInstanceNorm2dPlus(cin)
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=dilation, dilation=dilation)
        self.norm2 = ConditionalInstanceNorm2dPlus(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=dilation, dilation=dilation)
        self.shortcut = nn.Conv2d(cin, cout, 1) if cin != cout or resample else None

    def forward(self, x, y):
        h = self.conv1(F.elu(self.norm1(x, y)))
        h = self.conv2(F.elu(self.norm2(h, y)))
        if self.resample == "down":
            h = F.avg_pool2d(h, 2)
        if self.shortcut is not None:
            x = self.shortcut(x)
            if self.resample == "down":
                x = F.avg_pool2d(x, 2)
        return x + h


class ChainedPool(nn.Module):
    """conditional chained residual pooling, two stages"""

    def __init__(self, c):
        super().__init__()
        self.norms = nn.ModuleList([ConditionalInstanceNorm2dPlus(c) for _ in range(2)])
        self.convs = nn.ModuleList([nn.Conv2d(c, c, 3, padding=1, bias=False) for _ in range(2)])

    def forward(self, x, y):
        x = F.elu(x)
        path = x
        for norm, conv in zip(self.norms, self.convs):
            path = norm(path, y)
            path = F.avg_pool2d(path, kernel_size=5, stride=1, padding=2)
            path = conv(path)
            x = path + x
        return x


class Refine(nn.Module):
    def __init__(self, c_low, c_high, c):
        super().__init__()
        self.low, self.high = nn.Conv2d(c_low, c, 3, padding=1), nn.Conv2d(c_high, c, 3, padding=1)
        self.pool = ChainedPool(c)

    def forward(self, low, high, y):
        size = high.shape[2:]
        low = F.interpolate(self.low(low), size=size, mode="bilinear", align_corners=True)
        return self.pool(low + self.high(high), y)


class NCSN(nn.Module):
    def __init__(self, ch=12):
        super().__init__()
        sigmas = torch.exp(torch.linspace(np.log(2.0), np.log(0.05), LEVELS))
        self.register_buffer("sigmas", sigmas)
        self.begin = nn.Conv2d(1, ch, 3, padding=1)
        self.res1 = ResidualBlock(ch, ch)
        self.res2 = ResidualBlock(ch, 2 * ch, resample="down")
        self.res3 = ResidualBlock(2 * ch, 2 * ch, dilation=2)
        self.refine = Refine(2 * ch, ch, ch)
        self.normalizer = ConditionalInstanceNorm2dPlus(ch)
        self.end = nn.Conv2d(ch, 1, 3, padding=1)

    def score(self, x, y):
        h = 2 * x - 1.0
        h1 = self.res1(self.begin(h), y)
        h2 = self.res2(h1, y)
        h3 = self.res3(h2, y)
        out = self.refine(h3, h1, y)
        out = self.end(F.elu(self.normalizer(out, y)))
        return out / self.sigmas[y].view(-1, 1, 1, 1)

    def forward(self, x, y, noise):
        score = self.score(x, y)
        step = 2e-3 * (self.sigmas[y] / self.sigmas[-1]) ** 2
        step = step[:, None, None, None]
        return score, x + 0.5 * step * score + step.sqrt() * noise


def make():
    torch.manual_seed(70)
    net = NCSN().eval()
    for n, p in net.named_parameters():
        if "embed" in n:
            c = p.shape[1] // 3
            nn.init.normal_(p, 0, .3)
            p.data[:, :2 * c] += 1
        elif n.endswith("bias"):
            nn.init.normal_(p, 0, .2)
        else:
            nn.init.normal_(p, 0, (p[0].numel()) ** -.5)
    return net


def inputs(seed=0):
    g = np.random.default_rng(seed)
    x = g.uniform(0, 1, (5, 1, 16, 16)).astype("float32")
    return x, g.integers(0, LEVELS, 5), g.standard_normal((5, 1, 16, 16)).astype("float32")
