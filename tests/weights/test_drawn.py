"""Drawn architectures: weights there and back in all directions, and what must not pass."""

from __future__ import annotations

import itertools
from random import Random

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

import parity
from benchmarks.transfer import main, summary
from parity.frameworks import load
from parity.frameworks.chainer import chainer
from tests.weights.drawn import cases
from tests.weights.drawn import in_torch as drawn_torch
from tests.weights.drawn.cases import DIRECTIONS, judge, judge_files, judge_other
from tests.weights.drawn.nets import (
    FRAMEWORKS,
    GLUE,
    MOST_LAYERS,
    Net,
    Node,
    net_of_seed,
    nets,
    other_net,
)

A_FEW = settings(
    max_examples=3,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)


def of(form, shape, *nodes, outputs=None):
    """A net by hand: each node (kind, inputs, sizes)."""
    made = [Node("input", (), 0)]
    for kind, inputs, sizes in nodes:
        by_hand = frozenset(sizes.pop("by_hand", ()))
        made.append(Node(kind, inputs, sizes.pop("layer", len(made)), sizes, by_hand))
    return Net(form, shape, tuple(made), outputs or (len(made) - 1,))


@pytest.mark.parametrize("direction", DIRECTIONS)
@A_FEW
@given(net=nets(), seed=st.integers(0, 99))
def test_there_and_back_is_bit_exact(direction, net, seed):
    note(str(net))
    result = judge(seed, direction, net)
    assert result.good, result


@pytest.mark.parametrize("seed", range(18, 30))
def test_a_fixed_sample_comes_over(seed):
    result = judge(seed, DIRECTIONS[seed % 6])
    assert result.good, f"{net_of_seed(seed)}\n{result}"


@pytest.mark.parametrize("seed", range(3))
def test_a_file_of_each_format_gives_every_value_back(seed):
    assert judge_files(seed) == ""


@pytest.mark.parametrize("seed", range(5, 11))
def test_into_an_architecture_that_differs_nothing_is_written(seed):
    assert judge_other(seed, DIRECTIONS[seed % 6]) in ("", None)


# --- what is drawn -------------------------------------------------------------------------------


def test_what_is_drawn_has_all_kinds_and_at_most_eight_layers():
    drawn = [net_of_seed(seed) for seed in range(400)]
    kinds = {kind for net in drawn for kind in net.kinds}
    wanted = {
        *("dense", "conv 1d", "conv 2d", "conv 3d", "depthwise 2d", "grouped", "transposed 2d"),
        *("batch_norm", "layer_norm", "group_norm", "embedding", "lstm", "gru", "gru_before"),
        *("attention", "max_pool", "average_pool", "relu", "residual", "two heads"),
        *("shared layer", "separate trunks", "flatten of images", "lstm by hand"),
    }
    assert wanted <= kinds
    layers = [sum(node.kind not in GLUE for node in net.nodes) for net in drawn]
    assert max(layers) == MOST_LAYERS and min(layers) == 1
    square = [
        node.sizes["units"] == shapes[node.inputs[0]][-1]
        for net in drawn
        for shapes in [net.shapes]
        for node in net.nodes
        if node.kind == "dense"
    ]
    assert 0.15 < np.mean(square) < 0.6


def test_the_three_frameworks_start_from_other_weights_and_compute_the_same_of_the_same():
    net = net_of_seed(3)
    inputs = cases.inputs_of(net, 3)
    models = {name: cases.built(net, name, inputs, 3) for name in FRAMEWORKS}
    weights = {name: cases.weights_of(net, name, model) for name, model in models.items()}
    assert cases.unlike(weights["torch"], weights["keras"])
    before = [cases.forward(models[n], cases.laid_out(net, n, inputs)) for n in FRAMEWORKS]
    assert not np.allclose(before[0][0], before[1][0]) and not np.allclose(
        before[0][0], before[2][0]
    )


def test_one_changed_value_is_seen_by_the_known_map():
    net = net_of_seed(3)
    inputs = cases.inputs_of(net, 3)
    for name in FRAMEWORKS:
        model = cases.built(net, name, inputs, 3)
        before = {key: np.array(own) for key, own in cases.weights_of(net, name, model).items()}
        seen = set()
        for tensor in load(model.framework).tensors(model.obj):
            if tensor.dtype == "float32":
                contents = np.array(tensor.read())
                changed = contents.copy()
                changed.flat[-1] += 1
                tensor.write(changed)
                seen.update(cases.unlike(before, cases.weights_of(net, name, model)))
                tensor.write(contents)
        assert seen == {f"{role} of {layer}" for layer, role in before}


def test_a_transfer_that_writes_something_else_is_called_wrong(monkeypatch):
    net = of("flat", (3,), ("dense", (0,), {"units": 2, "bias": True}))
    true = parity.transfer

    def false(source, target, inputs):
        result = true(source, target, inputs)
        first = load(target.framework).tensors(target.obj)[0]
        first.write(np.array(first.read()) * 2)
        return result

    monkeypatch.setattr(parity, "transfer", false)
    result = judge(0, ("torch", "keras"), net)
    assert result.wrong and "kernel of 1" in result.reason
    assert any("wrong" in line for line in summary([result]))


def test_what_differs_differs():
    for seed in range(60):
        net = net_of_seed(seed)
        changed = other_net(net, Random(seed))
        assert changed is None or (changed != net and changed.shapes)


def test_the_benchmark_prints_a_row_for_each_direction_and_kind(capsys):
    assert main(["-n", "6", "--seed", "30", "--negatives", "1", "--files", "1"]) == 0
    printed = capsys.readouterr().out
    assert all(" to ".join(way) in printed for way in DIRECTIONS)
    assert "files: 1 drawn, 0 not as they should be" in printed


# --- kinds of layers that were once not paired ---------------------------------------------------

DENSE = {"units": 3, "bias": True}
WINDOW = {"kernel": 3, "stride": 1, "same": False, "dilation": 2, "bias": False}
NETS = {
    "a norm over one channel": of(
        "image",
        (1, 5, 5),
        ("batch_norm", (0,), {}),
        ("flatten", (1,), {}),
        ("dense", (2,), dict(DENSE)),
    ),
    "norms by hand": of(
        "flat",
        (4,),
        ("batch_norm", (0,), {"by_hand": ("torch", "chainer")}),
        ("layer_norm", (1,), {"by_hand": ("keras", "chainer")}),
        ("dense", (2,), dict(DENSE)),
    ),
    "a layer used twice": of(
        "flat",
        (3,),
        ("dense", (0,), dict(DENSE)),
        ("relu", (1,), {}),
        ("dense", (2,), {**DENSE, "layer": 1}),
    ),
    "volumes": of(
        "image",
        (2, 4, 5, 4),
        ("flatten", (0,), {}),
        ("dense", (1,), dict(DENSE)),
    ),
    "dilated along a line": of(
        "image",
        (2, 9),
        ("conv", (0,), {**WINDOW, "filters": 4}),
        ("flatten", (1,), {}),
        ("dense", (2,), dict(DENSE)),
    ),
    "dilated, grouped, without a bias": of(
        "image",
        (2, 7, 8),
        ("conv", (0,), {**WINDOW, "filters": 4, "groups": 2}),
        ("flatten", (1,), {}),
        ("dense", (2,), dict(DENSE)),
    ),
    "cells by hand": of(
        "series",
        (4, 3),
        ("lstm", (0,), {**DENSE, "by_hand": ("torch", "chainer")}),
        ("gru_before", (1,), {**DENSE, "by_hand": ("chainer",)}),
    ),
    "a cell of a framework's own, of two turns": of("series", (2, 3), ("gru", (0,), dict(DENSE))),
    "a cell of two turns": of("series", (2, 3), ("gru_before", (0,), dict(DENSE))),
}


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("direction", list(itertools.combinations(FRAMEWORKS, 2)))
def test_kinds_one_by_one(direction, name):
    result = judge(5, direction, NETS[name])
    assert result.good, result


class Stateful(chainer.Chain):
    """Chainer's L.GRU, which leaves out the recurrent biases at its first step."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.cell = chainer.links.GRU(3, 4)

    def forward(self, x):
        self.cell.reset_state()
        return chainer.functions.stack([self.cell(x[:, t]) for t in range(x.shape[1])], 1)


@pytest.mark.parametrize("biased", [True, False])
def test_a_cell_that_skips_its_first_recurrent_biases_is_reported(biased):
    net = of("series", (5, 3), ("gru_before", (0,), {"units": 4}))
    inputs = cases.inputs_of(net, 1)
    target = cases.built(net, "keras", inputs, 1)
    source = Stateful()
    back = [id(link.b) for link in (source.cell.U, source.cell.U_r, source.cell.U_z)]
    for param in source.params():
        own = np.random.default_rng(2).normal(size=param.shape).astype("f") * 0.4
        recurrent = param.name == "b" and id(param) in back
        param.array[...] = 0 if recurrent and not biased else own
    result = parity.transfer(source, target, inputs)
    assert result.verdict == ("diverged" if biased else "parity"), result
    assert any("leaves out its recurrent biases at the first" in n for n in result.table.notes)


class TwoCells(torch.nn.Module):
    """Two cells of one size side by side, which run in either order."""

    def __init__(self, first):
        super().__init__()
        self.order = (first, 1 - first)
        self.cells = torch.nn.ModuleList(torch.nn.LSTM(3, 4, batch_first=True) for _ in range(2))
        self.last = torch.nn.Linear(4, 2)

    def forward(self, x):
        found = {n: self.cells[n](x)[0][:, -1] for n in self.order}
        return found[0], self.last(found[1])


def test_cells_of_one_size_are_distinguished_by_where_they_stand():
    inputs = np.random.default_rng(3).normal(size=(3, 5, 3)).astype("f")
    source, target = TwoCells(0), TwoCells(1)
    assert parity.transfer(source, target, inputs).verdict == "parity"
    pairs = zip(source.state_dict().values(), target.state_dict().values(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


class OtherGates(drawn_torch.LstmByHand):
    """The cell of the drawn nets with its gates as o, g, f, i, and all products made at once."""

    def forward(self, x):
        h = c = x.new_zeros(len(x), self.units)
        found, into = [], self.into(x)
        for t in range(x.shape[1]):
            o, g, f, i = (into[:, t] + self.back(h)).chunk(4, -1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            found.append(h)
        return torch.stack(found, 1)


def test_cells_by_hand_with_gates_in_two_orders():
    inputs = np.random.default_rng(4).normal(size=(3, 5, 3)).astype("f")
    source, target = drawn_torch.LstmByHand(3, 4), OtherGates(3, 4)
    assert parity.transfer(source, target, inputs).verdict == "parity"
    f, i, o, g = source.back.weight.detach().numpy().reshape(4, 4, 4)
    expected = np.stack([o, g, f, i]).reshape(16, 4)
    np.testing.assert_array_equal(target.back.weight.detach().numpy(), expected)
