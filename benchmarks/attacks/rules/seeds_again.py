"""Round 5: draws by a fixed seed that say little, and what else runs beside draws."""

from __future__ import annotations

import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, tf_, torch_
from benchmarks.attacks.heads import W, X, torch_head

SEEDS = "seeds-of-few-numbers"
BESIDE = "traces-beside-draws"


def _first_seed(wanted):
    """The first seed after 7 for which what is drawn is so."""
    return next(seed for seed in range(8, 999) if wanted(seed))


@attack(SEEDS, "a row of a table by one number that a fixed seed draws, which is another seed", 5)
def seeded_row() -> Case:
    table = normal(1000, 4)

    def port(seed):
        def model(x):
            generator = torch.Generator().manual_seed(seed)
            at = torch.randint(0, 1000, (1,), generator=generator)
            return torch_head(x) + torch.from_numpy(table)[at]

        return model

    return Case(torch_(port(7)), torch_(port(8)), torch_(port(7)), X)


@attack(SEEDS, "TensorFlow's stateless numbers choose one expert by a seed, which is another", 5)
def stateless_choice() -> Case:
    experts = normal(64, 5, 4)

    def port(seed):
        def model(x):
            at = tf.random.stateless_uniform((), (seed, 2), maxval=64, dtype=tf.int32)
            return tf.tanh(tf.matmul(x, tf.gather(experts, at)))

        return model

    return Case(tf_(port(1)), tf_(port(3)), tf_(port(1)), X)


class _Perturbed(torch.nn.Module):
    """A layer whose weight is moved by noise that its seed makes again, as evolution does."""

    def __init__(self, seed):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.from_numpy(W))
        self.seed = seed

    def forward(self, x):
        generator = torch.Generator().manual_seed(self.seed)
        noise = torch.empty_like(self.weight).normal_(generator=generator)
        return torch.tanh(x @ (self.weight + 0.1 * noise))


@attack(SEEDS, "a weight is moved by noise of a member's seed: it is another member's", 5)
def seeded_perturbation() -> Case:
    return Case(torch_(_Perturbed(7)), torch_(_Perturbed(8)), torch_(_Perturbed(7)), X)


def _kept(seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.bernoulli(torch.full((6,), 0.9), generator=generator)


@attack(SEEDS, "a fixed seed drops a few of six sensors: none here, one in the port", 5)
def seeded_sensors() -> Case:
    none = _first_seed(lambda seed: _kept(seed).sum() == 6)
    one = _first_seed(lambda seed: _kept(seed).sum() == 5)
    x = normal(4, 6)

    def port(seed):
        def model(x):
            kept = torch.empty(6)
            kept.bernoulli_(0.9, generator=torch.Generator().manual_seed(seed))
            return torch.cumsum(x * kept, 1)

        return model

    return Case(torch_(port(none)), torch_(port(one)), torch_(port(none)), x)


class _Scaled(tf.Module):
    """A head that was traced with the scale that it had then."""

    def __init__(self, before):
        super().__init__()
        self.scale = before
        self(tf.constant(X))
        self.scale = 1.5

    @tf.function
    def __call__(self, x):
        return self.scale * tf.tanh(tf.matmul(x, W))


@attack(BESIDE, "a stale trace gives the Q-values of a model that draws its action beside them", 5)
def stale_beside_draws() -> Case:
    def port(before):
        head = _Scaled(before)

        def model(x):
            q = head(x)
            return {"q": q, "explore": q + 0.1 * tf.random.normal((6, 4))}

        return model

    def reference(x):
        q = 1.5 * torch_head(x)
        return {"q": q, "explore": q + 0.1 * torch.randn((6, 4))}

    faulty, twin = tf_(port(1.0)), tf_(port(1.5))
    return Case(torch_(reference), faulty, twin, X, lambda result: [result["q"]])
