"""Draws by NumPy are followed, wherever the generator is held; what users get does not change."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.random import default_rng

import parity
from parity.draws.host import Host
from parity.inputs import layout_advice
from parity.model import wrap

rng = np.random.default_rng(0)
W = rng.normal(size=(8, 4)).astype("f")
X = rng.normal(size=(5, 8)).astype("f")
GENERATOR = np.random.default_rng(5)
LEGACY = np.random.RandomState(6)


def reference(x):
    return x @ torch.from_numpy(W) + 2 * torch.randn(5, 4)


class Held:
    def __init__(self, scale):
        self.random, self.scale = np.random.default_rng(4), scale

    def __call__(self, x):
        return x @ W + self.random.normal(0, self.scale, (5, 4))


def of_a_default(scale):
    def run(x, random=np.random.default_rng(3)):  # noqa: B008
        return x @ W + scale * random.standard_normal((5, 4))

    return run


def of_a_closure(scale):
    random = np.random.default_rng(2)
    return lambda x: x @ W + random.normal(scale=scale, size=(5, 4))


FORMS = {
    "module": lambda scale: lambda x: x @ W + np.random.normal(0, scale, (5, 4)),
    "global": lambda scale: lambda x: x @ W + GENERATOR.normal(0, scale, (5, 4)),
    "legacy": lambda scale: lambda x: x @ W + LEGACY.normal(0, scale, (5, 4)),
    "attribute": Held,
    "default": of_a_default,
    "closure": of_a_closure,
}


@pytest.mark.parametrize("form", FORMS)
def test_a_function_of_numpy_gets_the_references_samples(form):
    for scale, verdict in ((2.0, "parity"), (2.1, "diverged")):
        candidate = parity.wrap(FORMS[form](scale), framework="numpy")
        report = parity.compare(parity.wrap(reference, framework="torch"), candidate, inputs=X)
        assert report.verdict == verdict


@pytest.mark.parametrize("form", FORMS)
def test_recording_draws_what_a_plain_run_draws(form):
    def results(run):
        for generator, seed in ((GENERATOR, 5), (LEGACY, 6)):
            fresh = type(generator)
            if fresh is np.random.RandomState:
                generator.seed(seed)
            else:
                generator.bit_generator.state = np.random.default_rng(seed).bit_generator.state
        np.random.seed(1)
        return run(FORMS[form](2.0))

    model = None

    def recorded(function):
        tape = layout_advice.record(wrap(function, framework="numpy"), model, X)[1]
        return tape.recorded[next(iter(tape.outputs.values()))]

    np.testing.assert_array_equal(results(recorded), results(lambda function: function(X)))


def test_generators_are_put_back():
    held = Held(1.0)
    before = held.random
    with Host().watching(held):
        assert held.random is not before
    assert held.random is before
    assert np.random.normal.__self__ is np.random.mtrand._rand


@pytest.mark.parametrize(
    "draw",
    [
        lambda random: random.choice(4, size=6, p=[0.1, 0.2, 0.3, 0.4]),
        lambda random: random.choice([3.5, 1.5], size=6),
        lambda random: random.uniform(-1, 2, 6),
        lambda random: random.exponential(3.0, 6),
        lambda random: random.binomial(1, 0.3, 6),
        lambda random: random.permutation(6),
        lambda random: random.integers(2, 5, 6),
        lambda random: random.gamma(2.0, size=6),
    ],
)
def test_a_replay_gives_what_was_drawn(draw):
    random = np.random.default_rng(1)

    def run(x):
        return x.sum() + draw(random)

    tape = layout_advice.record(wrap(run, framework="numpy"), None, X)[1]
    (value,) = tape.outputs.values()
    np.testing.assert_allclose(tape.replay().array(value), tape.recorded[value], rtol=1e-15)
    assert not tape.lost_draws


def test_what_is_computed_from_a_draw_outside_the_framework_is_unverified():
    def candidate(x):
        mask = (np.random.rand(5, 4) < 0.5).astype("f")
        return x @ torch.from_numpy(W) * torch.from_numpy(mask)

    def drawing(x):
        return x @ torch.from_numpy(W) * (torch.rand(5, 4) < 0.5)

    report = parity.compare(
        parity.wrap(drawing, framework="torch"),
        parity.wrap(candidate, framework="torch"),
        inputs=X,
    )
    assert report.verdict == "unverified"


def test_a_draw_that_python_decides_by_is_unverified():
    def run(x):
        return x @ torch.from_numpy(W) * (2.0 if np.random.rand() < 0.5 else 3.0)

    model = parity.wrap(run, framework="torch")
    report = parity.compare(model, model, inputs=X)
    assert report.verdict == "unverified"
    assert "numpy.random.rand" in report.comparisons[0].reasons[0]


def test_a_generator_with_a_seed_of_its_own_draws_nothing():
    """It gives the same whenever the model runs: a table, that another model may hold."""
    noise = np.random.default_rng(7).normal(size=(5, 4))
    seeded = parity.wrap(
        lambda x: x @ W + np.random.default_rng(7).normal(size=(5, 4)), framework="numpy"
    )
    table = parity.wrap(lambda x: x @ W + noise, framework="numpy")
    assert parity.compare(table, seeded, inputs=X).verdict == "parity"


class InADict:
    def __init__(self, scale):
        self.rngs, self.scale = {"actor": np.random.default_rng(4)}, scale

    def __call__(self, x):
        return x @ W + self.rngs["actor"].normal(0, self.scale, (5, 4))


class InATuple(InADict):
    def __init__(self, scale):
        self.rngs, self.scale = (np.random.default_rng(4),), scale

    def __call__(self, x):
        return x @ W + self.rngs[0].normal(0, self.scale, (5, 4))


class OfTheClass:
    rng = np.random.default_rng(5)

    def __init__(self, scale):
        self.scale = scale

    def noise(self):
        return self.rng.normal(0, self.scale, (5, 4))

    def __call__(self, x):
        return x @ W + self.noise()


def of_scipy(scale):
    stats = pytest.importorskip("scipy.stats")
    return lambda x: x @ W + stats.norm.rvs(scale=scale, size=(5, 4))


HELD_OTHERWISE = {
    "dict": InADict,
    "tuple": InATuple,
    "class": OfTheClass,
    "legacy made anew": lambda scale: (
        lambda x: x @ W + np.random.RandomState().normal(0, scale, (5, 4))
    ),
    "made of bits": lambda scale: (
        lambda x: x @ W + np.random.Generator(np.random.PCG64()).normal(0, scale, (5, 4))
    ),
    "made by a name": lambda scale: lambda x: x @ W + default_rng().normal(0, scale, (5, 4)),
    "scipy": of_scipy,
}


@pytest.mark.parametrize("form", HELD_OTHERWISE)
@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_a_generator_is_watched_wherever_it_is(form, framework):
    for scale, verdict in ((2.0, "parity"), (2.1, "diverged")):
        candidate = HELD_OTHERWISE[form](scale)
        if framework == "torch":
            candidate = in_torch(candidate)
        candidate = parity.wrap(candidate, framework=framework)
        report = parity.compare(parity.wrap(reference, framework="torch"), candidate, inputs=X)
        assert report.verdict == verdict


def in_torch(candidate):
    """The same model, whose noise alone NumPy makes."""
    return lambda x: (
        x @ torch.from_numpy(W) + torch.from_numpy(np.float32(candidate(np.zeros((5, 8), "f"))))
    )


def test_generators_made_with_a_seed_are_what_they_were():
    assert type(np.random.RandomState(3)) is np.random.RandomState
    with Host().watching():
        made = np.random.RandomState(3), np.random.RandomState(), np.random.default_rng()
        assert isinstance(made[0], np.random.RandomState)
        assert isinstance(made[1], np.random.RandomState)
        assert isinstance(made[2], np.random.Generator)
        assert made[0].normal() == np.random.RandomState(3).normal()
    assert type(np.random.RandomState(3)) is np.random.RandomState


def test_bits_of_a_seed_are_no_draw():
    def model(x):
        return x @ W + np.random.Generator(np.random.PCG64(7)).normal(size=(5, 4))

    noise = np.random.Generator(np.random.PCG64(7)).normal(size=(5, 4))
    table = parity.wrap(lambda x: x @ W + noise, framework="numpy")
    report = parity.compare(table, parity.wrap(model, framework="numpy"), inputs=X)
    assert report.verdict == "parity"


def test_a_generator_of_two_places_is_put_back():
    inner, outer = Held(1.0), Held(1.0)
    inner.random = outer.random
    before, outer.inner, shared = outer.random, [inner], np.random.mtrand._rand
    with Host().watching(outer, inner):
        assert inner.random is not before
    assert inner.random is before is outer.random
    assert np.random.mtrand._rand is shared


def clipped(limit):
    return lambda x: (
        x @ torch.from_numpy(W)
        + torch.from_numpy(np.clip(np.random.normal(0, 2, (5, 4)), -limit, limit).astype("f"))
    )


def drawn_again(limit):
    def run(x):
        noise = np.random.standard_normal((5, 4)).astype("f")
        while (far := np.abs(noise) > limit).any():
            noise[far] = np.random.standard_normal(int(far.sum()))
        return x @ torch.from_numpy(W) + 2 * torch.from_numpy(noise)

    return run


@pytest.mark.parametrize("made", [clipped, drawn_again])
def test_what_numpy_makes_of_samples_that_are_far_out_has_to_be_the_same(made):
    np.random.seed(1)  # no value is beyond 3 deviations
    of_torch = parity.wrap(reference, framework="torch")
    for limit, verdict in ((6.5 if made is clipped else 3.3, "unverified"), (1e3, "parity")):
        found = parity.compare(of_torch, parity.wrap(made(limit), framework="torch"), inputs=X)
        assert found.verdict == verdict
        if verdict == "unverified":
            assert "far out" in found.comparisons[0].reasons[0]
