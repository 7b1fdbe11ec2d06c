"""SK unit with CBAM in torch."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
LAYOUT = "NCHW"


def conv_bn_relu(cin, cout, dilation):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=dilation, dilation=dilation, bias=False),
        nn.BatchNorm2d(cout, eps=2e-5),
        nn.ReLU(),
    )


class SelectiveKernel(nn.Module):
    def __init__(self, cin, cout, reduced, dilations=(1, 2)):
        super().__init__()
        self.branches = nn.ModuleList(
            conv_bn_relu(cin, cout, d) for d in dilations
        )
        self.reduce = nn.Linear(cout, reduced, bias=False)
        self.bn = nn.BatchNorm1d(reduced, eps=2e-5)
        self.select = nn.ModuleList(nn.Linear(reduced, cout) for _ in dilations)

    def forward(self, x):
        feats = torch.stack([b(x) for b in self.branches], dim=1)
        s = feats.sum(1).mean(dim=(-2, -1))
        z = F.relu(self.bn(self.reduce(s)))
        attn = torch.stack([fc(z) for fc in self.select], dim=1)
        attn = attn.softmax(dim=1)
        return torch.einsum("bkchw,bkc->bchw", feats, attn)


class CBAM(nn.Module):
    def __init__(self, channels, reduced):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(channels, reduced), nn.ReLU(), nn.Linear(reduced, channels))
        self.conv = nn.Conv2d(2, 1, 7, padding=3, bias=False)
        self.bn = nn.BatchNorm2d(1, eps=2e-5)

    def forward(self, x):
        avg, peak = x.mean((2, 3)), x.amax((2, 3))
        gate = torch.sigmoid(self.mlp(avg) + self.mlp(peak))
        x = x * gate[:, :, None, None]
        pooled = torch.cat([x.amax(1, keepdim=True), x.mean(1, keepdim=True)], dim=1)
        return x * torch.sigmoid(self.bn(self.conv(pooled)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.sk = SelectiveKernel(8, 8, 5)
        self.cbam = CBAM(8, 3)
        self.head = nn.Linear(8, 6)

    def forward(self, x):
        x = F.relu(self.stem(x))
        x = F.relu(x + self.cbam(self.sk(x)))
        return self.head(x.mean(dim=(2, 3)))


def make():
    torch.manual_seed(7)
    net = Net()
    for m in net.modules():
        if isinstance(m, nn.modules.batchnorm._BatchNorm):
            nn.init.uniform_(m.weight, 0.5, 1.5)
            nn.init.normal_(m.bias, 0, 0.2)
            m.running_mean.normal_(0, 0.2)
            m.running_var.uniform_(0.5, 1.5)
    return net.eval()


def inputs(seed):
    return (np.random.default_rng(seed).normal(size=(4, 3, 12, 12)).astype("float32"),)


def load(ported, original):
    def lin(t, c):
        t.weight.data.copy_(torch.from_numpy(c.W.array))
        if t.bias is not None:
            t.bias.data.copy_(torch.from_numpy(c.b.array))

    def bn(t, c):
        for a, b in ((t.weight.data, c.gamma.array), (t.bias.data, c.beta.array),
                     (t.running_mean, c.avg_mean), (t.running_var, c.avg_var)):
            a.copy_(torch.from_numpy(b))

    lin(ported.stem, original.stem)
    lin(ported.sk.branches[0][0], original.sk.conv3)
    bn(ported.sk.branches[0][1], original.sk.bn3)
    lin(ported.sk.branches[1][0], original.sk.conv5)
    bn(ported.sk.branches[1][1], original.sk.bn5)
    lin(ported.sk.reduce, original.sk.squeeze)
    bn(ported.sk.bn, original.sk.bn)
    lin(ported.sk.select[0], original.sk.select_a)
    lin(ported.sk.select[1], original.sk.select_b)
    lin(ported.cbam.mlp[0], original.channel.fc1)
    lin(ported.cbam.mlp[2], original.channel.fc2)
    lin(ported.cbam.conv, original.spatial.conv)
    bn(ported.cbam.bn, original.spatial.bn)
    lin(ported.head, original.fc)
