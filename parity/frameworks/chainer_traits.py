"""What is particular to Chainer: links among outputs, switches."""

from __future__ import annotations

from typing import Any

from parity.frameworks.chainer_keeping import STATE
from parity.frameworks.chainer_numpy import import_chainer
from parity.frameworks.chainer_products import product
from parity.frameworks.chainer_weights import WEIGHTS
from parity.frameworks.chainer_windows import channel_axis, padding, window
from parity.frameworks.chainer_words import SETTINGS
from parity.frameworks.traits import Traits
from parity.outputs.tensors import offers

chainer = import_chainer()


def readable(thing: Any) -> Any:
    return thing.array if isinstance(thing, chainer.Variable) else thing


def parameters(thing: Any) -> dict[str, Any] | None:
    if not offers(thing, "namedparams", "namedlinks"):
        return None
    found = {path.strip("/"): one for path, one in thing.namedparams()}
    for path, link in thing.namedlinks():
        for name in getattr(link, "_persistent", ()):
            found[f"{path.strip('/')}/{name}".strip("/")] = getattr(link, name)
    return found


def switches() -> dict[str, str]:
    names = {
        "train": "train",
        "cudnn deterministic": "cudnn_deterministic",
        "autotune": "autotune",
    }
    return {name: "on" if getattr(chainer.config, key) else "off" for name, key in names.items()}


TRAITS = Traits(
    state=STATE,
    settings=SETTINGS,
    weights=WEIGHTS,
    window=window,
    padding=padding,
    product=product,
    channel_axis=channel_axis,
    readable=readable,
    parameters=parameters,
    switches=switches,
    divergences="chainer",
)
