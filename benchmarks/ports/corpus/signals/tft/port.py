"""The temporal fusion transformer's core in torch."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FRAMEWORK = "torch"


class GatedLinear(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.fc = nn.Linear(size, 2 * size)

    def forward(self, x):
        return F.glu(self.fc(x), dim=-1)


class AddNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.gate = GatedLinear(size)
        self.norm = nn.LayerNorm(size, eps=1e-3)

    def forward(self, x, residual):
        return self.norm(residual + self.gate(x))


class GatedResidual(nn.Module):
    def __init__(self, size_in, size, size_context=None):
        super().__init__()
        self.w2 = nn.Linear(size_in, size)
        self.w3 = nn.Linear(size_context, size, bias=False) if size_context else None
        self.w1 = nn.Linear(size, size)
        self.skip = nn.Linear(size_in, size) if size_in != size else nn.Identity()
        self.add_norm = AddNorm(size)

    def forward(self, x, context=None):
        eta = self.w2(x)
        if self.w3 is not None:
            eta = eta + self.w3(context).unsqueeze(1)
        eta = self.w1(F.elu(eta))
        return self.add_norm(eta, self.skip(x))


class TFT(nn.Module):
    def __init__(self, variables=4, static=3, d=16, heads=4, quantiles=3):
        super().__init__()
        self.d, self.heads = d, heads
        self.static = GatedResidual(static, d)
        self.scale = nn.Parameter(torch.randn(variables, d))
        self.offset = nn.Parameter(torch.randn(variables, d))
        self.single = nn.ModuleList(GatedResidual(d, d) for _ in range(variables))
        self.weighting = GatedResidual(variables * d, variables, d)
        self.state = nn.Linear(d, 2 * d)
        self.lstm = nn.LSTM(d, d, batch_first=True)
        self.after_lstm = AddNorm(d)
        self.enrich = GatedResidual(d, d, d)
        self.qk = nn.Linear(d, 2 * d)
        self.value = nn.Linear(d, d // heads)
        self.project = nn.Linear(d // heads, d, bias=False)
        self.after_attention = AddNorm(d)
        self.feed_forward = GatedResidual(d, d)
        self.quantiles = nn.Linear(d, quantiles)

    def select(self, x, context):
        embedded = x.unsqueeze(-1) * self.scale + self.offset  # (b, t, v, d)
        weights = self.weighting(embedded.flatten(2), context).softmax(dim=-1)
        processed = [grn(embedded[:, :, i]) for i, grn in enumerate(self.single)]
        return sum(w.unsqueeze(-1) * p for w, p in zip(weights.unbind(-1), processed)), weights

    def attend(self, x):
        b, t, _ = x.shape
        q, k = self.qk(x).view(b, t, 2, self.heads, -1).permute(2, 0, 3, 1, 4)
        future = torch.ones(t, t, dtype=torch.bool).triu(1)
        scores = torch.matmul(q, k.mT) / (self.d // self.heads) ** 0.5
        attention = scores.masked_fill(future, -1e9).softmax(-1)
        # the heads share the values: averaging what they give is averaging their weights
        return self.project(torch.matmul(attention, self.value(x).unsqueeze(1)).mean(1))

    def forward(self, observed, static):
        context = self.static(static)
        selected, weights = self.select(observed, context)
        h0, c0 = self.state(context).unsqueeze(0).chunk(2, dim=-1)
        h, _ = self.lstm(selected, (h0.contiguous(), c0.contiguous()))
        h = self.after_lstm(h, selected)
        enriched = self.enrich(h, context)
        attended = self.after_attention(self.attend(enriched), enriched)
        out = self.feed_forward(attended)
        return self.quantiles(out[:, observed.shape[1] // 2 :]), weights


def make():
    torch.manual_seed(31)
    return TFT().eval()


def load(port, reference):
    def t(array):
        return torch.from_numpy(np.array(array))

    def linear(layer, *dense):
        layer.weight.copy_(torch.cat([t(d.kernel).T for d in dense]))
        if layer.bias is not None:
            layer.bias.copy_(torch.cat([t(d.bias) for d in dense]))

    def add_norm(ours, glu, norm):
        linear(ours.gate.fc, glu.linear, glu.gate)
        ours.norm.weight.copy_(t(norm.gamma))
        ours.norm.bias.copy_(t(norm.beta))

    def grn(ours, theirs):
        linear(ours.w2, theirs.dense1)
        linear(ours.w1, theirs.dense2)
        if theirs.context is not None:
            linear(ours.w3, theirs.context)
        if theirs.skip is not None:
            linear(ours.skip, theirs.skip)
        add_norm(ours.add_norm, theirs.glu, theirs.norm)

    with torch.no_grad():
        grn(port.static, reference.static)
        grn(port.weighting, reference.selection.weighting)
        for i in range(4):
            grn(port.single[i], reference.selection.single[i])
            port.scale[i] = t(reference.selection.embed[i].kernel)[0]
            port.offset[i] = t(reference.selection.embed[i].bias)
        linear(port.state, reference.init_h, reference.init_c)
        cell = reference.lstm.cell
        port.lstm.weight_ih_l0.copy_(t(cell.kernel).T)
        port.lstm.weight_hh_l0.copy_(t(cell.recurrent_kernel).T)
        port.lstm.bias_ih_l0.copy_(t(cell.bias))
        port.lstm.bias_hh_l0.zero_()
        add_norm(port.after_lstm, reference.lstm_glu, reference.lstm_norm)
        grn(port.enrich, reference.enrich)
        linear(port.qk, reference.q, reference.k)
        linear(port.value, reference.v)
        linear(port.project, reference.o)
        add_norm(port.after_attention, reference.attention_glu, reference.attention_norm)
        grn(port.feed_forward, reference.feed_forward)
        linear(port.quantiles, reference.quantiles)
