"""Images laid out differently in the two models are compared on other samples too."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity

tf = pytest.importorskip("tensorflow")

IMAGES = np.random.default_rng(0).standard_normal((6, 3, 8, 8)).astype("f")
KERNEL = np.random.default_rng(1).standard_normal((4, 3, 3, 3)).astype("f") / 5


def channels_last(noise, kept=False):
    mask = tf.constant(IMAGES.transpose(0, 2, 3, 1).mean((1, 2, 3), keepdims=True) > 0)

    def model(x):
        found = tf.nn.conv2d(x, KERNEL.transpose(2, 3, 1, 0), 1, "SAME")
        own = tf.reduce_mean(x, (1, 2, 3), keepdims=True) > 0
        found = tf.where((mask if kept else own)[: len(x)], found, found / 2)
        return found + noise * tf.random.normal(tf.shape(found)) if noise else found

    return parity.wrap(model, framework="tensorflow", input_layout="NHWC")


def channels_first(noise):
    def model(x):
        found = torch.nn.functional.conv2d(x, torch.from_numpy(KERNEL), padding=1)
        found = torch.where(x.mean((1, 2, 3), keepdim=True) > 0, found, found / 2)
        return found + noise * torch.randn_like(found) if noise else found

    return parity.wrap(model, framework="torch")


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_images_in_another_layout_agree_on_other_samples(noise) -> None:
    report = parity.compare(channels_first(noise), channels_last(noise), inputs=IMAGES)
    assert report.verdict == "parity", report.comparisons[0].reasons


@pytest.mark.parametrize(("noise", "verdict"), [(0.0, "diverged"), (0.1, "unverified")])
def test_a_mask_that_was_kept_shows_in_another_layout(noise, verdict) -> None:
    report = parity.compare(channels_first(noise), channels_last(noise, kept=True), inputs=IMAGES)
    assert report.verdict == verdict, report.comparisons[0].reasons
    assert "in another order" in " ".join(report.comparisons[0].reasons)
