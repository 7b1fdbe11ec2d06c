"""Causes whose words name what the program does not have or read: none is confirmed."""

from __future__ import annotations

import numpy as np
import torch

from tests.unit.causes.compared_pairs import Values, compared, tensor

values = Values()

STATE = values(5, 6)


def test_a_mask_of_another_step_corrects_no_log_probability():
    """A mask with one step in it: any product with it is in proportion to log(1 - mask^2)."""
    weight = tensor(values(6))
    done = np.array([[1, 1, 0, 1, 1], [1, 0, 1, 0, 0]], np.float32)

    def advantages(step):
        def run(x, done):
            alive = [0.873 * (1 - one) for one in done]
            return torch.tanh(alive[step] * (x @ weight)), alive[0], alive[1]

        return run

    report = compared(advantages(0), advantages(1), STATE, done)
    kinds = {one.cause.kind for one in report.divergences if one.cause is not None}
    assert "log-prob-correction" not in kinds


def test_what_the_smaller_of_two_hides_is_no_scale():
    """The exponential is larger than any other value: under a minimum only the other one shows."""
    own = np.random.default_rng(0)  # not in all draws is either the smaller one somewhere
    sizes = (6, 4), (6, 4), (6, 6), (5, 6)
    first, second, hidden, state = (own.standard_normal(size).astype("f") for size in sizes)
    first, second, hidden = (tensor(array) for array in (first, second, hidden))

    def target(both):
        def run(x):
            value = 0.03 * torch.sigmoid(x @ first)
            other = 0.1 * torch.tanh(torch.relu(x @ hidden) @ second)
            least = torch.minimum(value, other) if both else value
            return torch.sin(least * torch.cos(x[:, :4])), torch.tanh(value)

        return run

    found = compared(target(True), target(False), state)
    kinds = {one.cause.kind for one in found.divergences if one.cause is not None}
    assert "scale-parameterisation" not in kinds


def test_a_branch_masked_by_another_step_is_not_confirmed_to_be_missing():
    """Where the other step masks nothing, what is masked looks as if it were not."""
    weight, done = tensor(values(6)), np.array([[1, 0, 0, 1, 1], [0, 0, 0, 0, 0]], np.float32)

    def reference(x, done):
        reward, following = torch.tanh(x[:, 0]), x @ weight
        return torch.tanh(reward + 0.97 * following * (1 - done[0]))

    def candidate(x, done):
        reward, following = torch.tanh(x[:, 0]), x @ weight
        return torch.tanh(reward + 0.97 * (1 - done[1]) * following)

    causes = [one.cause for one in compared(reference, candidate, STATE, done).divergences]
    assert not any(one is not None and one.confirmed for one in causes)


def test_heads_taken_for_each_other_have_not_changed_places():
    """Two layers of one shape read another order of features: which is which is not measured."""
    first, second, last, least = (tensor(values(*n)) for n in ((12, 4), (12, 4), (4, 3), (4, 6)))

    def reference(x):
        flat = torch.tanh(x).flatten(1)
        value = torch.relu(flat @ first) @ last
        gain = (torch.relu(flat @ second) @ least).view(-1, 2, 3)
        return torch.softmax(value[:, None] + gain - gain.mean(1, keepdim=True), -1)

    def candidate(x):
        flat = torch.tanh(x).mT.flatten(1)
        gain = torch.relu(flat @ second)
        value = torch.relu(flat @ first)
        gain = (gain @ least).view(-1, 2, 3)
        return torch.softmax((value @ last)[:, None] + gain - gain.mean(1, keepdim=True), -1)

    causes = [one.cause for one in compared(reference, candidate, values(5, 3, 4)).divergences]
    assert not any(one is not None and one.kind == "wrong-source" for one in causes)
