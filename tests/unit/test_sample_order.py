"""Samples in another order, put back later, are no fault; samples that come out so are one."""

from __future__ import annotations

import numpy as np
import torch

import parity
from parity.diagnosis import sample_order
from parity.diagnosis.locate import locate
from parity.diagnosis.output_pairs import pair_outputs
from parity.inputs.preprocessing import record
from parity.matching.match import Indexed, match

X = np.random.default_rng(3).standard_normal((6, 5)).astype(np.float32)
W = torch.from_numpy(np.random.default_rng(4).standard_normal((5, 4)).astype(np.float32))


def body(x, slope):
    gates = torch.tanh(x @ W) + 0.3
    cell = gates * 2 - gates.exp()
    return torch.where(cell > 0, cell, cell * slope)


def sorted_inside(slope=0.1):
    """Sorts the samples by their first value, and undoes that."""

    def net(x):
        order = torch.argsort(x[:, 0], descending=True)
        return body(x[order], slope)[torch.argsort(order)]

    return net


def as_they_come(slope=0.1):
    return lambda x: body(x, slope)


def turned_round(slope=0.1):
    """A fault: the samples come out in another order than they went in."""
    return lambda x: body(x.flip(0), slope)


def compare(reference, candidate, x=X):
    models = (parity.wrap(one, framework="torch") for one in (reference, candidate))
    return parity.compare(*models, inputs=x)


def located(reference, candidate):
    """What `without_sorted` gets, divergences or not."""
    models = (parity.wrap(one, framework="torch") for one in (reference, candidate))
    recorded, other = (record(model, X) for model in models)
    matched = match(Indexed(recorded, recorded.replay("float64")), other)
    pairs, _ = pair_outputs(recorded, other)
    mismatches, repaired = locate(matched, pairs)
    return matched, repaired, mismatches, pairs


def test_sorting_that_is_undone_is_no_difference():
    assert compare(sorted_inside(), as_they_come()).verdict == "parity"


def test_nor_is_it_reported_beside_a_fault():
    for models in (
        (sorted_inside(), as_they_come(0.2)),
        (as_they_come(), sorted_inside(0.2)),
    ):
        report = compare(*models)
        assert report.verdict == "diverged"
        assert [one.cause.kind for one in report.divergences] == ["leaky-slope"]


def test_samples_that_come_out_in_another_order_are_reported():
    report = compare(as_they_come(), turned_round())
    assert report.verdict == "diverged"
    assert len(report.divergences) == 1


def test_and_are_reported_beside_a_fault():
    report = compare(as_they_come(), turned_round(0.2))
    assert len(report.divergences) == 2


def test_a_table_in_another_order_is_reported_beside_a_fault():
    """Its rows are the reference's in another order, and every sample is in its place."""
    table = torch.from_numpy(np.random.default_rng(5).uniform(1, 2, (6, 4)).astype("f"))

    def net(table, slope):
        def forward(x):
            scaled = torch.tanh(x @ W) * table
            cell = scaled * 2 - scaled.exp()
            return torch.where(cell > -1.5, cell, cell * slope)

        return forward

    def scaled_before(form, by):
        return lambda x: form(torch.tanh(x * by))

    def of_the_whole_batch(form):
        return lambda x: form(0 * x + x.mean(0))

    alike = np.tile(X[:1], (6, 1))  # what the rows hold comes from the table alone
    port = net(table.flip(0), 0.2)
    assert len(compare(net(table, 0.1), port, alike).divergences) == 2
    models = of_the_whole_batch(net(table, 0.1)), of_the_whole_batch(port)
    assert len(compare(*models).divergences) == 2
    report = compare(scaled_before(net(table, 0.1), 1.0), scaled_before(port, 1.5), alike)
    assert len(report.divergences) == 3


def test_sorting_behind_a_fault_is_not_reported():
    for first, other in ((1.0, 1.5), (1.5, 1.0)):
        nets = sorted_inside(), as_they_come(0.2)
        report = compare(
            *(
                lambda x, net=net, by=by: net(torch.sigmoid(x * by))
                for net, by in zip(nets, (first, other), strict=True)
            )
        )
        assert report.verdict == "diverged"
        assert "sort" not in str([one.cause.summary for one in report.divergences if one.cause])
        assert len(report.divergences) == 2


def test_where_the_outputs_agree_up_to_rounding_all_is_left_to_the_verdict(monkeypatch):
    found = located(sorted_inside(), as_they_come(0.2))
    assert len(sample_order.without_sorted(*found)) == len(found[2]) - 1
    monkeypatch.setattr(sample_order, "UNITS", {"float32": 10.0})
    assert sample_order.without_sorted(*found) == found[2]


def test_something_is_always_reported(monkeypatch):
    found = located(sorted_inside(), as_they_come(0.2))
    monkeypatch.setattr(sample_order, "_in_another_order", lambda *_: found[2])
    assert sample_order.without_sorted(*found) == found[2]


def test_samples_that_cannot_be_changed_are_not_followed():
    """A probability of one is the largest that torch's cross entropy takes."""

    def entropy(x):
        return torch.nn.functional.binary_cross_entropy(x, 0.3 + 0 * x, reduction="none")

    x = np.linspace(0.1, 1, 30).reshape(6, 5).astype("f")
    nets = sorted_inside(), as_they_come(0.2)
    report = compare(*(lambda x, net=net: net(entropy(x)) for net in nets), x=x)
    assert report.verdict == "diverged"
    assert len(report.divergences) == 2


def test_a_value_that_alone_leads_out_of_what_an_operation_takes():
    """Two scales make up for each other: with the second fixed alone there is no probability."""

    def net(first, second):
        def forward(x):
            one = torch.sqrt(torch.sigmoid(9 * torch.tanh(x @ W)) * first)
            other = torch.sqrt(torch.sigmoid(5 * torch.tanh(x.flip(1) @ W)) * second)
            likely = one * other
            return torch.nn.functional.binary_cross_entropy(likely, 0 * likely, reduction="none")

        return forward

    report = compare(net(0.99, 0.99), net(1.8, 0.5))
    assert report.verdict == "diverged"
    outputs_after = [one.output_after for one in report.divergences]
    assert len(outputs_after) == 2 and None in outputs_after
