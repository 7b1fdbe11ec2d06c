"""What TensorFlow's operations draw from; a fused draw and transform are separated."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parity.draws import fused
from parity.draws.draw import GUMBEL, NORMAL, UNIFORM, Array, Draw, Gave, Transform, generator
from parity.recorder import Recorder

_VERSION = re.compile(r"^(Stateless|Stateful|)(Random|)(.*?)(V\d+)?$")
_STANDARD = {
    "StandardNormal": NORMAL,
    "Normal": NORMAL,
    "Uniform": UNIFORM,
    "TruncatedNormal": Draw(
        "truncated-normal", {"mean": 0.0, "std": 1.0, "low": -2.0, "high": 2.0}
    ),
}
# Kernels that draw in a way of their own, with the arguments that are parameters.
_OWN = {
    "Gamma": ("gamma", ("alpha",)),
    "Poisson": ("poisson", ("rate", "lam")),
    "Binomial": ("binomial", ("counts", "probs")),
}


def is_categorical(kind: str) -> bool:
    return _bare(kind) == "Multinomial"


def draw_of(kind: str, given: Mapping[str, Array], ids: Mapping[str, int]) -> Draw | None:
    """What an operation draws from; None if that is not known.

    Args:
        given: its arguments.
        ids: of those among them that are values of the tape.
    """
    bare = _bare(kind)
    if bare in _STANDARD:
        return _STANDARD[bare]
    if bare == "UniformInt":
        low, high = (np.asarray(given[name]) for name in ("minval", "maxval"))
        if low.size == high.size == 1:
            return Draw("integers", {"low": float(low.item()), "high": float(high.item())})
    if bare == "ParameterizedTruncatedNormal":
        return _truncated(given)
    if bare == "Shuffle" and given["value"].ndim == 1:
        count = len(given["value"])
        if np.array_equal(given["value"], np.arange(count)):
            return Draw("permutation", {"n": float(count)})
    if bare in _OWN:
        name, parameters = _OWN[bare]
        return Draw.of_values(name, [ids[one] for one in parameters if one in ids])
    return None


def seed_of(kind: str, given: Mapping[str, Array]) -> bytes:
    """What fixes the numbers that a stateless operation draws; nothing of any other."""
    if not kind.startswith("Stateless"):
        return b""
    names = ("seed", "key", "counter")
    return b"".join(given[name].tobytes() for name in names if name in given)


def _truncated(given: Mapping[str, Array]) -> Draw | None:
    names = (("means",), ("stdevs", "stddevs"), ("minvals",), ("maxvals",))
    found = [next(given[one] for one in some if one in given) for some in names]
    if any(np.unique(one).size != 1 for one in found):
        return None
    mean, std, low, high = (float(one.flat[0]) for one in found)
    return Draw(
        "truncated-normal",
        {"mean": mean, "std": std, "low": (low - mean) / std, "high": (high - mean) / std},
    )


def _bare(kind: str) -> str:
    found = _VERSION.match(kind)
    return found.group(3) if found else kind


def add_categorical(
    recorder: Recorder,
    kind: str,
    logits: int,
    results: Sequence[Any],
    shown: Mapping[str, Any],
    seed: bytes,
) -> None:
    """Records a categorical draw as noise, log-probabilities, and what is the largest of both."""
    to_numpy = recorder.adapter.to_numpy
    (shares,) = fused.log_shares(to_numpy(recorder.recorded[logits]))
    random = generator(len(recorder.ops))
    chosen = to_numpy(results[0][0])
    noise = fused.categorical_noise(chosen, shares, random)

    def output(array: Array) -> list[tuple[Any, Any, str]]:
        return [(recorder.adapter.from_numpy(array), array.shape, "float64")]

    drawn = recorder.op(
        "gumbel_draw", (), output(noise), role="random", draw=GUMBEL, call=Gave(chosen, seed)
    )
    call = Transform(fused.log_shares)
    known = recorder.op("log_softmax", (logits,), output(shares), call=call)
    inside = (*drawn.outputs, *known.outputs)
    recorder.op(kind, inside, results, attributes=shown, call=Transform(fused.categorical))
