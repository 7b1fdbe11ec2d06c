"""Round 11: numbers: what is not looked at as models ran, and what is excused by its company."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, tf_, torch_, uniform, weights
from benchmarks.attacks.heads import as_array, tf_head, torch_head

KINDS = "kinds-that-are-not-held-as-they-ran"
FLUSHED = "next-to-nothing-of-the-largest"
LINE = "progressions-move-as-their-ends"
EFFECT = "effect-of-notes-on-all"
HALF = "looser-behind-half-precision-again"
NOISY = "excused-by-scattered-noise"
SKIPPED = "shapes-of-float64-alone"


# --- outputs of two kinds -------------------------------------------------------------------------


@attack(
    KINDS, "ids and their buckets: integers, or floats whose remainder was taken in float32", 11
)
def bucket_beside_its_id() -> Case:
    ids = np.random.default_rng(11).integers(10**8, 2 * 10**9, (12, 3))

    def faulty(ids):
        wide = ids.float()
        return torch.stack([wide, wide % 97], 2)

    def twin(ids):
        return torch.stack([ids, ids % 97], 2).float()

    def reference(ids):
        return tf.stack([ids, ids % 97], 2)

    return Case(tf_(reference), torch_(faulty), torch_(twin), ids, exact=True)


@attack(
    KINDS, "a filtered signal is complex in one model; in the other an offset took its digits", 11
)
def real_beside_complex() -> Case:
    x = normal(6, 32)

    def port(offset):
        def model(x):
            spectrum = torch.fft.rfft(x + offset)
            spectrum[:, 6:] = 0
            return torch.fft.irfft(spectrum) - offset

        return model

    def reference(x):
        spectrum = tf.signal.fft(tf.cast(x, tf.complex64))
        at = tf.range(32)
        keep = tf.cast((at < 6) | (at > 26), tf.complex64)
        return tf.signal.ifft(spectrum * keep)

    def read(found):
        return [np.real(np.array(found))]

    return Case(tf_(reference), torch_(port(3e4)), torch_(port(0.0)), x, read)


# --- next to nothing, beside what is largest ------------------------------------------------------


@attack(
    FLUSHED, "speeds of stars beside their masses in kilograms: an offset takes their digits", 11
)
def speeds_beside_masses() -> Case:
    x = np.concatenate([uniform(20, 1, low=0.1, high=9), 20 * normal(20, 3, seed=1)], 1)

    def port(offset):
        def model(x):
            mass = 1.989e30 * x[:, :1]
            return torch.cat([mass, (x[:, 1:] + offset) - offset], 1)

        return model

    def reference(x):
        return tf.concat([1.989e30 * x[:, :1], x[:, 1:]], 1)

    return Case(tf_(reference), torch_(port(2e6)), torch_(port(0.0)), x.astype(np.float32))


@attack(FLUSHED, "likelihoods of components: far samples have a least one, which decides there", 11)
def likelihoods_of_outliers() -> Case:
    centres = (np.round(normal(4, 3, seed=2) * 16) / 16).astype(np.float32)
    x = normal(24, 3)
    x[::6] = 11.25 * x[::6] / np.linalg.norm(x[::6], axis=1, keepdims=True)

    def port(most):
        def model(x):
            d = ((x[:, None] - torch.from_numpy(centres)) ** 2).sum(2)
            return torch.exp(-0.5 * d.clamp(max=most))

        return model

    def reference(x):
        d = tf.reduce_sum((x[:, None] - centres) ** 2, 2)
        return tf.exp(-0.5 * d)

    x = (np.round(x * 16) / 16).astype(np.float32)
    return Case(tf_(reference), torch_(port(100.0)), torch_(port(1e9)), x)


# --- progressions among the inputs ----------------------------------------------------------------


@attack(
    LINE, "the log of times on an even grid: early ones lose their digits to a clock's base", 11
)
def even_grid_of_times() -> Case:
    t = np.linspace(0.37, 3e5, 64).astype(np.float32)[:, None]
    rates = uniform(1, 4, low=0.5, high=2)

    def port(base):
        return lambda t: torch.log(((t + base) - base) * torch.from_numpy(rates))

    def reference(t):
        return tf.math.log(t * rates)

    return Case(tf_(reference), torch_(port(3e4)), torch_(port(0.0)), t)


# --- the effect of notes is measured over all of an output ----------------------------------------


class _Octaves(torch.nn.Module):
    def __init__(self, anchors):
        super().__init__()
        self.anchors = torch.nn.Parameter(torch.from_numpy(anchors))

    def forward(self, x):
        octaves = torch.tensor([1.0, 256.0, 65536.0])
        waves = torch.cos(self.anchors[:, None] * octaves).reshape(-1)
        return torch.cat([300 * x[:, :6], x[:, 6:7] * waves], 1)


@attack(EFFECT, "anchors by their octaves, beside prices: they were written with few digits", 11)
def anchors_beside_prices() -> Case:
    anchors = uniform(4, low=0.6, high=1.9)
    written = (anchors * (1 + 2.6e-7)).astype(np.float32)
    x = (np.round(normal(10, 7) * 64) / 64).astype(np.float32)

    class Reference(tf.Module):
        def __init__(self):
            super().__init__()
            self.anchors = tf.Variable(anchors)

        def __call__(self, x):
            octaves = tf.constant([1.0, 256.0, 65536.0])
            waves = tf.reshape(tf.cos(self.anchors[:, None] * octaves), [-1])
            return tf.concat([300 * x[:, :6], x[:, 6:7] * waves], 1)

    return Case(tf_(Reference()), torch_(_Octaves(written)), torch_(_Octaves(anchors)), x)


# --- half precision -------------------------------------------------------------------------------


@attack(HALF, "a small bias is scaled in bfloat16 in both; the port casts activations as well", 11)
def scaled_cast() -> Case:
    w, b, gain = weights(12, 6), 1e-3 * normal(6, seed=3), uniform(6, low=0.5, high=2, seed=5)

    def port(cast):
        bias, scale = (torch.from_numpy(one).bfloat16() for one in (b, gain))

        def model(x):
            h = torch.tanh(x @ torch.from_numpy(w))
            if cast:
                h = (h * 1024).bfloat16().float() / 1024
            return h + (bias * scale).float()

        return model

    def reference(x):
        h = tf.tanh(tf.matmul(x, w))
        bias = tf.cast(b, tf.bfloat16) * tf.cast(gain, tf.bfloat16)
        return h + tf.cast(bias, tf.float32)

    x = normal(10, 12, seed=4)
    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), x, unit=2.0**-16)


class _InHalf(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = torch.nn.ParameterList([torch.from_numpy(one) for one in layers])

    def forward(self, x):
        x = x.half()
        for w in self.layers[:-1]:
            x = torch.relu(x @ w)
        return x @ self.layers[-1]


@attack(HALF, "both models are in float16; a weight of the last layer is off by 3%", 11)
def weight_in_half() -> Case:
    layers = [weights(32, 32, seed=i).astype(np.float16) for i in range(3)]
    layers.append(weights(32, 16, seed=9).astype(np.float16))
    other = [*layers[:-1], layers[-1].copy()]
    other[-1][5, 2] *= np.float16(1.03)

    class Reference(tf.Module):
        def __init__(self):
            super().__init__()
            self.layers = [tf.Variable(one) for one in layers]

        def __call__(self, x):
            x = tf.cast(x, tf.float16)
            for w in self.layers[:-1]:
                x = tf.nn.relu(tf.matmul(x, w))
            return tf.matmul(x, self.layers[-1])

    x = normal(12, 32, seed=20)
    faulty, twin = torch_(_InHalf(other)), torch_(_InHalf(layers))
    return Case(tf_(Reference()), faulty, twin, x, unit=2.0**-12, exact=True)


# --- what is usual among scattered noise ----------------------------------------------------------


def _scattered(many: float, share: float) -> np.ndarray:
    noisy = uniform(24, 8, seed=1) < share
    return np.where(noisy, many * normal(24, 8), uniform(24, 8, low=0.2, high=1.4, seed=2))


@attack(NOISY, "phases by NumPy: most are of many turns, and excuse a stale factor of others", 11)
def phases_by_the_host() -> Case:
    x = _scattered(1e5, 0.6).astype(np.float32)

    def port(factor):
        def model(x):
            turns = x.numpy()
            return {"score": torch_head(x[:, :5]), "phase": np.cos(turns * factor(turns))}

        return model

    def stale(turns):
        return np.where(np.abs(turns) < 2, np.float32(1.002), np.float32(1))

    def reference(x):
        return {"score": tf_head(x[:, :5]), "phase": np.cos(x.numpy())}

    def read(found):
        return [as_array(found["score"]), as_array(found["phase"])]

    return Case(tf_(reference), torch_(port(stale)), torch_(port(np.ones_like)), x, read)


@attack(
    NOISY, "most phases are of many turns, wherever they lie; others lose digits to an offset", 11
)
def readings_among_turns() -> Case:
    x = _scattered(3e4, 0.85).astype(np.float32)

    def port(offset):
        def model(x):
            small = x.abs() < 2
            return torch.cos(torch.where(small, (x + offset) - offset, x))

        return model

    return Case(tf_(tf.cos), torch_(port(3e3)), torch_(port(0.0)), x)


# --- outputs whose shape is another in float64 ----------------------------------------------------


def _surplus(x, tenth, ten):
    """What is left after a tenth is taken ten times: nothing, or 1.5e-8 of it in float64."""
    return x * tenth * ten - x


@attack(SKIPPED, "amounts above nothing are listed; small ones beside a million are off by 10%", 11)
def listed_amounts() -> Case:
    x = uniform(40, low=1, high=2)
    sizes = np.where(np.arange(40) % 3, 1e6, 0.01).astype(np.float32)
    sizes[7] = 0

    def port(share):
        gains = np.where(sizes < 1, np.float32(share), np.float32(1)) * sizes

        def model(x):
            tenth = torch.tensor(0.1)
            amounts = x * torch.from_numpy(gains)
            amounts[7] = _surplus(torch.ones(()) + 0 * x[0], tenth, torch.tensor(10.0))
            return amounts[amounts > 0]

        return model

    def reference(x):
        zero = _surplus(tf.ones(()) + 0 * x[0], tf.constant(0.1), tf.constant(10.0))
        amounts = tf.concat([x[:7] * sizes[:7], zero[None], x[8:] * sizes[8:]], 0)
        return tf.boolean_mask(amounts, amounts > 0)

    return Case(tf_(reference), torch_(port(1.1)), torch_(port(1.0)), x)


@attack(SKIPPED, "variances above nothing are listed: in one pass they lose digits", 11)
def listed_variances() -> Case:
    x = (np.array([40.0]) + normal(30, 16)).astype(np.float32)

    def port(once):
        def model(x):
            mean = x.mean(1)
            rest = x - mean[:, None]
            variance = (x * x).mean(1) - mean * mean if once else (rest * rest).mean(1)
            edge = _surplus(1 + 0 * x[:1, 0], torch.tensor(0.1), torch.tensor(10.0))
            found = torch.cat([variance, edge])
            return found[found > 0]

        return model

    def reference(x):
        mean = tf.reduce_mean(x, 1)
        variance = tf.reduce_mean((x - mean[:, None]) ** 2, 1)
        edge = _surplus(1 + 0 * x[:1, 0], tf.constant(0.1), tf.constant(10.0))
        found = tf.concat([variance, edge], 0)
        return tf.boolean_mask(found, found > 0)

    return Case(tf_(reference), torch_(port(True)), torch_(port(False)), x)


@attack(
    SKIPPED, "logits of agents that are near, masked: the mask is another, and so is a gain", 11
)
def masked_logits_of_some() -> Case:
    x = normal(9, 5)
    x[4, 0] = 0.501

    def port(gain):
        def model(x):
            hidden = (x[:, 1:2] > 0.4) & (torch.arange(4) == 1)
            found = torch.where(hidden, torch.finfo(torch.float32).min, gain * torch_head(x))
            return found[x[:, 0] < 0.5]

        return model

    def reference(x):
        hidden = (x[:, 1:2] > 0.4) & (tf.range(4) == 1)
        found = tf.where(hidden, -1e9, tf_head(x))
        return tf.boolean_mask(found, x[:, 0] < 0.5)

    def read(found):
        found = as_array(found)
        return [np.where(found < -1e8, 0, found), found < -1e8]

    return Case(tf_(reference), torch_(port(1.01)), torch_(port(1.0)), x, read)
