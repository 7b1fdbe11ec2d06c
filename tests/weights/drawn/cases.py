"""Transfers of drawn networks, compared with the map that is known from how they were drawn."""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

import parity
from parity.errors import ParityError
from parity.frameworks import load
from parity.frameworks.chainer import chainer
from parity.model import Model
from parity.weights.files import read_weights, write_weights
from parity.weights.saving import fill, save
from parity.weights.transfer import Transfer
from tests.weights.drawn import in_chainer, in_keras, in_torch
from tests.weights.drawn.nets import FRAMEWORKS, Net, net_of_seed, other_net

Array = np.ndarray[Any, Any]
Weights = Mapping[tuple[int, str], Array]
DIRECTIONS = list(itertools.permutations(FRAMEWORKS, 2))
BATCH = 3
_MAKERS = {
    "torch": in_torch.TorchNet,
    "keras": in_keras.keras_net,
    "chainer": in_chainer.ChainerNet,
}


@dataclass(frozen=True)
class Result:
    """What became of one direction of one network.

    Attributes:
        kinds: of its layers.
        verdict: of the transfer, or the name of what was raised.
        right: whether the target's weights are the source's, by the known map; None if not proved.
        exact: whether the way back gave every value as it was; None where there was none.
        reason: why it is not parity, or what is wrong.
        seconds: of the transfer there.
        ratio: those to one of the source's own forward passes.
    """

    seed: int
    direction: tuple[str, str]
    kinds: frozenset[str]
    verdict: str
    right: bool | None
    exact: bool | None
    reason: str
    seconds: float
    ratio: float

    @property
    def wrong(self) -> bool:
        return self.verdict == "parity" and not self.right

    @property
    def good(self) -> bool:
        return self.verdict == "parity" and bool(self.right) and bool(self.exact)


def inputs_of(net: Net, seed: int) -> Array:
    """An input with channels first."""
    random = np.random.default_rng(seed)
    if net.form == "words":
        rows = next(node.sizes["rows"] for node in net.nodes if node.kind == "embedding")
        return random.integers(0, rows, (BATCH, *net.shape), dtype=np.int32)
    return random.normal(size=(BATCH, *net.shape)).astype(np.float32)


def laid_out(net: Net, framework: str, inputs: Array) -> Array:
    """As a framework takes it."""
    last = framework == "keras" and net.form == "image"
    return np.ascontiguousarray(np.moveaxis(inputs, 1, -1)) if last else inputs


def built(net: Net, framework: str, inputs: Array, seed: int) -> Model:
    """A model with weights of its own, none at its default; variances and scales positive."""
    rng = np.random.default_rng([seed, FRAMEWORKS.index(framework)])
    own = laid_out(net, framework, inputs)
    wrapped = parity.wrap(
        _MAKERS[framework](net),
        input_layout="NHWC" if framework == "keras" else "NCHW",
        inputs=None if own.ndim == 4 else own,
    )
    load(wrapped.framework).record(wrapped, own)  # builds what is lazy
    for tensor in load(wrapped.framework).tensors(wrapped.obj):
        if tensor.dtype == "float32":
            drawn = rng.normal(size=tensor.shape).astype("f")
            spread = np.float32(0.8 / np.sqrt(max(1, np.prod(tensor.shape[1:]))))
            tensor.write(np.abs(drawn) * 0.5 + 0.5 if "var" in tensor.name else drawn * spread)
    return wrapped


def weights_of(net: Net, framework: str, model: Model) -> Weights:
    """By layer and role, in one arrangement; of a recurrence without its second bias the sum."""
    if framework == "keras":
        return in_keras.weights_of(model.obj, net)
    own = in_torch if framework == "torch" else in_chainer
    return own.weights_of(model.obj)


# --- transfers -----------------------------------------------------------------------------------


def judge(seed: int, direction: tuple[str, str], net: Net | None = None) -> Result:
    """Transfers a network's weights there and back."""
    net = net or net_of_seed(seed)
    inputs = inputs_of(net, seed)
    source, target = (built(net, name, inputs, seed) for name in direction)
    given = laid_out(net, direction[0], inputs)
    pace = _forward_seconds(source, given)
    begun = time.perf_counter()
    verdict, right, exact, reason = "", None, None, ""
    try:
        found = parity.transfer(source, target, given)
        verdict, reason = found.verdict, "" if found.verdict == "parity" else why(found)
    except ParityError as error:
        verdict, reason = type(error).__name__, str(error).split("\n")[0]
    seconds = time.perf_counter() - begun
    if verdict == "parity":
        wrong = unlike(
            *(weights_of(net, n, m) for n, m in zip(direction, (source, target), strict=True))
        )
        right, reason = not wrong, f"not as in the source: {', '.join(wrong)}" if wrong else ""
    if right:
        third = built(net, direction[0], inputs, seed + 1)
        back = parity.transfer(target, third, laid_out(net, direction[1], inputs))
        lost = _lost(net, direction[0], source, third)
        exact = back.verdict == "parity" and not lost
        reason = "" if exact else f"back: {back.verdict}, not as it was: {', '.join(lost)}"
    return Result(
        seed, direction, net.kinds, verdict, right, exact, reason, seconds, seconds / pace
    )


def why(found: Transfer) -> str:
    """What kept a transfer from parity, in a line."""
    left = [f"left in the {'source' if not n else 'target'}: {', '.join(names)}"
            for n, names in enumerate(found.table.left) if names]  # fmt: skip
    divergences = found.report.divergences if found.report is not None else ()
    reasons = [f"first at {_site(one.reference)} and {_site(one.candidate)}" for one in divergences]
    reasons = reasons[:1] or [r for one in found.report.comparisons for r in one.reasons]
    return "; ".join([*left, *found.table.notes, *reasons])


def _site(site: Any) -> str:
    return f"{site.op} in {site.layer or site.source}"


def unlike(source: Weights, target: Weights) -> list[str]:
    """Where two models' weights differ, in any bit."""
    return [
        f"{role} of {layer}"
        for layer, role in {**source, **target}
        if (layer, role) not in source
        or (layer, role) not in target
        or not np.array_equal(source[layer, role], target[layer, role])
    ]


def _lost(net: Net, framework: str, first: Model, third: Model) -> list[str]:
    """Tensors that came back changed; of two biases merged into one only the sum can come back."""
    tensors = [load(model.framework).tensors(model.obj) for model in (first, third)]
    differing = [
        one.name
        for one, other in zip(*tensors, strict=True)
        if not np.array_equal(one.read(), other.read())
    ]
    summed = all("b" in name.rpartition("/")[2].rpartition(".")[2] for name in differing)
    if summed and net.kinds & {"lstm", "gru_before"}:
        return unlike(*(weights_of(net, framework, model) for model in (first, third)))
    return differing


def _forward_seconds(model: Model, inputs: Array) -> float:
    """Of a plain forward pass, as the framework runs it."""
    taken = []
    for _ in range(5):
        begun = time.perf_counter()
        forward(model, inputs)
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def forward(model: Model, inputs: Array) -> list[Array]:
    """The outputs in inference, without the tool."""
    if model.framework == "torch":
        model.obj.eval()
        with torch.no_grad():
            found = model.obj(torch.from_numpy(inputs))
    elif model.framework == "chainer":
        with chainer.using_config("train", False), chainer.no_backprop_mode():
            found = model.obj(inputs)
    else:
        found = model.obj(inputs)
    outputs = found if isinstance(found, (list, tuple)) else [found]
    return [np.asarray(getattr(one, "array", one)) for one in outputs]


def judge_other(seed: int, direction: tuple[str, str]) -> str | None:
    """Transfers into a network that differs.

    Returns:
        What is wrong with the result; "" where nothing is; None where none could be drawn.
    """
    net = net_of_seed(seed)
    changed = other_net(net, Random(seed))
    if changed is None:
        return None
    inputs = inputs_of(net, seed)
    pair = (net, changed) if seed % 2 else (changed, net)
    source, target = (built(n, name, inputs, seed) for n, name in zip(pair, direction, strict=True))
    before = _contents(target)
    try:
        found = parity.transfer(source, target, laid_out(net, direction[0], inputs))
    except ParityError:
        found = None
    pairs = zip(before, _contents(target), strict=True)
    same = all(np.array_equal(old, new) for old, new in pairs)
    if found is not None and found.verdict != "diverged":
        return f"{found.verdict}: {found.table}"
    return "" if same else "the target is not as it was"


# --- files ---------------------------------------------------------------------------------------

_FORMATS = {
    "torch": ("npz", "torch", "safetensors", "hdf5", "tensorflow"),
    "keras": ("npz", "torch", "safetensors", "hdf5", "tensorflow", "keras", "keras-weights"),
    "chainer": ("npz", "chainer", "torch", "safetensors", "hdf5", "tensorflow"),
}
_SUFFIXES = {"keras": ".keras", "keras-weights": ".weights.h5", "npz": ".npz"}


def judge_files(seed: int) -> str:
    """Writes a model's weights in each format, and reads them into another of the same network.

    Returns:
        What came back changed; "" where nothing did.
    """
    net, wrong = net_of_seed(seed), []
    framework = FRAMEWORKS[seed % len(FRAMEWORKS)]
    inputs = inputs_of(net, seed)
    source = built(net, framework, inputs, seed)
    with tempfile.TemporaryDirectory() as folder:
        for kind in _FORMATS[framework]:
            path = Path(folder) / f"weights-{kind}{_SUFFIXES.get(kind, '')}"
            if kind.startswith("keras"):
                save(source, path)
            else:
                write_weights(path, _named(source, kind), kind)
            fresh = built(net, framework, inputs, seed + 1)
            fill(fresh, read_weights(path))
            pairs = zip(_contents(source), _contents(fresh), strict=True)
            if not all(np.array_equal(one, other) for one, other in pairs):
                wrong.append(kind)
    return ", ".join(wrong)


def _named(model: Model, kind: str) -> dict[str, Array]:
    """Contents by name, as each framework's own files have them."""
    strip = "/" if kind != "torch" else ""
    tensors = load(model.framework).tensors(model.obj)
    return {name.lstrip(strip): np.array(one.read()) for one in tensors for name in one.names}


def _contents(model: Model) -> list[Array]:
    return [np.array(tensor.read()) for tensor in load(model.framework).tensors(model.obj)]
