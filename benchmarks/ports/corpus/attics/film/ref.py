"""FiLM (Perez et al., 2018): a question network modulates a convolutional net."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"


def coords(x):
    b, _, h, w = x.shape
    ys = torch.linspace(-1, 1, h).view(1, 1, h, 1).expand(b, 1, h, w)
    xs = torch.linspace(-1, 1, w).view(1, 1, 1, w).expand(b, 1, h, w)
    return torch.cat([x, xs, ys], 1)


class FiLMBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv1 = nn.Conv2d(ch + 2, ch, 1)
        self.conv2 = nn.Conv2d(ch, ch, 3, padding=1)
        self.bn = nn.BatchNorm2d(ch, affine=False)

    def forward(self, x, gamma, beta):
        x = F.relu(self.conv1(coords(x)))
        y = self.bn(self.conv2(x))
        y = (1 + gamma)[:, :, None, None] * y + beta[:, :, None, None]
        return x + F.relu(y)


class FiLMNet(nn.Module):
    def __init__(self, vocab=28, words=10, hidden=18, ch=8, blocks=3, classes=9):
        super().__init__()
        self.ch, self.n_blocks = ch, blocks
        self.embed = nn.Embedding(vocab, words, padding_idx=0)
        self.gru = nn.GRU(words, hidden, batch_first=True)
        self.film = nn.Linear(hidden, blocks * 2 * ch)
        self.stem1, self.bn1 = nn.Conv2d(3, ch, 3, stride=2, padding=1), nn.BatchNorm2d(ch)
        self.stem2, self.bn2 = nn.Conv2d(ch, ch, 3, padding=1), nn.BatchNorm2d(ch)
        self.blocks = nn.ModuleList(FiLMBlock(ch) for _ in range(blocks))
        self.cls_conv, self.cls_bn = nn.Conv2d(ch + 2, 14, 1), nn.BatchNorm2d(14)
        self.fc1, self.fc_bn = nn.Linear(14, 20), nn.BatchNorm1d(20)
        self.fc2 = nn.Linear(20, classes)

    def question(self, tokens):
        states, _ = self.gru(self.embed(tokens))
        last = (tokens != 0).sum(1) - 1
        return states[torch.arange(len(tokens)), last]

    def forward(self, image, tokens):
        film = self.film(self.question(tokens)).view(-1, self.n_blocks, 2 * self.ch)
        gammas, betas = film.split(self.ch, dim=-1)
        x = F.relu(self.bn1(self.stem1(image)))
        x = F.relu(self.bn2(self.stem2(x)))
        for i, block in enumerate(self.blocks):
            x = block(x, gammas[:, i], betas[:, i])
        x = F.relu(self.cls_bn(self.cls_conv(coords(x))))
        x = x.amax(dim=(2, 3))
        return self.fc2(F.relu(self.fc_bn(self.fc1(x))))


def make(seed=51):
    net = FiLMNet()
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, t in net.state_dict().items():
            z = torch.randn(t.shape, generator=g)
            if name.endswith("running_var"):
                t.copy_(0.4 + 1.2 * torch.rand(t.shape, generator=g))
            elif "num_batches" in name:
                continue
            elif "bn" in name and name.endswith("weight"):
                t.copy_(1 + 0.3 * z)
            elif t.dim() == 1:
                t.copy_(0.25 * z)
            else:
                t.copy_(1.3 * z / t[0].numel() ** 0.5)
        net.embed.weight[0] = 0
    return net.eval()


def inputs(seed):
    r = np.random.default_rng(seed)
    img = r.normal(0, 0.3, (5, 3, 16, 16))
    for i in range(5):
        for _ in range(3):
            y, x = r.integers(0, 12, 2)
            img[i, :, y:y + 4, x:x + 4] += r.uniform(-1.5, 1.5, (3, 1, 1))
    q = r.integers(1, 28, (5, 8))
    for i, n in enumerate((8, 5, 6, 3, 7)):
        q[i, n:] = 0
    return img.astype("float32"), q.astype("int64")
