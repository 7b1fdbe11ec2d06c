"""Chainer: gradients of a model's outputs, and the line of the forward pass each step is of."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from parity.frameworks.chainer_numpy import import_chainer
from parity.frameworks.chainer_weights import links_of, tensors
from parity.model import flatten_inputs
from parity.outputs.gradients import (
    Cotangents,
    cotangent_of,
    is_continuous,
    of_input,
    of_parameter,
)
from parity.patching import patched
from parity.recorder import Recorder
from parity.site import Site
from parity.tape import Array, Op

chainer = import_chainer()


def gradients(
    outputs: Mapping[str, Any],
    inputs: Any,
    obj: object,
    cotangents: Cotangents,
    sites: BackwardSites | None,
) -> dict[str, Any]:
    """Vector-Jacobian products of outputs, by what they are with respect to; None of no path."""
    differentiated = {
        name: item
        for name, item in outputs.items()
        if isinstance(item, chainer.Variable) and item.dtype.kind == "f" and item.requires_grad
    }
    sources = {
        of_input(path): item
        for path, item in flatten_inputs(inputs).items()
        if isinstance(item, chainer.Variable) and is_continuous(item.array)
    }
    parameters = {one.name: one for one in tensors(obj) if one.trainable and one.is_floating}
    for path, link in links_of(obj).items():
        for key in sorted(link._params):
            if f"{path}/{key}" in parameters:
                sources[of_parameter(f"{path}/{key}")] = vars(link)[key]
    if not differentiated or not sources:
        return dict.fromkeys(sources)
    given = []
    for name, item in differentiated.items():
        given.append(chainer.Variable(cotangents(name, item.shape).astype(item.dtype)))
        if sites is not None:
            sites.starts(name, given[-1].array)
    with contextlib.nullcontext() if sites is None else sites.followed():
        found = chainer.grad(list(differentiated.values()), list(sources.values()), given)
    return dict(zip(sources, found, strict=True))


class BackwardSites:
    """Where the function of the forward pass was applied that is differentiated now.

    Args:
        inputs: of the tape, by name: those that a backward pass starts from are added.
    """

    def __init__(self, recorder: Recorder, inputs: dict[str, int]) -> None:
        self._recorder, self._inputs = recorder, inputs
        self._ops: dict[int, tuple[Any, Op]] = {}  # with the nodes, whose `id`s stay theirs
        self._site: Site | None = None
        recorder.differentiated = lambda: self._site

    def starts(self, name: str, cotangent: Array) -> None:
        """Says what a backward pass starts from."""
        called, dtype = cotangent_of(name), cotangent.dtype.name
        leaf = self._recorder.leaf(cotangent, "input", called, cotangent.shape, dtype)
        self._inputs[called] = leaf

    def forward(self, node: Any, op: Op) -> None:
        """A function was applied; None as its node is one that nothing differentiates."""
        if node is not None:
            self._ops[id(node)] = node, op

    def differentiated_by(self, gradient: Any) -> tuple[str, Op] | None:
        """The function that a function of a gradient holds, and the attribute by which."""
        for key, item in vars(gradient).items():
            node, op = self._ops.get(id(item), (None, None))
            if node is item and op is not None and op.role == "compute":
                return key, op
        return None

    @contextlib.contextmanager
    def followed(self) -> Iterator[None]:
        """Within it what is differentiated is known."""
        own: Callable[..., Any] = chainer._backprop_utils.backprop_step

        def step(node: Any, *arguments: Any) -> Any:
            before = self._site
            known = self._ops.get(id(node))
            self._site = Site("", "") if known is None else known[1].site
            try:
                return own(node, *arguments)
            finally:
                self._site = before

        with patched(chainer._backprop_utils, backprop_step=step):
            yield
