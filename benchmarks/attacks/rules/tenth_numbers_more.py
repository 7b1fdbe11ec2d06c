"""Round 10: numbers: outputs of rare kinds, tails of functions, and ports that are right."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks import corpus
from benchmarks.attacks.corpus import Case, attack, normal, numpy_, tf_, torch_, uniform, weights
from benchmarks.attacks.heads import W, X, tf_head, torch_head

KERNEL = "digits-lost-in-a-kernel"
KINDS = "outputs-of-other-dtypes"
SPARSE = "sparse-outputs"
RIGHT = "right-by-another-algorithm"


# --- tails of functions ---------------------------------------------------------------------------


@attack(KERNEL, "chances of a default by the normal distribution's own kernel are noise", 10)
def chance_of_a_default() -> Case:
    x = uniform(30, 6, low=-1, high=5.2)

    def reference(x):
        return 0.5 * tf.math.erfc(x / math.sqrt(2))

    faulty = torch_(lambda x: torch.special.ndtr(-x))
    twin = torch_(lambda x: 0.5 * torch.erfc(x / math.sqrt(2)))
    return Case(tf_(reference), faulty, twin, x)


@attack(KERNEL, "rates of rare failures by Chainer's sigmoid, which has no digits left there", 10)
def rare_failures_in_chainer() -> Case:
    import chainer.functions as F

    rare = uniform(30, 8, seed=1) < 0.2
    x = np.where(rare, uniform(30, 8, low=-15.5, high=-12), uniform(30, 8, low=-3, high=3, seed=2))

    faulty, twin = corpus.chainer_(F.sigmoid), corpus.chainer_(lambda x: F.exp(-F.softplus(-x)))
    return Case(torch_(torch.sigmoid), faulty, twin, x.astype(np.float32))


@attack(KERNEL, "rare transitions of a Markov chain, by a matrix exponential's kernel", 10)
def rare_transitions() -> Case:
    rates = 10.0 ** uniform(6, 5, 5, low=-9, high=1.2)
    rates = rates * (1 - np.eye(5))
    x = (rates - np.eye(5) * rates.sum(2)[:, :, None]).astype(np.float32)

    def uniformised(x):
        top = -torch.diagonal(x, dim1=1, dim2=2).amin(1)[:, None, None]
        step = torch.clamp(torch.eye(5) + x / top, min=0)
        term = found = torch.eye(5).expand(6, 5, 5)
        for k in range(1, 100):
            term = term @ step * top / k
            found = found + term
        return found * torch.exp(-top)

    def reference(x):
        top = tf.reduce_max(-tf.linalg.diag_part(x), 1)[:, None, None]
        step = tf.maximum(tf.eye(5) + x / top, 0)
        term = found = tf.eye(5, batch_shape=[6])
        for k in range(1, 100):
            term = tf.matmul(term, step) * top / k
            found = found + term
        return found * tf.exp(-top)

    return Case(tf_(reference), torch_(torch.linalg.matrix_exp), torch_(uniformised), x)


# --- outputs of other dtypes ----------------------------------------------------------------------


@attack(KINDS, "a result comes in NumPy's long doubles", 10)
def long_doubles() -> Case:
    def port(scale):
        return lambda x: np.tanh(x.astype(np.longdouble) @ W.astype(np.longdouble)) * scale

    return Case(torch_(torch_head), numpy_(port(1.0001)), numpy_(port(1)), X)


@attack(KINDS, "a result is written in the order of networks, as an array of big-endian floats", 10)
def big_endian() -> Case:
    def port(scale):
        return lambda x: (np.tanh(x @ W) * np.float32(scale)).astype(">f4")

    return Case(tf_(tf_head), numpy_(port(1.0001)), numpy_(port(1)), X)


@attack(KINDS, "a filtered signal comes as complex numbers; one frequency too many", 10)
def left_complex() -> Case:
    x = normal(6, 32)

    def port(kept):
        def model(x):
            spectrum = torch.fft.fft(x)
            spectrum[:, kept : 33 - kept] = 0
            return torch.fft.ifft(spectrum)

        return model

    def reference(x):
        spectrum = tf.signal.rfft(x)
        keep = tf.cast(tf.range(17) < 6, tf.complex64)
        return tf.signal.irfft(spectrum * keep)

    def read(found):
        return [np.real(np.array(found))]

    return Case(tf_(reference), torch_(port(7)), torch_(port(6)), x, read)


@attack(KINDS, "alarms beside scores: here there are none, so that the rows are empty", 10)
def no_alarms() -> Case:
    def port(scale):
        def model(x):
            h = torch_head(x)
            return {"scores": h * scale, "alarms": h[h[:, 0] > 2]}

        return model

    def reference(x):
        h = tf_head(x)
        return {"scores": h, "alarms": tf.boolean_mask(h, h[:, 0] > 2)}

    return Case(tf_(reference), torch_(port(1.0001)), torch_(port(1.0)), X)


@attack(KINDS, "flags beside scores: the limit is on the wrong side of a gain", 10)
def flags_beside_scores() -> Case:
    def port(gain):
        def model(x):
            h = torch_head(x)
            return {"scores": h, "flags": h * gain > 0.2}

        return model

    def reference(x):
        h = tf_head(x)
        return {"scores": h, "flags": h * 1.5 > 0.2}

    return Case(tf_(reference), torch_(port(0.8)), torch_(port(1.5)), X)


@attack(KINDS, "the top three, as each framework names them; indices of the smallest", 10)
def top_three_as_they_come() -> Case:
    def port(largest):
        def model(x):
            values, indices = torch.topk(torch_head(x), 3)
            found = torch.topk(torch_head(x), 3, largest=largest)
            return torch.return_types.topk((values, found.indices))

        return model

    return Case(
        tf_(lambda x: tf.math.top_k(tf_head(x), 3)), torch_(port(False)), torch_(port(True)), X
    )


# --- sparse outputs -------------------------------------------------------------------------------


def _as_matrix(found):
    if isinstance(found, tf.SparseTensor):
        dense = np.zeros(found.dense_shape.numpy(), np.float32)
        np.add.at(dense, tuple(found.indices.numpy().T), found.values.numpy())
        return [dense]
    return [found.to_dense().numpy()]


@attack(SPARSE, "traffic between places as a sparse matrix, in which a pair may come twice", 10)
def traffic_of_places() -> Case:
    places = np.array([[0, 1], [0, 1], [1, 3], [2, 0], [3, 2], [3, 2], [4, 4]])
    x = uniform(7, 3)

    def port(scale):
        def model(x):
            values = (x @ torch.from_numpy(weights(3, 1)))[:, 0] * scale
            return torch.sparse_coo_tensor(torch.from_numpy(places.T.copy()), values, (5, 5))

        return model

    def reference(x):
        values = tf.matmul(x, weights(3, 1))[:, 0]
        return tf.SparseTensor(places, values, (5, 5))

    return Case(tf_(reference), torch_(port(1.001)), torch_(port(1.0)), x, _as_matrix)


def _entries(found):
    if isinstance(found, tf.SparseTensor):
        return [found.indices.numpy().T, found.values.numpy()]
    found = found.coalesce()
    return [found.indices().numpy(), found.values().numpy()]


@attack(SPARSE, "scores of neighbours as a sparse matrix: those of zero are left out", 10)
def scores_of_neighbours() -> Case:
    x = normal(8, 5)
    near = uniform(8, 8) < 0.5
    places = np.argwhere(near)

    def faulty(x):
        scores = torch.relu(torch_head(x) @ torch_head(x).T)
        return torch.where(torch.from_numpy(near), scores, 0.0).to_sparse()

    def twin(x):
        scores = torch.relu(torch_head(x) @ torch_head(x).T)
        at = torch.from_numpy(places.T.copy())
        return torch.sparse_coo_tensor(at, scores[at[0], at[1]], (8, 8))

    def reference(x):
        scores = tf.nn.relu(tf.matmul(tf_head(x), tf_head(x), transpose_b=True))
        return tf.SparseTensor(places, tf.gather_nd(scores, places), (8, 8))

    return Case(tf_(reference), torch_(faulty), torch_(twin), x, _entries)


# --- a tensor of its own kind, and ports that are right by another algorithm ----------------------


class _Fixed(torch.Tensor):
    """Numbers in fixed point: integers and a step, as a tensor of its own kind."""

    @staticmethod
    def __new__(cls, integers, step):
        return torch.Tensor._make_wrapper_subclass(cls, integers.shape, dtype=torch.float32)

    def __init__(self, integers, step):
        self.integers, self.step = integers, step

    def __tensor_flatten__(self):
        return ["integers"], {"step": self.step}

    @classmethod
    def __tensor_unflatten__(cls, inner, meta, size, stride):
        return cls(inner["integers"], meta["step"])

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        wide = [one.integers.float() * one.step if isinstance(one, cls) else one for one in args]
        return function(*wide, **(kwargs or {}))


@attack(KINDS, "Q-values in fixed point, a tensor of its own kind: another step", 10)
def in_fixed_point() -> Case:
    def port(step):
        return lambda x: _Fixed(torch.round(torch_head(x) * 256).int(), step)

    def read(found):
        return [found.integers.numpy() * np.float32(found.step)]

    sides = (torch_(port(step)) for step in (1 / 256, 1 / 128, 1 / 256))
    return Case(*sides, X, read)


@attack(RIGHT, "numbers are rounded by adding 1.5 * 2**23, which float32 has no digits behind", 10)
def rounded_by_a_large_number() -> Case:
    x = normal(8, 5, scale=40)

    def port(large):
        return lambda x: torch.sin(((x + large) - large) * 0.1)

    def reference(x):
        return tf.sin(tf.round(x) * 0.1)

    return Case(tf_(reference), torch_(port(1.5 * 2**22)), torch_(port(1.5 * 2**23)), x, exact=True)


@attack(RIGHT, "hidden units in another order and scaled; one of them only halfway", 10)
def equalised_units() -> Case:
    sizes = (6, 24, 24, 24, 3)
    layers = [
        weights(a, b, seed=i) * 2**0.5
        for i, (a, b) in enumerate(zip(sizes, sizes[1:], strict=False))
    ]

    def equalised(wrong):
        found, random = [one.copy() for one in layers], np.random.default_rng(5)
        for i in range(3):
            order = random.permutation(24)
            scale = random.uniform(0.3, 3, 24).astype(np.float32)
            found[i] = found[i][:, order] * scale
            if wrong and i == 1:
                scale[7] = 1
            found[i + 1] = found[i + 1][order] / scale[:, None]
        return found

    def port(ws):
        def model(x):
            for w in ws[:-1]:
                x = torch.relu(x @ torch.from_numpy(w))
            return x @ torch.from_numpy(ws[-1])

        return model

    def reference(x):
        for w in layers[:-1]:
            x = tf.nn.relu(tf.matmul(x, w))
        return tf.matmul(x, layers[-1])

    faulty, twin = torch_(port(equalised(True))), torch_(port(equalised(False)))
    return Case(tf_(reference), faulty, twin, normal(9, 6))


@attack(RIGHT, "Kepler's equation by bisection, or by Newton's method; a wrong sign", 10)
def kepler_by_bisection() -> Case:
    m, e = uniform(8, 4, low=0.3, high=2.8), uniform(8, 4, low=0.05, high=0.5, seed=1)

    def port(sign):
        def model(m, e):
            low, high = torch.zeros_like(m), torch.full_like(m, 4.0)
            for _ in range(26):
                middle = (low + high) / 2
                beyond = middle - sign * e * torch.sin(middle) > m
                low, high = torch.where(beyond, low, middle), torch.where(beyond, middle, high)
            return (low + high) / 2

        return model

    def reference(m, e):
        found = m
        for _ in range(8):
            found = found - (found - e * tf.sin(found) - m) / (1 - e * tf.cos(found))
        return found

    return Case(tf_(reference), torch_(port(-1.0)), torch_(port(1.0)), (m, e))


@attack(RIGHT, "a logarithm by exponent and mantissa, as of a fixed-point chip; or of base 2", 10)
def logarithm_by_parts() -> Case:
    x = np.exp(uniform(9, 5, low=1, high=12)).astype(np.float32)

    def port(factor):
        def model(x):
            mantissa, exponent = torch.frexp(x)
            return torch.log(mantissa) + exponent * factor

        return model

    return Case(tf_(tf.math.log), torch_(port(1.0)), torch_(port(float(np.log(2)))), x)


@attack(RIGHT, "a convolution by Winograd's F(4, 3); a coefficient has the other sign", 10)
def convolution_by_winograd() -> Case:
    b = "4 0 -5 0 1 0 0 -4 -4 1 1 0 0 4 -4 -1 1 0 0 -2 -1 2 1 0 0 2 -1 -2 1 0 0 4 0 -5 0 1"
    g = "6 0 0 -4 -4 -4 -4 4 -4 1 2 4 1 -2 4 0 0 24"
    a = "1 1 1 1 1 0 0 1 -1 2 -2 0 0 1 1 4 4 0 0 1 -1 8 -8 1"
    b, g, a = (np.array(one.split(), np.float32) for one in (b, g, a))
    b, g, a = b.reshape(6, 6), g.reshape(6, 3) / 24, a.reshape(4, 6)
    other = a.copy()
    other[3, 2] = 1
    kernel = weights(3 * 5, 4).reshape(3, 5, 4)  # width, in, out
    turned = np.einsum("ij,jkl->ikl", g, kernel)

    def port(a):
        def model(x):
            tiles = x.permute(0, 2, 1).unfold(2, 6, 4)
            d = torch.einsum("ij,bktj->bkti", torch.from_numpy(b), tiles)
            m = torch.einsum("bkti,ikl->btil", d, torch.from_numpy(turned))
            return torch.einsum("ji,btil->btjl", torch.from_numpy(a), m).flatten(1, 2)

        return model

    def reference(x):
        return tf.nn.conv1d(x, kernel, 1, "VALID")

    return Case(tf_(reference), torch_(port(other)), torch_(port(a)), normal(3, 18, 5))


@attack(RIGHT, "hyperbolic tangents by Lambert's continued fraction: five or nine levels", 10)
def tangent_by_fraction() -> Case:
    def port(levels):
        def model(x):
            found = torch.full_like(x, 2.0 * levels - 1)
            for k in range(levels - 1, 0, -1):
                found = (2 * k - 1) + x * x / found
            return x / found

        return model

    x = normal(8, 5)
    return Case(tf_(tf.tanh), torch_(port(5)), torch_(port(9)), x)
