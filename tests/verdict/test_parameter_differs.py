"""A parameter that differs, with an effect as small as rounding's, is reported as what it is."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity

X = np.random.default_rng(0).standard_normal((5, 6)).astype("f")


class Net(torch.nn.Module):
    """Dense layers whose tanh is all but saturated: their biases are `bias`."""

    def __init__(self, bias, *off):
        super().__init__()
        torch.manual_seed(1)
        self.dense = torch.nn.ModuleList(torch.nn.Linear(6, 8) for _ in range(2))
        self.out = torch.nn.Linear(16, 3)
        with torch.no_grad():
            for number, layer in enumerate(self.dense):
                torch.nn.init.normal_(layer.weight)
                layer.bias.fill_(bias)
                if number in off:
                    layer.weight[(3, 7)[number], 2] *= 1.01

    def forward(self, x):
        return self.out(torch.cat([torch.tanh(layer(x)) for layer in self.dense], 1))


def compare(reference, candidate):
    return parity.compare(reference, candidate, inputs=X)


def test_a_weight_off_by_one_percent_is_no_rounding_of_a_constant():
    report = compare(Net(6.0), Net(6.0, 0))
    assert report.verdict == "parity"  # as far as these inputs show
    (note,) = report.worst.notes
    assert note.kind == "parameter-differs"
    assert note.detail.startswith("dense.0.weight differs by 1.0% of its size at (3, 2): ")
    assert "constant" not in str(report) and "rounded" not in str(report)
    assert "parameter" in [row.verdict.partition("-")[0] for row in report.layers]


def test_each_of_several_is_named():
    text = " ".join(str(compare(Net(6.0), Net(6.0, 0, 1))).split())
    assert "dense.0.weight differs" in text and "dense.1.weight differs" in text


def test_it_is_named_in_another_layout():
    keras = pytest.importorskip("keras")
    net = Net(6.0)
    layers = [keras.layers.Dense(8, activation="tanh") for _ in range(2)]
    out = keras.layers.Dense(3)
    x = keras.Input((6,))
    port = keras.Model(x, out(keras.ops.concatenate([layer(x) for layer in layers], 1)))
    for reference, candidate in zip([*net.dense, net.out], [*layers, out], strict=True):
        candidate.set_weights(
            [reference.weight.detach().numpy().T, reference.bias.detach().numpy()]
        )
    assert compare(net, port).verdict == "parity"
    kernel, bias = layers[0].get_weights()
    kernel[2, 3] *= 1.01
    layers[0].set_weights([kernel, bias])
    report = compare(net, port)
    assert report.verdict == "parity"
    (note,) = [one for one in report.worst.notes if one.kind != "constant-precision"]
    assert "kernel differs by 1.0% of its size at (2, 3)" in note.detail


def test_where_the_outputs_agree_to_the_bit_it_is_named_too():
    report = compare(Net(30.0), Net(30.0, 0))
    assert report.verdict == "unverified"
    (note,) = report.worst.notes
    assert note.kind == "parameter-differs"
    assert "dense.0.weight (1 of 48 differ" in note.detail


def test_where_it_shows_it_is_a_divergence():
    assert compare(Net(3.0), Net(3.0, 0)).verdict == "diverged"


def folded(scale):
    """A scale folded into the weight: the same function, and no weight is the other's."""
    net = Net(0.0)
    weight = (net.dense[0].weight.detach() * scale[:, None]).float()
    return lambda x: torch.tanh(x @ weight.T) * 2


def unfolded(scale):
    net = Net(0.0)
    weight = net.dense[0].weight.detach()
    return lambda x: torch.tanh((x @ weight.T) * scale) * 2


def test_a_folded_scale_is_no_other_parameter():
    scale = torch.linspace(0.51, 1.37, 8)
    models = (parity.wrap(make(scale), framework="torch") for make in (unfolded, folded))
    report = compare(*models)
    assert report.verdict == "parity"
    assert {one.kind for one in report.worst.notes} == {"constant-precision"}


def test_a_constant_that_is_rounded_differently_stays_one():
    third = torch.full((6,), 1 / 3) * torch.arange(1, 7)
    other = torch.nextafter(third, torch.ones(6))
    models = (
        parity.wrap(lambda x, by=by: torch.tanh(x * by), framework="torch") for by in (third, other)
    )
    report = compare(*models)
    assert report.verdict == "parity"
    assert [one.kind for one in report.worst.notes] == ["constant-precision"]
