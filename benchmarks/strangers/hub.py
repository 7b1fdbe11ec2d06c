"""Architectures that `transformers` has in torch and in TensorFlow, small ones.

TensorFlow's model gets its weights by the package's own conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.strangers.pair import Built, Fault, Pair

SEED = 7
_NEEDS = ("transformers", "torch", "tensorflow", "tf_keras")
Inputs = Callable[[], dict[str, Any]]


@dataclass(frozen=True)
class Architecture:
    """One architecture.

    Attributes:
        prefix, head: of the classes' names, as `Bert` and `Model`.
        sizes: of the configuration, for both models.
        inputs: draws what both models get.
    """

    prefix: str
    sizes: Mapping[str, Any]
    inputs: Inputs
    head: str = "Model"


def pair(
    name: str,
    architecture: Architecture,
    fault: Fault | None = None,
    change: Mapping[str, Any] | None = None,
    without: tuple[str, ...] = (),
    mode: str = "eval",
) -> Pair:
    """A pair of one architecture; what is different in TensorFlow's model, if anything.

    Args:
        change: other settings of the configuration.
        without: inputs that it does not get.
        mode: in which it runs.
    """
    build = partial(_built, architecture, change or {}, without, mode)
    return Pair(name, "transformers", _NEEDS, build, fault, keras_2=True)


def _built(
    architecture: Architecture, change: Mapping[str, Any], without: tuple[str, ...], mode: Any
) -> Built:
    import tensorflow as tf  # before torch and transformers: it decides which Keras there is
    import torch
    import transformers
    from transformers.modeling_tf_pytorch_utils import load_pytorch_model_in_tf2_model

    import parity

    torch.manual_seed(SEED)
    tf.random.set_seed(SEED)
    prefix, head = architecture.prefix, architecture.head
    configuration = getattr(transformers, f"{prefix}Config")
    original = getattr(transformers, prefix + head)(configuration(**architecture.sizes))
    shaken(original)
    ported = getattr(transformers, f"TF{prefix}{head}")(
        configuration(**{**architecture.sizes, **change})
    )
    ported = load_pytorch_model_in_tf2_model(ported, original)  # raises where a weight is missing
    inputs = architecture.inputs()
    given = {key: value for key, value in inputs.items() if key not in without}
    own = {"inputs": given} if without else {}
    return Built(original.eval(), parity.wrap(ported, mode=mode, **own), inputs)


def shaken(model: Any) -> None:
    """Moves what starts as a constant, as biases, scales and statistics do, off its value."""
    import torch

    with torch.no_grad():
        for value in model.parameters():
            if value.numel() == 1 or value.std() == 0:
                value += 0.1 * torch.randn_like(value)
        for name, value in model.named_buffers():
            if name.endswith("running_mean"):
                value.normal_(0, 0.1)
            elif name.endswith("running_var"):
                value.uniform_(0.5, 1.5)
