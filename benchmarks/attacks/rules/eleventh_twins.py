"""Round 11: ports that are right: tables that were made beforehand, jumps, ties, layouts."""

from __future__ import annotations

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
from benchmarks.attacks.heads import as_array, into_one_turn

TABLES = "tables-made-beforehand"
JUMPS = "many-at-a-jump"
TIES = "ties-beside-rounded-outputs"
GUARDS = "guards-that-hold-in-float32"
LAYOUT = "layouts-of-one-shape"
KERNELS = "float32-inside-kernels"


# --- tables that were made beforehand, in float32 -------------------------------------------------


class _Rotary(torch.nn.Module):
    """Queries are turned by tables of cosines and sines that are made once, as Llama has it."""

    def __init__(self, length, least):
        super().__init__()
        phase = torch.arange(length).float()[:, None] / (least + torch.arange(8).float())
        self.register_buffer("cos", torch.cat([phase, phase], 1).cos())
        self.register_buffer("sin", torch.cat([phase, phase], 1).sin())

    def forward(self, x):
        turned = torch.cat([-x[..., 8:], x[..., :8]], 2)
        return (x * self.cos + turned * self.sin)[:, -64:]


@attack(
    TABLES, "rotary positions: tables made once, or phases as they are needed; others periods", 11
)
def rotary_tables() -> Case:
    def reference(x):
        phase = tf.range(4096, dtype=tf.float32)[:, None] / (5 + tf.range(8, dtype=tf.float32))
        cos, sin = (tf.concat([one, one], 1) for one in (tf.cos(phase), tf.sin(phase)))
        turned = tf.concat([-x[..., 8:], x[..., :8]], 2)
        return (x * cos + turned * sin)[:, -64:]

    faulty, twin = (torch_(_Rotary(4096, least)) for least in (6, 5))
    return Case(tf_(reference), faulty, twin, normal(1, 4096, 16))


class _Noised(torch.nn.Module):
    """An image at each step of a diffusion, by a schedule that is made once."""

    def __init__(self, last):
        super().__init__()
        kept = torch.cumprod(1 - torch.linspace(1e-4, last, 300), 0)
        self.register_buffer("signal", kept.sqrt()[::30])
        self.register_buffer("noise", (1 - kept).sqrt()[::30])

    def forward(self, x, noise):
        return self.signal[:, None] * x + self.noise[:, None] * noise


@attack(TABLES, "a diffusion's schedule is a cumulated product, made once or in each call", 11)
def schedule_of_a_diffusion() -> Case:
    def reference(x, noise):
        kept = tf.math.cumprod(1 - tf.linspace(1e-4, 0.02, 300))
        signal, rest = tf.sqrt(kept)[::30], tf.sqrt(1 - kept)[::30]
        return signal[:, None] * x + rest[:, None] * noise

    given = normal(10, 8), normal(10, 8, seed=1)
    return Case(tf_(reference), torch_(_Noised(0.021)), torch_(_Noised(0.02)), given)


@attack(TABLES, "a window by Chainer's arrays, made once in float32, or in each call: Hann's", 11)
def window_in_chainer() -> Case:
    def port(size):
        k = np.arange(400, dtype=np.float32)
        window = (0.5 - 0.5 * np.cos(np.float32(2 * np.pi) * k / np.float32(size))).astype("f4")
        return lambda x: x * window

    def reference(x):
        k = tf.range(400, dtype=tf.float32)
        return x * (0.5 - 0.5 * tf.cos(2 * np.pi * k / 400))

    x = normal(3, 400)
    return Case(tf_(reference), chainer_(port(399)), chainer_(port(400)), x, unit=2.0**-22)


# --- jumps and ties -------------------------------------------------------------------------------


@attack(JUMPS, "a fleet is headed due west, at the cut of an angle: a remainder or arctangent", 11)
def fleet_due_west() -> Case:
    x = uniform(40, 3, low=-3, high=3)
    x[::2, 1] = -np.pi
    x[1::4, 2] = np.pi
    return into_one_turn(x)


@attack(TIES, "three tenths of an offer are equal to a tenth three times: the first is taken", 11)
def equal_offers() -> Case:
    x = np.round(uniform(400, 3, low=8, high=40), 2).astype(np.float32)
    tied = x[:, 0] * np.float32(0.3) == x[:, 0] * np.float32(0.1) * np.float32(3)
    x = x[tied][:24]
    x[:, 2] = np.where(np.arange(24) % 4, 0.2, 0.4) * x[:, 0]

    def port(gain):
        def model(x):
            whole = x[:, 0]
            offers = torch.stack([whole * 0.3, whole * (3 * 0.1), gain * x[:, 2]], 1)
            margin = (offers + 0.37).log() - offers.log()
            return {"margin": margin - margin.mean(1, keepdim=True), "taken": offers.argmax(1)}

        return model

    def reference(x):
        offers = np.stack([x[:, 0] * 0.3, x[:, 0] * 0.1 * 3, x[:, 2]], 1)
        margin = np.log(offers + 0.37) - np.log(offers)
        margin = margin - margin.mean(1, keepdims=True)
        return {"margin": margin, "taken": offers.argmax(1)}

    return Case(numpy_(reference), torch_(port(1.01)), torch_(port(1.0)), x)


def _tied(count: int) -> np.ndarray:
    """Numbers of which three tenths are, in float32, a tenth three times."""
    x = np.round(uniform(400, low=8, high=40), 2).astype(np.float32)
    return x[x * np.float32(0.3) == x * np.float32(0.1) * np.float32(3)][:count]


@attack(
    GUARDS, "a share of a gap between levels is 0 where they are equal; they are in float32", 11
)
def share_of_no_gap() -> Case:
    x = np.stack([_tied(24), np.where(np.arange(24) % 2, 0.4, 0.2) * _tied(24), normal(24)], 1)
    third = np.arange(24) % 3 == 0

    def port(gain):
        def model(x):
            level = x[:, 0] * 0.3
            other = torch.where(torch.from_numpy(third), x[:, 0] * (3 * 0.1), x[:, 1])
            gap = other - level
            return torch.where(gap == 0, 0.0, gain * x[:, 2] / gap)

        return model

    def reference(x):
        level = x[:, 0] * 0.3
        gap = torch.where(torch.from_numpy(third), x[:, 0] * 0.1 * 3, x[:, 1]) - level
        return torch.where(gap == 0, 0.0, x[:, 2] / gap)

    x = x.astype(np.float32)
    return Case(torch_(reference), torch_(port(1.01)), torch_(port(1.0)), x)


def _product(one, other):
    return one[:, 0] * other[:, 0] + one[:, 1] * other[:, 1] + one[:, 2] * other[:, 2]


def _by_quotients(x):
    return x / (_product(x, x) ** 0.5)[:, None]


def _by_products(x):
    return x * (1 / _product(x, x) ** 0.5)[:, None]


def _unit_rows(count: int) -> np.ndarray:
    """Vectors whose square is at most 1 in float32, once they are divided by their length."""
    x = normal(600, 3)
    one, other = _by_quotients(tf.constant(x)).numpy(), _by_products(torch.from_numpy(x)).numpy()
    return x[(_product(one, one) <= 1) & (_product(other, other) <= 1)][:count]


@attack(
    GUARDS, "distances on a sphere by the root of 2 - 2 c: of a point to itself it is next to 0", 11
)
def distance_to_itself() -> Case:
    x = _unit_rows(40)

    def port(two):
        def model(x):
            unit = _by_products(x)
            near = [_product(unit, unit), _product(unit, unit.roll(1, 0))]
            return (2 - two * torch.stack(near, 1)).sqrt()

        return model

    def reference(x):
        unit = _by_quotients(x)
        near = [_product(unit, unit), _product(unit, tf.roll(unit, 1, 0))]
        return tf.sqrt(2 - 2 * tf.stack(near, 1))

    return Case(tf_(reference), torch_(port(1.99)), torch_(port(2.0)), x)


@attack(JUMPS, "noise of a place, as shaders make it: a fraction of a large multiple of a sine", 11)
def noise_of_a_place() -> Case:
    x = (np.round(uniform(24, 3, 2, low=1, high=6) * 8) / 8).astype(np.float32)

    def port(large):
        def model(x):
            wave = torch.sin(12.9898 * x[..., 0] + 78.233 * x[..., 1]) * large
            return wave - torch.floor(wave)

        return model

    def reference(x):
        wave = tf.sin(12.9898 * x[..., 0] + 78.233 * x[..., 1]) * 437.585453
        return wave - tf.floor(wave)

    return Case(tf_(reference), torch_(port(437.1)), torch_(port(437.585453)), x)


# --- layouts --------------------------------------------------------------------------------------


def _as_nchw(found):
    if isinstance(found, tf.Tensor):
        return [found.numpy().transpose(0, 3, 1, 2)]
    return [as_array(found)]


@attack(LAYOUT, "features of images, channels first or last, of as many channels as rows", 11)
def features_in_a_cube() -> Case:
    kernel = weights(27, 6).reshape(3, 3, 3, 6)
    w = torch.from_numpy(kernel.transpose(3, 2, 0, 1).copy())

    def port(pad):
        def model(x):
            x = tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], pad)
            return tf.nn.relu(tf.nn.conv2d(x, kernel, 1, "VALID"))

        return model

    def reference(x):
        return torch.relu(torch.nn.functional.conv2d(x, w, padding=1))

    faulty, twin = (tf_(port(one), input_layout="NHWC") for one in ("REFLECT", "CONSTANT"))
    return Case(torch_(reference), faulty, twin, normal(2, 3, 6, 6), _as_nchw)


# --- kernels that compute in float32 whatever they are given --------------------------------------


@attack(KERNELS, "a series is resized from 9 to 101 by each framework's kernel; or by corners", 11)
def resized_series() -> Case:
    x = normal(4, 3, 9)

    def port(corners):
        def model(x):
            size, mode = (101,), "linear"
            return torch.nn.functional.interpolate(x, size, mode=mode, align_corners=corners)

        return model

    def reference(x):
        x = tf.transpose(x, [0, 2, 1])[:, None]
        return tf.transpose(tf.image.resize(x, (1, 101))[:, 0], [0, 2, 1])

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), x, unit=2.0**-22)
