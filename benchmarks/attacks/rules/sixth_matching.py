"""Round 6: right ports that compute in another way altogether, and values that are like others."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import (
    Case,
    attack,
    chainer_,
    normal,
    numpy_,
    tf_,
    torch_,
    uniform,
    weights,
)
from benchmarks.attacks.heads import F, W, X, chainer, tf_head

NARROW = "kernels-in-float32-alone"
SERIES = "approximated-for-float32"
OTHERWISE = "another-algorithm"
PORT = "written-out-in-float32"


# --- kernels of the user's own --------------------------------------------------------------------


class _LogSumExp(chainer.Function):
    """A Chainer function of the user's own that works in float32 whatever it gets."""

    def __init__(self, temperature):
        self.temperature = temperature

    def forward(self, inputs):
        x = inputs[0].astype(np.float32) / np.float32(self.temperature)
        most = x.max(1, keepdims=True)
        found = np.log(np.exp(x - most).sum(1, keepdims=True)) + most
        return (np.float32(self.temperature) * found,)


@attack(NARROW, "a Chainer function of the user's own, in float32 alone: a soft maximum", 6)
def soft_maximum_of_chainer() -> Case:
    def port(temperature):
        return lambda x: _LogSumExp(temperature)(x)

    def reference(x):
        return 0.5 * torch.logsumexp(x / 0.5, 1, keepdim=True)

    return Case(torch_(reference), chainer_(port(0.5002)), chainer_(port(0.5)), X)


@attack(NARROW, "a py_function in float32 alone: distances to prototypes", 6)
def distances_of_a_py_function() -> Case:
    prototypes = normal(4, 5, seed=3)

    def port(scale):
        def distances(x):
            gap = x.numpy().astype(np.float32)[:, None] - np.float32(scale) * prototypes
            return np.sqrt((gap * gap).sum(2))

        def model(x):
            found = tf.py_function(distances, [x], tf.float32)
            found.set_shape((6, 4))
            return tf.nn.softmax(-found)

        return model

    def reference(x):
        return torch.softmax(
            -torch.linalg.vector_norm(x[:, None] - torch.from_numpy(prototypes), dim=2), 1
        )

    return Case(torch_(reference), tf_(port(1.0003)), tf_(port(1.0)), X)


# --- as exact as float32 is -----------------------------------------------------------------------


@attack(SERIES, "a sine of small angles by its series, whose next term is below rounding", 6)
def sine_by_its_series() -> Case:
    x = uniform(6, 5, low=-0.6, high=0.6)

    def port(terms):
        def model(x):
            return sum(
                (-1) ** k * x ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(terms)
            )

        return model

    return Case(torch_(torch.sin), tf_(port(3)), tf_(port(4)), x)


_NUMERATOR = (
    *(-2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08),
    *(1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03),
)
_DENOMINATOR = (
    1.19825839466702e-06,
    1.18534705686654e-04,
    2.26843463243900e-03,
    4.89352518554385e-03,
)


def _polynomial(factors, x):
    found = 0.0 * x
    for factor in factors:
        found = found * x + factor
    return found


@attack(
    SERIES,
    "a hyperbolic tangent as a quotient of polynomials, right to float32",
    6,
    {"numpy": (numpy_, W), "torch": (torch_, torch.from_numpy(W))},
)
def tangent_by_a_quotient(side, kernel) -> Case:
    def port(off):
        def model(x):
            h = (x @ kernel).clip(-9, 9) * (1 + off)
            square = h * h
            return h * _polynomial(_NUMERATOR, square) / _polynomial(_DENOMINATOR, square)

        return model

    return Case(tf_(tf_head), side(port(1e-4)), side(port(0.0)), X)


@attack(SERIES, "a root by Newton's steps from a guess, which end at float32's last digit", 6)
def root_by_steps() -> Case:
    x = uniform(6, 5, low=0.6, high=1.6)

    def port(steps):
        def model(x):
            root = 0.5 * (1 + x)
            for _ in range(steps):
                root = 0.5 * (root + x / root)
            return root

        return model

    return Case(tf_(tf.sqrt), torch_(port(1)), torch_(port(2)), x)


@attack(SERIES, "GELU's constant with six digits, as many write it", 6)
def constant_of_six_digits() -> Case:
    def port(constant):
        def model(x):
            return 0.5 * x * (1 + torch.tanh(constant * (x + 0.044715 * x**3)))

        return model

    def reference(x):
        return tf.nn.gelu(x, approximate=True)

    return Case(tf_(reference), torch_(port(0.798)), torch_(port(0.797885)), X)


@attack(SERIES, "an inverse by Newton and Schulz, as far as float32 goes", 6)
def inverse_by_products() -> Case:
    x = 0.3 * normal(6, 4, 4)

    def port(steps):
        def model(x):
            matrix = torch.eye(4) + x @ x.mT
            found = torch.eye(4) / matrix.diagonal(dim1=1, dim2=2).sum(1)[:, None, None]
            for _ in range(steps):
                found = 2 * found - found @ matrix @ found
            return found

        return model

    def reference(x):
        return tf.linalg.inv(tf.eye(4) + tf.matmul(x, x, transpose_b=True))

    return Case(tf_(reference), torch_(port(6)), torch_(port(9)), x)


# --- another algorithm ----------------------------------------------------------------------------


@attack(
    OTHERWISE, "distances of many points by products, as torch.cdist does, of near points too", 6
)
def distances_by_products() -> Case:
    x = 20 + normal(40, 3)
    y = 20 + normal(30, 3, seed=1)

    def port(off):
        other = torch.from_numpy(y) + off
        return lambda x: torch.cdist(x, other, compute_mode="use_mm_for_euclid_dist")

    def reference(x):
        return tf.norm(x[:, None] - y, axis=2)

    return Case(tf_(reference), torch_(port(0.02)), torch_(port(0.0)), x)


@attack(
    OTHERWISE, "returns by one product with a matrix of discounts, or by a loop from the end", 6
)
def returns_by_a_matrix() -> Case:
    x = normal(6, 64)

    def port(discount):
        steps = np.arange(64)
        gap = steps[:, None] - steps
        table = np.where(gap >= 0, discount ** np.maximum(gap, 0), 0).astype(np.float32)
        return lambda x: tf.matmul(x, table)

    def reference(x):
        found = [x[:, -1]]
        for step in range(62, -1, -1):
            found.append(x[:, step] + 0.99 * found[-1])
        return torch.stack(found[::-1], 1)

    return Case(torch_(reference), tf_(port(0.9901)), tf_(port(0.99)), x)


@attack(OTHERWISE, "attention block by block, with running maxima that begin at minus infinity", 6)
def attention_by_blocks() -> Case:
    x = normal(2, 12, 8)

    def port(forgets):
        def model(x):
            scores = x @ x.mT / 8**0.5
            most = torch.full((2, 12, 1), -torch.inf)
            total, found = torch.zeros(2, 12, 1), torch.zeros(2, 12, 8)
            for at in range(0, 12, 4):
                block = scores[..., at : at + 4]
                higher = torch.maximum(most, block.amax(-1, keepdim=True))
                share = torch.exp(most - higher)
                part = torch.exp(block - higher)
                total = total * share + part.sum(-1, keepdim=True)
                found = found * (share if at < forgets else 1.0) + part @ x[:, at : at + 4]
                most = higher
            return found / total

        return model

    def reference(x):
        return tf.matmul(tf.nn.softmax(tf.matmul(x, x, transpose_b=True) / 8**0.5), x)

    return Case(tf_(reference), torch_(port(8)), torch_(port(12)), x)


@attack(OTHERWISE, "a product of matrices by Strassen's seven products", 6)
def seven_products() -> Case:
    kernel = weights(8, 8)
    x = normal(8, 8)

    def port(sign):
        w = torch.from_numpy(kernel)

        def model(x):
            (a, b), (c, d) = ((row[:, :4], row[:, 4:]) for row in (x[:4], x[4:]))
            (e, f), (g, h) = ((row[:, :4], row[:, 4:]) for row in (w[:4], w[4:]))
            one, two, three, four = (a + d) @ (e + h), (c + d) @ e, a @ (f - h), d @ (g - e)
            five, six, seven = (a + b) @ h, (c - a) @ (e + f), (b - d) @ (g + h)
            top = torch.cat([one + four - five + seven, three + five], 1)
            low = torch.cat([two + four, one - two + three + sign * six], 1)
            return torch.cat([top, low])

        return model

    return Case(tf_(lambda x: tf.matmul(x, kernel)), torch_(port(0.999)), torch_(port(1.0)), x)


@attack(OTHERWISE, "tokens are sorted by their expert, multiplied in groups, and put back", 6)
def groups_of_experts() -> Case:
    x = normal(24, 5)
    kernels = normal(3, 5, 4, seed=2)

    def port(puts_back):
        def model(x):
            chosen = x[:, :3].argmax(1)
            order = chosen.argsort(stable=True)
            counts = torch.bincount(chosen, minlength=3).tolist()
            groups = torch.split(x[order], counts)
            found = torch.cat(
                [g @ torch.from_numpy(w) for g, w in zip(groups, kernels, strict=True)]
            )
            return found[order.argsort() if puts_back else order]

        return model

    def reference(x):
        every = tf.einsum("nd,edk->nek", x, kernels)
        return tf.gather(every, tf.argmax(x[:, :3], 1), batch_dims=1)

    return Case(tf_(reference), torch_(port(False)), torch_(port(True)), x)


@attack(OTHERWISE, "logits far below: what is denormal is zero in one framework", 6)
def denormal_tails() -> Case:
    x = np.linspace(-1, 0, 30, dtype=np.float32).reshape(6, 5) * 95

    def port(scale):
        return lambda x: tf.exp(scale * x) * 3.0

    return Case(torch_(lambda x: torch.exp(x) * 3.0), tf_(port(1.0001)), tf_(port(1.0)), x)


# --- NumPy ports in float32 -----------------------------------------------------------------------


@attack(PORT, "a resonant filter of eighty steps in NumPy's float32, beside Chainer's", 6)
def resonant_filter() -> Case:
    x = normal(2, 80)

    def port(pole):
        a, b = np.float32(2 * pole * np.cos(0.3)), np.float32(-pole * pole)

        def model(x):
            x = x.astype(np.float32)
            found = np.zeros((2, 82), np.float32)
            for step in range(80):
                found[:, step + 2] = x[:, step] + a * found[:, step + 1] + b * found[:, step]
            return found[:, 2:]

        return model

    def reference(x):
        a, b = float(np.float32(2 * 0.995 * np.cos(0.3))), float(np.float32(-0.995 * 0.995))
        before, last, found = 0.0 * x[:, 0], 0.0 * x[:, 0], []
        for step in range(80):
            before, last = last, x[:, step] + a * last + b * before
            found.append(last)
        return F.stack(found, 1)

    return Case(chainer_(reference), numpy_(port(0.996)), numpy_(port(0.995)), x)


@attack(PORT, "a softmax in NumPy's float32 without the maximum, of logits up to 80", 6)
def softmax_without_maximum() -> Case:
    x = uniform(6, 5, low=-80, high=80)

    def port(temperature):
        def model(x):
            raised = np.exp(x.astype(np.float32) / np.float32(temperature))
            return raised / raised.sum(1, keepdims=True)

        return model

    return Case(torch_(lambda x: torch.softmax(x, 1)), numpy_(port(1.001)), numpy_(port(1)), x)


@attack(PORT, "a product of probabilities in NumPy's float32, or a sum of logarithms", 6)
def product_of_probabilities() -> Case:
    x = uniform(6, 40, low=0.2, high=0.99)

    def port(off):
        def model(x):
            found = np.ones(len(x), np.float32)
            for column in x.astype(np.float32).T:
                found = found * column * np.float32(1 + off)
            return found

        return model

    def reference(x):
        return tf.exp(tf.reduce_sum(tf.math.log(x), 1))

    return Case(tf_(reference), numpy_(port(1e-5)), numpy_(port(0.0)), x)
