"""Seed 002: other Q-values from a dueling C51 network. Each fault is found on its line of both."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
import torch

import parity
from benchmarks.corpus.scenarios import c51, layered
from benchmarks.corpus.scenarios.c51_sizes import SUPPORT

each_framework_pair = pytest.mark.parametrize(("reference", "candidate"), c51.FRAMEWORK_PAIRS)


@pytest.mark.parametrize("build", c51.BUILDERS)
@pytest.mark.parametrize("fault", c51.FAULTS)
@each_framework_pair
def test_the_fault_is_the_one_divergence(build, reference, candidate, fault):
    report = c51.BUILDERS[build](reference, candidate, fault).compare()

    assert report.verdict == "diverged"
    assert c51.FAULTS[fault].is_at(report.divergences[0], reference, candidate), str(report)
    (divergence,) = report.divergences
    assert divergence.cause is not None and divergence.cause.confirmed, str(report)
    assert divergence.cause.kind == c51.FAULTS[fault].cause, str(report)


@pytest.mark.parametrize("build", c51.BUILDERS)
@each_framework_pair
def test_softmax_over_a_batch_of_one_is_found(build, reference, candidate):
    """Every probability is 1, and every Q-value the sum of the support."""
    pair = c51.BUILDERS[build](reference, candidate, "softmax-axis-0", batch=1)
    (q,) = pair.candidate.forward(pair.candidate_inputs()).values()
    assert np.allclose(q, SUPPORT.sum(), atol=1e-4)

    report = pair.compare()

    assert report.verdict == "diverged"
    fault = c51.FAULTS["softmax-axis-0"]
    assert fault.is_at(report.divergences[0], reference, candidate), str(report)
    cause = report.divergences[0].cause
    assert (cause.kind, cause.alternatives) == ("softmax-axis", ()), str(report)


@pytest.mark.parametrize(("reference", "candidate"), layered.PAIRS)
@pytest.mark.parametrize("axis", [0, 1])
def test_a_softmax_layer_is_reported_by_its_name(reference, candidate, axis):
    report = layered.softmax_layer_pair(reference, candidate, axis).compare()

    assert report.verdict == "diverged"
    (divergence,) = report.divergences
    assert layered.is_at_softmax(divergence), str(report)
    assert divergence.cause.kind == "softmax-axis", str(report)
    assert divergence.cause.parameters == {"axis": (-1, axis)}


@each_framework_pair
def test_outputs_of_other_shapes_are_reported(reference, candidate):
    report = c51.network_pair(reference, candidate, "expectation-axis").compare()

    assert "(5, 6)" in str(report)
    assert "(5, 51)" in str(report)


# --- the thread itself ----------------------------------------------------------------------------

LOGITS = np.random.RandomState(0).randn(32, 6, 51).astype("f")
STATE = np.random.RandomState(1).randn(32, 51).astype("f")


def test_the_thread_in_its_figures():
    report = parity.compare(
        parity.wrap(lambda x: torch.softmax(x, -1) @ torch.from_numpy(SUPPORT), "torch"),
        parity.wrap(lambda x: tf.tensordot(tf.nn.softmax(x, axis=0), SUPPORT, 1), "tensorflow"),
        inputs=LOGITS,
    )

    (divergence,) = report.divergences
    assert divergence.cause.kind == "softmax-axis" and divergence.cause.confirmed
    assert divergence.cause.parameters == {"axis": (-1, 0)}
    text = " ".join(str(report).split())
    assert "inputs agree" in text
    assert "add up to 0.956 .. 2.32, not 1" in text, text
    assert "largest difference 1.86e+00" in text, text
    assert "greedy choices agree in 96.9%" in text, text


def q_values(frame, logits, state, dueling, atoms, distribution_axis):
    """RLlib's `compute_q_values`; its axis was left open in one branch alone."""
    logits, state = logits[:, :, :atoms], state[:, :atoms]
    if dueling:
        logits = logits - frame.mean(logits, 1) + state[:, None]
    if atoms == 1:
        return logits[:, :, 0]
    axis = distribution_axis if dueling else -1
    return frame.weigh(frame.softmax(logits, axis))


class Torch:
    softmax = staticmethod(torch.softmax)
    mean = staticmethod(lambda x, axis: x.mean(axis, keepdim=True))
    weigh = staticmethod(lambda x: x @ torch.from_numpy(SUPPORT))


class TensorFlow:
    softmax = staticmethod(tf.nn.softmax)
    mean = staticmethod(lambda x, axis: tf.reduce_mean(x, axis, keepdims=True))
    weigh = staticmethod(lambda x: tf.tensordot(x, SUPPORT, 1))


def test_a_sweep_shows_that_only_both_settings_together_diverge():
    def verdict(dueling, atoms):
        return parity.compare(
            parity.wrap(lambda x, s: q_values(TensorFlow, x, s, dueling, atoms, -1), "tensorflow"),
            parity.wrap(lambda x, s: q_values(Torch, x, s, dueling, atoms, 0), "torch"),
            inputs=(LOGITS, STATE),
        ).verdict

    settings = [(dueling, atoms) for dueling in (False, True) for atoms in (1, 51)]
    found = {setting: verdict(*setting) for setting in settings}
    assert found == {one: "diverged" if one == (True, 51) else "parity" for one in settings}
