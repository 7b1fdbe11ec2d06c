"""The operations of random programs, each written in several ways.

A way is a function of a backend, the arguments and the parameters. The first is the plainest and
is what the truth is computed by; the others are decompositions or a framework's own kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Way = Callable[[Any, Sequence[Any], Mapping[str, Any]], Any]

WAYS: dict[str, list[Way]] = {}


def _way(name: str) -> Callable[[Way], Way]:
    def register(way: Way) -> Way:
        WAYS.setdefault(name, []).append(way)
        return way

    return register


def _fused(name: str, *keys: str, constants: Sequence[str] = ()) -> Way:
    """The framework's own kernel; the plain way where it has none."""

    def way(xp: Any, args: Sequence[Any], p: Mapping[str, Any]) -> Any:
        kernel = xp.fused.get(name)
        if kernel is None or any(p[key] is None for key in constants):
            return WAYS[name][0](xp, args, p)
        given = [xp.const(p[key]) if key in constants else p[key] for key in keys]
        return kernel(*args, *given)

    return way


# --- elementwise ----------------------------------------------------------------------------------

for _name in ("tanh", "sigmoid", "abs", "sin"):

    def _plain(xp: Any, args: Sequence[Any], p: Mapping[str, Any], name: str = _name) -> Any:
        return getattr(xp, name)(args[0])

    WAYS[_name] = [_plain]

_RATIO = math.sqrt(2 / math.pi)

WAYS["tanh"].append(lambda xp, a, p: xp.sub(xp.mul(xp.sigmoid(xp.mul(a[0], 2.0)), 2.0), 1.0))
WAYS["neg"] = [lambda xp, a, p: xp.mul(a[0], -1.0), lambda xp, a, p: xp.sub(0.0 * a[0], a[0])]
WAYS["square"] = [lambda xp, a, p: xp.mul(a[0], a[0]), _fused("square")]
WAYS["relu"] = [lambda xp, a, p: xp.maximum(a[0], 0.0), _fused("relu")]
WAYS["silu"] = [lambda xp, a, p: xp.mul(a[0], xp.sigmoid(a[0])), _fused("silu")]
WAYS["gelu"] = [
    lambda xp, a, p: xp.mul(xp.mul(a[0], 0.5), xp.add(xp.erf(xp.mul(a[0], math.sqrt(0.5))), 1.0)),
    _fused("gelu"),
]


@_way("gelu_tanh")
def _gelu_tanh(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    x = a[0]
    inner = xp.add(x, xp.mul(xp.mul(x, xp.mul(x, x)), 0.044715))
    return xp.mul(xp.mul(x, 0.5), xp.add(xp.tanh(xp.mul(inner, _RATIO)), 1.0))


WAYS["gelu_tanh"].append(_fused("gelu_tanh"))


@_way("softplus")
def _softplus(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    tail = xp.log(xp.add(xp.exp(xp.mul(xp.abs(a[0]), -1.0)), 1.0))
    return xp.add(xp.maximum(a[0], 0.0), tail)


WAYS["softplus"].append(_fused("softplus"))


@_way("leaky")
def _leaky(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    return xp.where_above(a[0], 0.0, a[0], xp.mul(a[0], p["slope"]))


WAYS["leaky"].append(_fused("leaky", "slope"))


@_way("elu")
def _elu(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    low = xp.mul(xp.sub(xp.exp(xp.minimum(a[0], 0.0)), 1.0), p["alpha"])
    return xp.where_above(a[0], 0.0, a[0], low)


WAYS["elu"].append(_fused("elu", "alpha"))

WAYS["scale"] = [
    lambda xp, a, p: xp.mul(a[0], p["by"]),
    lambda xp, a, p: xp.div(a[0], 1 / p["by"]),
]
WAYS["shift"] = [
    lambda xp, a, p: xp.add(a[0], p["by"]),
    lambda xp, a, p: xp.sub(a[0], -p["by"]),
]
WAYS["clip"] = [
    lambda xp, a, p: xp.minimum(xp.maximum(a[0], p["low"]), p["high"]),
    _fused("clip", "low", "high"),
]
WAYS["log_eps"] = [
    lambda xp, a, p: xp.log(xp.add(xp.abs(a[0]), p["eps"])),
    lambda xp, a, p: xp.log(xp.add(xp.sqrt(xp.mul(a[0], a[0])), p["eps"])),
]
WAYS["rsqrt_eps"] = [
    lambda xp, a, p: xp.div(1.0, xp.sqrt(xp.add(xp.mul(a[0], a[0]), p["eps"]))),
    lambda xp, a, p: (xp.fused.get("rsqrt") or (lambda x: xp.div(1.0, xp.sqrt(x))))(
        xp.add(xp.mul(a[0], a[0]), p["eps"])
    ),
]
WAYS["softsign"] = [lambda xp, a, p: xp.div(a[0], xp.add(xp.abs(a[0]), p["by"]))]
WAYS["softcap"] = [lambda xp, a, p: xp.mul(xp.tanh(xp.div(a[0], p["at"])), p["at"])]
WAYS["exp_neg"] = [
    lambda xp, a, p: xp.exp(xp.mul(xp.mul(a[0], a[0]), -p["rate"])),
    lambda xp, a, p: xp.div(1.0, xp.exp(xp.mul(xp.mul(a[0], p["rate"]), a[0]))),
]
WAYS["above"] = [lambda xp, a, p: xp.where_above(a[0], p["bound"], a[0], xp.mul(a[0], p["factor"]))]

# --- of two values --------------------------------------------------------------------------------

WAYS["add"] = [lambda xp, a, p: xp.add(a[0], a[1]), lambda xp, a, p: xp.add(a[1], a[0])]
WAYS["sub"] = [
    lambda xp, a, p: xp.sub(a[0], a[1]),
    lambda xp, a, p: xp.add(a[0], xp.mul(a[1], -1.0)),
]
WAYS["mul"] = [lambda xp, a, p: xp.mul(a[0], a[1]), lambda xp, a, p: xp.mul(a[1], a[0])]
WAYS["div"] = [lambda xp, a, p: xp.div(a[0], xp.add(xp.abs(a[1]), p["by"]))]
WAYS["max2"] = [lambda xp, a, p: xp.maximum(a[0], a[1])]
WAYS["min2"] = [lambda xp, a, p: xp.minimum(a[0], a[1])]
WAYS["mix"] = [
    lambda xp, a, p: xp.add(xp.mul(a[0], p["share"]), xp.mul(a[1], 1 - p["share"])),
    lambda xp, a, p: xp.add(a[1], xp.mul(xp.sub(a[0], a[1]), p["share"])),
]
WAYS["gate"] = [lambda xp, a, p: xp.mul(a[0], xp.sigmoid(a[1]))]
WAYS["concat"] = [lambda xp, a, p: xp.concat(a, p["axis"])]

# --- layers ---------------------------------------------------------------------------------------


@_way("linear")
def _linear(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    y = _matmul(xp, a[0], xp.const(p["w"]))
    return y if p["b"] is None else xp.add(y, xp.const(p["b"]))


@_way("linear")
def _linear_flat(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    x, w = a[0], p["w"]
    flat = xp.reshape(x, (math.prod(x.shape[:-1]), w.shape[0]))
    y = xp.matmul(flat, xp.const(w))
    y = y if p["b"] is None else xp.add(y, xp.const(p["b"]))
    return xp.reshape(y, (*x.shape[:-1], w.shape[1]))


def _matmul(xp: Any, x: Any, w: Any) -> Any:
    if xp.name in ("numpy", "torch") or len(x.shape) == 2:
        return xp.matmul(x, w)
    flat = xp.matmul(xp.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1])), w)
    return xp.reshape(flat, (*x.shape[:-1], w.shape[-1]))


WAYS["linear"].append(_fused("linear", "w", "b", constants=("w", "b")))


@_way("norm")
def _norm(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    centred = xp.sub(a[0], xp.const(p["mean"]))
    spread = xp.sqrt(xp.add(xp.const(p["var"]), p["eps"]))
    return xp.add(xp.mul(xp.div(centred, spread), xp.const(p["gain"])), xp.const(p["bias"]))


@_way("norm")
def _folded_norm(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    gain = xp.div(xp.const(p["gain"]), xp.sqrt(xp.add(xp.const(p["var"]), p["eps"])))
    shift = xp.sub(xp.const(p["bias"]), xp.mul(xp.const(p["mean"]), gain))
    return xp.add(xp.mul(a[0], gain), shift)


@_way("layer_norm")
def _layer_norm(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    axis = len(a[0].shape) - 1
    centred = xp.sub(a[0], xp.mean(a[0], axis))
    spread = xp.sqrt(xp.add(xp.mean(xp.mul(centred, centred), axis), p["eps"]))
    return xp.add(xp.mul(xp.div(centred, spread), xp.const(p["gain"])), xp.const(p["bias"]))


WAYS["layer_norm"].append(_fused("layer_norm", "gain", "bias", "eps", constants=("gain", "bias")))


@_way("standardise")
def _standardise(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    x, axis = a[0], p["axis"]
    centred = xp.sub(x, xp.mean(x, axis))
    count = x.shape[axis]
    variance = xp.div(xp.sum(xp.mul(centred, centred), axis), float(count - p["ddof"]))
    return xp.div(centred, xp.add(xp.sqrt(variance), p["eps"]))


@_way("l2norm")
def _l2norm(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    length = xp.sqrt(xp.sum(xp.mul(a[0], a[0]), p["axis"]))
    return xp.div(a[0], xp.maximum(length, p["eps"]))


@_way("attention")
def _attention(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    q, k, v = (_matmul(xp, a[0], xp.const(p[key])) for key in ("wq", "wk", "wv"))
    scores = xp.mul(xp.matmul(q, xp.transpose(k, (0, 2, 1))), p["scale"])
    return xp.matmul(WAYS["softmax"][0](xp, [scores], {"axis": 2}), v)


@_way("attention")
def _attention_scaled_first(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    q, k, v = (_matmul(xp, a[0], xp.const(p[key])) for key in ("wq", "wk", "wv"))
    scores = xp.matmul(xp.mul(q, p["scale"]), xp.transpose(k, (0, 2, 1)))
    return xp.matmul(WAYS["softmax"][1](xp, [scores], {"axis": 2}), v)


@_way("conv1d")
def _conv1d(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    x, w = a[0], p["w"]  # (batch, time, in), (taps, in, out)
    steps = x.shape[1] - w.shape[0] + 1
    total = None
    for tap in range(w.shape[0]):
        part = _matmul(xp, xp.cut(x, 1, tap, tap + steps), _tap(xp, w, tap))
        total = part if total is None else xp.add(total, part)
    return total


def _tap(xp: Any, w: Any, tap: int) -> Any:
    kernel = xp.cut(xp.const(w), 0, tap, tap + 1)
    return xp.reshape(kernel, w.shape[1:])


WAYS["conv1d"].append(_fused("conv1d", "w", constants=("w",)))


@_way("embed")
def _embed(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    return xp.lookup(xp.const(p["table"]), a[0])


# --- over an axis ---------------------------------------------------------------------------------


@_way("softmax")
def _softmax(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    e = xp.exp(xp.sub(a[0], xp.max(a[0], p["axis"])))
    return xp.div(e, xp.sum(e, p["axis"]))


@_way("log_softmax")
def _log_softmax(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    centred = xp.sub(a[0], xp.max(a[0], p["axis"]))
    return xp.sub(centred, xp.log(xp.sum(xp.exp(centred), p["axis"])))


@_way("logsumexp")
def _logsumexp(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    most = xp.max(a[0], p["axis"])
    return xp.add(xp.log(xp.sum(xp.exp(xp.sub(a[0], most)), p["axis"])), most)


for _name in ("softmax", "log_softmax", "logsumexp"):
    WAYS[_name].append(_fused(_name, "axis"))


@_way("masked_softmax")
def _masked_softmax(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    hidden = xp.where(p["mask"], a[0], p["fill"])
    return WAYS["softmax"][0](xp, [hidden], {"axis": len(a[0].shape) - 1})


@_way("masked_softmax")
def _masked_softmax_fused(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    hidden = xp.where(p["mask"], a[0], p["fill"])
    return WAYS["softmax"][1](xp, [hidden], {"axis": len(a[0].shape) - 1})


@_way("mean")
def _mean(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    return xp.mean(a[0], p["axis"])


@_way("mean")
def _mean_of_sum(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    return xp.div(xp.sum(a[0], p["axis"]), float(a[0].shape[p["axis"]]))


for _name in ("sum", "max", "min", "cumsum"):

    def _over(xp: Any, args: Sequence[Any], p: Mapping[str, Any], name: str = _name) -> Any:
        return getattr(xp, name)(args[0], p["axis"])

    WAYS[_name] = [_over]


@_way("variance")
def _variance(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    centred = xp.sub(a[0], xp.mean(a[0], p["axis"]))
    count = a[0].shape[p["axis"]]
    return xp.div(xp.sum(xp.mul(centred, centred), p["axis"]), float(count - p["ddof"]))


@_way("variance")
def _one_pass_variance(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    mean = xp.mean(a[0], p["axis"])
    biased = xp.sub(xp.mean(xp.mul(a[0], a[0]), p["axis"]), xp.mul(mean, mean))
    count = a[0].shape[p["axis"]]
    left = count - p["ddof"]  # of one number no variance can be estimated
    return xp.mul(biased, count / left if left else float("nan"))


WAYS["variance"].append(_fused("variance", "axis", "ddof"))

# --- moves ----------------------------------------------------------------------------------------

WAYS["transpose"] = [lambda xp, a, p: xp.transpose(a[0], p["axes"])]
WAYS["flatten"] = [lambda xp, a, p: xp.reshape(a[0], (a[0].shape[0], math.prod(a[0].shape[1:])))]
WAYS["cut"] = [
    lambda xp, a, p: xp.cut(a[0], p["axis"], p["start"], p["stop"]),
    lambda xp, a, p: xp.take(a[0], list(range(p["start"], p["stop"])), p["axis"]),
]
WAYS["take"] = [lambda xp, a, p: xp.take(a[0], p["index"], p["axis"])]
WAYS["flip"] = [lambda xp, a, p: xp.flip(a[0], p["axis"])]
WAYS["pad"] = [lambda xp, a, p: xp.pad(a[0], p["axis"], p["before"], p["after"], p["value"])]


@_way("roll")
def _roll(xp: Any, a: Sequence[Any], p: Mapping[str, Any]) -> Any:
    length = a[0].shape[p["axis"]]
    at = (length - p["shift"]) % length
    parts = [xp.cut(a[0], p["axis"], at, length), xp.cut(a[0], p["axis"], 0, at)]
    return xp.concat(parts, p["axis"])


WAYS["roll"].append(_fused("roll", "shift", "axis"))

# --- what only a mutation has ---------------------------------------------------------------------

WAYS["rounded"] = [lambda xp, a, p: xp.rounded(a[0], p["kind"])]
WAYS["touched"] = [lambda xp, a, p: xp.mul(a[0], xp.const(p["factor"]))]
WAYS["same"] = [lambda xp, a, p: a[0]]
