"""The layers of a Keras model as its files have them: their order, and the names of variables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from parity.weights.files.contents import Layer, natural

# The order of `vars/0`, `vars/1`, ...; a name goes with the setting that can turn it off.
_BIASED = (("kernel", ""), ("bias", "use_bias"))
_NORMED = (("gamma", "scale"), ("beta", "center"))
_RECURRENT = (("kernel", ""), ("recurrent_kernel", ""), ("bias", "use_bias"))
_VARIABLES: dict[str, tuple[tuple[str, str], ...]] = {
    **dict.fromkeys(("Dense", "EinsumDense", "Conv1D", "Conv2D", "Conv3D"), _BIASED),
    **dict.fromkeys(("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"), _BIASED),
    **dict.fromkeys(("DepthwiseConv1D", "DepthwiseConv2D"), _BIASED),
    **dict.fromkeys(("LSTMCell", "GRUCell", "SimpleRNNCell"), _RECURRENT),
    **dict.fromkeys(("LayerNormalization", "GroupNormalization"), _NORMED),
    "BatchNormalization": (*_NORMED, ("moving_mean", ""), ("moving_variance", "")),
    "Embedding": (("embeddings", ""),),
}
# Where a wrapper, as TimeDistributed or Bidirectional, has the layer in its config.
_WRAPPED = ("layer", "forward_layer", "backward_layer")
_CELLS = {"LSTM": "LSTMCell", "GRU": "GRUCell", "SimpleRNN": "SimpleRNNCell"}
_LONGEST = 4096  # characters of a layer's name


@dataclass
class Config:
    """A layer of a Keras config: read as JSON, never built."""

    name: str
    kind: str
    settings: Mapping[str, Any]
    inner: dict[str, Config] = field(default_factory=dict)


def parse_config(data: Any) -> Config | None:
    """The layers in a model's config; None where it has none."""
    if not isinstance(data, Mapping) or not isinstance(data.get("config"), Mapping):
        return None
    settings = data["config"]
    found = Config(str(settings.get("name", "")), str(data.get("class_name", "")), settings)
    used: dict[str, int] = {}
    layers = settings.get("layers")
    wrapped = parse_config(settings.get("layer"))
    if wrapped is not None:
        found.inner = dict.fromkeys(_WRAPPED, wrapped)
    for layer in layers if isinstance(layers, list) else []:
        inner = parse_config(layer)
        if inner is not None:
            # the file's own names come from classes, and are counted
            base = snake_case(inner.kind)
            count = used[base] = used.get(base, -1) + 1
            found.inner[f"{base}_{count}" if count else base] = inner
    return found


def snake_case(name: str) -> str:
    """`Conv2DTranspose` as `conv2d_transpose`, as Keras does it."""
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def position_of(place: str, config: Config | None) -> list[tuple[int, list[tuple[int, str]]]]:
    """Where a variable comes: layers as the config lists them, all else by name."""
    key = []
    for piece in place.split("/"):
        if piece == "layers" or config is None:
            key.append((0, natural(piece)))
            continue
        order = list(config.inner)
        key.append((order.index(piece) if piece in order else len(order), natural(piece)))
        config = config.inner.get(piece)
    return key


def _layer(
    place: str, groups: Mapping[str, Any], config: Config | None
) -> tuple[str, Config | None]:
    """The names of the layers on the way to one, as `inner/lstm/lstm_cell`; what is known of it."""
    names, at = [], ""
    for piece in place.split("/") if place else []:
        at = f"{at}/{piece}" if at else piece
        if piece == "layers":
            continue
        config = _inside(config, piece)
        own = groups.get(f"{at}/vars")
        stated = own.attrs.get("name") if own is not None else None
        name = str(stated or (config.name if config is not None else piece))
        if len(name) > _LONGEST:  # it is repeated for each variable
            raise ValueError(f"a layer's name has {len(name)} characters")
        names.append(name)
    return "/".join(names), config


def _inside(config: Config | None, piece: str) -> Config | None:
    """What is known of a layer in another; a recurrent layer's cell has its settings."""
    if config is not None and piece == "cell" and config.kind in _CELLS:
        return replace(config, kind=_CELLS[config.kind], inner={})
    return config.inner.get(piece) if config is not None else None


def labels_of(
    places: Iterable[str], groups: Mapping[str, Any], config: Config | None
) -> tuple[dict[str, str], tuple[Layer, ...]]:
    """Readable names by place, and the model's layers that have variables."""
    members: dict[str, list[str]] = {}
    for place in sorted(places, key=lambda place: position_of(place, config)):
        members.setdefault(place.rpartition("vars/")[0].rstrip("/"), []).append(place)
    labels, layers = {}, []
    for layer, own in members.items():
        name, known = _layer(layer, groups, config)
        variables = _own_names(known, len(own)) if known is not None else ()
        for index, place in enumerate(own):
            last = variables[index] if variables else place.rpartition("/")[2]
            labels[place] = f"{name}/{last}" if name else last
        if not layer.startswith("optimizer"):
            layers.append(Layer(name, known.kind if known is not None else "", tuple(own)))
    return labels, tuple(layers)


def _own_names(config: Config, count: int) -> tuple[str, ...]:
    """The names of a layer's variables; () where its class is not known."""
    listed = _VARIABLES.get(config.kind, ())
    names = tuple(name for name, switch in listed if config.settings.get(switch, True))
    return names if len(names) == count else ()
