"""Weights of RLlib's own models move between TensorFlow and torch, and both then compute the same.

Runs in an environment of its own: `make rllib`.
"""

import numpy as np
import pytest

import parity

nets = pytest.importorskip("tests.rllib.nets", reason="see `make rllib`", exc_type=ImportError)

import torch  # noqa: E402

WAYS = [("tensorflow", "torch"), ("torch", "tensorflow")]


@pytest.mark.parametrize("way", WAYS, ids="-".join)
@pytest.mark.parametrize("name", nets.MODELS)
def test_every_tensor_is_moved(name, way):
    model = nets.MODELS[name]
    source, target = map(model.make, way)
    before = parity.compare(source, target, inputs=model.inputs)
    assert before.verdict != "parity"  # they were made with different weights
    result = parity.transfer(source, target, inputs=model.inputs)
    assert result.verdict == "parity", result.report
    noted = any("input 'seq_lens' changes" in note for note in result.table.notes)
    assert noted == name.startswith("LSTM")  # which torch's does not read
    assert sum(len(row.target) for row in result.table.rows) == model.tensors[way[1]]
    assert sum(len(row.source) for row in result.table.rows) == model.tensors[way[0]]
    left = dict(zip(way, result.table.left, strict=True))
    # TensorFlow's LSTM wrapper keeps the value layer of the network that it wraps: dead weight
    dead = ("base_model/value_out/kernel", "base_model/value_out/bias")
    assert left == {"tensorflow": dead if name.startswith("LSTM") else (), "torch": ()}


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_state_goes_in_and_comes_out(way):
    source, target = map(nets.MODELS["LSTM"].make, way)
    result = parity.transfer(source, target, inputs=nets.SEQUENCES)
    outputs = [row.name for row in result.report.comparisons[0].outputs]
    assert outputs == ["logits", "value", "state_out/0", "state_out/1"]


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_what_an_lstm_reads_from_images_is_permuted(way):
    model = nets.MODELS["LSTM over images"]
    result = parity.transfer(*map(model.make, way), inputs=model.inputs)
    permuted = [row for row in result.table.rows if row.done.startswith("inputs permuted")]
    assert [row.source_shapes for row in permuted] in ([((54, 64),)], [((64, 54),)])


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_observations_of_several_parts(way):
    """Each part has a network of its own; their value branches are never read."""
    result = parity.transfer(*map(nets.mixed, way), inputs=nets.mixed_observations(4))
    assert result.verdict == "parity", result.report
    assert len(result.table.rows) == 16
    assert all("value" in name for left in result.table.left for name in left)


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_a_free_log_standard_deviation_that_was_trained(way):
    models = {one: nets.build(one, outputs=6, free_log_std=True) for one in way}
    deviations = models["torch"]._append_free_log_std.log_std.data, models["tensorflow"].log_std_var
    numbers = nets.observations(3)
    if way[0] == "torch":
        deviations[0].copy_(torch.tensor(numbers))
    else:
        deviations[1].assign(numbers)
    result = parity.transfer(*models.values(), inputs=nets.observations(5, 4))
    assert result.verdict == "parity", result.report
    for tensor in deviations:
        np.testing.assert_array_equal(tensor.numpy(), numbers)


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_of_an_attention_what_cannot_be_moved_is_left_over(way):
    models = {one: nets.attention(one) for one in way}
    before = {name: own.clone() for name, own in models["torch"].state_dict().items()}
    result = parity.transfer(*models.values(), inputs=nets.MEMORIES)
    assert result.verdict == "diverged"
    assert not result.written
    for name, own in models["torch"].state_dict().items():
        assert torch.equal(own, before[name]), name
    left = dict(zip(way, result.table.left, strict=True))["torch"]
    assert {name.split("._layer.")[1].split(".")[0] for name in left} == {
        "_uvar", "_vvar", "_qkv_layer", "_pos_proj", "_linear_layer", "_input_layernorm",
        "_rel_pos_embedding",
    }  # fmt: skip
    assert f"left over in {result.table.target}: " in str(result)


def test_the_users_table_of_the_vision_network():
    """By position the copy fails at slot 0; by what the tensors do all ten have their places."""
    torch, tensorflow = (nets.build(one, (84, 84, 4), 4) for one in ("torch", "tensorflow"))
    result = parity.transfer(torch, tensorflow, inputs=nets.observations(2, 84, 84, 4))
    assert result.table.indices == (6, 7, 0, 1, 2, 3, 4, 5, 8, 9)
    assert "by position the copy fails at slot 0: (1,1,256,4) into (8,8,4,16)" in str(result.table)
    kernels = {
        row.source[0]: row.target[0]
        for row in result.table.rows
        if row.source[0].endswith("weight")
    }
    assert kernels == {
        "_convs.0._model.1.weight": "base_model/conv1/kernel",
        "_convs.1._model.1.weight": "base_model/conv2/kernel",
        "_convs.2._model.0.weight": "base_model/conv3/kernel",
        "_logits._model.1.weight": "base_model/conv_out/kernel",
        "_value_branch._model.0.weight": "base_model/value_out/kernel",
    }
