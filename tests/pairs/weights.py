"""Each weight of a node in every arrangement that some framework, or some form by hand, wants."""

from __future__ import annotations

import numpy as np

from .network import Node


def arrangements(node: Node, rows: np.ndarray | None = None) -> dict[str, np.ndarray | None]:
    """Name: float32 array; None where the node lacks the weight.

    Args:
        node: Its description.
        rows: For a dense node after a flattening in another order, that order.
    """
    if node.kind not in _ARRANGE:
        return {}
    arranged = _ARRANGE[node.kind](node, rows)
    return {k: None if w is None else np.asarray(w, np.float32) for k, w in arranged.items()}


def _dense(n: Node, rows: np.ndarray | None) -> dict[str, np.ndarray | None]:
    kernel = n.weights["kernel"] if rows is None else n.weights["kernel"][rows]
    return {"kernel": kernel, "weight": kernel.T, "bias": n.weights.get("bias")}


def _conv2d(n: Node, rows: np.ndarray | None) -> dict[str, np.ndarray | None]:
    weight = n.weights["kernel"]  # described as (out, in, height, width)
    kernel = weight.transpose(2, 3, 1, 0)
    return {"weight": weight, "kernel": kernel, "bias": n.weights.get("bias")}


def _batchnorm(n: Node, rows: np.ndarray | None) -> dict[str, np.ndarray | None]:
    gamma, beta, mean, variance = (
        n.weights[name].astype(np.float64) for name in ("gamma", "beta", "mean", "variance")
    )
    scale = gamma / np.sqrt(variance + n.options["epsilon"])
    return {**n.weights, "scale": scale, "shift": beta - mean * scale}


def _layernorm(n: Node, rows: np.ndarray | None) -> dict[str, np.ndarray | None]:
    return dict(n.weights)


def _expectation(n: Node, rows: np.ndarray | None) -> dict[str, np.ndarray | None]:
    o = n.options
    return {"support": np.linspace(o["low"], o["high"], o["atoms"])}


def _lstm(n: Node, rows: np.ndarray | None) -> dict[str, np.ndarray | None]:
    kernel, recurrent, bias = (n.weights[name] for name in ("kernel", "recurrent", "bias"))
    features, units = kernel.shape[1:]
    weight_ih = kernel.transpose(0, 2, 1)  # (gate, unit, feature), gates i, f, g, o
    weight_hh = recurrent.transpose(0, 2, 1)
    aifo = [2, 0, 1, 3]
    arranged = {
        "weight_ih": weight_ih.reshape(4 * units, features),
        "weight_hh": weight_hh.reshape(4 * units, units),
        "kernel": weight_ih.reshape(4 * units, features).T,
        "recurrent": weight_hh.reshape(4 * units, units).T,
        "bias": bias.ravel(),
        "bias_ih": bias.ravel() - bias.ravel() / 4,
        "bias_hh": bias.ravel() / 4,
        # Chainer's F.lstm: gates a, i, f, o interleaved per unit.
        "upward": weight_ih[aifo].transpose(1, 0, 2).reshape(4 * units, features),
        "lateral": weight_hh[aifo].transpose(1, 0, 2).reshape(4 * units, units),
        "upward_bias": bias[aifo].T.ravel(),
    }
    for k, gate in enumerate((0, 1, 2, 3)):  # Chainer's NStepLSTM: a matrix per gate
        arranged |= {f"w{k}": weight_ih[gate], f"w{k + 4}": weight_hh[gate]}
        arranged |= {f"b{k}": bias[gate] * 3 / 4, f"b{k + 4}": bias[gate] / 4}
    return arranged


_ARRANGE = {
    "dense": _dense,
    "conv2d": _conv2d,
    "batchnorm": _batchnorm,
    "layernorm": _layernorm,
    "expectation": _expectation,
    "lstm": _lstm,
}
