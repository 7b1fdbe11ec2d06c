"""Each weight of a node in every arrangement that some framework, or some form by hand, wants."""

from __future__ import annotations

import numpy as np

from .evaluate import band, sampling
from .network import Node


def arrangements(node: Node, rows: np.ndarray | None = None) -> dict[str, np.ndarray | None]:
    """Name: float32 array; None where the node lacks the weight.

    Args:
        node: Its description.
        rows: For a dense node after a flattening in another order, that order.
    """
    if node.family not in _ARRANGE:
        return {}
    arranged = _ARRANGE[node.family](node, rows)
    return {
        k: None if w is None else np.ascontiguousarray(w, np.float32) for k, w in arranged.items()
    }


def _dense(n: Node, rows: np.ndarray | None) -> dict[str, np.ndarray | None]:
    kernel = n.weights["kernel"] if rows is None else n.weights["kernel"][rows]
    return {"kernel": kernel, "weight": kernel.T, "bias": n.weights.get("bias")}


def _conv2d(n: Node, rows: np.ndarray | None) -> dict[str, np.ndarray | None]:
    weight = n.weights["kernel"]  # described as (out, in, height, width)
    kernel = weight.transpose(2, 3, 1, 0)
    return {"weight": weight, "kernel": kernel, "bias": n.weights.get("bias")}


def _deconv2d(n: Node, rows: np.ndarray | None) -> dict[str, np.ndarray | None]:
    weight = n.weights["kernel"]  # described as (in, out, height, width)
    kernel = weight.transpose(2, 3, 1, 0)
    return {"weight": weight, "kernel_out_in": kernel, "bias": n.weights.get("bias")}


def _batchnorm(n: Node, rows: np.ndarray | None) -> dict[str, np.ndarray | None]:
    gamma, beta, mean, variance = (
        n.weights[name].astype(np.float64) for name in ("gamma", "beta", "mean", "variance")
    )
    scale = gamma / np.sqrt(variance + n.options["epsilon"])
    return {**n.weights, "scale": scale, "shift": beta - mean * scale}


def _rmsnorm(n: Node, rows: np.ndarray | None) -> dict[str, np.ndarray | None]:
    gamma = n.weights["gamma"]
    return {"gamma": gamma, "offset": gamma - 1}  # exact: gamma is between 1/2 and 2


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
    lengths = np.array(n.options.get("lengths", ()))[:, None]
    arranged["valid"] = np.arange(lengths.max()) < lengths if lengths.size else None
    for k, gate in enumerate((0, 1, 2, 3)):  # Chainer's NStepLSTM: a matrix per gate
        arranged |= {f"w{k}": weight_ih[gate], f"w{k + 4}": weight_hh[gate]}
        arranged |= {f"b{k}": bias[gate] * 3 / 4, f"b{k + 4}": bias[gate] / 4}
    return arranged


def _gru(n: Node, rows: np.ndarray | None) -> dict[str, np.ndarray | None]:
    w, u, b, ub = (n.weights[k] for k in ("kernel", "recurrent", "bias", "recurrent_bias"))
    rzn = [1, 0, 2]

    def joined(matrices: np.ndarray) -> np.ndarray:  # (gate, in, unit): a row of each
        return np.concatenate(list(matrices), -1)

    both = b + ub  # short mantissas: exact
    arranged = {
        "kernel": joined(w),
        "recurrent": joined(u),
        "bias": joined(both),
        "biases": np.stack([joined(b), joined(ub)]),
        "weight_ih": joined(w[rzn]).T,
        "weight_hh": joined(u[rzn]).T,
        "bias_ih": joined(b[rzn]),
        "bias_hh": joined(ub[rzn]),
        "kernel_zr": joined(w[:2]),
        "recurrent_zr": joined(u[:2]),
        "bias_zr": joined(both[:2]),
        "kernel_n": w[2],
        "recurrent_n": u[2],
        "bias_n": b[2],
        "recurrent_bias_n": ub[2],
        # Chainer's stateful one: its update gate is the other's complement.
        **{"w_r": w[1].T, "u_r": u[1].T, "b_r": both[1]},
        **{"minus_w_z": -w[0].T, "minus_u_z": -u[0].T, "minus_b_z": -both[0]},
        **{"w_n": w[2].T, "u_n": u[2].T, "b_n": both[2]},
    }
    for k, gate in enumerate(rzn):  # Chainer's NStepGRU: a matrix per gate
        arranged |= {f"w{k}": w[gate].T, f"w{k + 3}": u[gate].T}
        arranged |= {f"b{k}": b[gate], f"b{k + 3}": ub[gate]}
    return arranged


def _depthwise(n: Node, rows: np.ndarray | None) -> dict[str, np.ndarray | None]:
    kernel = n.weights["kernel"]  # (channel, multiple, height, width)
    return {
        "weight": kernel.reshape(-1, 1, *kernel.shape[2:]),
        "kernel": kernel.transpose(2, 3, 0, 1),
        "multiples_first": kernel.transpose(1, 0, 2, 3),
        "bias": n.weights.get("bias"),
    }


def _resize(n: Node, rows: np.ndarray | None) -> dict[str, np.ndarray | None]:
    how = n.options["method"], n.options["coordinates"]
    height, width = n.options["before"]
    return {
        "rows_taken": sampling(*how, n.shape[1], height),
        "columns_taken": sampling(*how, n.shape[2], width),
    }


def _lrn(n: Node, rows: np.ndarray | None) -> dict[str, np.ndarray | None]:
    return {"band": band(n)}


def _standardise(n: Node, rows: np.ndarray | None) -> dict[str, np.ndarray | None]:
    scale = 1 / n.weights["deviation"].astype(np.float64)
    return {**n.weights, "scale": scale, "shift": -n.weights["mean"] * scale}


def _own(n: Node, rows: np.ndarray | None) -> dict[str, np.ndarray | None]:
    return dict(n.weights)


def _attention(n: Node, rows: np.ndarray | None) -> dict[str, np.ndarray | None]:
    features = n.shape[-1]
    arranged: dict[str, np.ndarray | None] = {"output": n.weights["output"].reshape(-1, features)}
    arranged["output_heads"] = n.weights["output"]
    arranged["output_t"] = n.weights["output"].reshape(-1, features).T
    for name in ("query", "key", "value"):
        kernel = n.weights[name]  # (feature, head, feature of the head)
        arranged |= {name: kernel.reshape(features, -1), f"{name}_heads": kernel}
    joined = [n.weights[name].reshape(features, -1) for name in ("query", "key", "value")]
    arranged["query_key_value"] = np.concatenate(joined, 1).T
    return arranged


def _quantile(n: Node, rows: np.ndarray | None) -> dict[str, np.ndarray | None]:
    return {**n.weights, "multiples": np.pi * np.arange(1, len(n.weights["kernel"]) + 1)}


_ARRANGE = {
    "depthwise": _depthwise,
    "deconv2d": _deconv2d,
    "resize": _resize,
    "lrn": _lrn,
    "standardise": _standardise,
    "positions": _own,
    "attention": _attention,
    "quantile": _quantile,
    "gru": _gru,
    "dense": _dense,
    "conv2d": _conv2d,
    "batchnorm": _batchnorm,
    "layernorm": _own,
    "rmsnorm": _rmsnorm,
    "expectation": _expectation,
    "lstm": _lstm,
}
