"""NetVLAD retrieval in torch, channels first."""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
SIDE, K, D = 24, 6, 16


class VLAD(nn.Module):
    def __init__(self, k=K, d=D):
        super().__init__()
        self.score = nn.Conv2d(d, k, kernel_size=1)
        self.centres = nn.Parameter(torch.rand(k, d))

    def forward(self, x):
        n, d = x.shape[:2]
        x = F.normalize(x, dim=1)
        assignment = self.score(x).view(n, -1, x.shape[2] * x.shape[3]).softmax(dim=1)
        x = x.view(n, d, -1)
        residual = x[:, None] - self.centres[None, :, :, None]
        vlad = (assignment[:, :, None] * residual).sum(dim=-1)
        vlad = F.normalize(vlad, dim=2)
        return F.normalize(vlad.flatten(1), dim=1)


class Gating(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.fc = nn.Linear(n, n, bias=False)
        self.bn = nn.BatchNorm1d(n, eps=1e-3)

    def forward(self, x):
        return x * torch.sigmoid(self.bn(self.fc(x)))


class Descriptor(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, D, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(D, eps=1e-3)
        self.pool = nn.MaxPool2d(2)
        self.vlad = VLAD()
        self.reduce = nn.Linear(K * D, 20)
        self.gating = Gating(20)

    def forward(self, image):
        x = self.pool(F.relu(self.conv1(image)))
        x = self.pool(F.elu(self.bn2(self.conv2(x))))
        x = self.gating(self.reduce(self.vlad(x)))
        return F.normalize(x, dim=1)


class Retrieval(nn.Module):
    def __init__(self, temperature=0.1):
        super().__init__()
        self.descriptor = Descriptor()
        self.temperature = temperature

    def forward(self, queries, gallery):
        q = self.descriptor(queries)
        g = self.descriptor(gallery)
        return q, torch.softmax(q @ g.T / self.temperature, dim=1)


def make(seed=1):
    torch.manual_seed(seed)
    return Retrieval().eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    places = rng.normal(size=(5, 6, 6, 3)) + 1.5 * rng.normal(size=(5, 1, 1, 3))
    places = places.repeat(4, 1).repeat(4, 2)
    views = [places + 0.4 * rng.normal(size=places.shape) for _ in range(2)]
    return tuple(v.astype("float32").transpose(0, 3, 1, 2) for v in views)


@torch.no_grad()
def load(ported, original):
    def t(v):
        return torch.from_numpy(np.array(v))

    def conv(module, layer):
        module.weight.copy_(t(layer.kernel).permute(3, 2, 0, 1))
        module.bias.copy_(t(layer.bias))

    def norm(module, layer):
        module.weight.copy_(t(layer.gamma))
        module.bias.copy_(t(layer.beta))
        module.running_mean.copy_(t(layer.moving_mean))
        module.running_var.copy_(t(layer.moving_variance))

    net = ported.descriptor
    by_type = {}
    for layer in original.get_layer("tower").layers:
        by_type.setdefault(type(layer).__name__, []).append(layer)
    conv(net.conv1, by_type["Conv2D"][0])
    conv(net.conv2, by_type["Conv2D"][1])
    norm(net.bn2, by_type["BatchNormalization"][0])
    vlad, dense, gating = by_type["NetVLAD"][0], by_type["Dense"][0], by_type["ContextGating"][0]
    conv(net.vlad.score, vlad.assign)
    net.vlad.centres.copy_(t(vlad.centroids))
    net.reduce.weight.copy_(t(dense.kernel).T)
    net.reduce.bias.copy_(t(dense.bias))
    net.gating.fc.weight.copy_(t(gating.gate.kernel).T)
    norm(net.gating.bn, gating.norm)
