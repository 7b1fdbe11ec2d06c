"""Deep momentum network in PyTorch."""
import math
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

FRAMEWORK = "torch"
T, N_ID, HID = 8, 3, 8
SIGMA_TGT, COST = 0.15, 0.05


def ewm(x, halflife):
    alpha = 1.0 - 0.5 ** (1.0 / halflife)
    out = [x[:, 0]]
    for xt in x.unbind(1)[1:]:
        out.append((1.0 - alpha) * out[-1] + alpha * xt)
    return torch.stack(out, dim=1)


def macd_signal(prices, short, long):
    spread = ewm(prices, short) - ewm(prices, long)
    macd = spread / prices.std(dim=1, keepdim=True, unbiased=False)
    return macd * torch.exp(-macd.pow(2) / 4) / 0.89


class DeepMomentum(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(3, HID)
        self.static = nn.Linear(N_ID, HID, bias=False)
        self.lstm = nn.LSTM(HID, HID, batch_first=True)
        self.norm = nn.LayerNorm(HID, eps=1e-3)
        self.gate = nn.Linear(HID, 2 * HID)
        self.position = nn.Linear(HID, 1)

    def features(self, prices):
        returns = prices[:, 1:] / prices[:, :-1] - 1
        sigma = 16 * torch.sqrt(ewm(returns ** 2, 3.0) + 1e-6)
        macd = macd_signal(prices, 1.5, 4.0)[:, 1:]
        return returns, sigma, torch.stack([16 * returns / sigma, macd, sigma.log()], dim=-1)

    def strategy(self, position, sigma, returns):
        captured = SIGMA_TGT / sigma[:, :-1] * position[:, :-1] * returns[:, 1:]
        scaled = position / sigma
        turnover = SIGMA_TGT * scaled.diff(dim=1).abs()
        return captured - COST * turnover

    def forward(self, prices, ident):
        returns, sigma, feats = self.features(prices)
        x = F.elu(self.embed(feats) + self.static(ident).unsqueeze(1))
        h, _ = self.lstm(x)
        h = self.norm(h)
        h = x + F.glu(self.gate(h), dim=-1)
        position = torch.tanh(self.position(h)).squeeze(-1)
        net = self.strategy(position, sigma, returns)
        sharpe = net.mean(1, keepdim=True) / net.std(1, keepdim=True, unbiased=False) * math.sqrt(252)
        return position, net, sharpe


def make():
    g = torch.Generator().manual_seed(31)
    m = DeepMomentum()
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * 0.4)
    return m.eval()


def inputs(seed):
    r = np.random.RandomState(seed)
    prices = np.exp(np.cumsum(r.randn(5, T + 1) * 0.04 + 0.01, axis=1)).astype("float32")
    ident = np.eye(N_ID, dtype="float32")[[0, 1, 2, 1, 0]]
    return prices, ident


def load(ported, original):
    def put(p, a):
        with torch.no_grad():
            p.copy_(torch.tensor(np.array(a)))

    def lin(mod, name):
        ws = original.get_layer(name).get_weights()
        put(mod.weight, ws[0].T)
        if len(ws) > 1:
            put(mod.bias, ws[1])

    for k in ("embed", "static", "gate", "position"):
        lin(getattr(ported, k), k)
    kern, rec, bias = original.get_layer("lstm").get_weights()
    put(ported.lstm.weight_ih_l0, kern.T)
    put(ported.lstm.weight_hh_l0, rec.T)
    put(ported.lstm.bias_ih_l0, bias)
    put(ported.lstm.bias_hh_l0, np.zeros_like(bias))
    gamma, beta = original.get_layer("norm").get_weights()
    put(ported.norm.weight, gamma)
    put(ported.norm.bias, beta)
