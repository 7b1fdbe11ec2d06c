"""Several faults of seed 002 in one candidate: in independent branches, and one after the other."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity
from benchmarks.corpus.scenarios import c51
from benchmarks.corpus.scenarios.pair import at_each_place

each_framework_pair = pytest.mark.parametrize(("reference", "candidate"), c51.FRAMEWORK_PAIRS)

IN_BRANCHES = [
    ("softmax-axis-1", "mean-batch"),
    ("reshape", "support-range"),
    ("value-centred", "expectation-axis"),
    ("softmax-axis-0", "mean-atoms", "support-reversed"),
    ("not-centred", "max", "softmax-axis-1"),
]
IN_SEQUENCE = [
    ("mean-atoms", "softmax-axis-1"),
    ("reshape", "softmax-axis-0"),
    ("not-centred", "support-range"),
    ("max", "expectation-axis"),
    ("mean-batch", "softmax-axis-1", "support-reversed"),
]


@pytest.mark.parametrize("faults", IN_BRANCHES, ids=" | ".join)
@each_framework_pair
def test_faults_in_independent_branches_are_all_found(reference, candidate, faults):
    branches = [frozenset([fault]) for fault in faults]
    report = c51.branches_pair(reference, candidate, branches).compare()

    assert report.verdict == "diverged"
    found = [
        _fault_at(divergence, faults, reference, candidate) for divergence in report.divergences
    ]
    assert sorted(found) == sorted(faults), str(report)


@pytest.mark.parametrize("faults", IN_SEQUENCE, ids=" then ".join)
@each_framework_pair
def test_faults_in_sequence_are_all_found_in_order(reference, candidate, faults):
    report = c51.network_pair(reference, candidate, *faults).compare()

    assert report.verdict == "diverged"
    found = [
        _fault_at(divergence, faults, reference, candidate) for divergence in report.divergences
    ]
    assert found == list(faults), str(report)


@each_framework_pair
def test_the_same_fault_in_two_branches_is_one_divergence_with_two_places(reference, candidate):
    branches = [frozenset(["softmax-axis-1"]), c51.NO_FAULT, frozenset(["softmax-axis-1"])]
    report = c51.branches_pair(reference, candidate, branches).compare()

    fault = c51.FAULTS["softmax-axis-1"]
    assert len(report.divergences) == 1, str(report)
    found = at_each_place(report.divergences)
    assert len(found) == 2 and all(fault.is_at(d, reference, candidate) for d in found)


@pytest.mark.parametrize("seed", range(8))
def test_two_layers_with_each_other_s_weights_are_confirmed_at_both(seed):
    """The first alone with the right weights may lead further away."""
    random = np.random.default_rng(seed)
    weights = torch.from_numpy(random.standard_normal((4, 6, 6), dtype=np.float32))

    def net(first, second):
        layers = [torch.nn.Linear(6, 6) for _ in range(2)]
        for layer, weight, bias in zip(layers, (first, second), weights[2:], strict=True):
            layer.weight.data, layer.bias.data = weight.clone(), bias[0].clone()
        one, two = layers
        return torch.nn.Sequential(one, torch.nn.Sigmoid(), two, torch.nn.Softmax(-1))

    x = random.standard_normal((5, 6), dtype=np.float32)
    report = parity.compare(net(*weights[:2]), net(*weights[:2].flip(0)), inputs=x)

    causes = [divergence.cause for divergence in report.divergences]
    assert [cause and (cause.kind, cause.confirmed) for cause in causes] == [
        ("weight-swapped", True)
    ] * 2, str(report)


def _fault_at(divergence, faults, reference, candidate) -> str:
    placed = (f for f in faults if c51.FAULTS[f].is_at(divergence, reference, candidate))
    return next(placed, f"{divergence.reference.source} / {divergence.candidate.source}")
