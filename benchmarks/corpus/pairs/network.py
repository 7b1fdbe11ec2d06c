"""The neutral description of a small network: named nodes, no framework.

Images are described as (channels, height, width), tables as (rows, columns), vectors as
(features,); the batch comes first and is left out of shapes. An axis counts the batch as 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

NEVER = -1e9  # added to the scores of what attention must not see


@dataclass(frozen=True)
class Node:
    """One operation: its kind, the nodes it reads, the shape it gives, its weights."""

    name: str
    kind: str
    inputs: tuple[str, ...]
    shape: tuple[int, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    weights: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """The kind without its variant: 'layernorm' for 'layernorm_ddof'."""
        return self.kind.partition("_")[0]

    def but(self, kind: str | None = None, **options: Any) -> Node:
        """The same node with another kind or other options."""
        return replace(self, kind=kind or self.kind, options={**self.options, **options})

    def weighing(self, **weights: np.ndarray | None) -> Node:
        """The same node with other weights; None removes one."""
        weights = {**self.weights, **weights}
        return replace(self, weights={k: w for k, w in weights.items() if w is not None})


@dataclass(frozen=True)
class Network:
    """Nodes in the order they run; the first is the input `x`."""

    batch: int
    nodes: tuple[Node, ...]
    outputs: Mapping[str, str]  # name of the output: node
    named_outputs: bool  # a dict of outputs, or a tuple

    def node(self, name: str) -> Node:
        return next(node for node in self.nodes if node.name == name)

    def consumers(self, name: str) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if name in node.inputs)

    def leads(self, first: str, last: str) -> bool:
        """Whether a node's value is made of another's."""
        return any(one == first or self.leads(first, one) for one in self.node(last).inputs)

    def with_nodes(self, *changed: Node) -> Network:
        """With these in the place of those of their names; new ones stand before the last."""
        by_name = {node.name: node for node in changed}
        known = {node.name for node in self.nodes}
        nodes: list[Node] = []
        for node in self.nodes:
            if node.name == changed[-1].name:
                nodes += [new for new in changed if new.name not in known]
            nodes.append(by_name.get(node.name, node))
        return replace(self, nodes=tuple(nodes))

    def input_values(self, seed: int) -> np.ndarray:
        """Random, distinct, signed inputs, (batch, *shape), float32, in the described layout."""
        shape = (self.batch, *self.nodes[0].shape)
        return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def extent(kernel: tuple[int, int], dilation: int) -> tuple[int, int]:
    """How far a window reaches, its holes counted."""
    return (kernel[0] - 1) * dilation + 1, (kernel[1] - 1) * dilation + 1


def padding_of(
    size: tuple[int, int], kernel: tuple[int, int], stride: int, same: bool
) -> tuple[tuple[int, int, int, int], tuple[int, int]]:
    """(top, bottom, left, right), and the height and width that result.

    'Same' as TensorFlow has it: what is odd goes to the bottom and the right.
    """
    if not same:
        height, width = ((n - k) // stride + 1 for n, k in zip(size, kernel, strict=True))
        return (0, 0, 0, 0), (height, width)
    height, width = (-(-n // stride) for n in size)
    spare = (
        max((out - 1) * stride + k - n, 0)
        for n, k, out in zip(size, kernel, (height, width), strict=True)
    )
    (top, bottom), (left, right) = ((total // 2, total - total // 2) for total in spare)
    return (top, bottom, left, right), (height, width)


def ceiling_of(
    size: tuple[int, int], kernel: tuple[int, int], stride: int
) -> tuple[tuple[int, int, int, int], tuple[int, int]]:
    """The padding at the end by which a pool's last window is not cut off, and the size then."""
    height, width = (-(-(n - k) // stride) + 1 for n, k in zip(size, kernel, strict=True))
    bottom, right = (
        (out - 1) * stride + k - n for n, k, out in zip(size, kernel, (height, width), strict=True)
    )
    return (0, bottom, 0, right), (height, width)
