"""What a loop reads in each turn is said of all its turns at once, and never of one by chance."""

from __future__ import annotations

import chainer.functions as F
import numpy as np
import pytest
import tensorflow as tf
import torch

import parity
from tests.rules.pairs import FIRST, SECOND, SQUARE, compare, draw, kinds, weights

STEPS = draw.standard_normal((5, 6, 7)).astype("f")
GATE = weights(7, 6)
WIDE = weights(7, 12)


def recurrent(late):
    """A state, of which a product is given at every step: of the new one, or of the one before."""

    def run(x):
        h, given = torch.zeros(len(x), 6), []
        for t in range(x.shape[1]):
            before = h
            h = torch.sigmoid(x[:, t] @ GATE) * h + torch.tanh(x[:, t] @ FIRST)
            given.append(((before if late else h) * torch.cos(x[:, t] @ FIRST)).sum(1))
        return torch.stack(given, 1)

    return run


def test_a_state_that_is_read_before_its_update():
    report = compare(recurrent(False), recurrent(True), inputs=STEPS)
    assert report.divergences and set(kinds(report)) == {"wrong-source"}
    assert all(one.cause and one.cause.confirmed for one in report.divergences), str(report)


def two_loops(start, taken):
    """A state that the first loop passes on to a second one; what that takes at each step."""

    def run(x):
        embedded = torch.tanh(x @ FIRST)
        h = torch.zeros(len(x), 6)
        for t in range(x.shape[1]):
            h = torch.tanh(embedded[:, t] + h @ SQUARE)
        h = start(h)
        given = []
        for t in range(x.shape[1]):
            h = torch.tanh(taken(embedded, t) + torch.cos(h) @ SQUARE)
            given.append(h)
        return torch.stack(given, 1).sum(2)

    return run


def test_a_state_that_starts_from_zeros():
    def at(embedded, t):
        return embedded[:, t]

    report = compare(
        two_loops(lambda h: h, at),
        two_loops(lambda h: torch.zeros(len(h), 6), at),
        inputs=STEPS,
    )
    (found,) = report.divergences
    assert (found.cause.kind, found.cause.confirmed) == ("wrong-source", True)
    assert found.cause.summary.startswith("zeros are read"), str(report)


def test_inputs_that_are_taken_in_another_order():
    order = [3, 0, 5, 1, 4, 2]
    report = compare(
        two_loops(lambda h: h, lambda embedded, t: embedded[:, order[t]]),
        two_loops(lambda h: h, lambda embedded, t: embedded[:, t]),
        inputs=STEPS,
    )
    causes = {one.cause.kind for one in report.divergences if one.cause}
    assert causes <= {"wrong-source", "index-value"} and causes, str(report)


MASKS = [torch.from_numpy((draw.random((5, 6)) < 0.5).astype("f")) for _ in range(5)]


def masked(at):
    """A choice of each step; what is hidden at a step is a constant of that step."""

    def run(x):
        given, h = [], torch.tanh(x[:, 0] @ FIRST)
        for t in range(5):
            scores = h @ SQUARE - 30 * MASKS[at(t)]
            given.append(torch.log_softmax(scores, 1))
            h = torch.tanh(h @ SQUARE + x[:, t] @ FIRST)
        return torch.stack(given, 1)

    return run


def test_what_is_hidden_one_step_late():
    report = compare(masked(lambda t: t), masked(lambda t: max(t - 1, 0)), inputs=STEPS)
    said = [one.cause for one in report.divergences if one.cause and one.cause.confirmed]
    assert said, str(report)
    assert not {one.kind for one in said} & {"attention-mask-missing", "op-missing"}, str(report)


IMAGES = draw.standard_normal((5, 4, 4, 7)).astype("f")


def test_one_of_two_readers_reads_what_comes_before():
    """The squeeze of a gate over channels takes the features from before a stride."""
    first, second, third = (one.numpy() for one in (SQUARE, SECOND, SECOND.T.contiguous()))

    def reference(x):
        before = tf.tanh(tf.tensordot(x, FIRST.numpy(), 1))
        after = tf.nn.relu(tf.tensordot(before[:, ::2, ::2], first, 1))
        mean = tf.reduce_mean(after, [1, 2], keepdims=True)
        gate = tf.nn.relu(tf.nn.conv2d(mean, second[None, None], 1, "SAME"))
        return tf.sin(after * tf.sigmoid(tf.nn.conv2d(gate, third[None, None], 1, "SAME")))

    def candidate(x):
        before = torch.tanh(x @ FIRST)
        after = torch.relu(before[:, ::2, ::2] @ SQUARE)
        gate = torch.relu(before.mean((1, 2)) @ SECOND) @ SECOND.T
        return torch.sin(after * torch.sigmoid(gate)[:, None, None])

    models = (
        parity.wrap(reference, framework="tensorflow"),
        parity.wrap(candidate, framework="torch"),
    )
    (found,) = parity.compare(*models, inputs=IMAGES).divergences
    assert (found.cause.kind, found.cause.confirmed) == ("wrong-source", True)


def learned(query):
    """Learned queries that attend; what is added to the result is they or what was made of them."""
    points = weights(4, 7)

    def run(x):
        asked = (points @ FIRST)[None].expand(len(x), 4, 6)
        found = torch.softmax(asked @ (x @ GATE).transpose(1, 2), -1) @ torch.tanh(x @ FIRST)
        h = torch.tanh(asked + found)
        return torch.sin((asked if query else h) + torch.relu(h @ SQUARE)).sum(2)

    return run


def test_what_is_made_of_weights_alone_is_read():
    draw_state = draw.bit_generator.state
    reference = learned(False)
    draw.bit_generator.state = draw_state
    (found,) = compare(reference, learned(True), inputs=STEPS).divergences
    assert (found.cause.kind, found.cause.confirmed) == ("wrong-source", True)


BLOCKS = [weights(6, 6) for _ in range(3)]


def blocks(scale):
    """Residual blocks, each scaled."""

    def run(x):
        for block in BLOCKS:
            h = x + torch.tanh(x @ block)
            x = h * scale if scale else h
        return torch.softmax(x, 1)

    return run


def test_what_is_missing_in_each_turn():
    rows = draw.standard_normal((5, 6)).astype("f")
    report = compare(blocks(0.7), blocks(None), inputs=rows)
    assert set(kinds(report)) == {"op-missing"}, str(report)
    assert all(one.cause and one.cause.confirmed for one in report.divergences), str(report)


def test_a_factor_that_the_product_is_broadcast_to():
    """A step size in a loop: the reference multiplies all steps at once."""

    def parts(x):
        return torch.exp(x @ GATE / 4)[..., None], torch.tanh(x @ FIRST)[:, :, None, :4]

    def reference(x):
        (size, part), h, given = parts(x), 0, []
        drive = size * part * torch.sin(x @ FIRST)[..., None]
        for t in range(x.shape[1]):
            h = torch.tanh(h + drive[:, t])
            given.append(h.sum(2))
        return torch.stack(given, 1)

    def candidate(x):
        (_, part), h, given = parts(x), 0, []
        for t in range(x.shape[1]):
            h = torch.tanh(h + part[:, t] * torch.sin(x[:, t] @ FIRST)[..., None])
            given.append(h.sum(2))
        return torch.stack(given, 1)

    report = compare(reference, candidate, inputs=STEPS)
    causes = [one.cause for one in report.divergences]
    assert all(one and (one.kind, one.confirmed) == ("branch-missing", True) for one in causes)


def test_halves_that_changed_places_before_other_layers():
    kernel = weights(6, 6, 3)

    def run(swapped):
        def model(x):
            main, gate = (x @ WIDE).chunk(2, -1)
            main, gate = (gate, main) if swapped else (main, gate)
            mixed = torch.nn.functional.conv1d(main.transpose(1, 2), kernel, padding=1)
            return (torch.tanh(mixed.transpose(1, 2)) * torch.sigmoid(gate)) @ SECOND

        return model

    found = compare(run(False), run(True), inputs=STEPS).divergences
    assert all(one.cause and one.cause.confirmed for one in found)
    assert [one.cause and one.cause.kind for one in found] == ["index-value"] * 2
    halves = "the range 6:12", "the range 0:6"
    for one, (wrong, right) in zip(found, (halves, halves[::-1]), strict=True):
        assert one.cause.summary.startswith(f"{wrong} of axis 2 of the result of")
        assert one.cause.summary.endswith(f"the reference reads {right}")


def test_couplings_that_start_from_one_number():
    kernel = (FIRST @ SECOND).numpy()

    def reference(x):
        votes = tf.tanh(tf.tensordot(x, kernel, 1))
        couplings = tf.nn.softmax(tf.zeros(tf.shape(votes)), axis=2)
        return tf.tanh(tf.reduce_sum(couplings * votes, axis=1))

    def candidate(x):
        votes = torch.tanh(x @ torch.from_numpy(kernel))
        couplings = torch.softmax(torch.zeros(votes.shape), 1)
        return torch.tanh((couplings * votes).sum(1))

    models = (
        parity.wrap(reference, framework="tensorflow"),
        parity.wrap(candidate, framework="torch"),
    )
    (found,) = parity.compare(*models, inputs=STEPS).divergences
    assert (found.cause.kind, found.cause.parameters["axis"]) == ("softmax-axis", (-1, 1))


def test_zeros_that_make_zeros_say_nothing():
    def run(hidden):
        def model(x):
            state = torch.zeros(5, 6) if hidden else torch.tanh(x[:, 0] @ FIRST)
            return torch.sin(state * torch.tanh(x[:, 1] @ FIRST)) + 0 * x[:, 2, :6]

        return model

    report = compare(run(False), run(True), inputs=STEPS)
    assert not any(
        one.cause and one.cause.confirmed and one.cause.summary.startswith("zeros are read")
        for one in report.divergences
    ), str(report)


def test_an_index_of_counts_that_are_floats_in_one_model():
    """The last of the scores that are kept, counted as a float in one model."""

    def run(late, whole):
        def model(x):
            ordered = torch.sort(torch.tanh(x[:, 0] @ FIRST), 1, descending=True).values
            total = ordered.cumsum(1)
            inside = 1 + torch.arange(1, 7) * ordered > total
            count = inside.sum(1, keepdim=True) if whole else inside.float().sum(1, keepdim=True)
            at = count if late else count.long() - 1
            return torch.tanh(x[:, 0] @ FIRST - (total.gather(1, at) - 1) / count)

        return model

    (found,) = compare(run(False, False), run(True, True), inputs=STEPS / 4).divergences
    assert (found.cause.kind, found.cause.confirmed) == ("op-missing", True)
    assert found.cause.summary.startswith("sub")


def squashed(root):
    """Capsules of which the longest alone goes on, chosen outside the framework."""

    def lengths(x):
        votes = (x @ FIRST).reshape(len(x), -1, 6)
        square = (votes**2).sum(-1, keepdim=True)
        return square / (1 + square) * votes / (square.sqrt() if root else square)

    return lengths


def chosen(squash, by_host):
    def run(x):
        v = squash(x)
        sizes = torch.sin(3 * v.sum(-1)) + v[..., 0]
        best = sizes.argmax(1)
        if by_host:
            kept = torch.from_numpy(np.eye(sizes.shape[1], dtype="f")[best.detach().numpy()])
        else:
            kept = torch.nn.functional.one_hot(best, sizes.shape[1]).float()
        return sizes, torch.tanh((v * kept[..., None]).sum(1) @ SQUARE)

    return run


def test_a_winner_that_the_host_picks_of_what_is_wrong_is_a_consequence():
    report = compare(chosen(squashed(True), False), chosen(squashed(False), True), inputs=3 * STEPS)
    assert "sequence-mask" not in kinds(report), str(report)
    assert "host-decided" in {note.kind for note in report.comparisons[0].notes}


class Written(torch.nn.Module):
    """A hand-written LSTM cell; its gates are input, forget, cell, output."""

    def __init__(self, squashes):
        super().__init__()
        self.squashes = squashes

    def forward(self, x):
        h = c = torch.zeros(len(x), 6)
        given = []
        for t in range(x.shape[1]):
            i, f, g, o = (x[:, t] @ CELL + h @ STATE).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * (torch.tanh(c) if self.squashes else c)
            given.append(h)
        return torch.stack(given, 1)


CELL, STATE = weights(7, 24), weights(6, 24)
# Chainer's gates are cell, input, forget, output, unit by unit
GATES = (2, 0, 1, 3)


def fused(x):
    cell, state = (
        one.numpy().reshape(-1, 4, 6)[:, GATES].swapaxes(1, 2).reshape(-1, 24)
        for one in (CELL, STATE)
    )
    h = c = np.zeros((x.shape[0], 6), "f")
    given = []
    for t in range(x.shape[1]):
        c, h = F.lstm(c, F.matmul(x[:, t], cell) + F.matmul(h, state))
        given.append(h)
    return F.stack(given, 1)


@pytest.mark.parametrize("squashes", [True, False])
def test_the_activation_of_a_cell_beside_a_kernel(squashes):
    models = parity.wrap(fused, framework="chainer"), parity.wrap(Written(squashes))
    report = parity.compare(*models, inputs=STEPS)
    if squashes:
        assert report.verdict == "parity"
        return
    (found,) = report.divergences
    assert (found.cause.kind, found.cause.confirmed) == ("activation-missing", True)
    assert found.cause.summary.startswith("tanh of"), found.cause.summary
