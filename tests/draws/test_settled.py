"""What is drawn by a fixed seed is a constant, and compared by value; all else is drawn."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import parity
from parity.draws.settled import bits_of

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")
chainer = pytest.importorskip("chainer")

X = np.random.default_rng(0).standard_normal((6, 5)).astype("f")


def by_generator(x, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.cos(x @ torch.randn((5, 8), generator=generator))


def by_global_seed(x, seed):
    torch.manual_seed(seed)
    return torch.cos(x @ torch.randn((5, 8)))


def by_permutation(x, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.tanh(x)[torch.randperm(6, generator=generator)]


def by_stateless(x, seed):
    return tf.cos(tf.matmul(x, tf.random.stateless_normal((5, 8), (seed, 2))))


def by_tensorflows_generator(x, seed):
    generator = tf.random.Generator.from_seed(seed, alg="philox")
    return tf.cos(tf.matmul(x, generator.normal((5, 8))))


def by_keras(x, seed):
    return tf.cos(tf.matmul(x, keras.random.normal((5, 8), seed=seed)))


def by_numpys_global_seed(x, seed):
    np.random.seed(seed)
    return tf.cos(tf.matmul(x, np.random.standard_normal((5, 8)).astype("f")))


OF_TORCH = [by_generator, by_global_seed, by_permutation]
OF_TENSORFLOW = [by_stateless, by_keras, by_numpys_global_seed]


def verdict(*sides, mode="eval"):
    models = [parity.wrap(model, framework=framework, mode=mode) for model, framework in sides]
    return parity.compare(*models, inputs=X).verdict


@pytest.mark.parametrize("draw", [*OF_TORCH, *OF_TENSORFLOW])
def test_another_seed_is_another_model(draw) -> None:
    framework = "torch" if draw in OF_TORCH else "tensorflow"

    def seeded(seed):
        return lambda x: draw(x, seed), framework

    assert verdict(seeded(7), seeded(7)) == "parity"
    assert verdict(seeded(7), seeded(8)) == "diverged"


def test_a_port_that_keeps_the_values_as_a_constant_is_right() -> None:
    features = torch.randn((5, 8), generator=torch.Generator().manual_seed(7)).numpy()

    def port(x, factor=1.0):
        return tf.cos(tf.matmul(x, features * np.float32(factor)))

    reference = (lambda x: by_generator(x, 7), "torch")
    assert verdict(reference, (port, "tensorflow")) == "parity"
    assert verdict(reference, (lambda x: port(x, 1.01), "tensorflow")) == "diverged"


def held_by_torch(seed):
    generator = torch.Generator().manual_seed(seed)
    return lambda x: torch.cos(x @ torch.randn((5, 8), generator=generator))


def held_by_tensorflow(seed):
    generator = tf.random.Generator.from_seed(seed, alg="philox")
    return lambda x: tf.cos(tf.matmul(x, generator.normal((5, 8))))


def held_by_keras(seed):
    generator = keras.random.SeedGenerator(seed)
    return lambda x: tf.cos(tf.matmul(x, keras.random.normal((5, 8), seed=generator)))


def unseeded(seed):
    return lambda x: torch.cos(x @ torch.randn((5, 8)))


@pytest.mark.parametrize("one", [held_by_torch, held_by_tensorflow, held_by_keras, unseeded])
@pytest.mark.parametrize("other", [held_by_torch, held_by_tensorflow, held_by_keras, unseeded])
def test_a_generator_that_goes_on_draws_by_chance(one, other) -> None:
    sides = [
        (model(seed), "torch" if model in (held_by_torch, unseeded) else "tensorflow")
        for model, seed in ((one, 1), (other, 2))
    ]
    assert verdict(*sides) == "parity"


def test_seeded_dropout_of_keras_is_dropout() -> None:
    layer = keras.layers.Dropout(0.3, seed=5)
    assert verdict((torch.nn.Dropout(0.3), None), (layer, None), mode="train") == "parity"


def test_the_random_states_are_as_they_were() -> None:
    def states():
        return torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()

    before = states()
    assert verdict((lambda x: by_global_seed(x, 1), "torch"), (unseeded(0), "torch")) != "parity"
    assert states() == before


def test_few_values_may_be_equal_by_chance() -> None:
    assert bits_of(np.array([1, 0, 1, 1])) < 40 <= bits_of(np.arange(100) % 2)
    assert bits_of(np.zeros(1000)) == bits_of(np.zeros(0)) == 0
    assert bits_of(np.array([0.3, 0.7])) >= 40


@pytest.mark.parametrize("size", [1, 3, 8])
def test_a_coin_that_falls_alike_twice_is_a_coin(size) -> None:
    def model(x):
        return torch.tanh(x) + torch.bernoulli(torch.full((size, 1, 1), 0.5))

    assert verdict((model, "torch"), (model, "torch")) == "parity"


def test_what_a_kernel_chose_alike_twice_was_chosen_by_chance() -> None:
    def choice(logits, scale):
        chosen = torch.multinomial(torch.softmax(scale * logits, 1), 1)
        return torch.nn.functional.one_hot(chosen[:, 0], 5) + torch.tanh(logits)

    def model(scale):
        return (lambda x: choice(x[:1], scale)), "torch"

    assert verdict(model(1.0), model(1.0)) == "parity"
    assert verdict(model(1.0), model(3.0)) == "diverged"


def one_row(x, seed):
    table = torch.cos(torch.arange(4000.0)).reshape(1000, 4)
    at = torch.randint(0, 1000, (1,), generator=torch.Generator().manual_seed(seed))
    return torch.tanh(x[:, :4]) + table[at]


def one_of_few(x, seed):
    experts = tf.reshape(tf.cos(tf.range(64 * 20, dtype=tf.float32)), (64, 5, 4))
    at = tf.random.stateless_uniform((), (seed, 2), maxval=64, dtype=tf.int32)
    return tf.tanh(tf.matmul(x, tf.gather(experts, at)))


def most_are_kept(x, seed):
    kept = torch.empty(5)
    kept.bernoulli_(0.7, generator=torch.Generator().manual_seed(seed))
    return torch.cumsum(x * kept, 1)


@pytest.mark.parametrize("draw", [one_row, one_of_few, most_are_kept])
def test_few_values_by_a_fixed_seed_are_no_chance(draw) -> None:
    framework = "tensorflow" if draw is one_of_few else "torch"

    def seeded(seed):
        return lambda x: draw(x, seed), framework

    assert verdict(seeded(1), seeded(1)) == "parity"
    assert verdict(seeded(1), seeded(3)) == "diverged"


class Perturbed(torch.nn.Module):
    def __init__(self, seed):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(-1, 1, 20).reshape(5, 4))
        self.seed = seed

    def forward(self, x):
        generator = torch.Generator().manual_seed(self.seed)
        noise = torch.empty_like(self.weight).normal_(generator=generator)
        return torch.tanh(x @ (self.weight + 0.1 * noise))


def test_a_weight_that_gives_noise_its_shape_is_no_seed() -> None:
    assert verdict((Perturbed(7), None), (Perturbed(7), None)) == "parity"
    assert verdict((Perturbed(7), None), (Perturbed(8), None)) == "diverged"


def test_a_seed_that_is_drawn_from_few_is_chance() -> None:
    def model(x):
        seed = int(torch.randint(0, 4, ()))
        return torch.tanh(x) + torch.rand((), generator=torch.Generator().manual_seed(seed))

    assert verdict((model, "torch"), (model, "torch")) == "unverified"  # Python reads the draw


def a_member(seed):
    def model(x):
        np.random.seed(seed)
        return np.tanh(x) * np.float32(1 + np.random.randint(64))

    return model, "numpy"


def some_features(seed):
    def model(x):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            chosen = torch.multinomial(torch.arange(1.0, 6), 2)
        return torch.tanh(x)[:, chosen]

    return model, "torch"


def some_coins(seed):
    def model(x):
        np.random.seed(seed)
        return chainer.functions.tanh(x * np.random.binomial(1, 0.5, 5).astype("f"))

    return model, "chainer"


def some_categories(seed):
    def model(x):
        shares = tf.math.log(tf.range(1.0, 6))[None]
        chosen = keras.random.categorical(shares, 2, seed=seed)
        return tf.gather(tf.tanh(x), chosen[0], axis=1)

    return model, "tensorflow"


class SeedInAVariable(tf.Module):
    def __init__(self, seed):
        super().__init__()
        self.seed = tf.Variable([seed, 2], trainable=False)

    def __call__(self, x):
        return tf.tanh(x) * tf.random.stateless_uniform((5,), self.seed)


class CountedSeed(SeedInAVariable):
    def __call__(self, x):
        self.seed.assign_add([1, 0])
        return super().__call__(x)


@pytest.mark.parametrize(
    "model",
    [
        a_member,
        some_features,
        some_coins,
        some_categories,
        lambda seed: (SeedInAVariable(seed), None),
    ],
)
def test_a_seed_that_is_set_by_the_model_is_no_chance(model) -> None:
    assert verdict(model(1), model(1)) == "parity"
    assert verdict(model(1), model(5)) == "diverged"


def test_a_seed_that_the_model_counts_up_is_chance() -> None:
    assert verdict((CountedSeed(1), None), (CountedSeed(5), None)) == "parity"
