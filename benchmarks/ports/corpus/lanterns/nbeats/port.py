"""N-BEATS inference in plain NumPy, for deployment without torch."""
import numpy as np

FRAMEWORK = "numpy"
L, H = 18, 6
KINDS = ("trend", "trend", "season", "season", "generic")
WIDTH, DEPTH, DEGREE, HARMONICS = 20, 3, 3, 3


def theta_size(kind):
    return {"trend": 2 * (DEGREE + 1), "season": 4 * HARMONICS, "generic": L + H}[kind]


def trend_matrix(n):
    t = np.arange(n, dtype="float32") / n
    return np.stack([t ** p for p in range(DEGREE + 1)])


def season_matrix(n):
    t = np.arange(n, dtype="float32") / H
    angles = np.pi * np.outer(np.arange(1, HARMONICS + 1, dtype="float32"), t)
    return np.concatenate([np.cos(angles), np.sin(angles)]).astype("float32")


class NBeatsNumpy:
    def __init__(self, seed=1):
        rng = np.random.default_rng(seed)
        self.blocks = []
        for kind in KINDS:
            sizes = [L] + [WIDTH] * DEPTH
            self.blocks.append({
                "kind": kind,
                "W": [0.3 * rng.normal(size=(o, i)).astype("float32") for i, o in zip(sizes, sizes[1:])],
                "b": [0.2 * rng.normal(size=o).astype("float32") for o in sizes[1:]],
                "theta_W": 0.3 * rng.normal(size=(theta_size(kind), WIDTH)).astype("float32"),
                "theta_b": 0.2 * rng.normal(size=theta_size(kind)).astype("float32"),
            })

    def expand(self, kind, theta):
        if kind == "generic":
            return theta[:, :L], theta[:, L:]
        basis = trend_matrix if kind == "trend" else season_matrix
        fore, back = np.split(theta, 2, axis=1)
        return back @ basis(L), fore @ basis(H)

    def block(self, p, x):
        h = x
        for W, b in zip(p["W"], p["b"]):
            h = np.maximum(h @ W.T + b, 0)
        theta = h @ p["theta_W"].T + p["theta_b"]
        return self.expand(p["kind"], theta)

    def predict(self, series, mask):
        x = series[:, ::-1]
        m = mask[:, ::-1]
        y = series[:, -1:]
        for p in self.blocks:
            back, fore = self.block(p, x)
            x = (x - back) * m
            y = y + fore
        return y


def make(seed=1):
    return NBeatsNumpy(seed)


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(L)
    x = 1 + 0.05 * t + np.sin(2 * np.pi * (t + rng.integers(0, 12, (6, 1))) / 12) + 0.2 * rng.normal(size=(6, L))
    mask = (t >= rng.integers(0, 7, size=(6, 1))).astype("float32")
    return (x * mask).astype("float32"), mask


def load(ported, original):
    for p, block in zip(ported.blocks, original.blocks):
        for i, fc in enumerate(block.fcs):
            p["W"][i] = fc.weight.detach().numpy().copy()
            p["b"][i] = fc.bias.detach().numpy().copy()
        p["theta_W"] = block.theta.weight.detach().numpy().copy()
        p["theta_b"] = block.theta.bias.detach().numpy().copy()
