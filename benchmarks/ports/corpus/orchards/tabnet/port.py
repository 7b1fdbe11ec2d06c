"""TabNet in torch."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
NUM_FEATURES, DECISION, ATTENTION, NUM_STEPS, NUM_CLASSES = 12, 6, 6, 3, 4
RELAXATION = 1.4


def sparsemax(z):
    zs, _ = torch.sort(z, dim=-1, descending=True)
    cs = zs.cumsum(dim=-1)
    k = torch.arange(1, z.shape[-1] + 1, dtype=z.dtype)
    support = (1 + k * zs > cs).sum(dim=-1, keepdim=True)
    tau = (cs.gather(-1, support - 1) - 1) / support.to(z.dtype)
    return torch.clamp(z - tau, min=0)


class GatedBlock(nn.Module):
    def __init__(self, n_in, n_out=DECISION + ATTENTION):
        super().__init__()
        self.fc = nn.Linear(n_in, 2 * n_out, bias=False)
        self.bn = nn.BatchNorm1d(2 * n_out)

    def forward(self, x):
        return F.glu(self.bn(self.fc(x)), dim=-1)


class FeatureTransformer(nn.Module):
    def __init__(self, shared):
        super().__init__()
        size = DECISION + ATTENTION
        self.blocks = nn.ModuleList([*shared, GatedBlock(size), GatedBlock(size)])
        self.scale = math.sqrt(0.5)

    def forward(self, x):
        x = self.blocks[0](x)
        for block in self.blocks[1:]:
            x = (x + block(x)) * self.scale
        return x


class AttentiveTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(ATTENTION, NUM_FEATURES, bias=False)
        self.bn = nn.BatchNorm1d(NUM_FEATURES)

    def forward(self, a, priors):
        return sparsemax(self.bn(self.fc(a)) * priors)


class TabNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn_in = nn.BatchNorm1d(NUM_FEATURES)
        shared = [GatedBlock(NUM_FEATURES), GatedBlock(DECISION + ATTENTION)]
        self.splitter = FeatureTransformer(shared)
        self.features = nn.ModuleList([FeatureTransformer(shared) for _ in range(NUM_STEPS)])
        self.attentive = nn.ModuleList([AttentiveTransformer() for _ in range(NUM_STEPS)])
        self.out = nn.Linear(DECISION, NUM_CLASSES)

    def forward(self, table):
        x = self.bn_in(table)
        att = self.splitter(x)[:, DECISION:]
        priors = torch.ones(x.shape)
        steps, explain = [], torch.zeros(x.shape)
        for i in range(NUM_STEPS):
            m = self.attentive[i](att, priors)
            priors = priors * (RELAXATION - m)
            h = self.features[i](m * x)
            d = F.relu(h[:, :DECISION])
            att = h[:, DECISION:]
            steps.append(d)
            explain = explain + m * d.sum(dim=1, keepdim=True)
        return self.out(torch.stack(steps).sum(dim=0)), explain


def make(seed=21):
    torch.manual_seed(seed)
    net = TabNet()
    for m in net.modules():
        if isinstance(m, nn.BatchNorm1d):
            nn.init.uniform_(m.weight, 0.6, 1.5)
            nn.init.normal_(m.bias, std=0.3)
            nn.init.normal_(m.running_mean, std=0.3)
            nn.init.uniform_(m.running_var, 0.5, 1.5)
    return net.eval()


def inputs(seed):
    rng = np.random.default_rng(seed + 100)
    table = rng.normal(size=(8, NUM_FEATURES))
    table[:, 8:] = rng.integers(0, 3, size=(8, 4))
    return (table.astype("float32"),)


@torch.no_grad()
def load(ported, original):
    def put(ours, theirs):
        ours.copy_(torch.tensor(theirs.numpy()))

    def bn(ours, theirs):
        put(ours.weight, theirs.gamma)
        put(ours.bias, theirs.beta)
        put(ours.running_mean, theirs.mean)
        put(ours.running_var, theirs.variance)

    def projection(ours, theirs):
        ours.fc.weight.copy_(torch.tensor(theirs.w.numpy().T))
        bn(ours.bn, theirs.norm)

    bn(ported.bn_in, original.initial)
    for ours, own in zip([ported.splitter, *ported.features], original.own):
        for block, theirs in zip(ours.blocks, [*original.shared, *own]):
            projection(block, theirs.fc)
    for ours, theirs in zip(ported.attentive, original.attention):
        projection(ours, theirs)
    ported.out.weight.copy_(torch.tensor(original.head.numpy().T))
    put(ported.out.bias, original.head_bias)
