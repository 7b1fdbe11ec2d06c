import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FRAMEWORK = "torch"


class Dice(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.bn = nn.BatchNorm1d(n, eps=1e-8, affine=False)
        self.alpha = nn.Parameter(torch.zeros(n))

    def forward(self, x):
        gate = torch.sigmoid(self.bn(x))
        return gate * x + (1 - gate) * self.alpha * x


class LocalActivationUnit(nn.Module):
    def __init__(self, dim, hidden=(20, 10)):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(4 * dim, hidden[0]), nn.Sigmoid(),
            nn.Linear(hidden[0], hidden[1]), nn.Sigmoid(),
            nn.Linear(hidden[1], 1))

    def forward(self, query, behaviour, valid):
        query = query.unsqueeze(1).expand_as(behaviour)
        pair = torch.cat((query, behaviour, query - behaviour, query * behaviour), dim=-1)
        logits = self.net(pair).squeeze(-1) / behaviour.size(-1) ** 0.5
        logits = logits.masked_fill(~valid, -(2.0 ** 32) + 1)
        att = F.softmax(logits, dim=1)
        return torch.einsum("bt,btd->bd", att, behaviour)


class DIN(nn.Module):
    def __init__(self, users=40, items=90, cates=15, dim=8):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.cate = nn.Embedding(cates, dim)
        self.item_bias = nn.Embedding(items, 1)
        self.attention = LocalActivationUnit(2 * dim)
        self.hist_bn = nn.BatchNorm1d(2 * dim, eps=1e-3)
        self.hist_fc = nn.Linear(2 * dim, 2 * dim)
        self.bn1 = nn.BatchNorm1d(7 * dim, eps=1e-3)
        self.fc1, self.dice1 = nn.Linear(7 * dim, 24), Dice(24)
        self.fc2, self.dice2 = nn.Linear(24, 12), Dice(12)
        self.fc3 = nn.Linear(12, 1)

    def lookup(self, items, cates):
        return torch.cat([self.item(items), self.cate(cates)], dim=-1)

    def forward(self, user, item, cate, hist_items, hist_cates):
        candidate = self.lookup(item, cate)
        history = self.lookup(hist_items, hist_cates)
        interest = self.attention(candidate, history, hist_items != 0)
        interest = self.hist_fc(self.hist_bn(interest))
        x = torch.cat([self.user(user), candidate, interest, candidate * interest], dim=-1)
        x = self.bn1(x)
        x = self.dice1(self.fc1(x))
        x = self.dice2(self.fc2(x))
        return torch.sigmoid(self.fc3(x) + self.item_bias(item))


def make(seed=8):
    net = DIN()
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for n, p in net.state_dict().items():
            if n.endswith("running_var"):
                p.copy_(0.5 + torch.rand(p.shape, generator=g))
            elif p.is_floating_point():
                z = torch.randn(p.shape, generator=g)
                p.copy_(1 + 0.2 * z if "bn" in n and n.endswith("weight") else 0.4 * z)
    return net.eval()


def inputs(seed):
    r = np.random.default_rng(seed)
    b, t, n_items, n_cates = 6, 9, 90, 15
    hist = r.integers(1, n_items, (b, t)), r.integers(1, n_cates, (b, t))
    for row, length in enumerate(r.integers(3, t + 1, b)):
        for h in hist:
            h[row, length:] = 0
    user, item, cate = r.integers(0, 40, b), r.integers(1, n_items, b), r.integers(1, n_cates, b)
    return tuple(a.astype("int64") for a in (user, item, cate) + hist)


@torch.no_grad()
def load(ported, original):
    get = lambda name: [torch.from_numpy(np.asarray(w)) for w in original.get_layer(name).get_weights()]
    for ours, theirs in (("user", "user_emb"), ("item", "item_emb"), ("cate", "cate_emb"), ("item_bias", "item_bias")):
        getattr(ported, ours).weight.copy_(get(theirs)[0])
    att = get("attention")
    for i, lin in enumerate(ported.attention.net[::2]):
        lin.weight.copy_(att[2 * i].T)
        lin.bias.copy_(att[2 * i + 1])
    for n in ("hist_bn", "bn1"):
        bn = getattr(ported, n)
        for dst, src in zip((bn.weight, bn.bias, bn.running_mean, bn.running_var), get(n)):
            dst.copy_(src)
    for n in ("hist_fc", "fc1", "fc2", "fc3"):
        k, b = get(n)
        getattr(ported, n).weight.copy_(k.T)
        getattr(ported, n).bias.copy_(b)
    for n in ("dice1", "dice2"):
        src, dst = original.get_layer(n), getattr(ported, n)
        dst.alpha.copy_(torch.from_numpy(src.alpha.numpy()))
        dst.bn.running_mean.copy_(torch.from_numpy(src.bn.moving_mean.numpy()))
        dst.bn.running_var.copy_(torch.from_numpy(src.bn.moving_variance.numpy()))
