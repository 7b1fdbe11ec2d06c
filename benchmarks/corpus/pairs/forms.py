"""What a table of forms is made of: how a kind of node may be written down in a framework."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from .network import Network, Node

Condition = Callable[[Mapping[str, Any]], bool]


def always(names: Mapping[str, Any]) -> bool:
    return True


@dataclass(frozen=True)
class Form:
    """One way to write a kind of node down: templates, filled in with the names of `_names`.

    A field that is the name of a weight (`{kernel}`) makes that weight a parameter of the model.
    """

    code: str
    layer: str = ""  # what makes the framework's layer, if this form uses one
    weights: Mapping[str, str] = field(default_factory=dict)  # the layer's attribute: arrangement
    when: Condition = always


def by_hand(code: str, when: Condition = always) -> Form:
    return Form(code, when=when)


def by_layer(
    layer: str,
    code: str = "{y} = self.{y}({x})",
    when: Condition = always,
    **weights: str,
) -> Form:
    return Form(code, layer, {k.replace("__", "."): v for k, v in weights.items()}, when)


@dataclass(frozen=True)
class Weight:
    """A parameter of a built model: where it is, and its value."""

    node: str
    attribute: str  # "weight" of the layer `node`, or "dense1_kernel" of the model
    of_layer: bool
    value: np.ndarray


@dataclass(frozen=True)
class Piece:
    """What a node becomes: its layer's constructor, its parameters by hand, its lines."""

    node: Node
    layer: str
    lines: tuple[str, ...]
    weights: tuple[Weight, ...]


@dataclass(frozen=True)
class Flavour:
    """A framework's table of forms, and how its models are written, loaded and run."""

    name: str
    forms: Mapping[str, Sequence[Form]]
    parameter: str  # how the code names a parameter made by hand
    row: str  # a (batch, n) tensor as (batch, 1, n)
    stack: str  # a list of steps as one tensor
    layouts: tuple[str, ...]
    write: Callable[[Network, Plan, Sequence[Piece]], str]
    load: Callable[[ModuleType, Sequence[Weight], np.ndarray], Any]
    run: Callable[[Any, np.ndarray], Any]  # the plain outputs, as NumPy arrays
    images_last: tuple[str, str] = ("", "")  # how to turn images to channels last, and back


@dataclass(frozen=True)
class Plan:
    """How a model is to be built: the decompositions follow from the seed."""

    flavour: str
    layout: str  # NCHW; NHWC; "NCHW in" takes NCHW and works in NHWC
    seed: int

    @property
    def channels_last(self) -> bool:
        return self.layout != "NCHW"

    @property
    def compiled(self) -> bool:
        """Whether a function is a tf.function."""
        return self.flavour == "tensorflow" and self.seed % 4 == 0


# What the writers share.


def tag(lines: Sequence[str], node: Node) -> list[str]:
    return [f"{line}  # node: {node.name}" for line in lines]


def body(network: Network, pieces: Sequence[Piece]) -> list[str]:
    """The lines of the pieces, and what the model returns, as a method's own lines."""
    lines = [line for piece in pieces for line in tag(piece.lines, piece.node)]
    return [f"        {line}" for line in [*lines, f"return {returned(network)}"]]


def returned(network: Network) -> str:
    """The expression that a model returns."""
    if network.named_outputs:
        return "{" + ", ".join(f'"{k}": {v}' for k, v in network.outputs.items()) + "}"
    return ", ".join(network.outputs.values())
