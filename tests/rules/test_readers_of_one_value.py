"""A value that some read as they ought to, and others in the place of what is masked of it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity
from parity.diagnosis.readers_apart import readers_apart, with_readers_apart
from parity.inputs import layout_advice
from tests.unit.causes.compared_pairs import Values, tensor

values = Values()
BATCH, STEPS, WIDTH, CELLS = 6, 4, 8, 2
X = values(BATCH, STEPS, WIDTH)
MASK = np.array([[1] * n + [0] * (STEPS - n) for n in (4, 2, 1, 3, 2, 4)], np.float32)
KERNELS = [[tensor(values(WIDTH, WIDTH, scale=0.4)) for _ in range(6)] for _ in range(CELLS)]
BIASES = [[tensor(values(WIDTH, scale=0.4)) for _ in range(6)] for _ in range(CELLS)]
OUT = tensor(values(WIDTH, 5))


def dense(number, at, x):
    return torch.nn.functional.linear(x, KERNELS[number][at].T, BIASES[number][at])


def cell(number, x, h):
    """A GRU's, each gate by itself."""
    r = torch.sigmoid(dense(number, 0, x) + dense(number, 1, h))
    z = torch.sigmoid(dense(number, 2, x) + dense(number, 3, h))
    n = torch.tanh(dense(number, 4, x) + dense(number, 5, r * h))
    return torch.lerp(h, n, z)


ALL = [
    [torch.cat([several[number][at] for at in of], -1) for several in (KERNELS, BIASES)]
    for number in range(CELLS)
    for of in ((0, 2, 4), (1, 3), (5,))
]


def fused(number, x, h):
    """The same with all gates of one input at once."""
    of_x, of_h, of_r = ALL[3 * number : 3 * number + 3]
    xr, xz, xn = (x @ of_x[0] + of_x[1]).split(WIDTH, 1)
    hr, hz = (h @ of_h[0] + of_h[1]).split(WIDTH, 1)
    r, z = torch.sigmoid(xr + hr), torch.sigmoid(xz + hz)
    n = torch.tanh(xn + (r * h) @ of_r[0] + of_r[1])
    return (1 - z) * h + z * n


def model(cell, masked):
    def run(x, mask):
        states, outs = [torch.zeros(BATCH, WIDTH)] * CELLS, []
        for step in range(STEPS):
            y, keep = x[:, step], mask[:, step, None]
            for number in range(CELLS):
                y = cell(number, y, states[number])
                states[number] = keep * y + (1 - keep) * states[number] if masked else y
            outs.append(torch.relu(states[-1] @ OUT))
        return torch.stack(outs, 1), states[0] * mask.mean(1, keepdim=True)

    return run


def compare(reference, candidate):
    models = (parity.wrap(one, framework="torch") for one in (reference, candidate))
    return parity.compare(*models, inputs=(X, MASK))


def test_a_state_that_no_mask_keeps_while_the_next_layer_reads_it_unmasked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The mask is read elsewhere, too, so that nothing is proved before readers are taken apart."""
    seen = []

    def watched(found):
        seen.append(readers_apart(found))
        return seen[-1]

    monkeypatch.setattr("parity.candidate.readers_apart", watched)
    report = compare(model(cell, True), model(fused, False))
    assert report.verdict == "diverged"
    (one,) = report.divergences
    assert one.cause.kind in ("sequence-mask", "branch-missing") and one.cause.confirmed
    ((_, candidate),) = seen
    ((maker, readers),) = candidate.items()
    assert maker.code.startswith("return (1 - z) * h")  # the next layer's step reads it rightly
    assert {one.code.split(" = ")[0] for one in readers} >= {"hr, hz", "n"}
    assert not any(one.code.startswith("xr, xz, xn") for one in readers)


@pytest.mark.parametrize("masked", [True, False])
def test_right_models_agree(masked: bool) -> None:
    assert compare(model(cell, masked), model(fused, masked)).verdict == "parity"


def test_a_copy_for_some_readers_changes_nothing() -> None:
    wrapped = parity.wrap(model(fused, False), framework="torch")
    tape = layout_advice.record(wrapped, wrapped, (X, MASK))[1]
    made = [op for op in tape.ops if len(tape.consumers[op.outputs[0]]) > 1 and not op.static]
    readers = {
        op.site: frozenset(tape.ops[i].site for i in tape.consumers[op.outputs[0]]) for op in made
    }
    apart = with_readers_apart(tape, readers)
    assert len(apart.ops) > len(tape.ops)
    before, after = tape.replay("float64"), apart.replay("float64")
    for name, value in tape.outputs.items():
        assert np.array_equal(before.array(value), after.array(apart.outputs[name]))
