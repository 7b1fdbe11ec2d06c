"""An operation that does not run in float64: the report states why it ran as recorded."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity
from parity.frameworks import torch_replay as adapter
from parity.frameworks.torch_replay import in_float64

X = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)


def net(x):
    return torch.tanh(x) * 2


def compared():
    models = [parity.wrap(net, framework="torch"), parity.wrap(net, framework="torch", name="port")]
    return parity.compare(*models, inputs=X)


def refusing(error):
    def call(func, args, kwargs):
        if "tanh" in str(func):
            raise error
        return in_float64(func, args, kwargs)

    return call


def test_without_a_fallback_there_is_no_caveat():
    assert compared().comparisons[0].caveats == ()


@pytest.mark.parametrize("error", [AttributeError("no such name"), TypeError("two arguments")])
def test_an_error_of_the_adapter_is_reported_as_one(monkeypatch, error):
    monkeypatch.setattr(adapter, "in_float64", refusing(error))
    caveats = compared().comparisons[0].caveats
    assert len(caveats) == 2
    for caveat in caveats:
        assert "tanh at " in caveat and "replayed as recorded, not in float64" in caveat
        assert "a fault of parity" in caveat and f"{type(error).__name__}: {error}" in caveat


def test_what_a_kernel_refuses_is_reported_as_that(monkeypatch):
    def call(func, args, kwargs):
        if "tanh" not in str(func):
            return in_float64(func, args, kwargs)

        def kernel(*args, **kwargs):
            raise RuntimeError("\"tanh\" not implemented for 'Double'\nmore")

        return in_float64(kernel, args, kwargs)

    monkeypatch.setattr(adapter, "in_float64", call)
    for caveat in compared().comparisons[0].caveats:
        assert caveat.endswith("not in float64: \"tanh\" not implemented for 'Double'")
        assert "fault" not in caveat


def test_what_the_users_function_of_numpy_raises_in_float64_is_its_reason():
    def strict(x):
        if x.dtype != np.float32:
            raise ValueError("float32 only")
        return np.tanh(x) * 2

    port = parity.wrap(strict, framework="numpy")
    report = parity.compare(parity.wrap(net, framework="torch"), port, inputs=X)
    assert any("ValueError: float32 only" in one for one in report.comparisons[0].caveats)


def test_kernels_and_graphs_of_tensorflow_state_why():
    tf = pytest.importorskip("tensorflow")

    def resized(x):
        image = tf.reshape(x, (1, 4, 6, 1))
        return tf.raw_ops.ResizeBicubic(images=image, size=(8, 12))

    model = parity.wrap(resized, framework="tensorflow")
    (first, *_) = parity.compare(model, model, inputs=X).comparisons[0].caveats
    assert "ResizeBicubic" in first and "returns float32 also for float64" in first
