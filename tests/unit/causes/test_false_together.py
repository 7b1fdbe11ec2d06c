"""What several divergences say of each other, and what looks like an operation that is missing."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity
from parity.result import Comparison
from tests.unit.causes.compared_pairs import Values, compared, tensor

values = Values()

X = values(5, 16)


def causes(comparison: Comparison) -> dict[str, bool]:
    """The kinds that are reported, and whether one of that kind is confirmed."""
    found: dict[str, bool] = {}
    for one in comparison.divergences:
        if one.cause is not None:
            found[one.cause.kind] = found.get(one.cause.kind, False) or one.cause.confirmed
    return found


def agree(reference, candidate, *inputs):
    models = (parity.wrap(one, framework="torch") for one in (reference, candidate))
    return parity.compare(*models, inputs=inputs).verdict == "parity"


# --- several divergences --------------------------------------------------------------------------


def test_a_bias_in_another_order_than_its_kernel_confirms_no_order_of_the_rest():
    random = np.random.default_rng(0)
    kernel, bias = random.normal(size=(16, 36)), random.normal(size=36)
    head = random.normal(size=(36, 5))
    order = np.arange(36).reshape(4, 9).T.ravel()
    state = random.normal(size=(16, 36))

    def dueling(kernel, bias, head, state):
        weights = [tensor(one.astype("f")) for one in (kernel, bias, head, state)]

        def run(x):
            embedded = torch.relu(x @ weights[0] + weights[1])
            return (torch.tanh(x @ weights[3]) * embedded) @ weights[2]

        return run

    reference = dueling(kernel, bias, head, state)
    moved = kernel[:, order], head[order], state[:, order]
    right = dueling(moved[0], bias[order], *moved[1:])
    wrong = dueling(moved[0], bias, *moved[1:])
    assert agree(reference, right, X)
    found = causes(compared(reference, wrong, X))
    assert not found.get("channel-order") and not found.get("head-split-order")


def test_what_changes_nothing_on_these_inputs_is_a_note():
    w = tensor(values(16, 8))

    def scaled(factor, written):
        def run(x):
            h = factor * torch.tanh(x @ w)
            low, span = h.amin(1, keepdim=True), h.amax(1, keepdim=True) - h.amin(1, keepdim=True)
            if written:
                span[span < 1e-5] += 1e-5
                return (h - low) / span * factor
            return (h - low) / torch.where(span < 1e-5, span + 1e-5, span) * factor

        return run

    assert agree(scaled(1.0, True), scaled(1.0, False), X)
    comparison = compared(scaled(1.0, True), scaled(1.1, False), X)
    assert comparison.verdict == "diverged"
    assert not causes(comparison).get("op-extra")


# --- what looks like an operation that is missing -------------------------------------------------


def test_weights_that_are_all_one_are_no_product_that_is_missing():
    w, a = tensor(values(16, 8)), tensor(values(8, 1))
    index = torch.tensor([0, 1, 1, 0, 2])

    def pooled(over_edges):
        def run(x):
            h = torch.tanh(x @ w)
            score = (h @ a)[:, 0]
            if over_edges:  # each edge by itself: every weight is 1
                weight = torch.softmax(score[:, None], 1)[:, 0]
            else:
                e = torch.exp(score)
                weight = e / torch.zeros(3).index_add(0, index, e)[index]
            return torch.zeros(3, 8).index_add(0, index, weight[:, None] * h)

        return run

    found = causes(compared(pooled(False), pooled(True), X))
    assert not found.get("op-missing") and not found.get("wrong-source")


def test_what_is_missing_is_named_with_what_it_takes():
    w, time = tensor(values(16, 16)) / 4, tensor(values(5, 16))

    def embedded(timed):
        def run(x, steps):
            token = x @ w
            if timed:
                token = token + time[steps]
            return torch.tanh(token)

        return run

    (one,) = compared(embedded(True), embedded(False), X, np.array([0, 3, 1, 4, 2])).divergences
    assert one.cause is not None and one.cause.confirmed
    assert "add of the result of index" in one.cause.summary


@pytest.mark.parametrize("pad", ["edge", "zeros"])
def test_positions_of_a_ring_are_no_channels(pad):
    conv = torch.nn.Conv1d(3, 4, 3)

    def ring(how):
        def run(x):
            ends = x[..., -1:], x[..., :1]
            if how == "edge":
                ends = ends[::-1]
            if how == "zeros":
                ends = torch.zeros_like(ends[0]), torch.zeros_like(ends[1])
            return torch.tanh(conv(torch.cat([ends[0], x, ends[1]], -1)))

        return run

    assert not causes(compared(ring("wrap"), ring(pad), values(4, 3, 12))).get("channel-order")


def test_an_operation_too_many_behind_what_is_unexplained_is_not_proved():
    """The repair before it may hold what then seems one too many."""
    w, u, v, o = (torch.nn.Linear(16, 16) for _ in range(4))

    def run(bent, gated):
        def model(x):
            h = w(x)
            h = torch.cos(h) * torch.erf(h * torch.exp(h / 4)) if bent else torch.tanh(h)
            g = torch.tanh(u(h))
            return o(g * v(x) if gated else g)

        return model

    assert causes(compared(run(False, False), run(False, True), X)) == {"op-extra": True}
    found = compared(run(False, False), run(True, True), X)
    assert causes(found)["op-extra"] is False


def test_what_is_needed_all_the_same_is_not_too_many():
    """A covariance multiplied from both sides, as in Joseph's form without its last term."""
    w, v, o = tensor(values(16, 9)), tensor(values(16, 9)) / 2, tensor(values(3, 3))
    eye = torch.eye(3)

    def covariance(x):
        root = (x @ v).reshape(-1, 3, 3)
        return root @ root.mT + eye

    def reference(x, seen):
        gain, before = torch.tanh(x @ w).reshape(-1, 3, 3), covariance(x)
        after = (eye - gain) @ before
        return torch.tanh(torch.where(seen[:, None, None] > 0.5, after, before) @ o)

    def port(both):
        def run(x, seen):
            gain = torch.tanh(x @ w).reshape(-1, 3, 3) * seen[:, None, None]
            left = eye - gain
            after = left @ covariance(x)
            return torch.tanh((after @ left.mT if both else after) @ o)

        return run

    seen = np.array([1, 0, 1, 1, 0], "f")
    assert agree(reference, port(False), X, seen)
    for one in compared(reference, port(True), X, seen).divergences:
        assert one.cause is None or not one.cause.confirmed, one.cause.summary


@pytest.mark.parametrize("read", [False, True])
def test_rows_that_nobody_reads_are_followed_past_another_divergence(read):
    """Like padding, which one of the models sets to zero: it reaches no output."""
    weights = [tensor(values(16, 16)) for _ in range(3)]
    hidden = torch.zeros(5, 1)
    hidden[3:] = 1.0

    def masked(zeroed, approximate):
        def run(x):
            h = torch.tanh(x @ weights[0])
            h = torch.exp(h * (1 - hidden)) if zeroed else torch.exp(h)
            h = torch.nn.functional.gelu(h @ weights[1], approximate=approximate)
            h = torch.tanh(h @ weights[2])
            return h if read else h * (1 - hidden)

        return run

    comparison = compared(masked(False, "none"), masked(True, "tanh"), X).comparisons[0]
    kinds = [one.cause.kind for one in comparison.divergences if one.cause is not None]
    assert "gelu-variant" in kinds
    assert (len(comparison.divergences) == 1) == (not read)
    assert any(note.kind == "no-effect" for note in comparison.notes) == (not read)


def test_a_place_that_another_repair_makes_right_is_not_said_to_change_nothing():
    """Log densities without a constant, used twice: each is wrong where the other is not read."""
    means, scales = tensor(values(16, 4)), tensor(values(16, 4))
    log_two = float(np.log(2.0))

    def squashed(x, by_hand):
        mean, log_scale = x @ means, torch.clamp(0.2 * (x @ scales), -1.5, 0.5)
        if by_hand:
            noise = torch.randn(mean.shape)
            u = mean + log_scale.exp() * noise
            squash = 2.0 * (log_two - u - torch.nn.functional.softplus(-2.0 * u))
            return torch.tanh(u), (-0.5 * noise.square() - log_scale - squash).sum(-1)
        law = torch.distributions.Normal(mean, log_scale.exp())
        u = law.rsample()
        squash = 2.0 * (log_two - u - torch.nn.functional.softplus(-2.0 * u))
        return torch.tanh(u), law.log_prob(u).sum(-1) - squash.sum(-1)

    def twice(by_hand):
        def run(x):
            action, density = squashed(x, by_hand)
            second, other = squashed(torch.cat([action, x[:, 4:]], 1), by_hand)
            return action, density, second, torch.tanh(other), 0.1 * (density - other)

        return run

    comparison = compared(twice(False), twice(True), values(8, 16)).comparisons[0]
    assert not any(note.kind == "no-effect" for note in comparison.notes)
