"""EIIE in torch: functions over a dict of parameters."""
import numpy as np
import torch
import torch.nn.functional as F

FRAMEWORK = "torch"
LAYOUT = "NCHW"
ASSETS, WINDOW, FEATURES = 6, 10, 3
COMMISSION = 0.03


def init(seed):
    g = torch.Generator().manual_seed(seed)

    def p(*shape):
        return torch.nn.Parameter(0.4 * torch.randn(*shape, generator=g))

    return {
        "conv1.w": p(4, FEATURES, 1, 3), "conv1.b": p(4),
        "conv2.w": p(8, 4, 1, WINDOW - 2), "conv2.b": p(8),
        "vote.w": p(1, 9, 1, 1), "vote.b": p(1),
        "cash": p(1, 1),
    }


def policy(p, prices, previous):
    """Portfolio weights (batch, 1 + assets), cash first; prices (batch, features, assets, window)."""
    x = prices / prices[:, :1, :, -1:] - 1
    x = F.relu(F.conv2d(x, p["conv1.w"], p["conv1.b"]))
    x = F.relu(F.conv2d(x, p["conv2.w"], p["conv2.b"]))
    x = torch.cat([x, previous[:, None, 1:, None]], dim=1)
    scores = F.conv2d(x, p["vote.w"], p["vote.b"]).flatten(1)
    cash = p["cash"].expand(len(scores), 1)
    return torch.softmax(torch.cat([cash, scores], dim=1), dim=1)


def remainder(drifted, target, c=COMMISSION, rounds=3):
    cash0, assets0 = drifted[:, 0], drifted[:, 1:]
    cash1, assets1 = target[:, 0], target[:, 1:]
    mu = 1 - c * (assets0 - assets1).abs().sum(1)
    for _ in range(rounds):
        sold = (assets0 - mu[:, None] * assets1).clamp(min=0).sum(1)
        mu = (1 - c * cash0 - (2 * c - c ** 2) * sold) / (1 - c * cash1)
    return mu


class EIIE:
    def __init__(self, params):
        self.params = params

    def __call__(self, prices, previous, relatives):
        weights = policy(self.params, prices, previous)
        drifted = previous * relatives
        drifted = drifted / drifted.sum(1, keepdim=True)
        mu = remainder(drifted, weights)
        growth = (weights * relatives).sum(1)
        reward = torch.log(mu * growth)
        return weights, mu[:, None], reward[:, None]


def make():
    return EIIE(init(9))


def inputs(seed):
    rng = np.random.default_rng(seed)
    b = 6
    prices = np.exp(0.35 * rng.normal(size=(b, ASSETS, WINDOW, FEATURES)) + rng.normal(size=(b, ASSETS, 1, 1)))
    previous = rng.dirichlet(np.ones(ASSETS + 1), size=b)
    relatives = np.concatenate([np.ones((b, 1)), np.exp(0.2 * rng.normal(size=(b, ASSETS)))], 1)
    prices = np.ascontiguousarray(prices.transpose(0, 3, 1, 2))
    return prices.astype("float32"), previous.astype("float32"), relatives.astype("float32")


def load(ported, original):
    with torch.no_grad():
        for name in ("conv1", "conv2", "vote"):
            kernel, bias = original.get_layer(name).get_weights()
            ported.params[name + ".w"].copy_(torch.from_numpy(kernel.transpose(3, 2, 0, 1).copy()))
            ported.params[name + ".b"].copy_(torch.from_numpy(bias))
        ported.params["cash"].copy_(torch.from_numpy(original.get_layer("cash").get_weights()[0]))
