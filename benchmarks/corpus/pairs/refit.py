"""The shapes of a network anew, after a change that may have altered the size of an image."""

from __future__ import annotations

from dataclasses import replace

from .network import Network, Node, extent

Shape = tuple[int, ...]
KEEP_SHAPE = (
    *("batchnorm", "relu", "tanh", "sigmoid", "gelu", "leaky", "softplus", "elu", "silu", "hard"),
    *("identity", "scale", "add", "lrn", "standardise"),
)
WINDOWED = ("conv2d", "maxpool", "avgpool")


def refitted(changed: Network, before: Network) -> Network | None:
    """The changed network with the shapes that follow; None where the change does not fit.

    Args:
        changed: The network, nodes of which may state another shape than they give.
        before: The same network, unchanged.
    """
    known = {node.name: node.shape for node in before.nodes}
    nodes: dict[str, Node] = {}
    for node in changed.nodes:
        shapes = [nodes[name].shape for name in node.inputs]
        moved = any(nodes[name].shape != known.get(name, nodes[name].shape) for name in node.inputs)
        shape = _shape(node, shapes, moved)
        if shape is None or min(shape) < 1:
            return None
        nodes[node.name] = replace(node, shape=shape) if shape != node.shape else node
    if any(nodes[name].shape != known[name] for name in changed.outputs.values()):
        return None
    return replace(changed, nodes=tuple(nodes.values()))


def _shape(node: Node, shapes: list[Shape], moved: bool) -> Shape | None:
    if node.family in WINDOWED:
        return _windowed(node, shapes[0])
    if not moved:
        return node.shape
    if node.family in KEEP_SHAPE:
        return shapes[0] if len(set(shapes)) == 1 else None
    if node.kind == "concat" and len({shape[1:] for shape in shapes}) == 1:
        return (sum(shape[0] for shape in shapes), *shapes[0][1:])
    if node.family == "reduce" and node.options["axis"] == (2, 3):
        return shapes[0][:1]
    return None


def _windowed(node: Node, shape: Shape) -> Shape:
    """(channels, height, width), by as many whole steps as the window fits in."""
    top, bottom, left, right = node.options["pad"]
    stride = node.options["stride"]
    size = shape[1] + top + bottom, shape[2] + left + right
    window = extent(node.options["window"], node.options.get("dilation", 1))
    places = ((n - k) // stride + 1 for n, k in zip(size, window, strict=True))
    return (node.shape[0], *places)
