"""N-BEATS (interpretable + generic stacks) and its evaluation metrics, NumPy."""
from dataclasses import dataclass

import numpy as np

FRAMEWORK = "numpy"


@dataclass(frozen=True)
class Config:
    lookback: int = 12
    horizon: int = 5
    width: int = 16
    depth: int = 3
    degree: int = 2
    harmonics: int = 2
    period: int = 4


class TrendBasis:
    def __init__(self, cfg):
        p = np.arange(cfg.degree + 1)[:, None]
        self.n = cfg.degree + 1
        self.back = ((np.arange(cfg.lookback) / cfg.lookback)[None] ** p).astype("f4")
        self.fore = ((np.arange(cfg.horizon) / cfg.horizon)[None] ** p).astype("f4")

    theta_size = property(lambda self: 2 * self.n)

    def __call__(self, theta):
        return theta[:, self.n:] @ self.back, theta[:, :self.n] @ self.fore


class SeasonalBasis:
    def __init__(self, cfg):
        k = np.arange(1, cfg.harmonics + 1)[:, None]

        def basis(t):
            ang = 2 * np.pi * k * t[None]
            return np.concatenate([np.cos(ang), np.sin(ang)]).astype("f4")

        self.n = 2 * cfg.harmonics
        self.back = basis(np.arange(cfg.lookback) / cfg.horizon)
        self.fore = basis(np.arange(cfg.horizon) / cfg.horizon)

    theta_size = property(lambda self: 2 * self.n)

    def __call__(self, theta):
        return theta[:, self.n:] @ self.back, theta[:, :self.n] @ self.fore


class GenericBasis:
    def __init__(self, cfg):
        self.lookback = cfg.lookback
        self.theta_size = cfg.lookback + cfg.horizon

    def __call__(self, theta):
        return theta[:, :self.lookback], theta[:, self.lookback:]


class Block:
    def __init__(self, cfg, basis, g):
        sizes = [cfg.lookback] + [cfg.width] * cfg.depth
        self.hidden = [((g.normal(size=(i, o)) * 1.3 / np.sqrt(i)).astype("f4"),
                        (0.2 * g.normal(size=o)).astype("f4")) for i, o in zip(sizes, sizes[1:])]
        self.theta = ((g.normal(size=(cfg.width, basis.theta_size)) * 0.5 / np.sqrt(cfg.width)).astype("f4"),
                      (0.1 * g.normal(size=basis.theta_size)).astype("f4"))
        self.basis = basis

    def __call__(self, x):
        for w, b in self.hidden:
            x = np.maximum(x @ w + b, 0)
        w, b = self.theta
        return self.basis(x @ w + b)


class NBeats:
    def __init__(self, cfg=Config(), seed=8):
        g = np.random.default_rng(seed)
        self.cfg = cfg
        self.blocks = [Block(cfg, b(cfg), g) for b in
                       (TrendBasis, TrendBasis, SeasonalBasis, SeasonalBasis, GenericBasis)]

    def __call__(self, x, mask, target):
        cfg = self.cfg
        count = mask.sum(1, keepdims=True)
        scale = (np.abs(x) * mask).sum(1, keepdims=True) / count
        z = x / scale
        residual = (z * mask)[:, ::-1]
        rmask = mask[:, ::-1]
        forecast = np.repeat(z[:, -1:], cfg.horizon, axis=1)
        parts = []
        for block in self.blocks:
            back, fore = block(residual)
            residual = (residual - back) * rmask
            forecast = forecast + fore
            parts.append(fore)
        y = forecast * scale
        smape = 200.0 * (np.abs(y - target) / (np.abs(y) + np.abs(target))).mean(1)
        naive = np.abs(x[:, cfg.period:] - x[:, :-cfg.period]) * mask[:, :-cfg.period]
        mase = np.abs(y - target).mean(1) / (naive.sum(1) / mask[:, :-cfg.period].sum(1))
        return {"forecast": y, "parts": np.stack(parts, 1), "residual": residual, "smape": smape, "mase": mase}


def make():
    return NBeats()


def inputs(seed):
    g = np.random.default_rng(seed)
    n, cfg = 5, Config()
    t = np.arange(cfg.lookback + cfg.horizon)
    level = g.uniform(4, 20, (n, 1))
    s = level * (1 + 0.3 * np.sin(2 * np.pi * (t / cfg.period + g.random((n, 1)))) + 0.03 * t)
    s = (s + 0.1 * level * g.normal(size=s.shape)).astype(np.float32)
    mask = np.ones((n, cfg.lookback), np.float32)
    mask[1, :3] = 0
    mask[4, :5] = 0
    return s[:, :cfg.lookback] * mask, mask, s[:, cfg.lookback:]
