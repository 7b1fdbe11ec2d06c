"""What keeps a transfer small: weights recognised by their strides, and never kept in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from parity.frameworks import load
from parity.weights.pairing import Side
from tests.weights import image_nets
from tests.weights import transfer_models as nets

RNG = np.random.default_rng(5)
IMAGES = RNG.normal(size=(2, 3, 11, 11)).astype("f")


def sides():
    for makers, inputs in [
        (nets.IMAGES, IMAGES),
        (nets.TRANSPOSED, IMAGES[:, :, :4, :4]),
        *(image_nets.makers(seed) for seed in range(4)),
    ]:
        for name, make in makers.items():
            given = inputs.transpose(0, 2, 3, 1) if name == "keras" else inputs
            model = nets.shuffled(make(), given, "NHWC" if name == "keras" else "NCHW")
            adapter = load(model.framework)
            yield Side(adapter.record(model, given), adapter.tensors(model.obj), {})


def test_strides_show_what_addresses_show():
    seen = 0
    for side in sides():
        for part in side.all_parts():
            if part.strided is None:
                continue
            ((_, addresses),) = part.find()
            contents = side.tensors[part.strided.number].read()
            seen += len(part.shape) > 1
            assert np.array_equal(part.strided.of(contents), side.gather(addresses))
    assert seen > 50


@pytest.mark.parametrize("bias", [False, True])
def test_no_weight_is_kept_in_float64(bias):
    """Torch transposes each weight before its product; a replay does that again."""
    width = 300  # more than 2**16 elements
    model = nets.parity.wrap(
        torch.nn.Sequential(*(torch.nn.Linear(width, width, bias=bias) for _ in range(3)))
    )
    inputs = RNG.normal(size=(2, width)).astype("f")
    tape = load("torch").record(model, inputs)
    run = tape.replay("float64")
    assert max(tape.values[value].size for value in run.native) == 2 * width
    moved = [op.outputs[0] for op in tape.ops if op.static and op.role == "move"]
    assert len(moved) == 3
    weights = [layer.weight.detach().numpy() for layer in model.obj]
    for value, weight in zip(moved, weights, strict=True):
        assert value in run and np.array_equal(run.array(value), weight.T.astype("d"))
    # what replaces a weight is seen by what is computed from it
    first = tape.ops[0].inputs[0]
    other = tape.replay("float64", {first: np.zeros((width, width))}, base=run)
    assert not other.array(moved[0]).any() and run.array(moved[0]).any()
