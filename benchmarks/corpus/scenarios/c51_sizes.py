"""Sizes, support and weights that the C51 networks of all frameworks share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ACTIONS, ATOMS = 6, 51
SUPPORT = np.linspace(-10.0, 10.0, ATOMS).astype(np.float32)
FAULTY_SUPPORTS = {
    "support-reversed": SUPPORT[::-1].copy(),
    "support-range": np.linspace(-10.0, 8.0, ATOMS).astype(np.float32),
}

# An image of 4 x 20 x 22 becomes 12 x 8 x 10, then 9 x 7 x 8.
SHAPES = {
    "conv1": (12, 4, 6, 4),  # stride 2
    "conv2": (9, 12, 2, 3),
}
LAST_MAP = (9, 7, 8)
HEAD_SHAPES = {
    "advantage_hidden": (17, 9 * 7 * 8),
    "advantage": (ACTIONS * ATOMS, 17),
    "value_hidden": (13, 9 * 7 * 8),
    "value": (ATOMS, 13),
}
Dense = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Weights:
    """Kernels in torch's order (out, in, height, width) and biases, by layer and per head."""

    trunk: dict[str, Dense]
    heads: list[dict[str, Dense]]

    @classmethod
    def random(cls, rng: np.random.Generator, heads: int = 1) -> Weights:
        return cls(_draw(rng, SHAPES), [_draw(rng, HEAD_SHAPES) for _ in range(heads)])

    def channels_last(self) -> Weights:
        """As Keras stores them: kernels (height, width, in, out), the flatten in HWC order."""
        trunk = {k: (w.transpose(2, 3, 1, 0), b) for k, (w, b) in self.trunk.items()}
        heads = [
            {k: (_hwc(w).T if "hidden" in k else w.T, b) for k, (w, b) in head.items()}
            for head in self.heads
        ]
        return Weights(trunk, heads)


def support_for(faults: frozenset[str]) -> np.ndarray:
    return next((FAULTY_SUPPORTS[f] for f in sorted(faults & FAULTY_SUPPORTS.keys())), SUPPORT)


def _draw(rng: np.random.Generator, shapes: dict[str, tuple[int, ...]]) -> dict[str, Dense]:
    drawn = {}
    for name, shape in shapes.items():
        scale = 1.5 / np.sqrt(np.prod(shape[1:]))
        kernel = rng.normal(scale=scale, size=shape).astype(np.float32)
        drawn[name] = kernel, rng.normal(scale=0.3, size=shape[0]).astype(np.float32)
    return drawn


def _hwc(kernel: np.ndarray) -> np.ndarray:
    """Columns of a dense kernel (out, C*H*W) in the order of a channels-last flatten."""
    return kernel.reshape(-1, *LAST_MAP).transpose(0, 2, 3, 1).reshape(len(kernel), -1)
