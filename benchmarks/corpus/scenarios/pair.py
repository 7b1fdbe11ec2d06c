"""A pair of models: its plain outputs, its comparison, and the lines a report must name."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import torch

from parity.findings import Divergence
from parity.frameworks.chainer_numpy import import_chainer

chainer = import_chainer()
torch.set_num_threads(1)

IMAGE_LAYOUT = {"torch": "NCHW", "chainer": "NCHW", "keras": "NHWC", "tensorflow": "NHWC"}
AXES = {("NCHW", "NHWC"): (0, 2, 3, 1), ("NHWC", "NCHW"): (0, 3, 1, 2)}


@dataclass(frozen=True)
class Side:
    """One model of a pair. `layout` is that of its image inputs, None when it takes no images."""

    framework: str  # "torch", "keras", "tensorflow" or "chainer"
    model: Any
    layout: str | None = None

    def wrapped(self) -> Any:
        """The model as `parity.compare` gets it; only a plain function must name its framework."""
        import parity

        framework = self.framework if inspect.isfunction(self.model) else None
        return parity.wrap(self.model, framework=framework, input_layout=self.layout)

    def forward(self, inputs: tuple[np.ndarray, ...]) -> dict[str, np.ndarray]:
        """A plain call in the framework, without parity: output arrays by name."""
        if self.framework == "torch":
            if isinstance(self.model, torch.nn.Module):
                self.model.eval()
            with torch.no_grad():
                output = self.model(*map(torch.from_numpy, inputs))
        elif self.framework == "chainer":
            with chainer.using_config("train", False), chainer.no_backprop_mode():
                output = self.model(*inputs)
        else:
            output = self.model(*map(tf.constant, inputs))
        return _arrays(output)


@dataclass(frozen=True)
class Pair:
    """Two models and the inputs of both, in the layout of the reference.

    `gradients` says whether the backward pass is compared as well.
    """

    reference: Side
    candidate: Side
    inputs: tuple[np.ndarray, ...]
    gradients: bool = False

    def compare(self) -> Any:
        import parity

        inputs = self.inputs if len(self.inputs) > 1 else self.inputs[0]
        models = self.reference.wrapped(), self.candidate.wrapped()
        return parity.compare(*models, inputs=inputs, gradients=self.gradients)

    def plain_difference(self) -> float:
        """Largest difference of the plain outputs, relative to the reference's largest output.

        Infinite where names, shapes or NaN masks differ.
        """
        reference = self.reference.forward(self.inputs)
        candidate = self.candidate.forward(self.candidate_inputs())
        if {k: v.shape for k, v in reference.items()} != {k: v.shape for k, v in candidate.items()}:
            return float("inf")
        return max(_relative_difference(reference[name], candidate[name]) for name in reference)

    def candidate_inputs(self) -> tuple[np.ndarray, ...]:
        axes = AXES.get((self.reference.layout, self.candidate.layout))
        return tuple(
            np.ascontiguousarray(x.transpose(axes)) if axes and x.ndim == 4 else x
            for x in self.inputs
        )


def image_side(framework: str, model: Any) -> Side:
    """A side whose model takes images in its framework's usual layout."""
    return Side(framework, model, IMAGE_LAYOUT[framework])


def image_pair(reference: Side, candidate: Side, images_nchw: np.ndarray) -> Pair:
    """A pair on images, which are given channels first and laid out for the reference here."""
    axes = AXES.get(("NCHW", reference.layout))
    images = np.ascontiguousarray(images_nchw.transpose(axes)) if axes else images_nchw
    return Pair(reference, candidate, (images,))


def tagged_lines(path: str | Path, *tags: str) -> set[str]:
    """The lines of a file that carry one of the tags, as `file.py:41`."""
    path = Path(path)
    endings = tuple(f"  # {tag}" for tag in tags)
    lines = enumerate(path.read_text().splitlines(), 1)
    found = {f"{path.name}:{number}" for number, line in lines if line.endswith(endings)}
    if not found:
        raise ValueError(f"{path.name} has no line tagged {tags}")
    return found


def place_of(site: Any) -> str:
    """A report's site as `file.py:41`, whatever folder it names."""
    return Path(site.source).name if site.source else ""


def _arrays(output: Any) -> dict[str, np.ndarray]:
    if isinstance(output, dict):
        return {name: _array(value) for name, value in output.items()}
    if isinstance(output, (tuple, list)):
        return {str(index): _array(value) for index, value in enumerate(output)}
    if hasattr(output, "q_values"):  # ChainerRL's and PFRL's action values
        named = {"q_values": _array(output.q_values)}
        return named | ({"q_dist": _array(output.q_dist)} if hasattr(output, "q_dist") else {})
    return {"output": _array(output)}


def _array(value: Any) -> np.ndarray:
    if isinstance(value, torch.Tensor):
        value = value.detach()
    return np.asarray(value.array if isinstance(value, chainer.Variable) else value)


def _relative_difference(reference: np.ndarray, candidate: np.ndarray) -> float:
    if not np.array_equal(np.isnan(reference), np.isnan(candidate)):
        return float("inf")
    scale = np.nanmax(np.abs(reference)) or 1.0
    return float(np.nanmax(np.abs(reference - candidate)) / scale)


def at_each_place(divergences: Iterable[Divergence]) -> list[Divergence]:
    """Divergences with one for each place of those that several layers have alike."""
    return [
        replace(one, reference=reference, candidate=candidate)
        for one in divergences
        for reference, candidate in ((one.reference, one.candidate), *one.places)
    ]
