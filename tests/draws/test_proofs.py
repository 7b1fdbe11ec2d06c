"""A fix is proved on the draws that both models have in common."""

from __future__ import annotations

import numpy as np
import pytest

import parity

tf = pytest.importorskip("tensorflow")
torch = pytest.importorskip("torch")

draw = np.random.default_rng(3)
X = draw.normal(size=(6, 5)).astype("f")
MEAN, SCALE = (draw.normal(size=(5, 4)).astype("f") for _ in range(2))


def reference(x):
    h = tf.nn.leaky_relu(x, 0.1)
    scale = tf.exp(0.5 * (h @ SCALE))
    return h @ MEAN + scale * tf.random.normal(scale.shape)


@pytest.mark.parametrize("like", [False, True])
def test_a_fault_before_a_draw_is_proved_across_frameworks(like):
    """What the fix replaces leads to no other samples, though the draw reads its shape."""

    def candidate(x):
        h = torch.nn.functional.leaky_relu(x, 0.2)
        scale = torch.exp(0.5 * (h @ torch.from_numpy(SCALE)))
        noise = torch.randn_like(scale) if like else torch.randn(scale.shape)
        return h @ torch.from_numpy(MEAN) + scale * noise

    wrapped = parity.wrap(reference, framework="tensorflow", inputs=X)
    report = parity.compare(wrapped, parity.wrap(candidate, framework="torch"))
    (found,) = report.divergences
    assert (found.cause.kind, found.cause.confirmed) == ("leaky-slope", True), str(report)
    assert found.output_after < 1e-6 < found.output_before


def test_what_outputs_behind_other_draws_differ_by_is_not_known():
    """The reference's draws are substituted: a difference of zero would say that nothing shows."""
    x = np.random.default_rng(0).standard_normal((6, 5)).astype("f")
    w = torch.from_numpy(np.random.default_rng(1).standard_normal((5, 4)).astype("f"))

    def reference(x):
        return torch.tanh(x @ w) * torch.bernoulli(torch.full((6, 4), 0.5))

    def candidate(x):
        return torch.relu(x @ w) * (torch.rand(3, 6, 4).min(0)[0] < 0.3)

    models = (parity.wrap(one, framework="torch") for one in (reference, candidate))
    (found,) = parity.compare(*models, inputs=x).divergences
    assert found.output_before is None
