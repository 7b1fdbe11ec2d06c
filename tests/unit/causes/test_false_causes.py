"""Causes that fit the values and are not true: none of them is confirmed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.unit.causes.compared_pairs import Values, compared, tensor

values = Values()

STATE, OBS, ACT = values(5, 6), values(5, 4), np.array([0, 3, 1, 4, 2])


def confirmed(reference, candidate, *inputs):
    """The kinds of the confirmed causes, and all causes."""
    causes = [one.cause for one in compared(reference, candidate, *inputs).divergences]
    reported = [one for one in causes if one is not None]
    for cause in reported:  # a cause that says the same of both sides says nothing
        assert not cause.parameters or any(a != b for a, b in cause.parameters.values())
    return {one.kind for one in reported if one.confirmed}


# --- which value is read --------------------------------------------------------------------------


def test_a_factor_that_undoes_another_is_no_other_source():
    random = np.random.default_rng(0)
    weights = [tensor(random.normal(size=(4, 4)).astype("f")) for _ in range(3)]

    def attention(factor):
        def run(x):
            q, k, v = (x @ one for one in weights)
            scaled = q @ k.mT / 2
            return torch.softmax(scaled if factor == 1 else factor * scaled, -1) @ v

        return run

    found = confirmed(attention(1), attention(2.0), values(3, 5, 4))
    assert not found & {"wrong-source", "op-missing", "branch-missing"}


def test_a_value_that_is_had_back_is_no_operation_more():
    mean, scale = (tensor(values(4, 4)) for _ in range(2))

    def policy(shifted):
        def run(x, noise):
            mu, std = x @ mean, torch.exp(0.3 * (x @ scale))
            u = mu + std * noise if shifted else std * noise
            return torch.tanh(u), (((u - mu) / std) ** 2).sum(-1)

        return run

    assert "op-extra" not in confirmed(policy(True), policy(False), OBS, values(5, 4))


def test_prior_and_posterior_exchanged_are_not_stated_by_lines_that_read_the_same():
    prior, posterior = (tensor(values(6, 8)) for _ in range(2))

    def kl(exchanged):
        def run(h):
            (pm, ps), (qm, qs) = ((h @ one).chunk(2, -1) for one in (prior, posterior))
            ps, qs = (torch.nn.functional.softplus(one) + 0.1 for one in (ps, qs))
            if exchanged:
                pm, ps, qm, qs = qm, qs, pm, ps
            return torch.log(ps / qs) + (qs**2 + (qm - pm) ** 2) / (2 * ps**2) - 0.5

        return run

    confirmed(kl(False), kl(True), STATE)  # checks what is reported


# --- indices --------------------------------------------------------------------------------------


@pytest.mark.parametrize("off", [lambda a: (a + 1) % 6, lambda a: 5 - a, lambda a: a.clamp(max=3)])
def test_another_index_is_no_order_of_channels(off):
    weight, wide = tensor(values(6, 8)), tensor(values(4, 8))

    def q_values(change):
        def run(obs, action):
            one_hot = torch.nn.functional.one_hot(change(action), 6).float()
            return torch.tanh(obs @ wide + one_hot @ weight)

        return run

    found = confirmed(q_values(lambda a: a), q_values(off), OBS, ACT)
    assert not found & {"channel-order", "branch-missing", "op-missing", "wrong-source"}


def test_an_embedding_of_the_index_before_is_no_missing_branch():
    table, places = tensor(values(9, 6)), tensor(values(9, 6))
    ids = np.random.default_rng(2).integers(1, 9, (4, 5))

    def embedded(off):
        return lambda ids: torch.tanh(table[ids - off] + places[torch.arange(5)])

    assert confirmed(embedded(0), embedded(1), ids) == {"wrong-source"}  # of the index


# --- what a weight is -----------------------------------------------------------------------------


def test_a_matrix_with_one_column_is_no_bias():
    wide, narrow = tensor(values(6, 5)), tensor(values(5, 1))

    def critic(factor):
        return lambda x: (torch.tanh(x @ wide) * factor) @ narrow

    assert "bias-doubled" not in confirmed(critic(1.0), critic(2.0), STATE)


def test_a_layer_more_is_no_other_layers_weights():
    one, other, last = (tensor(values(6, 6)) for _ in range(3))

    def net(again):
        def run(x):
            h = torch.relu(x @ one)
            if again:
                h = torch.relu(h @ one)
            return torch.relu(h @ other) @ last

        return run

    assert not confirmed(net(False), net(True), STATE) & {"weight-swapped", "weight-values"}


# --- recurrent cells ------------------------------------------------------------------------------


def cell(new=None, update=lambda x: torch.sigmoid(x)):
    random = np.random.default_rng(5)
    into, own = (tensor(random.normal(size=(n, 12)).astype("f")) for n in (6, 4))

    def run(x, h):
        (ir, iz, i_n), (hr, hz, hn) = (x @ into).chunk(3, -1), (h @ own).chunk(3, -1)
        r, z = torch.sigmoid(ir + hr), update(iz + hz)
        n = torch.tanh(new(r, i_n, hn) if new else i_n + r * hn)
        return (1 - z) * n + z * h

    return run


def test_a_gate_on_more_than_the_product_is_no_reset_before_it():
    wrong = cell(lambda r, i, h: r * (i + h))
    assert "reset-after" not in confirmed(cell(), wrong, STATE, values(5, 4))


def test_a_gate_without_its_sigmoid_is_no_other_gate():
    wrong = cell(update=lambda x: x)
    assert "gate-order" not in confirmed(cell(), wrong, STATE, values(5, 4))


# --- names that say more than the values ----------------------------------------------------------


def test_a_mean_of_another_value_that_is_missing_is_no_dueling_head():
    last, wide = tensor(values(6, 5)), tensor(values(4, 5))

    def summary(mean):
        def run(x, steps):
            h = torch.tanh(steps @ wide).mean(1)
            return torch.tanh(x @ last + h if mean else x @ last)

        return run

    found = confirmed(summary(True), summary(False), STATE, values(5, 3, 4))
    assert "dueling-not-centered" not in found


def test_scores_that_are_transposed_are_not_flattened_differently():
    q, k, v = (tensor(values(8, 8)) for _ in range(3))

    def attention(exchanged):
        def run(x):
            a, b, c = (one.view(3, 7, 2, 4).transpose(1, 2) for one in (x @ q, x @ k, x @ v))
            if exchanged:
                a, b = b, a
            return torch.softmax(a @ b.mT / 2, -1) @ c

        return run

    found = confirmed(attention(False), attention(True), values(3, 7, 8))
    assert not found & {"head-split-order", "flatten-order", "spatial-swap"}


def test_a_rolled_concatenation_is_not_joined_differently():
    weight = tensor(values(10, 4))

    def joined(rolled):
        def run(x, y):
            both = torch.cat([torch.tanh(x), torch.sigmoid(y)], -1)
            return torch.tanh((both.roll(1, -1) if rolled else both) @ weight)

        return run

    assert "concat-order" not in confirmed(joined(False), joined(True), STATE, OBS)


def test_an_end_of_an_episode_is_no_quantile_fraction():
    done = np.array([0, 1, 0, 0, 1], np.float32)

    def target(kept):
        return lambda q, done: torch.tanh(q * (0.5 * (1 - done) if kept else 0.5 * done))

    assert "quantile-fractions" not in confirmed(target(True), target(False), values(5), done)


def test_a_gate_and_its_rest_exchanged_are_no_quantile_fractions():
    def mixed(exchanged):
        def run(x, y):
            u = torch.sigmoid(x)
            return torch.tanh(u * x + (1 - u) * y if exchanged else (1 - u) * x + u * y)

        return run

    assert "quantile-fractions" not in confirmed(mixed(False), mixed(True), STATE, values(5, 6))


def test_a_projected_input_is_not_called_the_input():
    weight, last = (tensor(values(6, 6)) for _ in range(2))

    def net(factor):
        return lambda x: torch.tanh(factor * (x @ weight)) @ last

    found = confirmed(net(1.0), net(3.0), STATE)
    assert not found & {"input-scale", "input-normalisation", "frame-order"}
