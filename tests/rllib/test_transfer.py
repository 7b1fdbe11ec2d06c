"""Weights of RLlib's own models move between TensorFlow and torch, and both then compute the same.

Runs in an environment of its own: `make rllib`.
"""

from functools import partial

import numpy as np
import pytest

import parity

nets = pytest.importorskip("tests.rllib.nets", reason="see `make rllib`", exc_type=ImportError)

WAYS = [("tensorflow", "torch"), ("torch", "tensorflow")]
C51 = {"dueling": True, "num_atoms": 51, "q_hiddens": [24]}

# name: (how it is built, the shape of its observations, its tensors in either framework)
MODELS = {
    "fully connected": (partial(nets.build), (5, 4), 8),
    "fully connected, separate value": (partial(nets.build, vf_share_layers=False), (5, 4), 12),
    "vision 84": (partial(nets.build, outputs=4), (3, 84, 84, 4), 10),
    "vision 84, separate value": (partial(nets.build, vf_share_layers=False), (3, 84, 84, 4), 16),
    "vision 42": (partial(nets.build), (3, 42, 42, 3), 10),
    "dueling, 51 atoms": (partial(nets.dqn, fcnet_hiddens=[16], heads=C51), (5, 4), 14),
    "dueling": (
        partial(nets.dqn, fcnet_hiddens=[16], heads={**C51, "num_atoms": 1}),
        (5, 4),
        14,
    ),
    "dueling, 51 atoms, images": (partial(nets.dqn, heads=C51), (3, 42, 42, 3), 18),
    "noisy": (
        partial(nets.dqn, fcnet_hiddens=[16], heads={**C51, "use_noisy": True}),
        (5, 4),
        22,
    ),
}


@pytest.mark.parametrize("way", WAYS, ids="-".join)
@pytest.mark.parametrize("name", MODELS)
def test_every_tensor_is_moved(name, way):
    make, shape, count = MODELS[name]
    source, target = (make(framework, shape[1:]) for framework in way)
    before = parity.compare(source, target, inputs=nets.observations(*shape))
    assert before.verdict != "parity"  # they were made with weights of their own
    result = parity.transfer(source, target, inputs=nets.observations(*shape))
    assert result.verdict == "parity", result.report
    assert sum(len(row.target) for row in result.table.rows) == count
    assert result.table.left == ((), ())


SEQUENCES = {  # 3 sequences of 4 steps
    "obs": nets.observations(12, 4),
    "state_in_0": nets.observations(3, 16),
    "state_in_1": -nets.observations(3, 16),
    "seq_lens": np.full(3, 4, "int32"),
}


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_lstm_with_its_state_in_and_out(way):
    make = partial(nets.build, use_lstm=True, lstm_cell_size=16, fcnet_hiddens=[32])
    source, target = map(make, way)
    result = parity.transfer(source, target, inputs=SEQUENCES)
    assert result.verdict == "parity", result.report
    outputs = [row.name for row in result.report.comparisons[0].outputs]
    assert outputs == ["logits", "value", "state_out/0", "state_out/1"]
    # TensorFlow's LSTM wrapper keeps the value layer of the network that it wraps: dead weight
    left = dict(zip(way, result.table.left, strict=True))
    value_out = ("base_model/value_out/kernel", "base_model/value_out/bias")
    assert left == {"tensorflow": value_out, "torch": ()}


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
