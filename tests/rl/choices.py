"""Distributions over choices against torch.distributions, loops and whole tables."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

import parity

from .against_torch import D, check_like_torch, inverse, kl, tensor, torch
from .checking import Case, Mutant, same


def check_categorical(book: Any, case: Case) -> None:
    draw = case.draws()
    a, b = (case.scale * draw.normal(size=(*case.batch, case.n)) for _ in range(2))
    actions, noise = draw.integers(0, case.n, case.batch), draw.random(case.batch)
    found = book.Categorical(a)
    expected = [D.Categorical(logits=tensor(logits)) for logits in (a, b)]
    check_like_torch(found, book.Categorical(b), *expected, actions, max(1.0, case.scale))
    same(found.mode(), expected[0].probs.argmax(-1))
    p = expected[0].probs.numpy()
    same(
        found.sample(noise),
        np.reshape([inverse(p[i], noise[i]) for i in np.ndindex(case.batch)], case.batch),
    )


def check_forbidden_choices(book: Any, case: Case) -> None:
    """Minus infinity as a mask: 0 log 0 is 0, in entropy and KL."""
    draw = case.draws()
    logits = np.append(
        draw.normal(size=(*case.batch, case.n)), np.full((*case.batch, 1), -np.inf), -1
    )
    masked, open_ = book.Categorical(logits), parity.rl.Categorical(logits[..., :-1])
    same(masked.entropy(), open_.entropy())
    same(masked.log_prob(np.full(case.batch, case.n)), np.full(case.batch, -np.inf))
    same(
        masked.kl(book.Categorical(0 * np.nan_to_num(logits))),
        open_.kl(parity.rl.Categorical(0 * logits[..., :-1])) + math.log((case.n + 1) / case.n),
    )
    same(masked.sample(np.full(case.batch, 1 - 2**-53)), np.full(case.batch, case.n - 1))
    if case.n > 1:
        everywhere = book.Categorical(np.zeros(logits.shape)).kl(masked)
        same(everywhere, np.full(case.batch, np.inf))


def check_multi_categorical(book: Any, case: Case) -> None:
    draw = case.draws()
    sizes = (case.n, 1, case.m)
    a, b = (case.scale * draw.normal(size=(*case.batch, sum(sizes))) for _ in range(2))
    found, other = book.MultiCategorical(a, sizes), book.MultiCategorical(b, sizes)
    ends = np.cumsum(sizes)
    expected = [
        [
            D.Categorical(logits=tensor(logits[..., end - size : end]))
            for size, end in zip(sizes, ends, strict=True)
        ]
        for logits in (a, b)
    ]
    actions = np.stack([draw.integers(0, size, case.batch) for size in sizes], -1)
    parts = [one.log_prob(tensor(actions[..., i])) for i, one in enumerate(expected[0])]
    scale = max(1.0, case.scale)
    same(found.log_prob(actions), sum(parts), scale)
    same(found.entropy(), sum(one.entropy() for one in expected[0]), scale)
    same(found.kl(other), sum(kl(*both) for both in zip(*expected, strict=True)), scale)
    same(found.mode(), torch.stack([one.probs.argmax(-1) for one in expected[0]], -1))
    noise = draw.random((*case.batch, 3))
    singles = [
        parity.rl.Categorical(a[..., end - size : end])
        for size, end in zip(sizes, ends, strict=True)
    ]
    same(
        found.sample(noise),
        np.stack([one.sample(noise[..., i]) for i, one in enumerate(singles)], -1),
    )


def check_bernoulli(book: Any, case: Case) -> None:
    draw = case.draws()
    a, b = (case.scale * draw.normal(size=(*case.batch, case.n)) for _ in range(2))
    actions, noise = draw.integers(0, 2, a.shape), draw.random(a.shape)
    found = book.Bernoulli(a)
    same(
        found.log_prob(actions),
        D.Independent(D.Bernoulli(logits=tensor(a)), 1).log_prob(tensor(actions)),
        max(1.0, case.scale),
    )
    # torch's entropy and KL clamp probabilities; two choices of a categorical do not
    first, second = (parity.rl.Categorical(np.stack([0 * x, x], -1)) for x in (a, b))
    same(found.entropy(), first.entropy().sum(-1))
    same(found.kl(book.Bernoulli(b)), first.kl(second).sum(-1), scale=1.0)
    same(found.mode(), np.where(a > 0, 1, 0))
    same(found.sample(noise), noise < torch.sigmoid(tensor(a)).numpy())


def autoregressive(book: Any, first: Any, table: Any) -> Any:
    """The second action's logits are a row of the state's table, by the first action."""

    def second(chosen: Any) -> Any:
        return book.Categorical(
            np.take_along_axis(table, np.asarray(chosen)[..., None, None], -2)[..., 0, :]
        )

    return book.Autoregressive(book.Categorical(first), second)


def check_autoregressive(book: Any, case: Case) -> None:
    """Against the table of all pairs of actions."""
    draw = case.draws()
    joints, found = [], []
    for _ in range(2):
        first = draw.normal(size=(*case.batch, case.n))
        table = draw.normal(size=(*case.batch, case.n, case.m))
        both = torch.log_softmax(tensor(first), -1)[..., None] + torch.log_softmax(
            tensor(table), -1
        )
        joints.append(D.Categorical(logits=both.reshape(*case.batch, -1)))
        found.append(autoregressive(book, first, table))
    for a, b in itertools.product(range(case.n), range(case.m)):
        pair = np.full(case.batch, a), np.full(case.batch, b)
        same(found[0].log_prob(pair), joints[0].logits[..., a * case.m + b])
    np.testing.assert_allclose(found[0].entropy(), joints[0].entropy(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        found[0].kl(found[1]), D.kl_divergence(*joints), rtol=1e-9, atol=1e-12
    )
    noises = draw.random((2, *case.batch))
    for chosen in (found[0].mode(), found[0].sample(noises)):
        assert chosen[0].shape == chosen[1].shape == case.batch
    a, b = found[0].mode()
    same(a, found[0].first.mode())
    same(b, found[0].second(a).mode())
    a, b = found[0].sample(noises)
    same(a, found[0].first.sample(noises[0]))
    same(b, found[0].second(a).sample(noises[1]))


CHOICES = "distributions"
CHECKS = [
    check_categorical,
    check_forbidden_choices,
    check_multi_categorical,
    check_bernoulli,
    check_autoregressive,
]
MUTANTS = [
    Mutant(check_categorical, CHOICES, "self.logs = log_softmax(logits)", "self.logs = logits"),
    Mutant(check_categorical, CHOICES, "log_softmax(logits)\n", "log_softmax(logits, 0)\n"),
    Mutant(
        check_categorical,
        CHOICES,
        "-_times(self.probabilities, self.logs)",
        "_times(self.probabilities, self.logs)",
    ),
    Mutant(
        check_categorical,
        CHOICES,
        "difference = self.logs - other.logs",
        "difference = other.logs - self.logs",
    ),
    Mutant(check_categorical, CHOICES, "self.logs.argmax(-1)", "self.logs.argmin(-1)"),
    Mutant(check_categorical, CHOICES, "cumsum(-1) <= uniform", "cumsum(-1) <= 1 - uniform"),
    Mutant(
        check_forbidden_choices,
        CHOICES,
        "np.where(probabilities == 0, 0.0, probabilities * logs)",
        "probabilities * logs",
    ),
    Mutant(
        check_forbidden_choices,
        CHOICES,
        "np.minimum(below.sum(-1), last)",
        "np.maximum(below.sum(-1), choices - 1)",
    ),
    Mutant(
        check_multi_categorical, CHOICES, "np.cumsum(sizes)[:-1]", "np.cumsum(sizes[::-1])[:-1]"
    ),
    Mutant(
        check_multi_categorical,
        CHOICES,
        "np.sum(list(arrays), axis=0)",
        "np.mean(list(arrays), axis=0)",
    ),
    Mutant(
        check_bernoulli,
        CHOICES,
        "-softplus(-self.logits), -softplus(self.logits)",
        "-softplus(self.logits), -softplus(-self.logits)",
    ),
    Mutant(
        check_bernoulli, CHOICES, "self._yes, self._no).sum(-1)", "self._yes, self._no).mean(-1)"
    ),
    Mutant(check_bernoulli, CHOICES, "-parts.sum(-1)", "parts.sum(-1)"),
    Mutant(
        check_bernoulli,
        CHOICES,
        "self._yes - other._yes, self._no - other._no",
        "self._yes - other._no, self._no - other._yes",
    ),
    Mutant(check_bernoulli, CHOICES, "(self.logits > 0)", "(self.logits > 1)"),
    Mutant(check_bernoulli, CHOICES, "uniform < np.exp(self._yes)", "uniform < np.exp(self._no)"),
    Mutant(
        check_autoregressive,
        CHOICES,
        "self.given(np.asarray(first)).log_prob(second)",
        "self.given(self.first.mode()).log_prob(second)",
    ),
    Mutant(
        check_autoregressive,
        CHOICES,
        "_times(self.first.probabilities, np.stack(each, -1)).sum(-1)",
        "np.stack(each, -1).mean(-1)",
    ),
    Mutant(check_autoregressive, CHOICES, "other.given(a)", "self.given(a)"),
]
