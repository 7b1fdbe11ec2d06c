"""x-vector in PyTorch."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"
B, T, FEAT, W, EMB, SPK = 4, 30, 8, 10, 12, 6
CONTEXT = [(5, 1), (3, 2), (3, 3), (1, 1)]


def tdnn(cin, cout, k, d):
    return nn.Sequential(
        nn.Conv1d(cin, cout, k, dilation=d),
        nn.ReLU(),
        nn.BatchNorm1d(cout, eps=2e-5))


class StatsPool(nn.Module):
    def forward(self, h, mask):
        m = mask.unsqueeze(1)
        n = m.sum(-1)
        mean = (h * m).sum(-1) / n
        var = ((h - mean.unsqueeze(-1)).pow(2) * m).sum(-1) / n
        std = (var + 1e-5).sqrt()
        return torch.cat([mean, std], dim=1)


class XVector(nn.Module):
    def __init__(self):
        super().__init__()
        widths = [FEAT] + [W] * len(CONTEXT)
        self.frames = nn.Sequential(*[tdnn(i, o, k, d) for i, o, (k, d) in zip(widths, widths[1:], CONTEXT)])
        self.pool = StatsPool()
        self.segment6 = nn.Linear(2 * W, EMB)
        self.bn6 = nn.BatchNorm1d(EMB, eps=2e-5)
        self.segment7 = nn.Linear(EMB, EMB)
        self.bn7 = nn.BatchNorm1d(EMB, eps=2e-5)
        self.output = nn.Linear(EMB, SPK)

    def forward(self, x, mask):
        x = x - x.mean(dim=1, keepdim=True)
        h = self.frames(x.transpose(1, 2))
        cut = (x.size(1) - h.size(2)) // 2
        mask = mask[:, cut:cut + h.size(2)]
        xvec = self.segment6(self.pool(h, mask))
        h = self.bn6(F.relu(xvec))
        h = self.bn7(F.relu(self.segment7(h)))
        return xvec, F.log_softmax(self.output(h), dim=1)


def make():
    torch.manual_seed(6)
    m = XVector()
    with torch.no_grad():
        for p in m.parameters():
            p.normal_(0, 0.3)
        for k in m.modules():
            if isinstance(k, nn.BatchNorm1d):
                k.weight.add_(1)
                k.running_mean.normal_(0, 0.3)
                k.running_var.uniform_(0.5, 1.5)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    mask = np.ones((B, T), "float32")
    for i, n in enumerate([30, 20, 25, 15]):
        mask[i, n:] = 0
    return ((r.randn(B, T, FEAT) + 0.5).astype("float32"), mask)


def load(p, o):
    t = lambda v: torch.from_numpy(np.array(getattr(v, "array", v)))

    def wb(a, b):
        a.weight.copy_(t(b.W))
        a.bias.copy_(t(b.b))

    def bn(a, b):
        a.weight.copy_(t(b.gamma))
        a.bias.copy_(t(b.beta))
        a.running_mean.copy_(t(b.avg_mean))
        a.running_var.copy_(t(b.avg_var))
    with torch.no_grad():
        for a, b in zip(p.frames, o.frames):
            for k in a:
                if isinstance(k, nn.Conv1d):
                    wb(k, b.conv)
                elif isinstance(k, nn.BatchNorm1d):
                    bn(k, b.bn)
        for k in ("segment6", "segment7", "output"):
            wb(getattr(p, k), getattr(o, k))
        bn(p.bn6, o.bn6)
        bn(p.bn7, o.bn7)
