"""The click model in torch."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
USERS, ITEMS, HISTORY, DENSE, EMB = 20, 50, 8, 6, 8
WIDE = 3 * EMB + DENSE


class LocalActivation(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.prelu, self.fc2 = nn.Linear(4 * EMB, 16), nn.PReLU(16), nn.Linear(16, 1)

    def forward(self, keys, query, mask):
        query = query.unsqueeze(1).expand_as(keys)
        h = self.fc1(torch.cat((keys, query, keys - query, keys * query), -1))
        h = self.prelu(h.flatten(0, 1)).view_as(h)
        scores = self.fc2(h).squeeze(-1) * mask
        return torch.bmm(scores.unsqueeze(1), keys).squeeze(1)


class CrossNet(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, x0):
        x = x0
        for layer in self.layers:
            x = torch.addcmul(x, x0, layer(x))
        return x


def tower(*widths):
    parts = []
    for a, b in zip(widths, widths[1:]):
        parts += [nn.Linear(a, b), nn.BatchNorm1d(b, eps=1e-3), nn.ReLU()]
    return nn.Sequential(*parts)


class ClickModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.user, self.item = nn.Embedding(USERS, EMB), nn.Embedding(ITEMS, EMB)
        self.attention = LocalActivation()
        self.cross, self.deep = CrossNet(WIDE, 3), tower(WIDE, 32, 16)
        self.logit = nn.Linear(WIDE + 16, 1)

    def forward(self, user, history, target, dense):
        query = self.item(target)
        mask = (history != 0).float()
        interest = self.attention(self.item(history), query, mask)
        numeric = dense.clamp(min=0).log1p()
        x = torch.cat([self.user(user), interest, query, numeric], dim=1)
        both = torch.cat([self.cross(x), self.deep(x)], dim=1)
        return torch.sigmoid(self.logit(both)).squeeze(1)


@torch.no_grad()
def make(seed=0):
    net, g = ClickModel(), torch.Generator().manual_seed(seed)
    for name, t in net.state_dict().items():
        if t.is_floating_point():
            noise = torch.randn(t.shape, generator=g)
            t.copy_(0.5 + noise.abs() if "running_var" in name else 0.3 * noise)
    return net.eval()


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    history = rng.integers(1, ITEMS, (6, HISTORY))
    history[np.arange(HISTORY) >= np.array([8, 3, 5, 1, 8, 6])[:, None]] = 0
    user, target = rng.integers(0, USERS, 6), rng.integers(1, ITEMS, 6)
    dense = rng.normal(2, 3, (6, DENSE)).astype("float32")
    return user.astype("int32"), history.astype("int32"), target.astype("int32"), dense


@torch.no_grad()
def load(ported, original):
    def dense(to, layer):
        kernel, bias = layer.get_weights()
        to.weight.copy_(torch.from_numpy(kernel.T)), to.bias.copy_(torch.from_numpy(bias))

    get = original.get_layer
    ported.user.weight.copy_(torch.from_numpy(get("users").get_weights()[0]))
    ported.item.weight.copy_(torch.from_numpy(get("items").get_weights()[0]))
    dense(ported.attention.fc1, get("interest").hidden), dense(ported.attention.fc2, get("interest").score)
    ported.attention.prelu.weight.copy_(torch.from_numpy(get("interest").act.get_weights()[0][0]))
    for i, layer in enumerate(ported.cross.layers):
        dense(layer, get(f"cross{i}"))
    linears = [m for m in ported.deep if isinstance(m, nn.Linear)]
    norms = [m for m in ported.deep if isinstance(m, nn.BatchNorm1d)]
    for i, (linear, bn) in enumerate(zip(linears, norms)):
        dense(linear, get(f"deep{i}"))
        for to, w in zip((bn.weight, bn.bias, bn.running_mean, bn.running_var), get(f"bn{i}").get_weights()):
            to.copy_(torch.from_numpy(w))
    dense(ported.logit, get("logit"))
