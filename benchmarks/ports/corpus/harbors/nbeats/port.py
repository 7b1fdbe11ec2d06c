"""N-BEATS inference without a framework."""

import numpy as np

FRAMEWORK = "numpy"
BACK, AHEAD, WIDTH, DEGREE, WAVES = 24, 8, 32, 3, 3


def polynomials(n):
    return np.vander(np.arange(n) / n, DEGREE, increasing=True).T.astype("float32")


def fourier(n):
    angle = 2 * np.pi * np.outer(np.arange(1, WAVES + 1), np.arange(n) / n)
    return np.vstack([np.cos(angle), np.sin(angle)]).astype("float32")


BASES = {"trend": polynomials, "seasonality": fourier}
STACKS = ("trend", "trend", "seasonality", "seasonality", "generic")


def relu(x):
    return np.maximum(x, 0)


def affine(x, p):
    w, b = p
    y = x @ w
    return y if b is None else y + b


def block(x, p, kind):
    h = relu(affine(relu(affine(x, p["fc0"])), p["fc1"]))
    back, ahead = affine(h, p["back"]), affine(h, p["ahead"])
    if kind in BASES:
        back = back @ BASES[kind](BACK)
        ahead = ahead @ BASES[kind](AHEAD)
    return back, ahead


class Forecaster:
    def __init__(self, params):
        self.params = params

    def __call__(self, series):
        mean = series.mean(axis=1, keepdims=True)
        spread = series.std(axis=1, ddof=1, keepdims=True) + np.float32(1e-3)
        residual = (series - mean) / spread
        forecasts = []
        for p, kind in zip(self.params, STACKS):
            back, ahead = block(residual, p, kind)
            residual = residual - back
            forecasts.append(ahead)
        return np.sum(forecasts, axis=0) * spread + mean


def make(seed=0):
    rng = np.random.default_rng(seed)
    sizes = {"trend": (DEGREE, DEGREE), "seasonality": (2 * WAVES, 2 * WAVES), "generic": (BACK, AHEAD)}

    def affine_of(n, m, bias=True):
        w = rng.normal(0, n**-0.5, (n, m)).astype("float32")
        return [w, rng.normal(0, 0.2, m).astype("float32") if bias else None]

    def params(kind):
        back, ahead = sizes[kind]
        bias = kind == "generic"
        return {
            "fc0": affine_of(BACK, WIDTH),
            "fc1": affine_of(WIDTH, WIDTH),
            "back": affine_of(WIDTH, back, bias),
            "ahead": affine_of(WIDTH, ahead, bias),
        }

    return Forecaster([params(kind) for kind in STACKS])


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(BACK)
    level, slope, phase = rng.normal(20, 5, (6, 1)), rng.normal(0, 0.3, (6, 1)), rng.uniform(0, 6, (6, 1))
    series = level + slope * t + 3 * np.sin(t * np.pi / 6 + phase) + rng.normal(0, 1, (6, BACK))
    return series.astype("float32")


def load(ported, original):
    names = {"fc0": "fc.0", "fc1": "fc.2", "back": "theta_b", "ahead": "theta_f"}
    for p, theirs in zip(ported.params, original.blocks):
        for mine, name in names.items():
            layer = theirs.get_submodule(name)
            p[mine][0][...] = layer.weight.detach().numpy().T
            if layer.bias is not None:
                p[mine][1][...] = layer.bias.detach().numpy()
