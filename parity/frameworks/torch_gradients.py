"""torch: gradients of a model's outputs, and the line of the forward pass that each step is of.

Autograd runs its steps in C++, far from the user's code. Each belongs to an operation of the
forward pass by a number that autograd gives to both.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from parity.frameworks.torch_replay import to_numpy
from parity.model import flatten_inputs
from parity.outputs.gradients import (
    Cotangents,
    Noted,
    cotangent_of,
    is_continuous,
    of_input,
    of_parameter,
)
from parity.patching import patched
from parity.site import Site
from parity.weights.tensors import Tensor


@contextlib.contextmanager
def differentiable(inputs: Any) -> Iterator[None]:
    """Within it a model's outputs can be differentiated with respect to these inputs.

    An LSTM runs step by step: the backward pass of its kernel reads a workspace of the forward
    pass, and no replay has that.
    """
    fused: Any = torch._VF.lstm

    def lstm(*arguments: Any) -> Any:
        enabled = torch._C._get_mkldnn_enabled()
        torch._C._set_mkldnn_enabled(False)
        try:
            return fused(*arguments)
        finally:
            torch._C._set_mkldnn_enabled(enabled)

    with torch.inference_mode(False), torch.enable_grad(), patched(torch._VF, lstm=lstm):
        for tensor in _floating(inputs).values():
            tensor.requires_grad_(True)
        yield


def gradients(
    outputs: Mapping[str, Any],
    inputs: Any,
    held: list[Tensor],
    cotangents: Cotangents,
    noted: Noted,
) -> dict[str, torch.Tensor | None]:
    """Vector-Jacobian products of outputs, by what they are with respect to; None of no path."""
    differentiated = {
        name: item
        for name, item in outputs.items()
        if isinstance(item, torch.Tensor) and _is_continuous(item) and item.requires_grad
    }
    sources = {of_input(path): tensor for path, tensor in _floating(inputs).items()}
    for one in held:
        own = one.own
        if isinstance(own, torch.Tensor) and own.requires_grad and _is_continuous(own):
            sources[of_parameter(one.name)] = own
    if not differentiated or not sources:
        return dict.fromkeys(sources)
    given = []
    with torch.no_grad(), _disable_current_modes():  # it is no operation of the model's
        for name, item in differentiated.items():
            array = cotangents(name, tuple(item.shape))
            given.append(torch.from_numpy(array).to(item.device, item.dtype))
            noted(cotangent_of(name), given[-1])
    # a model may keep what it computed of its parameters, with the graph that leads there
    kept = {"retain_graph": True, "allow_unused": True}
    found = torch.autograd.grad(
        list(differentiated.values()), list(sources.values()), given, **kept
    )
    return dict(zip(sources, found, strict=True))


def _floating(inputs: Any) -> dict[str, torch.Tensor]:
    tensors: Mapping[str, Any] = flatten_inputs(inputs)
    return {
        path: tensor
        for path, tensor in tensors.items()
        if _is_continuous(tensor) and is_continuous(to_numpy(tensor))
    }


def _is_continuous(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or bool(tensor.is_complex())


class BackwardSites:
    """Where the operation of the forward pass ran that a step of autograd's belongs to."""

    def __init__(self) -> None:
        self._sites: dict[int, Site] = {}

    def forward(self, site: Site) -> None:
        """An operation of the forward pass was dispatched; autograd has numbered it already."""
        if not site.stage:
            self._sites.setdefault(torch.autograd._get_sequence_nr() - 1, site)

    def of_this_step(self) -> Site | None:
        """Of the step that runs now; None in a forward pass."""
        node = torch._C._current_autograd_node()
        return None if node is None else self._sites.get(node._sequence_nr(), Site("", ""))
