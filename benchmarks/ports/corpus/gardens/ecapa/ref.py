"""ECAPA-TDNN speaker embedding (Desplanques et al. 2020), small, PyTorch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
N_MELS, CH, EMB = 20, 32, 24


class TDNN(nn.Module):
    def __init__(self, cin, cout, k=1, dilation=1):
        super().__init__()
        self.conv = nn.Conv1d(cin, cout, k, dilation=dilation, padding=dilation * (k - 1) // 2)
        self.norm = nn.BatchNorm1d(cout)

    def forward(self, x):
        x = F.relu(self.conv(x))
        return self.norm(x)


class Res2(nn.Module):
    def __init__(self, ch, dilation, scale=4):
        super().__init__()
        self.scale = scale
        self.blocks = nn.ModuleList(
            [TDNN(ch // scale, ch // scale, 3, dilation) for _ in range(scale - 1)])

    def forward(self, x):
        pieces = torch.chunk(x, self.scale, dim=1)
        outs = [pieces[0]]
        for i, block in enumerate(self.blocks):
            if i == 0:
                y = block(pieces[1])
            else:
                y = block(pieces[i + 1] + y)
            outs.append(y)
        return torch.cat(outs, dim=1)


class SE(nn.Module):
    def __init__(self, ch, mid=8):
        super().__init__()
        self.squeeze = nn.Conv1d(ch, mid, 1)
        self.excite = nn.Conv1d(mid, ch, 1)

    def forward(self, x):
        s = x.mean(dim=2, keepdim=True)
        s = F.relu(self.squeeze(s))
        s = torch.sigmoid(self.excite(s))
        return x * s


class SERes2Block(nn.Module):
    def __init__(self, ch, dilation):
        super().__init__()
        self.tdnn1 = TDNN(ch, ch)
        self.res2 = Res2(ch, dilation)
        self.tdnn2 = TDNN(ch, ch)
        self.se = SE(ch)

    def forward(self, x):
        return self.se(self.tdnn2(self.res2(self.tdnn1(x)))) + x


class ASP(nn.Module):
    """Attentive statistics pooling with global context."""

    def __init__(self, ch, mid=16):
        super().__init__()
        self.tdnn = TDNN(ch * 3, mid)
        self.conv = nn.Conv1d(mid, ch, 1)

    @staticmethod
    def stats(x, w, eps=1e-6):
        mu = (w * x).sum(dim=2)
        var = (w * (x - mu.unsqueeze(2)) ** 2).sum(dim=2)
        return mu, torch.sqrt(var.clamp(min=eps))

    def forward(self, x):
        t = x.shape[-1]
        mu, sd = self.stats(x, torch.full_like(x, 1.0 / t))
        ctx = torch.cat([x,
                         mu.unsqueeze(2).expand(-1, -1, t),
                         sd.unsqueeze(2).expand(-1, -1, t)], dim=1)
        e = self.conv(torch.tanh(self.tdnn(ctx)))
        alpha = F.softmax(e, dim=2)
        mu, sd = self.stats(x, alpha)
        return torch.cat([mu, sd], dim=1)


class ECAPA(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = TDNN(N_MELS, CH, 5)
        self.blocks = nn.ModuleList([SERes2Block(CH, d) for d in (2, 3, 4)])
        self.mfa = TDNN(3 * CH, 3 * CH)
        self.asp = ASP(3 * CH)
        self.asp_bn = nn.BatchNorm1d(6 * CH)
        self.fc = nn.Linear(6 * CH, EMB)

    def forward(self, mel):
        x = mel - mel.mean(dim=2, keepdim=True)
        x = self.front(x)
        feats = []
        for b in self.blocks:
            x = b(x)
            feats.append(x)
        x = self.mfa(torch.cat(feats, dim=1))
        x = self.asp_bn(self.asp(x))
        return F.normalize(self.fc(x), dim=1)


def make(seed=3):
    torch.manual_seed(seed)
    net = ECAPA()
    for m in net.modules():
        if isinstance(m, nn.BatchNorm1d):
            nn.init.uniform_(m.weight, 0.6, 1.4)
            nn.init.normal_(m.bias, 0, 0.2)
            m.running_mean.normal_(0.2, 0.2)
            m.running_var.uniform_(0.5, 1.5)
        elif isinstance(m, (nn.Conv1d, nn.Linear)):
            nn.init.kaiming_normal_(m.weight)
            nn.init.normal_(m.bias, 0, 0.2)
    return net.eval()


def inputs(seed=0):
    r = np.random.default_rng(seed)
    t = np.arange(50)
    base = np.sin(t[None, None] * r.uniform(.05, .5, (4, N_MELS, 1)) + r.uniform(0, 6, (4, N_MELS, 1)))
    return ((-4 + 1.5 * base + 0.5 * r.normal(size=base.shape)).astype("float32"),)
