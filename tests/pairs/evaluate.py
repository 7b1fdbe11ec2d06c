"""The truth: a description evaluated in NumPy, float64, one plain formula per kind of node."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from .network import Network, Node


def evaluate(network: Network, inputs: np.ndarray, noise: float = 0.0) -> dict[str, np.ndarray]:
    """Every node's value, (batch, *shape), float64, disturbed by `noise` of its own size."""
    values = {network.nodes[0].name: inputs.astype(np.float64)}
    random = np.random.default_rng(0)
    for node in network.nodes[1:]:
        value = KINDS[node.kind](node, *(values[name] for name in node.inputs))
        assert value.shape == (network.batch, *node.shape), (node, value.shape)
        values[node.name] = value + noise * np.abs(value).max() * random.standard_normal(
            value.shape
        )
    return values


def outputs(network: Network, inputs: np.ndarray, noise: float = 0.0) -> list[np.ndarray]:
    values = evaluate(network, inputs, noise)
    return [values[name] for name in network.outputs.values()]


def sane(network: Network, inputs: np.ndarray) -> bool:
    """Whether no value overflows in float32 or is as good as constant, and rounding stays small."""
    with np.errstate(all="ignore"):
        values = evaluate(network, inputs)
        if not all(np.abs(v).max() < 60 and np.ptp(v) > 1e-3 for v in values.values()):
            return False
        return sensitivity(network, inputs) < 1e4


def eventful(network: Network, inputs: np.ndarray) -> bool:
    """Whether every node does something: no value is another's, as after a second softmax."""
    with np.errstate(all="ignore"):
        values = list(evaluate(network, inputs).values())
    return not any(
        a.shape == b.shape and np.allclose(a, b, rtol=1e-6, atol=1e-9)
        for k, a in enumerate(values)
        for b in values[:k]
    )


def sensitivity(network: Network, inputs: np.ndarray) -> float:
    """How much more the outputs change than the values before them, relative to their sizes."""
    noise = 1e-7
    disturbed = outputs(network, inputs, noise)
    return relative_error(disturbed, outputs(network, inputs)) / noise


def relative_error(actual: list[np.ndarray], expected: list[np.ndarray]) -> float:
    """The greatest difference of any output, relative to that output's greatest value."""
    worst = 0.0
    for a, e in zip(actual, expected, strict=True):
        if a.shape != e.shape:
            return math.inf
        error = float(np.max(np.abs(a - e)) / np.max(np.abs(e)))
        worst = max(worst, math.inf if math.isnan(error) else error)
    return worst


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def log_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    x = x - x.max(axis, keepdims=True)
    return x - np.log(np.exp(x).sum(axis, keepdims=True))


def support(node: Node) -> np.ndarray:
    return np.linspace(node.options["low"], node.options["high"], node.options["atoms"])


def _dense(n: Node, x: np.ndarray) -> np.ndarray:
    return x @ _weight(n, "kernel") + _weight(n, "bias")


def _weight(n: Node, name: str) -> np.ndarray:
    return n.weights[name].astype(np.float64) if name in n.weights else np.zeros(())


def _patches(n: Node, x: np.ndarray, fill: float) -> Iterator[tuple[int, int, np.ndarray]]:
    """(row, column, patch (batch, channels, kh, kw)) for each place of a sliding window."""
    (kh, kw), stride, (top, bottom, left, right) = (
        n.options[k] for k in ("window", "stride", "pad")
    )
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    for i, j in np.ndindex(n.shape[1:]):
        r, c = i * stride, j * stride
        yield i, j, x[:, :, r : r + kh, c : c + kw]


def _conv2d(n: Node, x: np.ndarray) -> np.ndarray:
    y = np.empty((len(x), *n.shape))
    for i, j, patch in _patches(n, x, 0.0):
        y[:, :, i, j] = np.einsum("bchw,ochw->bo", patch, _weight(n, "kernel")) + _weight(n, "bias")
    return y


def _maxpool(n: Node, x: np.ndarray) -> np.ndarray:
    y = np.empty((len(x), *n.shape))
    for i, j, patch in _patches(n, x, -np.inf):
        y[:, :, i, j] = patch.max((2, 3))
    return y


def _avgpool(n: Node, x: np.ndarray) -> np.ndarray:
    y = np.empty((len(x), *n.shape))
    for i, j, patch in _patches(n, x, 0.0 if n.options["counts_padding"] else np.nan):
        y[:, :, i, j] = np.nanmean(patch, (2, 3))
    return y


def _batchnorm(n: Node, x: np.ndarray) -> np.ndarray:
    def over(name: str) -> np.ndarray:
        return _weight(n, name).reshape(-1, *[1] * (x.ndim - 2))

    y = (x - over("mean")) / np.sqrt(over("variance") + n.options["epsilon"])
    return y * over("gamma") + over("beta")


def _layernorm(n: Node, x: np.ndarray) -> np.ndarray:
    axis = n.options["axis"]
    y = x - x.mean(axis, keepdims=True)
    y = y / np.sqrt((y**2).mean(axis, keepdims=True) + n.options["epsilon"])
    return y * _weight(n, "gamma") + _weight(n, "beta")


def _tokens(n: Node, x: np.ndarray) -> np.ndarray:
    return x.reshape(*x.shape[:2], -1).transpose(0, 2, 1)


def _swapped_reshape(n: Node, x: np.ndarray) -> np.ndarray:
    rows, columns = n.shape
    return x.reshape(-1, columns, rows).transpose(0, 2, 1)


def _dueling(
    centre: Callable[[Node, np.ndarray], np.ndarray],
) -> Callable[[Node, np.ndarray, np.ndarray], np.ndarray]:
    def dueling(n: Node, advantage: np.ndarray, value: np.ndarray) -> np.ndarray:
        value = value[:, None] if advantage.ndim == 3 else value
        return value + advantage - centre(n, advantage)

    return dueling


def _dueling_value(n: Node, advantage: np.ndarray, value: np.ndarray) -> np.ndarray:
    value = value[:, None] if advantage.ndim == 3 else value
    return value - value.mean(0, keepdims=True) + advantage


def _expectation(n: Node, x: np.ndarray) -> np.ndarray:
    axis = n.options["axis"]
    return (x * (support(n) if axis == 2 else support(n)[:, None])).sum(axis)


def _lstm(n: Node, x: np.ndarray) -> np.ndarray:
    w, u, b = (_weight(n, name) for name in ("kernel", "recurrent", "bias"))
    h = c = np.zeros((len(x), n.shape[-1]))
    steps = []
    for t in range(x.shape[1]):
        i, f, g, o = (x[:, t] @ w[k] + h @ u[k] + b[k] for k in range(4))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        steps.append(h)
    return np.stack(steps, 1) if n.options["sequence"] else h


def _along(reduce: Callable[..., np.ndarray], keep: bool) -> Callable[..., np.ndarray]:
    return lambda n, x: reduce(x, n.options["axis"], keepdims=keep)


def _centre(reduce: Callable[..., np.ndarray]) -> Callable[[Node, np.ndarray], np.ndarray]:
    return lambda n, x: x - reduce(x, n.options["axis"], keepdims=True)


_erf = np.vectorize(math.erf)
_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)

KINDS: dict[str, Callable[..., np.ndarray]] = {
    "dense": _dense,
    "conv2d": _conv2d,
    "maxpool": _maxpool,
    "avgpool": _avgpool,
    "batchnorm": _batchnorm,
    "layernorm": _layernorm,
    "lstm": _lstm,
    "relu": lambda n, x: np.maximum(x, 0),
    "tanh": lambda n, x: np.tanh(x),
    "sigmoid": lambda n, x: sigmoid(x),
    "gelu": lambda n, x: x * (1 + _erf(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda n, x: x * (1 + np.tanh(_SQRT_2_OVER_PI * (x + 0.044715 * x**3))) / 2,
    "leaky_relu": lambda n, x: np.where(x > 0, x, n.options["slope"] * x),
    "softplus": lambda n, x: np.logaddexp(0, x),
    "elu": lambda n, x: np.where(x > 0, x, np.expm1(x)),
    "silu": lambda n, x: x * sigmoid(x),
    "identity": lambda n, *inputs: inputs[0],
    "scale": lambda n, x: x * n.options["factor"],
    "softmax": lambda n, x: np.exp(log_softmax(x, n.options["axis"])),
    "log_softmax": lambda n, x: log_softmax(x, n.options["axis"]),
    "flatten": lambda n, x: x.reshape(len(x), -1),
    "reshape": lambda n, x: x.reshape(len(x), *n.shape),
    "reshape_swapped": _swapped_reshape,
    "transpose": lambda n, x: x.transpose(0, 2, 1),
    "tokens": _tokens,
    "tokens_reshaped": lambda n, x: x.reshape(len(x), *n.shape),
    "reduce_mean": _along(np.mean, keep=False),
    "reduce_sum": _along(np.sum, keep=False),
    "reduce_max": _along(np.max, keep=False),
    "centre_mean": _centre(np.mean),
    "centre_max": _centre(np.max),
    "add": lambda n, a, b: a + b,
    "concat": lambda n, *inputs: np.concatenate(inputs, 1),
    "dueling": _dueling(lambda n, a: a.mean(n.options["axis"], keepdims=True)),
    "dueling_max": _dueling(lambda n, a: a.max(n.options["axis"], keepdims=True)),
    "dueling_uncentred": _dueling(lambda n, a: np.zeros(())),
    "dueling_value": _dueling_value,
    "expectation": _expectation,
}
