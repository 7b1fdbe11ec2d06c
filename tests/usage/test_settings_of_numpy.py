"""What a user has NumPy do about errors is for the models, and not for what compares them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

import parity
from parity.errors import ModelError

X = np.random.default_rng(0).normal(size=(6, 8)).astype("f4")


def in_torch(x: Any) -> Any:
    kept = torch.relu(x)
    return torch.where(kept > 0, torch.log(kept.clamp(min=1e-8)), torch.zeros_like(kept))


def in_numpy(x: Any, scale: float = 1.0) -> Any:
    kept = np.maximum(x, 0)
    return np.where(kept > 0, scale * np.log(np.maximum(kept, 1e-8)), 0).astype("f4")


def far_off(x: Any) -> Any:
    return np.exp(1e3 * x)


def verdict(candidate: Any) -> str:
    models = parity.wrap(in_torch, framework="torch"), parity.wrap(candidate, framework="numpy")
    return parity.compare(*models, inputs=X).verdict


def test_that_it_raises() -> None:
    with np.errstate(all="raise"):
        assert verdict(in_numpy) == "parity"
        assert verdict(lambda x: in_numpy(x, 1.1)) == "diverged"
        assert set(np.geterr().values()) == {"raise"}
        with pytest.raises(ModelError, match="FloatingPointError: overflow"):
            verdict(far_off)


def test_a_warning_of_the_models_own_arithmetic_alone() -> None:
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
        warnings.simplefilter("always")
        assert verdict(far_off) == "diverged"
    heard = [one.filename for one in caught if issubclass(one.category, RuntimeWarning)]
    assert heard and all("test_settings_of_numpy" in file for file in heard)
