"""The truth: a description evaluated in NumPy, float64, one plain formula per kind of node."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .network import Network, Node, extent


def evaluate(
    network: Network, inputs: np.ndarray, noise: float = 0.0, seed: int = 0
) -> dict[str, np.ndarray]:
    """Every node's value, (batch, *shape), float64, disturbed by `noise` of its own size."""
    values = {network.nodes[0].name: inputs.astype(np.float64)}
    random = np.random.default_rng(seed)
    for node in network.nodes[1:]:
        value = KINDS[node.kind](node, *(values[name] for name in node.inputs))
        assert value.shape == (network.batch, *node.shape), (node, value.shape)
        values[node.name] = value + noise * np.abs(value).max() * random.standard_normal(
            value.shape
        )
    return values


def outputs(
    network: Network, inputs: np.ndarray, noise: float = 0.0, seed: int = 0
) -> list[np.ndarray]:
    values = evaluate(network, inputs, noise, seed)
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


def sensitivity(network: Network, inputs: np.ndarray, draws: int = 1) -> float:
    """How much more the outputs change than the values before them, relative to their sizes.

    The most of several draws of what disturbs them: one draw may be half of another.
    """
    noise, right = 1e-7, outputs(network, inputs)
    disturbed = (outputs(network, inputs, noise, seed) for seed in range(draws))
    return max(relative_error(one, right) for one in disturbed) / noise


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


def _windows(n: Node, x: np.ndarray, fill: float) -> np.ndarray:
    """What a sliding window sees at each place, (batch, channels, *places, kh, kw)."""
    stride, (top, bottom, left, right) = n.options["stride"], n.options["pad"]
    dilation = n.options.get("dilation", 1)
    pads = ((0, 0), (0, 0), (top, bottom), (left, right))
    if n.options.get("border") == "reflect":
        x = np.pad(x, pads, mode="reflect")
    else:
        x = np.pad(x, pads, constant_values=1.0 if "border" in n.options else fill)
    windows = sliding_window_view(x, extent(n.options["window"], dilation), (2, 3))
    windows = windows[:, :, ::stride, ::stride, ::dilation, ::dilation]
    rows, columns = n.shape[1:]
    assert windows.shape[2] >= rows and windows.shape[3] >= columns, (n, windows.shape)
    return windows[:, :, :rows, :columns]


def _conv2d(n: Node, x: np.ndarray) -> np.ndarray:
    groups = n.options["groups"]
    parts = zip(
        np.split(_windows(n, x, 0.0), groups, 1),
        np.split(_weight(n, "kernel"), groups),
        strict=True,
    )
    results = [np.tensordot(part, kernel, ((1, 4, 5), (1, 2, 3))) for part, kernel in parts]
    return np.moveaxis(np.concatenate(results, 3) + _weight(n, "bias"), 3, 1)


def _maxpool(fill: float) -> Callable[[Node, np.ndarray], np.ndarray]:
    return lambda n, x: _windows(n, x, fill).max((4, 5))


def _avgpool(n: Node, x: np.ndarray) -> np.ndarray:
    fill = 0.0 if n.options["counts_padding"] else np.nan
    return np.nanmean(_windows(n, x, fill), (4, 5))


Root = Callable[[np.ndarray, float], np.ndarray]


def _root(variance: np.ndarray, epsilon: float) -> np.ndarray:
    return np.sqrt(variance + epsilon)


def _root_and_epsilon(variance: np.ndarray, epsilon: float) -> np.ndarray:
    return np.sqrt(variance) + epsilon


def _batchnorm(
    root: Root = _root, affine: bool = True, of_batch: bool = False
) -> Callable[[Node, np.ndarray], np.ndarray]:
    def batchnorm(n: Node, x: np.ndarray) -> np.ndarray:
        def over(name: str) -> np.ndarray:
            return _weight(n, name).reshape(-1, *[1] * (x.ndim - 2))

        mean, variance = over("mean"), over("variance")
        if of_batch:
            axes = (0, *range(2, x.ndim))
            mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
        y = (x - mean) / root(variance, n.options["epsilon"])
        return y * over("gamma") + over("beta") if affine else y

    return batchnorm


def _layernorm(
    root: Root = _root, affine: bool = True, ddof: int = 0
) -> Callable[[Node, np.ndarray], np.ndarray]:
    def layernorm(n: Node, x: np.ndarray) -> np.ndarray:
        axis = n.options["axis"]
        y = x - x.mean(axis, keepdims=True)
        y = y / root(x.var(axis, ddof=ddof, keepdims=True), n.options["epsilon"])
        return y * _weight(n, "gamma") + _weight(n, "beta") if affine else y

    return layernorm


def _rmsnorm(
    root: Root = _root, affine: bool = True, offset: float = 0.0
) -> Callable[[Node, np.ndarray], np.ndarray]:
    def rmsnorm(n: Node, x: np.ndarray) -> np.ndarray:
        axis = n.options["axis"]
        y = x / root((x**2).mean(axis, keepdims=True), n.options["epsilon"])
        return y * (offset + _weight(n, "gamma")) if affine else y

    return rmsnorm


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


def hard_sigmoid(x: np.ndarray, slope: float = 0.2) -> np.ndarray:
    return np.clip(slope * x + 0.5, 0, 1)


def _lstm(
    gate: Callable[[np.ndarray], np.ndarray] = sigmoid, carried: bool = True
) -> Callable[[Node, np.ndarray], np.ndarray]:
    def lstm(n: Node, x: np.ndarray) -> np.ndarray:
        w, u, b = (_weight(n, name) for name in ("kernel", "recurrent", "bias"))

        def step(x: np.ndarray, state: list[np.ndarray]) -> list[np.ndarray]:
            h, c = state if carried else np.zeros_like(state)
            i, f, g, o = (x @ w[k] + h @ u[k] + b[k] for k in range(4))
            c = gate(f) * c + gate(i) * np.tanh(g)
            return [gate(o) * np.tanh(c), c]

        return _along_time(n, x, step, states=2)

    return lstm


def _gru(n: Node, x: np.ndarray) -> np.ndarray:
    w, u, b, ub = (_weight(n, k) for k in ("kernel", "recurrent", "bias", "recurrent_bias"))

    def step(x: np.ndarray, state: list[np.ndarray]) -> list[np.ndarray]:
        (h,) = state
        z, r = (sigmoid(x @ w[k] + b[k] + h @ u[k] + ub[k]) for k in range(2))
        hidden = r * (h @ u[2] + ub[2]) if n.options["reset_after"] else (r * h) @ u[2] + ub[2]
        return [z * h + (1 - z) * np.tanh(x @ w[2] + b[2] + hidden)]

    return _along_time(n, x, step, states=1)


def _along_time(
    n: Node,
    x: np.ndarray,
    step: Callable[[np.ndarray, list[np.ndarray]], list[np.ndarray]],
    states: int,
) -> np.ndarray:
    """The results of a recurrence in the order of time, or the one it ends with."""
    state = [np.zeros((len(x), n.shape[-1]))] * states
    results = {}
    times = range(x.shape[1])
    for t in reversed(times) if n.options["reverse"] else times:
        new = step(x[:, t], state)
        valid = t < np.array(n.options.get("lengths", [len(times)]))[:, None]
        state = [np.where(valid, a, b) for a, b in zip(new, state, strict=True)]
        results[t] = state[0]
    return np.stack([results[t] for t in times], 1) if n.options["sequence"] else state[0]


def _depthwise(n: Node, x: np.ndarray) -> np.ndarray:
    kernel = n.weights["kernel"]  # (channel, multiple, height, width)
    one_each = kernel.reshape(-1, 1, *kernel.shape[2:])
    return _conv2d(n.but(groups=len(kernel)).weighing(kernel=one_each), x)


def _deconv2d(n: Node, x: np.ndarray) -> np.ndarray:
    kernel, stride = _weight(n, "kernel"), n.options["stride"]  # (in, out, height, width)
    (kh, kw), (top, bottom, left, right) = n.options["window"], n.options["crop"]
    batch, _, height, width = x.shape
    y = np.zeros((batch, kernel.shape[1], (height - 1) * stride + kh, (width - 1) * stride + kw))
    for i, j in np.ndindex(height, width):
        r, c = i * stride, j * stride
        y[:, :, r : r + kh, c : c + kw] += np.einsum("bc,cohw->bohw", x[:, :, i, j], kernel)
    y = y[:, :, top : y.shape[2] - bottom, left : y.shape[3] - right]
    return y + _weight(n, "bias").reshape(-1, 1, 1)


def sampling(method: str, coordinates: str, size: int, before: int) -> np.ndarray:
    """(size, before): by how much each new row takes of each old one."""
    i = np.arange(size)
    at = {
        "half-pixel": (i + 0.5) * before / size - 0.5,
        "asymmetric": i * before / size,
        "align-corners": i * (before - 1) / (size - 1),
    }[coordinates]
    if method == "nearest":
        at = at + 0.5 if coordinates == "half-pixel" else at
        return np.eye(before)[np.clip(np.floor(at + 1e-9).astype(int), 0, before - 1)]
    at = np.clip(at, 0, before - 1)
    return np.maximum(0, 1 - np.abs(at[:, None] - np.arange(before)))


def _resize(n: Node, x: np.ndarray) -> np.ndarray:
    how = n.options["method"], n.options["coordinates"]
    rows, columns = (sampling(*how, n.shape[k], x.shape[k + 1]) for k in (1, 2))
    return np.einsum("bchw,ih,jw->bcij", x, rows, columns)


def _pixel_shuffle(n: Node, x: np.ndarray) -> np.ndarray:
    (channels, _, _), size = n.shape, x.shape[2:]
    if n.options["blocks_first"]:
        x = x.reshape(-1, 2, 2, channels, *size).transpose(0, 3, 4, 1, 5, 2)
    else:
        x = x.reshape(-1, channels, 2, 2, *size).transpose(0, 1, 4, 2, 5, 3)
    return x.reshape(-1, *n.shape)


def band(node: Node) -> np.ndarray:
    """(channels, channels): 1 where a channel is among another's neighbours."""
    channels = np.arange(node.shape[0])
    return (abs(channels[:, None] - channels) <= node.options["size"] // 2).astype(np.float64)


def _lrn(n: Node, x: np.ndarray) -> np.ndarray:
    total = np.einsum("bchw,dc->bdhw", x**2, band(n))
    return x / (n.options["k"] + n.options["alpha"] * total) ** n.options["beta"]


def _standardise(n: Node, x: np.ndarray) -> np.ndarray:
    over = (-1, 1, 1) if x.ndim == 4 else (-1,)
    return (x - _weight(n, "mean").reshape(over)) / _weight(n, "deviation").reshape(over)


def _positions(n: Node, x: np.ndarray) -> np.ndarray:
    offset = n.options["offset"]
    return x + _weight(n, "table")[offset : offset + x.shape[1]]


def _attention(split: Callable[[np.ndarray, int], np.ndarray]) -> Callable[..., np.ndarray]:
    def attention(n: Node, x: np.ndarray) -> np.ndarray:
        def heads(name: str) -> np.ndarray:  # (batch, head, step, feature of the head)
            return split(x @ _weight(n, name).reshape(x.shape[-1], -1), n.options["heads"])

        scores = heads("query") @ heads("key").swapaxes(2, 3) * n.options["factor"]
        if n.options["causal"]:
            scores = scores + np.triu(np.full(scores.shape[2:], n.options["fill"]), 1)
        read = np.exp(log_softmax(scores, 3)) @ heads("value")
        output = _weight(n, "output")
        return read.swapaxes(1, 2).reshape(*x.shape[:2], -1) @ output.reshape(-1, x.shape[-1])

    return attention


def _heads_outside(x: np.ndarray, heads: int) -> np.ndarray:
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def _heads_inside(x: np.ndarray, heads: int) -> np.ndarray:
    return x.reshape(*x.shape[:2], -1, heads).transpose(0, 3, 1, 2)


def _quantile(n: Node, x: np.ndarray) -> np.ndarray:
    """An implicit quantile network's embedding of fixed fractions, times the features."""
    fractions = (np.arange(n.shape[0]) + n.options["offset"]) / n.shape[0]
    kernel = _weight(n, "kernel")
    cosines = np.cos(np.pi * fractions[:, None] * np.arange(1, len(kernel) + 1))
    return x[:, None] * np.maximum(cosines @ kernel + _weight(n, "bias"), 0)


def _along(reduce: Callable[..., np.ndarray], keep: bool) -> Callable[..., np.ndarray]:
    return lambda n, x: reduce(x, n.options["axis"], keepdims=keep)


def _centre(reduce: Callable[..., np.ndarray]) -> Callable[[Node, np.ndarray], np.ndarray]:
    return lambda n, x: x - reduce(x, n.options["axis"], keepdims=True)


_erf = np.vectorize(math.erf)
_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)

KINDS: dict[str, Callable[..., np.ndarray]] = {
    "dense": _dense,
    "conv2d": _conv2d,
    "conv2d_border": _conv2d,
    "maxpool": _maxpool(-np.inf),
    "maxpool_zeros": _maxpool(0.0),
    "avgpool": _avgpool,
    "batchnorm": _batchnorm(),
    "batchnorm_outside": _batchnorm(root=_root_and_epsilon),
    "batchnorm_bare": _batchnorm(affine=False),
    "batchnorm_batch": _batchnorm(of_batch=True),
    "layernorm": _layernorm(),
    "layernorm_outside": _layernorm(root=_root_and_epsilon),
    "layernorm_bare": _layernorm(affine=False),
    "layernorm_ddof": _layernorm(ddof=1),
    "rmsnorm": _rmsnorm(),
    "rmsnorm_outside": _rmsnorm(root=_root_and_epsilon),
    "rmsnorm_bare": _rmsnorm(affine=False),
    "rmsnorm_offset": _rmsnorm(offset=1.0),
    "lstm": _lstm(),
    "lstm_hard": _lstm(gate=hard_sigmoid),
    "lstm_stateless": _lstm(carried=False),
    "lstm_masked": _lstm(),
    "gru": _gru,
    "depthwise": _depthwise,
    "deconv2d": _deconv2d,
    "resize": _resize,
    "pixel_shuffle": _pixel_shuffle,
    "lrn": _lrn,
    "standardise": _standardise,
    "positions": _positions,
    "attention": _attention(_heads_outside),
    "attention_split": _attention(_heads_inside),
    "quantile": _quantile,
    "relu": lambda n, x: np.maximum(x, 0),
    "tanh": lambda n, x: np.tanh(x),
    "sigmoid": lambda n, x: sigmoid(x),
    "gelu": lambda n, x: x * (1 + _erf(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda n, x: x * (1 + np.tanh(_SQRT_2_OVER_PI * (x + 0.044715 * x**3))) / 2,
    "leaky_relu": lambda n, x: np.where(x > 0, x, n.options["slope"] * x),
    "hard_sigmoid": lambda n, x: hard_sigmoid(x, n.options["slope"]),
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
