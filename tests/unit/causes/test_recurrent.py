"""Recurrent layers: gates, resets, biases, states."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.unit.causes.compared_pairs import Values, cause_of, kind, tensor

values = Values()

UNITS, INPUTS = 5, 4
X, H = values(3, 6, INPUTS), values(3, UNITS)
KERNEL, OWN = tensor(values(4 * UNITS, INPUTS)), tensor(values(4 * UNITS, UNITS))
BIAS = tensor(values(4 * UNITS))


def layer(order=(0, 1, 2, 3), forget=0.0):
    module = nn.LSTM(INPUTS, UNITS, batch_first=True)
    bias = BIAS.clone()
    bias[UNITS : 2 * UNITS] += forget
    gates = torch.cat([torch.arange(gate * UNITS, (gate + 1) * UNITS) for gate in order])
    with torch.no_grad():
        for name, array in (("weight_ih", KERNEL), ("weight_hh", OWN), ("bias_ih", bias)):
            getattr(module, f"{name}_l0").copy_(array[gates])
        module.bias_hh_l0.zero_()
    return module


def fused(module):
    return lambda x: torch.tanh(module(x)[0])


def by_hand(gate=torch.sigmoid, carries=True):
    def run(x):
        h = c = torch.zeros(x.shape[0], UNITS)
        found = []
        for step in x.unbind(1):
            i, f, g, o = (step @ KERNEL.T + h @ OWN.T + BIAS).chunk(4, -1)
            c = gate(f) * (c if carries else torch.zeros_like(c)) + gate(i) * torch.tanh(g)
            h = gate(o) * torch.tanh(c)
            found.append(h)
        return torch.tanh(torch.stack(found, 1))

    return run


def test_the_order_of_gates_in_the_weights():
    cause = cause_of(fused(layer()), fused(layer((0, 3, 1, 2))), X)
    assert (cause.kind, cause.parameters) == ("gate-order", {"order": ((0, 1, 2, 3), (0, 3, 1, 2))})


def test_the_bias_of_the_forget_gate_is_solved_for():
    cause = cause_of(fused(layer()), fused(layer(forget=0.75)), X)
    assert (cause.kind, cause.parameters) == ("forget-bias", {"bias": (0.0, 0.75)})


def test_the_activation_of_the_gates():
    assert kind(fused(layer()), by_hand(F.hardsigmoid), X) == "recurrent-activation"


def test_a_state_that_is_not_carried():
    assert kind(fused(layer()), by_hand(carries=False), X) == "state-not-carried"


def test_other_weights_are_not_another_order():
    other = layer()
    with torch.no_grad():
        other.weight_hh_l0.mul_(1.01)
    assert kind(fused(layer()), fused(other), X) not in ("gate-order", "forget-bias")


W, U = tensor(values(INPUTS, 3 * UNITS)), tensor(values(UNITS, 3 * UNITS))


def gru_cell(after=True, order=(0, 1)):
    def run(x, h):
        given, own = (x @ W).chunk(3, -1), U.chunk(3, -1)
        gates = [torch.sigmoid(given[k] + h @ own[k]) for k in (0, 1)]
        r, z = (gates[k] for k in order)
        n = torch.tanh(given[2] + (r * (h @ own[2]) if after else (r * h) @ own[2]))
        return (1 - z) * n + z * h

    return run


@pytest.mark.parametrize("after", [True, False])
def test_reset(after):
    x = values(3, INPUTS)
    cause = cause_of(gru_cell(after), gru_cell(not after), x, H)
    words = ("after", "before") if after else ("before", "after")
    assert (cause.kind, cause.parameters) == ("reset-after", {"reset": words})


def lstm_cell(gates, shift=0.0):
    def run(x, h):
        i, f, g, o = (x @ KERNEL.T + h @ OWN.T + BIAS).chunk(4, -1)
        named = {"i": i, "f": f, "g": g, "o": o}
        i, f, g, o = (named[name] for name in gates)
        return torch.sigmoid(o) * torch.tanh(torch.sigmoid(f + shift) * h + torch.sigmoid(i) * g)

    return run


def test_the_order_of_gates_in_a_cell():
    x = values(3, INPUTS)
    for gates in ("figo", "ifog", "igfo"):
        assert kind(lstm_cell("ifgo"), lstm_cell(gates), x, H) == "gate-order"


def test_the_number_added_in_a_cell():
    x = values(3, INPUTS)
    cause = cause_of(lstm_cell("ifgo"), lstm_cell("ifgo", 1.0), x, H)
    assert (cause.kind, cause.parameters) == ("forget-bias", {"bias": (0.0, 1.0)})


def test_steps_that_are_masked():
    lengths = torch.tensor([6, 2, 4])
    valid = torch.arange(6)[None] < lengths[:, None]

    def masked(mask):
        return lambda x: torch.tanh((x * mask[:, :, None]).cumsum(1))

    assert kind(masked(valid), masked(valid.flip(0)), X) == "sequence-mask"
    assert kind(masked(valid), lambda x: torch.tanh(x.cumsum(1)), X) == "sequence-mask"


def test_a_flip_in_a_model_without_steps_is_no_direction():
    wide = tensor(values(UNITS, 4 * UNITS))
    x = values(4, 6, UNITS)

    def dense(turned):
        return lambda x: torch.tanh((x.flip(1) if turned else x) @ wide)

    assert kind(dense(False), dense(True), x) != "direction"


def test_a_state_that_is_masked_is_no_gate():
    """Where one side keeps the state in the padding, the other side's state is no other gate."""
    x = values(3, INPUTS)
    kept = torch.tensor([[1.0], [0.0], [1.0]])

    def cell(masked):
        def run(x, h):
            i, f, g, o = (x @ KERNEL.T + h @ OWN.T + BIAS).chunk(4, -1)
            c = torch.sigmoid(f) * h + torch.sigmoid(i) * torch.tanh(g)
            new = torch.sigmoid(o) * torch.tanh(c)
            state = kept * new + (1 - kept) * h if masked else new
            return state @ OWN.T[:, :UNITS]

        return run

    cause = cause_of(cell(True), cell(False), x, H)
    assert (cause.kind, cause.parameters) == ("sequence-mask", {"masked": (True, False)})
    cause = cause_of(cell(False), cell(True), x, H)
    assert (cause.kind, cause.parameters) == ("sequence-mask", {"masked": (False, True)})


def test_another_state_is_no_mask_and_no_gate():
    x = values(3, INPUTS)

    def cell(factor):
        def run(x, h):
            i, f, g, o = (x @ KERNEL.T + h @ OWN.T + BIAS).chunk(4, -1)
            c = torch.sigmoid(f) * h + torch.sigmoid(i) * torch.tanh(g)
            new = torch.sigmoid(o) * torch.tanh(c)
            state = new if factor is None else factor * new + (1 - factor) * h
            return state @ OWN.T[:, :UNITS]

        return run

    half = torch.tensor([[1.0], [0.5], [1.0]])
    assert kind(cell(half), cell(None), x, H) not in ("sequence-mask", "gate-order")


@pytest.mark.parametrize("after", [True, False])
def test_the_reset_shows_in_the_first_step_by_the_bias(after):
    """There the state is zero. The kernel of two gates is a square here."""
    gates, new = tensor(values(2 * UNITS, 2 * UNITS)), tensor(values(2 * UNITS, UNITS))
    own, bias = tensor(values(UNITS, UNITS)), tensor(values(UNITS))
    own_gates, bias_new = tensor(values(UNITS, 2 * UNITS)), tensor(values(UNITS))
    later = tensor(values(UNITS, 3))

    def steps(after):
        def run(x):
            h = torch.zeros(x.shape[0], UNITS)
            found = []
            for step in x.unbind(1):
                z, r = torch.sigmoid(step @ gates + h @ own_gates).chunk(2, -1)
                n = step @ new + bias_new
                n = n + r * (h @ own + bias) if after else n + (r * h) @ own + bias
                h = z * h + (1 - z) * torch.tanh(n)
                found.append(h)
            return torch.softmax(torch.stack(found, 1) @ later, 1)

        return run

    cause = cause_of(steps(after), steps(not after), values(3, 6, 2 * UNITS))
    words = ("after", "before") if after else ("before", "after")
    assert (cause.kind, cause.parameters) == ("reset-after", {"reset": words})


def test_a_state_that_the_second_part_of_a_sequence_does_not_get():
    """A state comes from the weights that read it again; another value at zero is not one."""
    cell = nn.GRUCell(INPUTS, UNITS)

    def parts(handed):
        def run(x):
            h, found = torch.zeros(x.shape[0], UNITS), []
            for t, step in enumerate(x.unbind(1)):
                h = cell(step, torch.zeros_like(h) if t == 3 and not handed else h)
                found.append(h)
            return torch.stack(found, 1)

        return run

    assert kind(parts(True), parts(False), X) == "state-not-carried"
    first, second = tensor(values(INPUTS, UNITS)), tensor(values(INPUTS, UNITS))
    both = cause_of(
        lambda x: torch.tanh(x @ first) + torch.sigmoid(x @ second),
        lambda x: torch.tanh(x @ first) + torch.sigmoid(0 * (x @ second)),
        X[:, 0],
    )
    assert both is None or both.kind != "state-not-carried"
