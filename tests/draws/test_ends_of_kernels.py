"""A clip that few samples reach shows where only the framework's own kernel knows the law."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
import torch

import parity
from parity.diagnosis import fresh_samples

X = np.random.default_rng(3).standard_normal((6, 4)).astype(np.float32)


def _gamma_in_torch(cap):
    return lambda x: torch.clamp(torch._standard_gamma(2 + torch.sigmoid(x)), max=cap)


def _poisson_in_torch(cap):
    return lambda x: torch.clamp(torch.poisson(torch.sigmoid(x)), max=cap)


def _gamma_in_tensorflow(cap):
    return lambda x: tf.minimum(tf.random.gamma((), 2 + tf.sigmoid(x)), cap)


def _poisson_in_tensorflow(cap):
    return lambda x: tf.minimum(tf.random.poisson((), 6 * tf.sigmoid(x)), cap)


MODELS = [
    pytest.param("torch", _gamma_in_torch, 10.0, id="gamma-torch"),
    pytest.param("torch", _poisson_in_torch, 4.0, id="poisson-torch"),
    pytest.param("tensorflow", _gamma_in_tensorflow, 10.0, id="gamma-tensorflow"),
    pytest.param("tensorflow", _poisson_in_tensorflow, 12.0, id="poisson-tensorflow"),
]


def _verdict(framework, model, caps):
    torch.manual_seed(1)
    tf.random.set_seed(1)
    models = [parity.wrap(model(cap), framework=framework) for cap in caps]
    return str(parity.compare(*models, inputs=X).verdict)


@pytest.mark.parametrize(("framework", "model", "cap"), MODELS)
def test_another_clip_far_out_is_no_parity(framework, model, cap):
    assert _verdict(framework, model, (cap, 10 * cap)) == "diverged"


@pytest.mark.parametrize(("framework", "model", "cap"), MODELS)
def test_the_same_clip_is_parity(framework, model, cap):
    assert _verdict(framework, model, (cap, cap)) == "parity"


def test_without_the_ends_it_would_pass(monkeypatch):
    monkeypatch.setattr(fresh_samples, "_SINGLY", frozenset())
    assert _verdict("torch", _poisson_in_torch, (4.0, 40.0)) == "parity"
