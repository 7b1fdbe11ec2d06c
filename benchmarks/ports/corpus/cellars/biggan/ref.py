import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
CLASSES, ZC, EMB, CH = 6, 4, 5, 8


class CCBN(nn.Module):
    def __init__(self, ch, cond):
        super().__init__()
        self.gain = nn.Linear(cond, ch, bias=False)
        self.bias = nn.Linear(cond, ch, bias=False)
        self.register_buffer("stored_mean", torch.zeros(ch))
        self.register_buffer("stored_var", torch.ones(ch))

    def forward(self, x, y):
        gain = (1 + self.gain(y)).view(y.size(0), -1, 1, 1)
        bias = self.bias(y).view(y.size(0), -1, 1, 1)
        out = F.batch_norm(x, self.stored_mean, self.stored_var, None, None, False, 0.1, 1e-4)
        return out * gain + bias


class GBlock(nn.Module):
    def __init__(self, cin, cout, cond):
        super().__init__()
        self.bn1 = CCBN(cin, cond)
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=1)
        self.bn2 = CCBN(cout, cond)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1)
        self.conv_sc = nn.Conv2d(cin, cout, 1)

    def forward(self, x, y):
        h = F.relu(self.bn1(x, y))
        h = F.interpolate(h, scale_factor=2)
        x = F.interpolate(x, scale_factor=2)
        h = self.conv1(h)
        h = F.relu(self.bn2(h, y))
        h = self.conv2(h)
        return h + self.conv_sc(x)


class SelfAttention(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.ch = ch
        self.theta = nn.Conv2d(ch, ch // 4, 1, bias=False)
        self.phi = nn.Conv2d(ch, ch // 4, 1, bias=False)
        self.g = nn.Conv2d(ch, ch // 2, 1, bias=False)
        self.o = nn.Conv2d(ch // 2, ch, 1, bias=False)
        self.gamma = nn.Parameter(torch.tensor(0.0))

    def forward(self, x):
        b, c, h, w = x.shape
        theta = self.theta(x).view(b, c // 4, h * w)
        phi = F.max_pool2d(self.phi(x), 2).view(b, c // 4, h * w // 4)
        g = F.max_pool2d(self.g(x), 2).view(b, c // 2, h * w // 4)
        beta = F.softmax(torch.bmm(theta.transpose(1, 2), phi), -1)
        o = torch.bmm(g, beta.transpose(1, 2)).view(b, c // 2, h, w)
        return self.gamma * self.o(o) + x


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Linear(CLASSES, EMB, bias=False)
        self.linear = nn.Linear(ZC, 2 * CH * 4 * 4)
        self.blocks = nn.ModuleList([GBlock(2 * CH, CH, EMB + ZC), GBlock(CH, CH, EMB + ZC)])
        self.attn = SelfAttention(CH)
        self.bn = nn.BatchNorm2d(CH, eps=1e-4)
        self.conv = nn.Conv2d(CH, 3, 3, padding=1)

    def forward(self, z, y):
        y = self.shared(y)
        zs = torch.split(z, ZC, 1)
        ys = [torch.cat([y, item], 1) for item in zs[1:]]
        h = self.linear(zs[0])
        h = h.view(h.size(0), -1, 4, 4)
        h = self.blocks[0](h, ys[0])
        h = self.attn(h)
        h = self.blocks[1](h, ys[1])
        return torch.tanh(self.conv(F.relu(self.bn(h))))


def make():
    torch.manual_seed(151)
    m = Generator()
    g = torch.Generator().manual_seed(152)
    with torch.no_grad():
        for n, p in m.state_dict().items():
            if n.endswith("num_batches_tracked"):
                continue
            if n.endswith("var"):
                p.copy_(torch.rand(p.shape, generator=g) + 0.5)
            elif n.endswith("gamma"):
                p.fill_(0.9)
            elif n == "bn.weight":
                p.copy_(torch.rand(p.shape, generator=g) * 0.5 + 0.2)
            elif p.ndim == 1:
                p.copy_(torch.randn(p.shape, generator=g) * 0.3)
            else:
                p.copy_(torch.randn(p.shape, generator=g) * (1.0 / p[0].numel()) ** 0.5)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    z = r.randn(4, 3 * ZC).astype("float32")
    y = np.eye(CLASSES, dtype="float32")[r.randint(0, CLASSES, 4)]
    return z, y
