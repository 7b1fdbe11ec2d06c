"""DIEN in torch."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"
ITEMS, CATS, EMB, HID, STEPS = 40, 12, 6, 10, 7


class AttentionalGRUCell(nn.Module):
    """A GRU whose update gate can be scaled by an attention score."""

    def __init__(self, inputs, units):
        super().__init__()
        self.gates = nn.Linear(inputs + units, 2 * units)
        self.candidate = nn.Linear(inputs + units, units)

    def forward(self, x, h, score=None):
        r, u = torch.sigmoid(self.gates(torch.cat([x, h], dim=-1))).chunk(2, dim=-1)
        c = torch.tanh(self.candidate(torch.cat([x, r * h], dim=-1)))
        if score is not None:
            u = (1 - score) * u
        return u * h + (1 - u) * c


class MaskedRNN(nn.Module):
    def __init__(self, inputs, units):
        super().__init__()
        self.units = units
        self.cell = AttentionalGRUCell(inputs, units)

    def forward(self, xs, mask, scores=None):
        h = xs.new_zeros(xs.shape[0], self.units)
        outputs = []
        for t in range(xs.shape[1]):
            valid = mask[:, t, None].bool()
            new = self.cell(xs[:, t], h, None if scores is None else scores[:, t, None])
            outputs.append(new.masked_fill(~valid, 0.0))
            h = torch.where(valid, new, h)
        return torch.stack(outputs, dim=1), h


class Dice(nn.Module):
    def __init__(self, units):
        super().__init__()
        self.bn = nn.BatchNorm1d(units, eps=1e-9, affine=False)
        self.alpha = nn.Parameter(torch.zeros(units))

    def forward(self, x):
        p = torch.sigmoid(self.bn(x))
        return self.alpha * (1 - p) * x + p * x


class InterestAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(2 * EMB, HID, bias=False)
        self.act = nn.PReLU(HID)
        self.mlp = nn.Sequential(
            nn.Linear(4 * HID, 12), nn.Sigmoid(), nn.Linear(12, 6), nn.Sigmoid(), nn.Linear(6, 1)
        )

    def forward(self, query, facts, mask):
        query = self.act(self.query(query))
        query = query.unsqueeze(1).expand_as(facts)
        features = torch.cat([query, facts, query - facts, query * facts], dim=-1)
        scores = self.mlp(features).squeeze(-1)
        scores = scores.masked_fill(mask == 0, -(2.0**32) + 1)
        return F.softmax(scores, dim=-1)


class DIEN(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = nn.Embedding(ITEMS, EMB)
        self.cats = nn.Embedding(CATS, EMB)
        self.extractor = MaskedRNN(2 * EMB, HID)
        self.attention = InterestAttention()
        self.evolution = MaskedRNN(HID, HID)
        self.aux = nn.Sequential(nn.Linear(HID + 2 * EMB, 8), nn.Sigmoid(), nn.Linear(8, 1))
        width = 4 + 6 * EMB + HID
        self.head = nn.Sequential(
            nn.Linear(width, 16), Dice(16), nn.Linear(16, 8), Dice(8), nn.Linear(8, 2)
        )

    def embed(self, items, cats):
        return torch.cat([self.items(items.long()), self.cats(cats.long())], dim=-1)

    def forward(self, user, target, items, cats, mask):
        item = self.embed(target[:, 0], target[:, 1])
        history = self.embed(items, cats)
        pooled = (history * mask.unsqueeze(-1)).sum(dim=1)

        states, _ = self.extractor(history, mask)
        aux_in = torch.cat([states[:, :-1], history[:, 1:]], dim=-1)
        aux = self.aux(aux_in).squeeze(-1) * mask[:, 1:]
        alphas = self.attention(item, states, mask)
        _, interest = self.evolution(states, mask, alphas)

        features = torch.cat([user, item, pooled, item * pooled, interest], dim=-1)
        y = F.softmax(self.head(features), dim=-1) + 1e-8
        return y, alphas, aux


def make():
    torch.manual_seed(2)
    model = DIEN()
    for name, p in model.named_parameters():
        if name.endswith("bias") or name.endswith("alpha"):
            nn.init.normal_(p, 0.1, 0.3)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.running_mean.normal_(0, 0.3)
            module.running_var.uniform_(0.5, 1.5)
    return model.eval()


def inputs(seed):
    rng = np.random.default_rng(seed)
    user = rng.normal(size=(6, 4)).astype("float32")
    target = np.stack([rng.integers(0, ITEMS, 6), rng.integers(0, CATS, 6)], 1).astype("int32")
    items = rng.integers(0, ITEMS, (6, STEPS)).astype("int32")
    cats = rng.integers(0, CATS, (6, STEPS)).astype("int32")
    lengths = np.array([7, 5, 3, 6, 4, 7])
    mask = (np.arange(STEPS)[None] < lengths[:, None]).astype("float32")
    return user, target, items, cats, mask


@torch.no_grad()
def load(ported, original):
    def put(parameter, variable, transpose=False):
        value = torch.from_numpy(variable.numpy())
        parameter.copy_(value.T if transpose else value)

    def linear(layer, w, b=None):
        put(layer.weight, w, True)
        if b is not None:
            put(layer.bias, b)

    put(ported.items.weight, original.item_table)
    put(ported.cats.weight, original.cat_table)
    for ours, theirs in ((ported.extractor.cell, original.extract), (ported.evolution.cell, original.evolve)):
        linear(ours.gates, theirs.gate_kernel, theirs.gate_bias)
        linear(ours.candidate, theirs.candidate_kernel, theirs.candidate_bias)
    linear(ported.attention.query, original.query)
    put(ported.attention.act.weight, original.query_alpha)
    for i in range(3):
        linear(ported.attention.mlp[2 * i], original.att_w[i], original.att_b[i])
        linear(ported.head[2 * i], original.fc_w[i], original.fc_b[i])
    for i in range(2):
        linear(ported.aux[2 * i], original.aux_w[i], original.aux_b[i])
        dice, theirs = ported.head[2 * i + 1], original.dices[i]
        put(dice.alpha, theirs.alpha)
        put(dice.bn.running_mean, theirs.mean)
        put(dice.bn.running_var, theirs.variance)
