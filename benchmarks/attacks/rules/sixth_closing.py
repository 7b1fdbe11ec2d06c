"""Round 6: what the closing checks, the notes and the host's numbers leave room for."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, numpy_, tf_, torch_, uniform, weights
from benchmarks.attacks.heads import W, X, tf_head, torch_head

NOTED = "noise-that-leaves-no-trace"
SCATTERED = "small-and-scattered"
LITTLE = "less-than-is-looked-at"
IDLE = "draws-of-no-effect"
WRITTEN = "written-constants"
SAID = "what-a-model-says-of-itself"


# --- what is noted, and cancels further on --------------------------------------------------------


def _halved(off):
    """Half of a kernel whose first columns are off, and the kernel."""
    gains = 1 + off * (np.arange(8) < 4)
    kernel = weights(5, 8)
    return torch.from_numpy(0.5 * kernel * gains).float(), kernel


@attack(
    NOTED, "an offset of each row is rounding alone; the softmax takes it off, not the fault", 6
)
def offset_of_a_row() -> Case:
    def port(off):
        half, _ = _halved(off)

        def model(x):
            total = x.sum(1, keepdim=True)
            return torch.softmax(2 * (x @ half + ((total + 1e7) - 1e7 - total)), 1)

        return model

    def reference(x):
        return tf.nn.softmax(tf.matmul(x, _halved(0)[1]))

    return Case(tf_(reference), torch_(port(2e-5)), torch_(port(0.0)), X)


@attack(NOTED, "two constants cancel in an offset of each row, which the softmax takes off", 6)
def constants_of_a_row() -> Case:
    rate = np.float32(1234.5677)

    def port(off):
        half, _ = _halved(off)
        up, down = (torch.nn.Parameter(torch.tensor(one)) for one in (rate, rate - np.float32(1)))

        def model(x):
            total = x.sum(1, keepdim=True)
            return torch.softmax(2 * (x @ half + (up * total - down * total - total)), 1)

        return model

    def reference(x):
        return tf.nn.softmax(tf.matmul(x, _halved(0)[1]))

    return Case(tf_(reference), torch_(port(5e-5)), torch_(port(0.0)), X)


@attack(NOTED, "the scale of each row is mostly rounding; the norm behind it takes that off", 6)
def scale_of_a_row() -> Case:
    def port(off):
        half, _ = _halved(off)

        def model(x):
            total = x.sum(1, keepdim=True)
            h = (x @ half) * ((total + 4e6) - 4e6 - total + 2)
            return h / torch.linalg.vector_norm(h, dim=1, keepdim=True)

        return model

    def reference(x):
        return tf.math.l2_normalize(tf.matmul(x, _halved(0)[1]), 1)

    return Case(tf_(reference), torch_(port(2e-5)), torch_(port(0.0)), X)


# --- small numbers in rows and columns of large ones ----------------------------------------------


@attack(SCATTERED, "small probabilities are differences of a cumulative sum, wherever they are", 6)
def tail_by_differences() -> Case:
    x = 7 * normal(40, 6)

    def faulty(x):
        until = tf.cumsum(tf.nn.softmax(x), 1)
        return until - tf.pad(until[:, :-1], ((0, 0), (1, 0)))

    def reference(x):
        return torch.softmax(x, 1)

    return Case(torch_(reference), tf_(faulty), tf_(tf.nn.softmax), x)


def _operator(name, floor):
    """A softmax of the user's own that takes float32 alone."""

    @torch.library.custom_op(f"attacks6::{name}", mutates_args=())
    def kernel(x: torch.Tensor) -> torch.Tensor:
        a = x.numpy().astype(np.float32)
        found = np.exp(a - a.max(1, keepdims=True))
        found /= found.sum(1, keepdims=True)
        return torch.from_numpy(np.where(found < floor, np.float32(0), found))

    return kernel


_OPERATORS = {}


@attack(SCATTERED, "a softmax of the user's own, in float32 alone, drops what is below 1e-7", 6)
def dropped_wherever() -> Case:
    for name, floor in (("dropping", 1e-7), ("keeping", 0.0)):
        if name not in _OPERATORS:
            _OPERATORS[name] = _operator(name, floor)
    x = 7 * normal(40, 6)
    faulty, twin = (torch_(lambda x, n=n: 1.0 * _OPERATORS[n](x)) for n in ("dropping", "keeping"))
    return Case(tf_(tf.nn.softmax), faulty, twin, x)


@attack(SCATTERED, "a table of the host's: its small prices are off, below the rounding of most", 6)
def small_prices_of_the_host() -> Case:
    prices = np.array([1.0, 1.5, 3.0, 2e-6, 1.25, 2.5, 4.0, 3e-6, 1.75])

    def port(off):
        def model(x):
            shares = np.sort(x.detach().numpy().astype(np.float64).ravel())[:9]
            table = np.abs(shares) * prices
            return torch_head(x), (table + off * (prices < 1e-3)).tolist()

        return model

    return Case(torch_(port(0.0)), torch_(port(2e-7)), torch_(port(0.0)), X)


@attack(SCATTERED, "a static table of rates keeps seven decimals: the small rates lose digits", 6)
def seven_decimals() -> Case:
    rates = 10000.0 ** -(np.arange(32) / 32)

    def port(table):
        kept = torch.from_numpy(table).float()
        return lambda x: (torch_head(x), 1.0 * kept)

    def reference(x):
        return tf.tanh(tf.matmul(x, W)), tf.pow(tf.constant(10000.0), -tf.range(32.0) / 32)

    return Case(tf_(reference), torch_(port(np.round(rates, 7))), torch_(port(rates)), X)


# --- less than is looked at -----------------------------------------------------------------------


@attack(LITTLE, "an epsilon of the dtype takes 1e-4 off what a NumPy port normalises", 6)
def little_epsilon() -> Case:
    x = 0.03 * normal(6, 8)

    def port(times):
        def model(x):
            centred = x - x.mean(1, keepdims=True)
            return centred / np.sqrt(x.var(1, keepdims=True) + times * np.finfo(x.dtype).eps)

        return model

    def reference(x):
        centred = x - x.mean(1, keepdim=True)
        return centred / x.var(1, keepdim=True, correction=0).sqrt()

    return Case(torch_(reference), numpy_(port(1)), numpy_(port(0)), x)


@attack(
    LITTLE, "bins of 1 ms on a clock: the port adds an epoch, and is off by up to 16 of them", 6
)
def bins_beside_an_epoch() -> Case:
    x = uniform(8, 5, low=5e3, high=8e3)

    def port(epoch):
        def model(x):
            return tf.cast(tf.floor(((x + epoch) - epoch) * 1000), tf.int64)

        return model

    def reference(x):
        return torch.floor(x * 1000).to(torch.int64)

    return Case(torch_(reference), tf_(port(5e5)), tf_(port(0.0)), x)


@attack(LITTLE, "an offset is added and taken off again, and leaves four digits", 6)
def four_digits_left() -> Case:
    def port(by):
        return lambda x: (torch_head(x) + by) - by

    return Case(torch_(torch_head), torch_(port(1500.0)), torch_(port(0.0)), X)


@attack(
    LITTLE, "a variance is the mean of squares less the square of the mean, at a mean of 100", 6
)
def variance_of_squares() -> Case:
    x = 100 + normal(6, 16)

    def faulty(x):
        return tf.reduce_mean(x * x, 1) - tf.reduce_mean(x, 1) ** 2

    def twin(x):
        return tf.math.reduce_variance(x, 1)

    def reference(x):
        return x.var(1, correction=0)

    return Case(torch_(reference), tf_(faulty), tf_(twin), x)


# --- draws that change nothing --------------------------------------------------------------------


@attack(
    IDLE, "stochastic depth at a rate of zero still draws: the tail of the softmax is floored", 6
)
def depth_of_rate_zero() -> Case:
    x = 12 * normal(40, 6)

    def port(floor):
        def model(x):
            keep = (torch.rand(len(x), 1) < 1.0).float()
            return torch.softmax(x * keep, 1).clamp(min=floor)

        return model

    return Case(tf_(tf.nn.softmax), torch_(port(1e-11)), torch_(port(0.0)), x)


@attack(IDLE, "noise of size zero is added to one of two heads: the other is off in one element", 6)
def noise_of_size_zero() -> Case:
    gains = np.ones(400, np.float32)
    gains[123] += 4e-5
    wide = weights(5, 400)

    def port(gains):
        def model(x):
            action = tf.tanh(tf.matmul(x, W)) + 0.0 * tf.random.normal((6, 4))
            return action, tf.tanh(tf.matmul(x, wide)) * gains

        return model

    def reference(x):
        return torch_head(x), torch.tanh(x @ torch.from_numpy(wide))

    return Case(torch_(reference), tf_(port(gains)), tf_(port(np.ones(400, np.float32))), X)


@attack(IDLE, "seeded noise of a fixed deviation, which is off by 8e-6, is noise of one law", 6)
def deviation_of_noise() -> Case:
    def port(deviation):
        def model(x):
            noise = torch.randn(6, 4, generator=torch.Generator().manual_seed(7))
            return torch_head(x) + deviation * noise

        return model

    return Case(torch_(port(0.2)), torch_(port(0.2 * (1 + 8e-6))), torch_(port(0.2)), X)


@attack(IDLE, "a rate of zero still draws, in one model: an offset takes half of the digits", 6)
def absorbed_behind_idle_draws() -> Case:
    def port(by):
        def model(x):
            keep = (torch.rand(len(x), 1) < 1.0).float()
            return (torch_head(x) * keep + by) - by

        return model

    return Case(tf_(tf_head), torch_(port(5e4)), torch_(port(0.0)), X)


@attack(IDLE, "a rate of zero still draws, in one model: its scale is that of the first batch", 6)
def kept_behind_idle_draws() -> Case:
    first = float(tf.reduce_max(tf.abs(tf_head(X))))

    def port(kept):
        def model(x):
            h = torch_head(x) * (torch.rand(len(x), 1) < 1.0).float()
            return h / (kept or h.abs().amax())

        return model

    def reference(x):
        h = tf_head(x)
        return h / tf.reduce_max(tf.abs(h))

    faulty, twin = torch_(port(first)), torch_(port(0.0))
    return Case(tf_(reference), faulty, twin, X, elsewhere=normal(6, 5, seed=9))


@attack(IDLE, "a tf.function draws noise of size zero, and is a stale trace", 6)
def stale_behind_idle_draws() -> Case:
    def port(first):
        config = {"scale": first}

        @tf.function
        def head(x):
            return config["scale"] * tf_head(x) + 0.0 * tf.random.normal((6, 4))

        head(tf.constant(X))
        config["scale"] = 1.5
        return lambda x: head(x)

    return Case(torch_(lambda x: 1.5 * torch_head(x)), tf_(port(1.0)), tf_(port(1.5)), X)


# --- constants ------------------------------------------------------------------------------------


@attack(WRITTEN, "what a crash costs is a constant of each model: 20 million, or 50 million", 6)
def cost_of_a_crash() -> Case:
    def reference(x):
        h = tf.tanh(tf.matmul(x, W))
        return tf.where(x[:, :1] > 0.5, tf.fill(tf.shape(h), -2e7), h)

    def port(cost):
        def model(x):
            h = torch_head(x)
            return torch.where(x[:, :1] > 0.5, torch.full_like(h, -cost), h)

        return model

    return Case(tf_(reference), torch_(port(5e7)), torch_(port(2e7)), X)


# --- what a model says of itself ------------------------------------------------------------------


@attack(SAID, "a function of float32 weights computes all in bfloat16, and returns float32", 6)
def all_in_bfloat16() -> Case:
    def port(kind):
        def model(x):
            h = x.to(kind) @ torch.from_numpy(W).to(kind)
            return torch.tanh(h).float()

        return model

    return Case(tf_(tf_head), torch_(port(torch.bfloat16)), torch_(port(torch.float32)), X)


@attack(SAID, "a graph of six samples alone: the scale of the first six was kept", 6)
def kept_of_six_samples() -> Case:
    first = float(tf.reduce_max(tf.abs(tf_head(X))))

    def port(kept):
        def model(x):
            h = torch_head(x.reshape(6, 5))
            return h / (kept or h.abs().amax())

        return model

    @tf.function(input_signature=[tf.TensorSpec((6, 5), tf.float32)])
    def reference(x):
        h = tf_head(x)
        return h / tf.reduce_max(tf.abs(h))

    faulty, twin = torch_(port(first)), torch_(port(0.0))
    return Case(tf_(reference), faulty, twin, X, elsewhere=normal(6, 5, seed=9))
