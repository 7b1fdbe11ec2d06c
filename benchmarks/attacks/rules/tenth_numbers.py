"""Round 10: numbers: what kernels, formats, wide results and penalties excuse."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, numpy_, tf_, torch_, uniform, weights
from benchmarks.attacks.heads import X, tf_head, torch_head

KERNEL = "digits-lost-in-a-kernel"
HALF = "looser-behind-half-precision"
WIDE = "looser-beside-float64"
SMALL = "below-what-is-looked-at"
MASK = "numbers-like-masks"
NAMES = "outputs-paired-by-numbers"
NOTED = "noted-as-rounding"
FEW = "usual-among-few"


# --- what a framework's kernel loses is excused ---------------------------------------------------


@attack(KERNEL, "distances of near points far from the origin: torch.cdist takes products", 10)
def near_points_far_away() -> Case:
    x = (np.array([2000, -1500, 800]) + 3 * normal(40, 3)).astype(np.float32)

    def port(mode):
        return lambda x: torch.cdist(x, x, compute_mode=mode)

    def reference(x):
        return tf.norm(x[:, None] - x[None], axis=2)

    faulty = torch_(port("use_mm_for_euclid_dist_if_necessary"))
    return Case(tf_(reference), faulty, torch_(port("donot_use_mm_for_euclid_dist")), x)


@attack(KERNEL, "least squares by normal equations, where the columns are nearly dependent", 10)
def normal_equations() -> Case:
    a = normal(8, 20, 4)
    a[:, :, 3] = a[:, :, 2] + 2e-3 * normal(8, 20, seed=1)
    b = normal(8, 20, 1, seed=2)

    def faulty(a, b):
        return torch.linalg.solve(a.mT @ a, a.mT @ b)

    def twin(a, b):
        return torch.linalg.lstsq(a, b).solution

    def reference(a, b):
        q, r = tf.linalg.qr(a)
        return tf.linalg.triangular_solve(r, tf.matmul(q, b, transpose_a=True), lower=False)

    return Case(tf_(reference), torch_(faulty), torch_(twin), (a, b))


@attack(KERNEL, "the distribution of a sum of two returns: by FFT its tails are noise", 10)
def tails_by_fourier() -> Case:
    grid = np.arange(32)
    centre = uniform(6, 2, 1, low=8, high=22)
    p = np.exp(-0.5 * ((grid - centre) / 1.5) ** 2) + 1e-30
    p = (p / p.sum(2, keepdims=True)).astype(np.float32)

    def faulty(p):
        a, b = (torch.fft.rfft(p[:, i], n=64) for i in (0, 1))
        return torch.fft.irfft(a * b, n=64)[:, :63]

    def twin(p):
        rows = [
            torch.nn.functional.conv1d(a[None, None], b.flip(0)[None, None], padding=31)[0, 0]
            for a, b in p
        ]
        return torch.stack(rows)

    def reference(p):
        a, b = p[:, 0], tf.pad(p[:, 1], [[0, 0], [31, 31]])
        return tf.stack([tf.reduce_sum(a[:, ::-1] * b[:, k : k + 32], 1) for k in range(63)], 1)

    return Case(tf_(reference), torch_(faulty), torch_(twin), p)


# --- half precision in both models loosens what is behind it --------------------------------------


@attack(HALF, "a first layer is in float16 in both; an offset of the port takes digits", 10)
def digits_behind_a_half_layer() -> Case:
    first, bias = weights(5, 16).astype(np.float16), normal(16, seed=2)

    def port(offset):
        def model(x):
            h = torch.tanh(x.half() @ torch.from_numpy(first) + torch.from_numpy(bias))
            return (h @ torch.from_numpy(weights(16, 3, seed=1)) + offset) - offset

        return model

    def reference(x):
        h = tf.cast(tf.matmul(tf.cast(x, tf.float16), first), tf.float32)
        h = tf.tanh(h + bias)
        return tf.matmul(h, weights(16, 3, seed=1))

    x = (np.round(normal(16, 5) * 8) / 8).astype(np.float32)  # exact in float16
    faulty, twin = torch_(port(2e4)), torch_(port(0.0))
    return Case(tf_(reference), faulty, twin, x, exact=True, unit=2.0**-15)


@attack(HALF, "a bias in bfloat16 and inputs cast to it, in both: a weight is off by 0.6%", 10)
def bias_in_bfloat16_in_both() -> Case:
    w, b = weights(12, 6), normal(6, seed=3)
    other = w.copy()
    other[4, 2] *= np.float32(1.006)

    class Port(torch.nn.Module):
        def __init__(self, w):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.from_numpy(w.T.copy()))
            self.bias = torch.nn.Parameter(torch.from_numpy(b).bfloat16())

        def forward(self, x):
            x = x.bfloat16().float()
            return torch.tanh(torch.nn.functional.linear(x, self.weight, self.bias.float()))

    class Reference(tf.Module):
        def __init__(self):
            super().__init__()
            self.weight = tf.Variable(w)
            self.bias = tf.Variable(tf.cast(b, tf.bfloat16))

        def __call__(self, x):
            x = tf.cast(tf.cast(x, tf.bfloat16), tf.float32)
            return tf.tanh(tf.matmul(x, self.weight) + tf.cast(self.bias, tf.float32))

    x = normal(10, 12, seed=4)
    return Case(tf_(Reference()), torch_(Port(other)), torch_(Port(w)), x)


class _Spread(torch.nn.Module):
    """Features are divided by the spread of their window; all of it in float16."""

    def __init__(self, two):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.from_numpy(weights(16, 8)).half())
        self.two = two

    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        if self.two:
            variance = ((x - mean) ** 2).mean(1, keepdim=True)
        else:
            variance = (x * x).mean(1, keepdim=True) - mean * mean
        return ((x - mean) / (variance + 1e-3).sqrt()) @ self.weight


@attack(HALF, "a model in float16 takes a variance in one pass, of numbers of about 30", 10)
def variance_in_a_half_model() -> Case:
    x = (30 + 2 * normal(10, 16)).astype(np.float16).astype(np.float32)

    def reference(x):
        mean = tf.reduce_mean(x, 1, keepdims=True)
        variance = tf.reduce_mean((x - mean) ** 2, 1, keepdims=True)
        w = tf.constant(weights(16, 8).astype(np.float16).astype(np.float32))
        return tf.matmul((x - mean) / tf.sqrt(variance + 1e-3), w)

    faulty, twin = (torch_(_Spread(two), "float16") for two in (False, True))
    return Case(tf_(reference), faulty, twin, x, exact=True, unit=2.0**-9)


@attack(
    "outputs-of-other-dtypes",
    "Q-values in bfloat16 are given to NumPy, which has them by ml_dtypes",
    10,
)
def bfloat16_by_numpy() -> Case:
    def port(scale):
        return lambda x: (tf_head(x), tf.cast(tf_head(x) * scale, tf.bfloat16).numpy())

    def reference(x):
        return torch_head(x), torch_head(x).bfloat16()

    faulty, twin = tf_(port(1.1)), tf_(port(1.0))
    return Case(torch_(reference), faulty, twin, X, unit=2.0**-9)


# --- a result in float64 loosens what float32 lost ------------------------------------------------


@attack(WIDE, "a port returns float64; an offset took the last digits before", 10)
def returned_in_double() -> Case:
    def port(offset):
        return lambda x: ((torch_head(x) + offset) - offset).double()

    return Case(tf_(tf_head), torch_(port(300.0)), torch_(port(0.0)), X)


@attack(WIDE, "chances of arrivals beside a NumPy script: rare ones are 1 - exp(-rate)", 10)
def chances_beside_a_script() -> Case:
    rare = uniform(40, 6, seed=1) < 0.12
    x = np.where(rare, 1e-6 * uniform(40, 6, low=0.3, seed=2), uniform(40, 6, low=1, high=6))

    def reference(x):
        return -np.expm1(-x.astype(np.float64))

    faulty, twin = torch_(lambda x: 1 - torch.exp(-x)), torch_(lambda x: -torch.expm1(-x))
    return Case(numpy_(reference), faulty, twin, x.astype(np.float32))


# --- small elements -------------------------------------------------------------------------------


@attack(SMALL, "log(1 + x) of returns, some of which are next to nothing, and become nothing", 10)
def small_returns() -> Case:
    rare = uniform(40, 6, seed=1) < 0.12
    x = np.where(rare, 1.3e-8 * uniform(40, 6, low=0.4, seed=2), uniform(40, 6, low=1, high=6))

    faulty, twin = torch_(lambda x: torch.log(1 + x)), torch_(torch.log1p)
    return Case(tf_(tf.math.log1p), faulty, twin, x.astype(np.float32))


@attack(SMALL, "a response of filters has 4e-9 added to one of them: weak lines are off by 10%", 10)
def response_with_an_epsilon() -> Case:
    size = np.where(uniform(24, 8, seed=1) < 0.15, 4e-8, uniform(24, 8, low=0.5, high=2, seed=2))
    first = (normal(24, 8, seed=3) + 1j * normal(24, 8, seed=4)).astype(np.complex64)
    phase = uniform(24, 8, high=6, seed=5)

    def port(epsilon):
        def model(size, phase):
            second = torch.polar(size, phase) + epsilon
            return (torch.from_numpy(first) * second).abs()

        return model

    def reference(size, phase):
        second = tf.complex(size * tf.cos(phase), size * tf.sin(phase))
        return tf.abs(tf.constant(first) * second)

    given = size.astype(np.float32), phase
    return Case(tf_(reference), torch_(port(4e-9)), torch_(port(0.0)), given)


# --- large numbers that look like a mask ----------------------------------------------------------


def _penalised(framework, weight):
    where, like = (torch.where, torch_head) if framework == "torch" else (tf.where, tf_head)

    def model(x):
        scores, over = like(x), x[:, :4] - 0.4
        return where(over > 0, -1e8 - weight * over, scores)

    return model


@attack(MASK, "what breaks a limit is ranked below all else, by how much it does: half as much", 10)
def graded_penalty() -> Case:
    reference = tf_(_penalised("tensorflow", 3000.0))
    faulty, twin = (torch_(_penalised("torch", one)) for one in (1500.0, 3000.0))
    return Case(reference, faulty, twin, X)


@attack(MASK, "costs of about 300,000 are masked by infinity or -1e9: another is hidden", 10)
def masked_costs() -> Case:
    def port(column):
        def model(x):
            closed = x[:, column : column + 1] > torch.tensor([9.0, 0.2, 9.0, 9.0])
            return torch.where(closed, -1e9, 3e5 * torch_head(x))

        return model

    def reference(x):
        closed = x[:, :1] > tf.constant([9.0, 0.2, 9.0, 9.0])
        return tf.where(closed, -np.inf, 3e5 * tf_head(x))

    def read(found):
        found = np.array(found)
        return [np.argmax(found, 1), np.where(found < -1e8, 0, found)]

    return Case(tf_(reference), torch_(port(3)), torch_(port(0)), X, read)


# --- outputs that are paired by what they hold ----------------------------------------------------


@attack(NAMES, "a mean and a variance have names; torch.var_mean gives them otherwise", 10)
def moments_as_torch_gives_them() -> Case:
    x = 2 + normal(6, 9)

    def reference(x):
        mean, variance = tf.nn.moments(x, [1])
        return {"mean": mean, "variance": variance}

    def faulty(x):
        return torch.var_mean(x, 1, correction=0)

    def twin(x):
        variance, mean = torch.var_mean(x, 1, correction=0)
        return mean, variance

    return Case(tf_(reference), torch_(faulty), torch_(twin), x)


@attack(NAMES, "a policy's loc and scale are a mean and a deviation, which are mixed up", 10)
def loc_and_scale() -> Case:
    def port(first, second):
        def model(x):
            h = torch_head(x)
            found = {"mean": h[:, :2], "deviation": torch.exp(h[:, 2:])}
            return {"loc": found[first], "scale": found[second]}

        return model

    def reference(x):
        h = tf_head(x)
        return {"mean": h[:, :2], "deviation": tf.exp(h[:, 2:])}

    faulty, twin = torch_(port("deviation", "mean")), torch_(port("mean", "deviation"))
    return Case(tf_(reference), faulty, twin, X)


# --- what is noted as rounding --------------------------------------------------------------------


@attack(NOTED, "variances in one pass of windows, some far from zero: 2e-6 is added in one", 10)
def epsilon_among_noisy_windows() -> Case:
    far = uniform(24, 16, 1, seed=1) < 0.35
    x = normal(24, 16, 12)
    x = (np.where(far, 1900, 0) + 0.6 * x / x.std(2, keepdims=True)).astype(np.float32)

    def port(epsilon):
        def model(x):
            squares, total = (x * x).sum(2), x.sum(2)
            return squares / 12 + epsilon - (total / 12) ** 2

        return model

    def reference(x):
        squares, total = tf.reduce_sum(x * x, 2), tf.reduce_sum(x, 2)
        return (squares - total * total / 12) / 12

    return Case(tf_(reference), torch_(port(2e-6)), torch_(port(0.0)), x)


# --- what is usual among few numbers --------------------------------------------------------------


@attack(FEW, "an encoder's phase of many turns beside a value, whose digits are lost", 10)
def value_beside_an_encoder() -> Case:
    x = normal(1, 5)

    def port(offset):
        def model(x):
            phase = 5e4 * x[:, :1]
            value = (torch_head(x).sum(1, keepdim=True) + offset) - offset
            return torch.cat([phase.cos(), phase.sin(), value], 1)

        return model

    def reference(x):
        phase = 5e4 * x[:, :1]
        value = tf.reduce_sum(tf_head(x), 1, keepdims=True)
        return tf.concat([tf.cos(phase), tf.sin(phase), value], 1)

    return Case(tf_(reference), torch_(port(1e5)), torch_(port(0.0)), x)


# --- a model in half precision, one head of which is not ------------------------------------------


class _ActorCritic(torch.nn.Module):
    """The actor is in float16; the critic has few weights, in float32."""

    def __init__(self, offset):
        super().__init__()
        self.offset = offset
        self.first = torch.nn.Parameter(torch.from_numpy(weights(5, 32)).half())
        self.second = torch.nn.Parameter(torch.from_numpy(weights(32, 4, seed=1)).half())
        self.register_buffer("critic", torch.from_numpy(weights(5, 1, seed=2)))

    def forward(self, x):
        logits = torch.tanh(x.half() @ self.first) @ self.second
        value = torch.tanh(x.float() @ self.critic.float())
        return {"logits": logits, "value": (value + self.offset) - self.offset}


def _value(found):
    return [found["value"].numpy(force=True) if torch.is_tensor(found["value"]) else found["value"]]


@attack(HALF, "an actor in float16; the critic in float32 takes an offset on the way", 10)
def critic_beside_an_actor_in_half() -> Case:
    def reference(x):
        first, second = weights(5, 32).astype("float16"), weights(32, 4, seed=1).astype("float16")
        h = tf.tanh(tf.matmul(x, first.astype("float32")))
        logits = tf.matmul(h, second.astype("float32"))
        return {"logits": logits, "value": tf.tanh(tf.matmul(x, weights(5, 1, seed=2)))}

    faulty, twin = torch_(_ActorCritic(5e4)), torch_(_ActorCritic(0.0))
    return Case(tf_(reference), faulty, twin, normal(12, 5), _value)
