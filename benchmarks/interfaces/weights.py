"""Weights of which none has the value that it starts with, so that one left behind shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import torch

_STATISTICS = (
    "running_mean",
    "running_var",
    "moving_mean",
    "moving_variance",
    "avg_mean",
    "avg_var",
    "mean",
    "var",
)


def drawn(module: Any) -> Any:
    """The module, with something added to each weight and statistic: many begin at 0 or 1."""
    for weight in _weights(module):
        noise = np.asarray(np.random.uniform(-0.2, 0.2, tuple(weight.shape)), "float32")
        if isinstance(weight, np.ndarray):
            weight += noise
        else:
            weight.assign_add(noise)
    return module


def _weights(module: Any) -> Iterator[Any]:
    """Its weights and statistics: arrays that share its memory, or variables."""
    if isinstance(module, torch.nn.Module):
        yield from (one.detach().numpy() for one in module.parameters())
        for name, one in module.named_buffers():
            if name.rpartition(".")[2] in _STATISTICS:
                yield one.numpy()
    elif isinstance(module, keras.Layer):
        yield from module.trainable_variables
        yield from (one for one in module.non_trainable_variables if one.name in _STATISTICS)
    elif isinstance(module, tf.Module):
        yield from (one for one in module.variables if one.dtype.is_floating)
    else:
        yield from (one.array for one in module.params())
        for link in module.links():
            kept = (getattr(link, name, None) for name in _STATISTICS)
            yield from (one for one in kept if isinstance(one, np.ndarray))
