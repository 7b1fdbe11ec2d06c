"""Whole recurrent layers, with separate operations for each step or one operation for all."""

from __future__ import annotations

import pytest
import torch

from parity.diagnosis import divergences
from parity.diagnosis.causes._gates import gate_blocks
from parity.diagnosis.causes.unrolled_rnn import sequences
from parity.diagnosis.enlarged_regions import enclosures
from tests.unit.causes.compared_pairs import Values, cause_of, compared, kind, tensor
from tests.unit.causes.test_recurrent import BIAS, KERNEL, OWN, UNITS, U, W, X, fused, layer

values = Values()
LENGTHS = (6, 2, 4)


def unrolled(
    shift=0.0,
    order=(0, 1, 2, 3),
    backwards=False,
    last=False,
    lengths=None,
    carries=True,
    tried=False,
    shown=False,
):
    """An LSTM whose steps are separate operations, so that the models diverge at the first step."""
    places = torch.cat([torch.arange(gate * UNITS, (gate + 1) * UNITS) for gate in order])
    bias = BIAS.clone()
    bias[UNITS : 2 * UNITS] += shift
    kernel, own, bias = KERNEL[places], OWN[places], bias[places]

    def run(x):
        h = c = torch.zeros(x.shape[0], UNITS)
        found = []
        if tried:
            torch.tanh(x[:, 0] @ kernel.T)
        steps = x.unbind(1)
        for t, step in enumerate(steps[::-1] if backwards else steps):
            if not carries:
                h = c = torch.zeros(x.shape[0], UNITS)
            i, f, g, o = (step @ kernel.T + h @ own.T + bias).chunk(4, -1)
            new_c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            new_h = torch.sigmoid(o) * torch.tanh(new_c)
            if lengths is None:
                h, c = new_h, new_c
            else:
                kept = (torch.tensor(lengths) > t)[:, None]
                h, c = torch.where(kept, new_h, h), torch.where(kept, new_c, c)
            found.append(h)
        states = torch.tanh(h if last else torch.stack(found[::-1] if backwards else found, 1))
        return (states, found[2]) if shown else states

    return run


@pytest.mark.parametrize("last", [True, False])
def test_the_bias_of_the_forget_gate(last):
    cause = cause_of(unrolled(last=last), unrolled(shift=1.0, last=last), X)
    assert (cause.kind, cause.parameters) == ("forget-bias", {"bias": (0.0, 1.0)})


def test_the_order_of_gates():
    assert kind(unrolled(), unrolled(order=(0, 2, 1, 3)), X) == "gate-order"


@pytest.mark.parametrize("last", [True, False])
def test_steps_from_the_other_end(last):
    assert kind(unrolled(last=last), unrolled(backwards=True, last=last), X) == "direction"


@pytest.mark.parametrize("last", [True, False])
def test_steps_from_the_other_end_of_a_layer_with_others_around(last):
    """Before it a dense layer over all steps at once, after it a head, and a layer beside it."""
    before, head = tensor(values(4, 4)), tensor(values(2 * UNITS, 3))
    beside = torch.nn.GRU(4, UNITS, batch_first=True)

    def states(x, backwards):
        h, found = torch.zeros(x.shape[0], UNITS), []
        for step in x.unbind(1)[::-1] if backwards else x.unbind(1):
            given, kept = (step @ W).chunk(3, -1), (h @ U).chunk(3, -1)
            r, z = (torch.sigmoid(given[k] + kept[k]) for k in (0, 1))
            h = (1 - z) * torch.tanh(given[2] + r * kept[2]) + z * h
            found.append(h)
        return h if last else torch.stack(found[::-1] if backwards else found, 1)

    def net(backwards):
        def run(x):
            x = (x.reshape(-1, 4) @ before).reshape(x.shape)
            others = beside(x)[0][:, -1] if last else beside(x)[0]
            return torch.softmax(torch.cat([others, states(x, backwards)], -1) @ head, -1)

        return run

    for backwards in (True, False):
        assert kind(net(not backwards), net(backwards), X) == "direction"


@pytest.mark.parametrize("carries", [True, False])
@pytest.mark.parametrize("last", [True, False])
def test_every_step_by_itself(carries, last):
    reference, candidate = (unrolled(carries=one, last=last) for one in (carries, not carries))
    cause = cause_of(reference, candidate, X)
    assert (cause.kind, cause.parameters) == (
        "state-not-carried",
        {"carried": (carries, not carries)},
    )


def averaged(states):
    return states.mean(1)


def headed(states):
    """Two heads, so that the state alone is where both can be put right."""
    heads = torch.cos(torch.arange(1.0, 4 * UNITS + 1)).reshape(2, UNITS, 2)
    return torch.cat([torch.softmax(states @ heads[0], -1), states @ heads[1]], -1)


@pytest.mark.parametrize("carries", [True, False])
@pytest.mark.parametrize(("behind", "last"), [(averaged, False), (headed, True)])
def test_every_step_by_itself_of_a_layer_that_is_read_on(carries, behind, last):
    nets = [unrolled(carries=one, last=last) for one in (carries, not carries)]
    cause = cause_of(*(lambda x, net=net: behind(net(x)) for net in nets), X)
    assert (cause.kind, cause.confirmed) == ("state-not-carried", True)


@pytest.mark.parametrize("net", [lambda: fused(layer()), unrolled], ids=["fused", "unrolled"])
@pytest.mark.parametrize("last", [True, False], ids=["result", "input"])
def test_a_batch_the_other_way_round_is_no_direction(net, last):
    """Samples that are reversed look like reversed steps; but they do not depend on each other."""
    right = net()
    turned = (lambda x: right(x).flip(0)) if last else (lambda x: right(x.flip(0)))
    assert kind(right, turned, X) not in ("state-not-carried", "direction")


@pytest.mark.parametrize("masked", [True, False])
def test_the_state_before_the_padding(masked):
    """One side takes the state after each sequence, the other, in one operation, after the last."""
    module = layer()
    models = [unrolled(last=True, lengths=LENGTHS), lambda x: torch.tanh(module(x)[1][0][0])]
    cause = cause_of(*(models if masked else models[::-1]), X)
    assert (cause.kind, cause.parameters) == ("sequence-mask", {"masked": (masked, not masked)})


@pytest.mark.parametrize("masked", [True, False])
def test_a_mask_is_missing_in_the_loop_and_not_behind_it(masked):
    """The state is passed on from step to step; what reads the last one is right."""

    def read_on(run):
        def scaled(x):
            return torch.softmax(1.7 * run(x), -1)

        return scaled

    nets = [read_on(unrolled(last=True, lengths=one)) for one in (LENGTHS, None)]
    found = compared(*(nets if masked else nets[::-1]), X).divergences[0]
    places = [site.frames[0].function for site in (found.reference, found.candidate)]
    assert (found.cause.kind, places) == ("sequence-mask", ["run", "run"])


def gru(after, biased=True):
    bias, own_bias = (tensor(values(3 * UNITS)) for _ in range(2))

    def run(after, x):
        h = torch.zeros(x.shape[0], UNITS)
        found = []
        for step in x.unbind(1):
            given = (step @ W + (bias if biased else 0)).chunk(3, -1)
            kept = (h @ U + (own_bias if biased else 0)).chunk(3, -1)
            r, z = (torch.sigmoid(given[k] + kept[k]) for k in (0, 1))
            if after:
                new = r * kept[2]
            else:
                new = (r * h) @ U[:, 2 * UNITS :] + (own_bias[2 * UNITS :] if biased else 0)
            h = (1 - z) * torch.tanh(given[2] + new) + z * h
            found.append(h)
        return torch.tanh(torch.stack(found, 1))

    return [lambda x, one=one: run(one, x) for one in (after, not after)]


@pytest.mark.parametrize("after", [True, False])
def test_the_reset_of_a_whole_gru(after):
    cause = cause_of(*gru(after), X)
    words = ("after", "before") if after else ("before", "after")
    assert (cause.kind, cause.parameters) == ("reset-after", {"reset": words})


def cases_of(monkeypatch, reference, candidate):
    """The cases of a comparison's divergences."""
    found = []
    monkeypatch.setattr(divergences, "explain", lambda case, siblings: found.append(case))
    cause_of(reference, candidate, X)
    return found


def test_the_whole_loop_is_the_first_enclosure(monkeypatch):
    case = cases_of(monkeypatch, unrolled(), unrolled(shift=1.0))[0]
    loop = next(enclosures(case))
    assert (case.whole, loop.whole) == (False, True)
    steps = [op for op in loop.reference.ops if op.kind.endswith("sigmoid")]
    assert len(steps) == 3 * X.shape[1]
    assert loop.first.x.shape == X.shape


@pytest.mark.parametrize("last", [True, False])
def test_the_axis_of_the_steps(monkeypatch, last):
    case = cases_of(monkeypatch, unrolled(last=last), unrolled(last=last, shift=1.0))[0]
    (found,) = sequences(next(enclosures(case)))
    assert (found.axis, found.states) == (1, () if last else (1,))


def test_a_loop_is_left_by_its_end_only(monkeypatch):
    """A state that is an output as well would be left behind."""
    cases = cases_of(monkeypatch, unrolled(shown=True), unrolled(shift=1.0, shown=True))
    assert not any(around.whole for case in cases for around in enclosures(case))


def test_a_step_that_leads_nowhere_is_not_of_the_loop(monkeypatch):
    """As Keras runs a step for its shapes."""
    models = unrolled(tried=True), unrolled(shift=1.0, tried=True)
    case = cases_of(monkeypatch, *models)[0]
    assert next(enclosures(case)).whole


def test_gates_come_from_their_block_and_states_do_not(monkeypatch):
    models = unrolled(lengths=LENGTHS), unrolled(shift=1.0, lengths=LENGTHS)
    tape = cases_of(monkeypatch, *models)[0].reference.tape
    made = {
        op.kind.rsplit(".")[-1]: op.outputs[0] for op in tape.ops if tape.is_live(op.outputs[0])
    }
    assert gate_blocks(tape, made["sigmoid"])
    assert not gate_blocks(tape, made["where"])
    assert not gate_blocks(tape, made["mul"])


def test_a_loop_of_very_many_operations_is_left_alone(monkeypatch):
    monkeypatch.setattr("parity.diagnosis.limits.RECURRENT_ENCLOSURE_STEPS", 50)
    case = cases_of(monkeypatch, unrolled(), unrolled(shift=1.0))[0]
    assert not any(around.whole for around in enclosures(case))
