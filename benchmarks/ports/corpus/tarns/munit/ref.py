"""MUNIT (Huang et al., 2018): content code, style code, AdaIN decoder. PyTorch, NCHW."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
WIDTH, STYLE = 4, 4
DIM = 2 * WIDTH


class LayerNorm(nn.Module):
    """Over the whole sample, with one scale and shift for each channel."""

    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(num_features))
        self.beta = nn.Parameter(torch.zeros(num_features))

    def forward(self, x):
        mean = x.view(x.size(0), -1).mean(1).view(-1, 1, 1, 1)
        std = x.view(x.size(0), -1).std(1).view(-1, 1, 1, 1)
        x = (x - mean) / (std + self.eps)
        return x * self.gamma.view(1, -1, 1, 1) + self.beta.view(1, -1, 1, 1)


def instance_norm(x, eps=1e-5):
    mean = x.mean(dim=(2, 3), keepdim=True)
    var = x.var(dim=(2, 3), keepdim=True, unbiased=False)
    return (x - mean) / torch.sqrt(var + eps)


class Conv2dBlock(nn.Module):
    def __init__(self, cin, cout, kernel, stride, padding, norm="none", act="relu"):
        super().__init__()
        self.padding, self.norm, self.act = padding, norm, act
        self.conv = nn.Conv2d(cin, cout, kernel, stride)
        self.ln = LayerNorm(cout) if norm == "ln" else None

    def forward(self, x, adain=None):
        p = self.padding
        x = self.conv(F.pad(x, (p, p, p, p), mode="reflect"))
        if self.norm == "in":
            x = instance_norm(x)
        elif self.norm == "adain":
            bias, weight = adain
            x = instance_norm(x) * weight[:, :, None, None] + bias[:, :, None, None]
        elif self.norm == "ln":
            x = self.ln(x)
        if self.act == "relu":
            x = F.relu(x)
        elif self.act == "tanh":
            x = torch.tanh(x)
        return x


class ResBlock(nn.Module):
    def __init__(self, dim, norm):
        super().__init__()
        self.conv1 = Conv2dBlock(dim, dim, 3, 1, 1, norm, "relu")
        self.conv2 = Conv2dBlock(dim, dim, 3, 1, 1, norm, "none")

    def forward(self, x, adain=(None, None)):
        return x + self.conv2(self.conv1(x, adain[0]), adain[1])


class MUNIT(nn.Module):
    def __init__(self):
        super().__init__()
        self.content = nn.Sequential(
            Conv2dBlock(3, WIDTH, 7, 1, 3, "in"),
            Conv2dBlock(WIDTH, DIM, 4, 2, 1, "in"),
            ResBlock(DIM, "in"))
        self.style = nn.Sequential(
            Conv2dBlock(3, WIDTH, 7, 1, 3),
            Conv2dBlock(WIDTH, DIM, 4, 2, 1),
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(DIM, STYLE, 1))
        self.mlp = nn.Sequential(nn.Linear(STYLE, 16), nn.ReLU(), nn.Linear(16, 4 * DIM))
        self.res = ResBlock(DIM, "adain")
        self.up = Conv2dBlock(DIM, WIDTH, 5, 1, 2, "ln")
        self.last = Conv2dBlock(WIDTH, 3, 7, 1, 3, act="tanh")

    def assign_adain(self, params):
        pairs = []
        for i in range(2):
            part = params[:, 2 * DIM * i:2 * DIM * (i + 1)]
            pairs.append((part[:, :DIM], part[:, DIM:]))
        return pairs

    def forward(self, content_image, style_image):
        c = self.content(content_image)
        s = self.style(style_image).flatten(1)
        x = self.res(c, self.assign_adain(self.mlp(s)))
        x = F.interpolate(x, scale_factor=2, mode="nearest")
        return self.last(self.up(x)), s


def make():
    model = MUNIT()
    rs = np.random.RandomState(19)
    with torch.no_grad():
        for n, p in model.named_parameters():
            fan = p[0].numel() if p.dim() > 1 else 9
            v = rs.randn(*p.shape) * 1.3 / fan ** 0.5
            p.copy_(torch.from_numpy(1 + 0.5 * v if n.endswith("gamma") else v))
    return model.eval()


def inputs(seed):
    rs = np.random.RandomState(seed)
    return rs.randn(4, 3, 16, 16).astype("float32"), (0.5 + rs.randn(4, 3, 16, 16)).astype("float32")
