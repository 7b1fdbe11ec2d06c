"""Samples in another order, put back later, are no fault; samples that come out so are one."""

from __future__ import annotations

import numpy as np
import torch

import parity

X = np.random.default_rng(3).standard_normal((6, 5)).astype(np.float32)
W = torch.from_numpy(np.random.default_rng(4).standard_normal((5, 4)).astype(np.float32))


def body(x, slope):
    gates = torch.tanh(x @ W) + 0.3
    cell = gates * 2 - gates.exp()
    return torch.where(cell > 0, cell, cell * slope)


def sorted_inside(slope=0.1):
    """Works on the samples by their first number, and undoes that."""

    def net(x):
        order = torch.argsort(x[:, 0], descending=True)
        return body(x[order], slope)[torch.argsort(order)]

    return net


def as_they_come(slope=0.1):
    return lambda x: body(x, slope)


def turned_round(slope=0.1):
    """A fault: the samples come out in another order than they went in."""
    return lambda x: body(x.flip(0), slope)


def compare(reference, candidate):
    models = (parity.wrap(one, framework="torch") for one in (reference, candidate))
    return parity.compare(*models, inputs=X)


def test_sorting_that_is_undone_is_no_difference():
    assert compare(sorted_inside(), as_they_come()).verdict == "parity"


def test_nor_is_it_told_beside_a_fault():
    for models in (
        (sorted_inside(), as_they_come(0.2)),
        (as_they_come(), sorted_inside(0.2)),
    ):
        report = compare(*models)
        assert report.verdict == "diverged"
        assert [one.cause.kind for one in report.divergences] == ["leaky-slope"]


def test_samples_that_come_out_in_another_order_are_told():
    report = compare(as_they_come(), turned_round())
    assert report.verdict == "diverged"
    assert len(report.divergences) == 1


def test_and_are_told_beside_a_fault():
    report = compare(as_they_come(), turned_round(0.2))
    assert len(report.divergences) == 2
