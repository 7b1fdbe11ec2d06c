"""How RLlib's models are wrapped, on stand-ins for its classes: RLlib itself needs Keras 2.

On RLlib's own models see tests/rllib.
"""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import parity

CACHE: dict[int, Any] = {}
SPACE = SimpleNamespace(spaces={"place": (4,)}, random=np.random.default_rng(0))


class Preprocessor:
    """Takes types from a sample, as RLlib's do."""

    shape = (4,)

    def __init__(self, space: Any) -> None:
        self.sample = space.random.normal(size=self.shape)


def restore(rows: Any, space: Any, library: str) -> Any:
    if id(space) not in CACHE:
        CACHE[id(space)] = Preprocessor(space)
    return {"place": rows}


class TorchModelV2(torch.nn.Module):
    """Unpacks flat observations into the parts of its space."""

    def __init__(self) -> None:
        super().__init__()
        self.obs_space, self.layer = SPACE, torch.nn.Linear(4, 2)

    def __call__(self, given: Any, state: Any, lengths: Any) -> Any:
        return self.layer(restore(given["obs"], self.obs_space, "torch")["place"]), state

    def value_function(self) -> Any:
        raise NotImplementedError


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch) -> None:
    CACHE.clear()
    models: Any = ModuleType("ray.rllib.models.modelv2")
    models.restore_original_dimensions, models.get_preprocessor = restore, lambda _: Preprocessor
    classes: Any = ModuleType("ray.rllib.models.torch.torch_modelv2")
    classes.TorchModelV2 = TorchModelV2
    for one in (ModuleType("ray"), models, classes):
        monkeypatch.setitem(sys.modules, one.__name__, one)


def test_what_is_made_at_the_first_call_alone_is_no_draw_of_the_model() -> None:
    one, other = TorchModelV2(), TorchModelV2()
    rows = np.random.default_rng(1).normal(size=(3, 4)).astype("f")
    result = parity.transfer(one, other, inputs=rows)
    assert result.verdict == "parity", result
    assert [row.name for row in result.report.comparisons[0].outputs] == ["logits"]
