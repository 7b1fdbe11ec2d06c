"""Attention: scale, masks, positions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from tests.unit.causes.compared_pairs import Values, cause_of, kind, tensor

values = Values()

Q, K, V = (values(3, 2, 6, 5) for _ in range(3))
CAUSAL = torch.tril(torch.ones(6, 6)) > 0
TABLE = tensor(values(9, 5))


def attention(scale=5**-0.5, mask=None, fill=-torch.inf):
    def run(q, k, v):
        scores = (q @ k.mT) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask, fill)
        return scores.softmax(-1) @ v

    return run


@pytest.mark.parametrize("scale", [1.0, 1 / 5, 10**-0.5])
def test_scale(scale):
    cause = cause_of(attention(), attention(scale), Q, K, V)
    assert cause.kind == "attention-scale"
    assert cause.parameters["scale"] == pytest.approx((5**-0.5, scale))


def test_scale_of_attention_in_one_operation():
    cause = cause_of(attention(1.0), F.scaled_dot_product_attention, Q, K, V)
    assert cause.kind == "attention-scale"
    assert cause.parameters["scale"] == pytest.approx((1.0, 5**-0.5))


def test_a_mask_that_is_missing():
    assert kind(attention(mask=CAUSAL), attention(), Q, K, V) == "attention-mask-missing"

    def causal(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    assert kind(causal, attention(), Q, K, V) == "attention-mask-missing"


@pytest.mark.parametrize("value", [0.0, -3.0, -8.5])
def test_a_mask_that_does_not_hide(value):
    cause = cause_of(attention(mask=CAUSAL), attention(mask=CAUSAL, fill=value), Q, K, V)
    assert (cause.kind, cause.parameters["value"][1]) == ("attention-mask-value", value)


def test_a_mask_that_is_added():
    added = torch.where(CAUSAL, 0.0, -7.5)

    def candidate(q, k, v):
        return ((q @ k.mT) * 5**-0.5 + added).softmax(-1) @ v

    cause = cause_of(attention(mask=CAUSAL), candidate, Q, K, V)
    assert (cause.kind, cause.parameters["value"][1]) == ("attention-mask-value", -7.5)


def test_a_mask_of_something_else_is_not_named():
    other = CAUSAL.T
    found = kind(attention(mask=CAUSAL), attention(mask=other), Q, K, V)
    assert found not in ("attention-mask-missing", "attention-mask-value")


def test_positions():
    x = values(4, 6, 5)
    padded = torch.tensor([[0, 0, 0, 1, 2, 3]] * 4)

    def at(positions):
        return lambda x: torch.tanh(x + TABLE[positions])

    cause = cause_of(at(torch.arange(6)), at(torch.arange(2, 8)), x)
    assert (cause.kind, cause.parameters) == ("position-ids", {"position": (0, 2)})
    assert kind(at(torch.arange(6)), at(padded), x) == "position-ids"


def test_waves_that_start_later():
    x = values(4, 6, 5)
    rates = torch.tensor(10.0 ** -np.linspace(0, 1, 5))

    def waves(start):
        angles = torch.arange(start, start + 6)[:, None] * rates
        return lambda x: torch.tanh(x + angles.sin().float())

    assert kind(waves(0), waves(1), x) == "position-ids"
    assert kind(waves(0), lambda x: torch.tanh(x + TABLE[:6]), x) != "position-ids"


def test_a_mask_that_does_not_hide_in_the_reference():
    cause = cause_of(attention(mask=CAUSAL, fill=-5.0), attention(mask=CAUSAL), Q, K, V)
    assert (cause.kind, cause.parameters["value"][0]) == ("attention-mask-value", -5.0)


def test_a_number_too_small_to_hide_anything_is_stated_with_its_size():
    def masked(fill):
        hidden = tensor(1.0 * ~CAUSAL.numpy())
        return lambda x: (x + fill * hidden).softmax(-1)

    scores = values(3, 2, 6, 6)
    cause = cause_of(masked(-1e9), masked(1e-9), scores)
    assert cause.kind == "attention-mask-value"
    assert cause.parameters["value"] == pytest.approx((-1e9, 1e-9))
    assert kind(masked(-1e9), masked(0.0), scores) == "attention-mask-missing"


def projected(causal, key="key"):
    """Attention with square kernels, as many as a recurrent layer may have for its gates."""
    query, value = tensor(WEIGHTS["query"]), tensor(WEIGHTS["value" if key == "key" else "key"])

    def run(x):
        q, k, v = (x @ query, x @ tensor(WEIGHTS[key]), x @ value)
        scores = (q @ k.mT) / 2
        if causal:
            scores = scores.masked_fill(~CAUSAL, -torch.inf)
        return torch.tanh(scores.softmax(-1) @ v)

    return run


WEIGHTS = {name: values(4, 4) for name in ("query", "key", "value")}
STEPS = values(3, 6, 4)


def test_a_mask_is_no_state():
    assert kind(projected(True), projected(False), STEPS) == "attention-mask-missing"
    assert kind(projected(False), projected(True), STEPS) == "attention-mask-missing"


def test_kernels_that_changed_places_are_no_gates():
    assert kind(projected(False), projected(False, key="value"), STEPS) == "weight-swapped"


@pytest.mark.parametrize("scales", [(1.0, 5**-0.5), (5**-0.5, 1.0), (1 / 5, 5**-0.5)])
def test_scale_of_scores_that_a_mask_is_added_to(scales):
    """Scores times 1 are the scores: what ends the region has the mask on one side alone."""
    added = torch.where(CAUSAL, 0.0, -1e9)

    def scaled(scale):
        return lambda q, k, v: ((q @ k.mT) * scale + added).softmax(-1) @ v

    cause = cause_of(*map(scaled, scales), Q, K, V)
    assert (cause.kind, cause.confirmed) == ("attention-scale", True)
    assert cause.parameters["scale"] == pytest.approx(scales)


@pytest.mark.parametrize("causal", [False, True])
def test_a_scale_that_attention_in_one_operation_was_given(causal):
    tokens, weight = values(3, 6, 10), tensor(values(3, 10, 10))

    def at_once(x):
        q, k, v = ((x @ one).view(3, 6, 2, 5).transpose(1, 2) for one in weight)
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=0.2)

    def by_hand(x):
        heads = weight.view(3, 10, 2, 5)
        q, k, v = (torch.einsum("btf,fhd->bhtd", x, one) for one in heads)
        scores = torch.einsum("bhtd,bhsd->bhts", q, k) * 5**-0.5
        scores = scores.masked_fill(~CAUSAL, -torch.inf) if causal else scores
        return torch.einsum("bhts,bhsd->bhtd", scores.softmax(-1), v)

    for models, scales in (
        ((at_once, by_hand), (0.2, 5**-0.5)),
        ((by_hand, at_once), (5**-0.5, 0.2)),
    ):
        cause = cause_of(*models, tokens)
        assert (cause.kind, cause.confirmed) == ("attention-scale", True)
        assert cause.parameters["scale"] == pytest.approx(scales)


def test_a_mask_that_only_the_candidate_has_with_the_product():
    def candidate(q, k, v):
        hidden = torch.where(CAUSAL, 0.0, -torch.inf).expand(6, 6, 6)
        q, k = q.reshape(6, 6, 5) * 5**-0.5, k.reshape(6, 6, 5)
        return torch.baddbmm(hidden, q, k.mT).view(3, 2, 6, 6).softmax(-1) @ v

    cause = cause_of(attention(), candidate, Q, K, V)
    assert (cause.kind, cause.parameters["masked"]) == ("attention-mask-missing", (False, True))


def at_once(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def by_hand(scale=5**-0.5, ahead=0):
    """Causal attention whose steps see so many steps ahead."""
    hidden = ~torch.ones(6, 6).tril(ahead).bool()
    return lambda q, k, v: (q @ k.mT * scale).masked_fill(hidden, -1e9).softmax(-1) @ v


@pytest.mark.parametrize("ahead", [1, -1])
def test_a_causal_mask_a_step_off_attention_in_one_operation(ahead):
    models = at_once, by_hand(ahead=ahead)
    for pair, shift in ((models, ahead), (models[::-1], -ahead)):
        cause = cause_of(*pair, Q, K, V)
        assert (cause.kind, cause.confirmed) == ("mask-shift", True)
        assert cause.parameters == {"shift": (0, shift)}


def test_a_scale_of_more_than_a_head_beside_attention_in_one_operation():
    cause = cause_of(at_once, by_hand(scale=1 / 3), Q, K, V)
    assert (cause.kind, cause.confirmed) == ("attention-scale", True)
    assert cause.parameters["scale"] == pytest.approx((5**-0.5, 1 / 3))
