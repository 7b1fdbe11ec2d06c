"""DeepLOB in PyTorch (NCHW)."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
T = 16


def block(cin, c, width):
    return nn.Sequential(
        nn.Conv2d(cin, c, (1, width), stride=(1, width if width < 10 else 1)),
        nn.LeakyReLU(0.01),
        nn.ZeroPad2d((0, 0, 1, 2)),
        nn.Conv2d(c, c, (4, 1)),
        nn.LeakyReLU(0.01),
        nn.ZeroPad2d((0, 0, 1, 2)),
        nn.Conv2d(c, c, (4, 1)),
        nn.LeakyReLU(0.01),
    )


class DeepLOB(nn.Module):
    def __init__(self):
        super().__init__()
        self.block1 = block(1, 6, 2)
        self.block2 = block(6, 6, 2)
        self.block3 = block(6, 6, 10)
        self.inp1 = nn.Sequential(
            nn.Conv2d(6, 8, 1), nn.LeakyReLU(0.01), nn.Conv2d(8, 8, (3, 1), padding=(1, 0)), nn.LeakyReLU(0.01))
        self.inp2 = nn.Sequential(
            nn.Conv2d(6, 8, 1), nn.LeakyReLU(0.01), nn.Conv2d(8, 8, (5, 1), padding=(2, 0)), nn.LeakyReLU(0.01))
        self.inp3 = nn.Sequential(
            nn.MaxPool2d((3, 1), stride=1, padding=(1, 0)), nn.Conv2d(6, 8, 1), nn.LeakyReLU(0.01))
        self.lstm = nn.LSTM(24, 12, batch_first=True)
        self.head = nn.Linear(12, 3)
        self.size = nn.Linear(12, 1)

    def forward(self, x):
        x = self.block1(x)
        x = self.block2(x)
        x = self.block3(x)
        x = torch.cat([self.inp1(x), self.inp2(x), self.inp3(x)], dim=1)
        x = x.squeeze(3).permute(0, 2, 1)
        seq, _ = self.lstm(x)
        probs = F.softmax(self.head(seq[:, -1]), dim=1)
        return probs, torch.tanh(self.size(seq))


def make():
    g = torch.Generator().manual_seed(22)
    m = DeepLOB().eval()
    with torch.no_grad():
        for p in m.parameters():
            r = torch.randn(p.shape, generator=g)
            p.copy_(0.2 * r if p.ndim == 1 else r / np.sqrt(p[0].numel()))
    return m


def inputs(seed):
    x = np.random.default_rng(seed).normal(size=(4, T, 40, 1)).astype("float32")
    return (np.ascontiguousarray(x.transpose(0, 3, 1, 2)),)


def load(ported, original):
    convs = [l for l in original.layers if "conv2d" in l.name]
    # creation order is not layer order in a functional graph
    convs.sort(key=lambda l: int(l.name.split("_")[-1]) if l.name != "conv2d" else 0)
    mine = [m for m in ported.modules() if isinstance(m, nn.Conv2d)]
    assert len(convs) == len(mine)
    with torch.no_grad():
        for k, t in zip(convs, mine):
            w, b = k.get_weights()
            t.weight.copy_(torch.tensor(w.transpose(3, 2, 0, 1)))
            t.bias.copy_(torch.tensor(b))
        lstm = [l for l in original.layers if "lstm" in l.name][0]
        w, u, b = lstm.get_weights()
        ported.lstm.weight_ih_l0.copy_(torch.tensor(w.T))
        ported.lstm.weight_hh_l0.copy_(torch.tensor(u.T))
        ported.lstm.bias_ih_l0.copy_(torch.tensor(b))
        ported.lstm.bias_hh_l0.zero_()
        d = {l.units: l for l in original.layers if "dense" in l.name}
        for t, k in ((ported.head, d[3]), (ported.size, d[1])):
            w, b = k.get_weights()
            t.weight.copy_(torch.tensor(w.T))
            t.bias.copy_(torch.tensor(b))
