"""Seed 000: RLlib's default vision network in torch and Keras, whose weights are listed unlike."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import parity
from benchmarks.corpus.scenarios.rllib_models import (
    TorchGates,
    TorchVision,
    keras_gates,
    keras_vision,
)
from parity.weights.saving import save

RNG = np.random.default_rng(5)
IMAGES = RNG.uniform(0, 1, (5, 84, 84, 4)).astype(np.float32)
INDICES = {
    True: (6, 7, 0, 1, 2, 3, 4, 5, 8, 9),
    False: (12, 13, 0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11, 14, 15),
}
# What rounding leaves after four layers, whose sums have up to 32 * 11 * 11 terms, on any machine.
ROUNDING = 4 * (32 * 11 * 11) ** 0.5 * 2.0**-24
SIZES = {True: 1_005_109, False: 2_008_933}
ROWS = [
    "_convs.0._model.1.weight (16,4,8,8) conv1/kernel (8,8,4,16) OIHW -> HWIO",
    "_convs.2._model.0.weight (256,32,11,11) conv3/kernel (11,11,32,256) OIHW -> HWIO",
    "_logits._model.1.weight (4,256,1,1) conv_out/kernel (1,1,256,4) OIHW -> HWIO",
]


def torch_vision(shared=True):
    """With biases that are not zero, as training leaves them."""
    torch.manual_seed(5)
    model = TorchVision(shared)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.01 * torch.randn_like(parameter))
    return model


def furthest(source, target):
    """By how much the outputs differ, and how large they are, for logits and value."""
    expected = [output.detach().numpy() for output in source(torch.from_numpy(IMAGES))]
    found = [output.numpy() for output in target(IMAGES)]
    return [(np.abs(a - b).max(), np.abs(a).max()) for a, b in zip(expected, found, strict=True)]


@pytest.mark.parametrize("shared", [True, False])
def test_every_tensor_of_the_vision_network_finds_its_partner(shared):
    source, target = torch_vision(shared), keras_vision(shared)
    assert sum(parameter.numel() for parameter in source.parameters()) == SIZES[shared]
    result = parity.transfer(source, target, IMAGES)
    table, text = result.table, " ".join(str(result).split())
    assert result.verdict == "parity" and result.written
    assert len(table.rows) == len(INDICES[shared])
    assert table.left == table.dead == ((), ())
    assert table.indices == INDICES[shared]
    assert table.by_position == "by position the copy fails at slot 0: (1,1,256,4) into (8,8,4,16)"
    assert not any(row.done for row in table.rows)
    assert all(row in text for row in ROWS)
    for distance, size in furthest(source, target):
        assert distance <= ROUNDING * size


def test_the_table_for_markdown_and_programs():
    result = parity.transfer(torch_vision(), keras_vision(), IMAGES)
    text = result.to_markdown()
    assert text.startswith("**parity: 10 tensors of TorchVision into ")
    shapes = "_convs.0._model.1.weight | (16,4,8,8) | conv1/kernel | (8,8,4,16)"
    assert f"| kernel | {shapes} | OIHW -> HWIO |" in text
    read = json.loads(json.dumps(result.to_dict()))
    assert tuple(read["table"]["indices"]) == INDICES[True]
    first = read["table"]["rows"][0]
    assert first["source"] == ["_convs.0._model.1.weight"] and first["layout"] == "OIHW -> HWIO"


def test_inputs_and_their_layout_are_found_out():
    source, target = torch_vision(), keras_vision()
    assert parity.transfer(source, target).verdict == "parity"


@pytest.mark.parametrize("shared", [True, False])
def test_the_torch_file_alone_distinguishes_both_trunks(tmp_path, shared):
    source, target = torch_vision(shared), keras_vision(shared)
    save(parity.wrap(source), tmp_path / "model.pt")
    result = parity.transfer(tmp_path / "model.pt", target)
    assert result.verdict == "unverified" and result.table.left == ((), ())
    for distance, size in furthest(source, target):
        assert distance <= ROUNDING * size


def test_what_one_network_lacks_is_left_over_and_what_is_never_read_is_dead():
    source, target = torch_vision(), keras_vision()
    source.unused = torch.nn.Linear(256, 3)
    deeper = torch_vision()
    deeper._value_branch._model.append(torch.nn.Linear(1, 1))
    table = parity.transfer(source, target, IMAGES).table
    assert table.dead == (("unused.weight", "unused.bias"), ())
    assert "without effect in TorchVision: unused.weight, unused.bias" in str(table)
    result = parity.transfer(deeper, keras_vision(), IMAGES)
    assert result.verdict == "diverged" and not result.written
    left = ("_value_branch._model.1.weight", "_value_branch._model.1.bias")
    assert set(left) <= set(result.table.left[0])


def test_names_that_collide_are_reported_and_no_tensor_is_lost(tmp_path):
    inputs = RNG.normal(size=(5, 4)).astype(np.float32)
    source, target = TorchGates(), keras_gates()
    with torch.no_grad():
        for parameter in source.parameters():
            parameter.normal_()
    assert len(target.variables) == 37
    result = parity.transfer(source, target, inputs)
    assert result.verdict == "parity", str(result)
    assert len({name for row in result.table.rows for name in row.target}) == 37
    text = "7 are called gate_2/Variable; a dict of weights by name keeps 24 of 37"
    assert text in str(result) and text in str(parity.inventory(target, inputs))
    back = TorchGates()
    assert parity.transfer(target, back, inputs).verdict == "parity"
    assert all(map(torch.equal, source.parameters(), back.parameters()))
    save(parity.wrap(target), tmp_path / "gates.npz")
    with np.load(tmp_path / "gates.npz") as saved:
        assert len(saved.files) == 37
