"""Seed 004: weights of a ChainerRL Nature DQN brought to Keras; each wrong conversion is placed."""

from __future__ import annotations

import pytest

from benchmarks.corpus.scenarios import nature_dqn
from benchmarks.corpus.scenarios.pair import at_each_place, place_of, tagged_lines

WRONG = [name for name, c in nature_dqn.CONVERSIONS.items() if c.wrong_layers]


@pytest.mark.parametrize("name", WRONG)
def test_every_layer_with_wrong_weights_is_reported(name):
    report = nature_dqn.conversion_pair(name).compare()

    assert report.verdict == "diverged"
    wrong = nature_dqn.CONVERSIONS[name].wrong_layers
    expected = [(nature_dqn.CHAINER_LAYERS[layer], layer) for layer in wrong]
    found = at_each_place(report.divergences)
    assert [nature_dqn.layers_of(d) for d in found] == expected, str(report)
    causes = [divergence.cause and divergence.cause.kind for divergence in found]
    assert causes == list(nature_dqn.CONVERSIONS[name].causes.values()), str(report)
    assert all(divergence.cause.confirmed for divergence in found), str(report)
    lines = tagged_lines(nature_dqn.__file__, "stage: layer")
    assert all(place_of(divergence.reference) in lines for divergence in found)
