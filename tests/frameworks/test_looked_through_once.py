"""What a function holds is looked for once in a comparison, and again once a call built more."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import torch

import parity
from parity.frameworks import tensorflow_weights, torch_weights

X = np.random.default_rng(0).standard_normal((4, 3)).astype("f")
KERNEL = np.random.default_rng(1).standard_normal((3, 2)).astype("f")


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Counter[int]:
    """How often each model is looked through for what it holds."""
    times: Counter[int] = Counter()
    for module in (torch_weights, tensorflow_weights):
        discover = module.discover

        def counted(obj: Any, wanted: Any, discover: Any = discover) -> Any:
            times[id(obj)] += 1
            return discover(obj, wanted)

        monkeypatch.setattr(module, "discover", counted)
    return times


def in_torch() -> Any:
    layer = torch.nn.Linear(3, 2, bias=False)
    layer.weight.data = torch.from_numpy(KERNEL.T.copy())
    return lambda x: torch.tanh(layer(x))


def in_tensorflow() -> Any:
    kernel = tf.Variable(KERNEL, name="kernel")
    return lambda x: tf.tanh(x @ kernel)


def test_a_function_is_looked_through_once_in_a_comparison(looked: Counter[int]) -> None:
    models = in_torch(), in_tensorflow()
    wrapped = [parity.wrap(*one) for one in zip(models, ("torch", "tensorflow"), strict=True)]
    for times in (1, 2):  # another comparison may find more
        assert parity.compare(*wrapped, inputs=X).verdict == "parity"
        assert [looked[id(one)] for one in models] == [times, times]


def test_it_is_looked_through_again_once_its_first_call_has_built_layers(
    looked: Counter[int],
) -> None:
    held: dict[str, Any] = {}

    def builds(x: Any) -> Any:
        if "layer" not in held:
            held["layer"] = torch.nn.Linear(3, 2, bias=False)
            held["layer"].weight.data = torch.from_numpy(KERNEL.T.copy())
        return torch.tanh(held["layer"](x))

    report = parity.compare(in_torch(), parity.wrap(builds, "torch"), inputs=X)
    assert report.verdict == "parity"
    assert looked[id(builds)] == 2
    rows = [row.candidate for row in report.comparisons[0].layers]
    assert rows[0] == "held.layer"
