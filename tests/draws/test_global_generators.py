"""Draws that are given no generator: by that of `keras.random`, and by that of `tf.random`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parity

torch = pytest.importorskip("torch")
tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

X = np.random.default_rng(0).standard_normal((5, 6)).astype("f")


def _by_tf(shape: tuple[int, ...]) -> Any:
    return tf.random.get_global_generator().normal(shape)


DRAWS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "keras normal": (torch.randn_like, lambda x: keras.random.normal(x.shape)),
    "keras uniform": (torch.rand_like, lambda x: keras.random.uniform(x.shape)),
    "keras dropout": (
        lambda x: torch.nn.functional.dropout(torch.ones_like(x), 0.4),
        lambda x: keras.random.dropout(tf.ones_like(x), 0.4),
    ),
    "tf normal": (torch.randn_like, lambda x: _by_tf(x.shape)),
}


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize(("used", "turned"), [(False, False), (True, False), (True, True)])
def test_what_is_drawn_by_a_global_generator_is_a_draw(draw: str, used: bool, turned: bool) -> None:
    """It is put back after each run, and gives the same values: it is a draw all the same."""
    in_torch, in_tensorflow = DRAWS[draw]

    def candidate(scale: float) -> parity.Model:
        return parity.wrap(lambda x: tf.tanh(x + scale * in_tensorflow(x)), framework="tensorflow")

    reference = parity.wrap(lambda x: torch.tanh(x + 0.3 * in_torch(x)), framework="torch")
    if used:
        in_tensorflow(tf.constant(X))
    for scale, verdict in ((0.3, "parity"), (0.4, "diverged")):
        models = (reference, candidate(scale))
        assert parity.compare(*(models[::-1] if turned else models), inputs=X).verdict == verdict


def test_a_global_generator_goes_on_where_it_was() -> None:
    keras.random.normal((3,))
    states = [one.state.numpy() for one in _generators()]
    model = parity.wrap(lambda x: x + keras.random.normal(x.shape), framework="tensorflow")
    assert parity.compare(model, model, inputs=X).verdict == "parity"
    assert all(map(np.array_equal, states, (one.state.numpy() for one in _generators())))


def _generators() -> list[Any]:
    from parity.frameworks.tensorflow_keeping import global_generators

    return [one for one in global_generators() if hasattr(one.state, "numpy")]


HELD = tf.random.Generator.from_seed(7)


def _seeds() -> Any:
    return HELD.make_seeds(1)[:, 0]


TWICE: dict[str, Callable[[tuple[int, ...]], tuple[Any, Any]]] = {
    "two draws": lambda shape: (HELD.normal(shape), HELD.normal(shape)),
    "two seeds": lambda shape: (
        tf.random.stateless_normal(shape, _seeds()),
        tf.random.stateless_normal(shape, _seeds()),
    ),
    "split": lambda shape: tuple(
        tf.random.stateless_normal(shape, one)
        for one in tf.unstack(tf.random.split(HELD.make_seeds(1)[:, 0], 2))
    ),
}


def _once(shape: tuple[int, ...]) -> tuple[Any, Any]:
    drawn = HELD.normal(shape)
    return drawn, drawn


def _one_seed(shape: tuple[int, ...]) -> tuple[Any, Any]:
    seed = _seeds()
    return tf.random.stateless_normal(shape, seed), tf.random.stateless_normal(shape, seed)


def _twice(draw: Callable[[tuple[int, ...]], tuple[Any, Any]], scale: float = 1.0) -> parity.Model:
    def model(x: Any) -> Any:
        first, second = draw(x.shape)
        return tf.tanh(x + 0.3 * first) * (1 + 0.2 * scale * second)

    return parity.wrap(model, framework="tensorflow")


def _reference(x: Any) -> Any:
    return torch.tanh(x + 0.3 * torch.randn_like(x)) * (1 + 0.2 * torch.randn_like(x))


@pytest.mark.parametrize("draw", TWICE)
def test_seeds_that_a_held_generator_draws_are_no_samples(draw: str) -> None:
    reference = parity.wrap(_reference, framework="torch")
    for scale, verdict in ((1.0, "parity"), (1.3, "diverged")):
        report = parity.compare(reference, _twice(TWICE[draw], scale), inputs=X)
        assert report.verdict == verdict


@pytest.mark.parametrize("draw", [_once, _one_seed], ids=["one draw", "one seed"])
def test_noise_that_is_used_twice_is_not_two_noises(draw: Any) -> None:
    reference = parity.wrap(_reference, framework="torch")
    assert parity.compare(reference, _twice(draw), inputs=X).verdict != "parity"
    assert parity.compare(_twice(draw), reference, inputs=X).verdict != "parity"


def test_whole_numbers_that_are_computed_with_are_samples() -> None:
    def drawn(high: int) -> parity.Model:
        def model(x: Any) -> Any:
            at = tf.random.uniform((5,), 0, high, dtype=tf.int32)
            return tf.tanh(x + tf.one_hot(at, 6) * x)

        return parity.wrap(model, framework="tensorflow")

    assert parity.compare(drawn(6), drawn(6), inputs=X).verdict == "parity"
    assert parity.compare(drawn(6), drawn(3), inputs=X).verdict != "parity"
