"""Chainer: gradients of a model's outputs, and the line of the forward pass each step is of."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from parity.frameworks.chainer_numpy import import_chainer
from parity.frameworks.chainer_weights import links_of, tensors
from parity.model import flatten_inputs
from parity.outputs.gradients import Cotangents, Noted, cotangent_of, of_input, of_parameter
from parity.patching import patched
from parity.recorder import Recorder
from parity.site import Site

chainer = import_chainer()


def gradients(
    outputs: Mapping[str, Any], inputs: Any, obj: object, cotangents: Cotangents, noted: Noted
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
        if isinstance(item, chainer.Variable) and item.dtype.kind == "f"
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
        noted(cotangent_of(name), given[-1].array)
    found = chainer.grad(list(differentiated.values()), list(sources.values()), given)
    return dict(zip(sources, found, strict=True))


class BackwardSites:
    """Where the function of the forward pass was applied that is differentiated now."""

    def __init__(self, recorder: Recorder) -> None:
        self._sites: dict[int, tuple[Any, Site]] = {}  # with the nodes, whose `id`s stay theirs
        self._site: Site | None = None
        recorder.differentiated = lambda: self._site

    def forward(self, node: Any, site: Site) -> None:
        """A function was applied."""
        self._sites[id(node)] = node, site

    @contextlib.contextmanager
    def followed(self) -> Iterator[None]:
        """Within it what is differentiated is known."""
        own: Callable[..., Any] = chainer._backprop_utils.backprop_step

        def step(node: Any, *arguments: Any) -> Any:
            before = self._site
            _, self._site = self._sites.get(id(node), (None, Site("", "")))
            try:
                return own(node, *arguments)
            finally:
                self._site = before

        with patched(chainer._backprop_utils, backprop_step=step):
            yield
