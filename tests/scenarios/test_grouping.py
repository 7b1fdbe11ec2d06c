"""One line that is wrong many times is reported once."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

import parity

X = np.random.default_rng(0).standard_normal((4, 9, 5)).astype(np.float32)


def in_a_loop(axis):
    def net(x):
        steps = []
        for t in range(x.shape[1]):
            steps.append(torch.softmax(x[:, t] * (t + 1), axis) * 2)
        return torch.stack(steps, 1)

    return net


def two_lines(axis, other):
    def net(x):
        a = torch.softmax(x, axis) * 2
        b = torch.softmax(x * 3, other) * 2
        return torch.stack([a, b], 1)

    return net


def compare(a, b):
    return parity.compare(*(parity.wrap(f, framework="torch") for f in (a, b)), inputs=X)


def test_a_loop_is_one_divergence():
    report = compare(in_a_loop(-1), in_a_loop(0))
    (divergence,) = report.divergences
    assert divergence.times == X.shape[1]
    assert divergence.cause.kind == "softmax-axis"
    assert f"{X.shape[1]} times" in str(report)


def test_two_lines_are_two():
    report = compare(two_lines(-1, -1), two_lines(0, 1))
    assert [d.times for d in report.divergences] == [1, 1]
    assert [d.cause.parameters["axis"] for d in report.divergences] == [(-1, 0), (-1, 1)]


def test_one_line_with_two_causes_is_two():
    def by_step(*axes):
        def net(x):
            steps = [torch.softmax(x * (t + 1), axis) * 2 for t, axis in enumerate(axes)]
            return torch.stack(steps, 1)

        return net

    report = compare(by_step(-1, -1, -1), by_step(0, 1, 0))
    reported = [(d.cause.parameters["axis"], d.times) for d in report.divergences]
    assert reported == [((-1, 0), 2), ((-1, 1), 1)]


def test_one_fault_in_several_lines_is_one_with_its_places():
    def net(epsilon):
        def norm(x):
            mean = x.mean(-1, keepdim=True)
            return (x - mean) / torch.sqrt(((x - mean) ** 2).mean(-1, keepdim=True) + epsilon)

        def run(x):
            x = torch.tanh(norm(0.1 * x))
            x = torch.relu(norm(0.1 * x))
            return torch.sigmoid(norm(0.1 * x)) * 3

        return run

    report = compare(net(1e-5), net(1e-2))
    (divergence,) = report.divergences
    assert "the same at" in str(report)
    assert divergence.cause.kind == "norm-epsilon" and divergence.cause.confirmed
    assert divergence.times == 3 and len(divergence.places) == 2


def test_one_fault_in_two_branches_that_are_joined_is_two_places():
    def net(epsilon):
        def block(x):
            sides = (F.layer_norm(s * torch.tanh(s * x), (5,), eps=epsilon) for s in (0.1, 0.3))
            return torch.relu(sum(sides)) * 2

        return block

    (divergence,) = compare(net(1e-5), net(1e-2)).divergences
    assert divergence.cause.kind == "norm-epsilon" and divergence.cause.confirmed
    assert divergence.times == 2
