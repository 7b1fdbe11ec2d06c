"""N-BEATS for serving, NumPy only: weights in plain lists of dicts."""

import numpy as np

FRAMEWORK = "numpy"
BACK, FORE = 20, 6


def trend_basis(degree=3):
    back = np.vander(np.arange(BACK) / BACK, degree + 1, increasing=True).T
    fore = np.vander(np.arange(FORE) / FORE, degree + 1, increasing=True).T
    return back, fore


def seasonal_basis(harmonics=2):
    rates = np.append(0.0, np.arange(harmonics, FORE / 2 * harmonics) / harmonics)
    t_back = np.arange(BACK) / FORE
    t_fore = np.arange(FORE) / FORE
    angle_back = 2 * np.pi * np.outer(rates, t_back)
    angle_fore = 2 * np.pi * np.outer(rates, t_fore)
    back = np.concatenate([np.cos(angle_back), -np.sin(angle_back)])
    fore = np.concatenate([np.cos(angle_fore), np.sin(angle_fore)])
    return back, fore


class Forecaster:
    """The forecast (n, 6) and its parts (n, 3, 6) of series (n, 20)."""

    def __init__(self):
        self.blocks = []  # one dict for each block, in order
        for kind in ("trend", "trend", "seasonal", "seasonal", "generic", "generic"):
            self.blocks.append({"kind": kind})

    @staticmethod
    def trunk(x, block):
        for weight, bias in block["layers"]:
            x = np.maximum(np.dot(x, weight) + bias, 0)
        return x

    @staticmethod
    def expand(theta, block):
        """Backcast and forecast of one block's coefficients."""
        if block["kind"] == "generic":
            half = theta.shape[1] // 2
            (wb, bb), (wf, bf) = block["back"], block["fore"]
            return np.dot(theta[:, :half], wb) + bb, np.dot(theta[:, half:], wf) + bf
        if block["kind"] == "trend":
            back, fore = trend_basis()
        else:
            back, fore = seasonal_basis()
        back, fore = back.astype(theta.dtype), fore.astype(theta.dtype)
        size = back.shape[0]
        return np.dot(theta[:, :size], back), np.dot(theta[:, size:], fore)

    def __call__(self, series):
        level = np.mean(np.abs(series), axis=1, keepdims=True)
        level = np.maximum(level, 1e-3)
        scaled = series / level
        residual = scaled[:, ::-1]
        naive = scaled[:, -1:]
        parts = {"trend": 0.0, "seasonal": 0.0, "generic": 0.0}
        for block in self.blocks:
            theta = np.dot(self.trunk(residual, block), block["theta"])
            backcast, forecast = self.expand(theta, block)
            residual = residual - backcast
            parts[block["kind"]] = parts[block["kind"]] + forecast
        stacked = np.stack([parts["trend"], parts["seasonal"], parts["generic"]], axis=1)
        forecast = naive + stacked.sum(axis=1)
        return forecast * level, stacked * level[:, :, None]


def make():
    return Forecaster()


def load(port, reference):
    def array(tensor):
        return tensor.detach().numpy()

    blocks = [block for stack in reference.stacks for block in stack]
    for ours, theirs in zip(port.blocks, blocks):
        ours["layers"] = [
            (array(theirs.trunk[i].weight).T.copy(), array(theirs.trunk[i].bias)) for i in (0, 2, 4)
        ]
        ours["theta"] = array(theirs.theta.weight).T.copy()
        if ours["kind"] == "generic":
            for key in ("back", "fore"):
                linear = getattr(theirs.basis, key)
                ours[key] = (array(linear.weight).T.copy(), array(linear.bias))
