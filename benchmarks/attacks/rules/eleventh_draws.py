"""Round 11: what fresh samples do not reach, and noise of the host that looks like a draw."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, tf_, torch_, weights
from benchmarks.attacks.heads import (
    MORE,
    X,
    as_array,
    size_of_noise,
    tf_head,
    torch_head,
    torch_noisy,
)

LINE = "noise-of-the-host-as-a-line"
ROWS = "what-many-draws-decide-together"
TURNS = "how-many-fresh-samples"
STATE = "seeds-that-few-numbers-tell"

FEW = normal(2, 5, seed=4)


def _beyond(limit):
    """Of a head with noise: the head, and of many samples whether any noise is beyond a limit."""

    def read(result):
        h, a = map(as_array, result[:2])
        many = len(h) > 1000
        return [h, np.array([(np.abs(a - h) > limit).any()], np.float32)] if many else [h]

    return read


# --- noise of the host, by its contents ----------


@attack(LINE, "exploration noise of NumPy's is clipped by NumPy at three deviations, or is not", 11)
def noise_clipped_by_numpy() -> Case:
    def port(limit):
        def model(x):
            h = torch_head(x)
            e = np.clip(np.random.normal(0, 0.2, tuple(h.shape)), -limit, limit)
            return h, h + torch.from_numpy(e.astype(np.float32))

        return model

    def reference(x):
        h = tf_head(x)
        return h, h + 0.2 * tf.random.normal(tf.shape(h))

    faulty, twin = torch_(port(0.6)), torch_(port(100.0))
    return Case(tf_(reference), faulty, twin, X, _beyond(0.61), elsewhere=MORE)


@attack(LINE, "TD3's noise is clipped at three deviations, by NumPy in the port; or is larger", 11)
def smoothing_by_numpy() -> Case:
    def port(scale):
        def model(x):
            h = torch_head(x)
            e = np.clip(np.random.normal(0, scale, tuple(h.shape)), -0.6, 0.6)
            return h, h + torch.from_numpy(e.astype(np.float32))

        return model

    def reference(x):
        h = tf_head(x)
        return h, h + tf.clip_by_value(0.2 * tf.random.normal(tf.shape(h)), -0.6, 0.6)

    def read(result):
        many = len(as_array(result[0])) > 1000
        return [as_array(result[0]), *(size_of_noise(result) if many else ())]

    faulty, twin = torch_(port(0.3)), torch_(port(0.2))
    return Case(tf_(reference), faulty, twin, X, read, elsewhere=MORE)


@attack(LINE, "what lies beyond three deviations NumPy draws again, or leaves", 11)
def drawn_again_by_numpy() -> Case:
    class Agent:
        def __init__(self, most):
            self.rng, self.most = np.random.default_rng(), most

        def __call__(self, x):
            h = tf_head(x)
            e = self.rng.standard_normal(tuple(h.shape), np.float32)
            while (far := np.abs(e) > self.most).any():
                e[far] = self.rng.standard_normal(int(far.sum()), np.float32)
            return h, h + 0.1 * e

    faulty, twin = tf_(Agent(3.0)), tf_(Agent(100.0))
    return Case(torch_(torch_noisy), faulty, twin, X, _beyond(0.305), elsewhere=MORE)


# --- what many draws decide together ----------

V = weights(64, 4, seed=6)


def _shorter(result):
    """Of a head with directions: of many, whether any of these is shorter than 1."""
    h, u = map(as_array, result[:2])
    if len(h) < 1000:
        return [h]
    return [h, np.array([(np.linalg.norm(u, axis=1) < 0.99).any()], np.float32)]


@attack(ROWS, "a random direction is noise by its length, which has a floor of 6.5, or of 1e-6", 11)
def floor_of_a_length() -> Case:
    def port(least):
        def model(x):
            h = tf_head(x)
            e = tf.random.normal((len(x), 64))
            u = e / tf.maximum(tf.sqrt(tf.reduce_sum(e**2, 1, keepdims=True)), least)
            return h, u, h + tf.matmul(u, V)

        return model

    def reference(x):
        h = torch_head(x)
        e = torch.randn(len(x), 64)
        u = e / e.norm(dim=1, keepdim=True).clamp(min=1e-6)
        return h, u, h + u @ torch.from_numpy(V)

    faulty, twin = tf_(port(6.5)), tf_(port(1e-6))
    return Case(torch_(reference), faulty, twin, FEW, _shorter, elsewhere=MORE)


@attack(ROWS, "noise below a learned limit is left out: the action then is the head's, or zero", 11)
def below_a_learned_limit() -> Case:
    limit = np.array([6.5], np.float32)

    def port(share):
        def model(x):
            h = tf_head(x)
            e = tf.random.normal((len(x), 64))
            size = tf.sqrt(tf.reduce_sum(e**2, 1))
            quiet = tf.less(size, tf.constant(limit))
            return h, tf.where(quiet[:, None], share * h, h + tf.matmul(e, 0.1 * V))

        return model

    def reference(x):
        h = torch_head(x)
        e = torch.randn(len(x), 64)
        quiet = e.pow(2).sum(1).sqrt() < torch.from_numpy(limit)
        return h, torch.where(quiet[:, None], h, h + e @ torch.from_numpy(0.1 * V))

    def read(result):
        h, a = map(as_array, result)
        return [h, np.array([(a == 0).all(1).any()], np.float32)] if len(h) > 1000 else [h]

    faulty, twin = tf_(port(0.0)), tf_(port(1.0))
    return Case(torch_(reference), faulty, twin, FEW, read, elsewhere=MORE)


@attack(ROWS, "log-normal prices: their noise has a floor at -2.8, or none", 11)
def floor_of_a_price() -> Case:
    def port(least):
        def model(x):
            h = torch_head(x)
            return h, torch.exp(h + 6 * torch.randn(h.shape).clamp(min=least))

        return model

    def reference(x):
        h = tf_head(x)
        return h, tf.exp(h + 6 * tf.random.normal(tf.shape(h)))

    def read(result):
        h, price = map(as_array, result)
        if len(h) < 1000:
            return [h]
        return [h, np.array([(np.log(price) - h < -17).any()], np.float32)]

    faulty, twin = torch_(port(-2.8)), torch_(port(-100.0))
    return Case(tf_(reference), faulty, twin, X, read, elsewhere=MORE)


# --- how many fresh samples ----------

SLOTS = 100_000
KEYS, KEPT = normal(SLOTS, 5, seed=7), normal(SLOTS, 4, seed=8)


@attack(TURNS, "noise beside a large memory is clipped at 2.8 deviations, or is not", 11)
def noise_beside_a_large_memory() -> Case:
    def port(limit):
        def model(x):
            keys = tf.constant(KEYS)
            keys = keys / tf.sqrt(tf.reduce_sum(tf.square(keys), 1, keepdims=True) + 1e-3)
            near = tf.nn.softmax(tf.matmul(x, keys, transpose_b=True), 1)
            h = tf.tanh(9 * tf.matmul(near, tf.tanh(tf.constant(KEPT))))
            return h, h + 0.1 * tf.clip_by_value(tf.random.normal(tf.shape(h)), -limit, limit)

        return model

    def reference(x):
        keys = torch.from_numpy(KEYS)
        keys = keys / (keys.square().sum(1, keepdim=True) + 1e-3).sqrt()
        near = torch.softmax(x @ keys.T, 1)
        h = torch.tanh(9 * (near @ torch.from_numpy(KEPT).tanh()))
        return h, h + 0.1 * torch.randn(h.shape)

    def read(result):
        h, a = map(as_array, result)
        many = len(h) > 100
        return [h, np.array([(np.abs(a - h) > 0.282).any()], np.float32)] if many else [h]

    faulty, twin = tf_(port(2.8)), tf_(port(100.0))
    return Case(torch_(reference), faulty, twin, FEW, read, elsewhere=MORE[:400], unit=1e-6)


# --- seeds that few numbers tell ----------

SKILLS = normal(4, 4, seed=3)


def _several(result):
    skills = as_array(result[1])
    return [np.array([len(np.unique(skills.argmax(1))) > 1], np.float32)]


@attack(STATE, "each agent chooses a skill by chance; the seed is set anew for each of them", 11)
def seed_set_for_each_agent() -> Case:
    def port(seed):
        def model(x):
            h, skills = tf_head(x), []
            for _ in range(20):
                if seed:
                    tf.random.set_seed(seed)
                at = tf.random.uniform((1,), 0, 4, tf.int32)
                skills.append(tf.one_hot(at, 4)[0])
            chosen = tf.stack(skills)
            return h, chosen, tf.matmul(h, tf.matmul(chosen, SKILLS), transpose_b=True)

        return model

    def reference(x):
        h = torch_head(x)
        at = [torch.randint(0, 4, (1,)) for _ in range(20)]
        chosen = torch.stack([torch.nn.functional.one_hot(one, 4)[0].float() for one in at])
        return h, chosen, h @ (chosen @ torch.from_numpy(SKILLS)).T

    return Case(torch_(reference), tf_(port(7)), tf_(port(0)), X, _several)


@attack(STATE, "four coins decide who explores: a seed that is set in each call, or none", 11)
def seed_set_for_four_coins() -> Case:
    def port(seed):
        def model(x):
            h = tf_head(x)
            if seed:
                tf.random.set_seed(seed)
            coins = tf.random.uniform((len(x),), 0, 2, tf.int32)
            return h, h * tf.cast(coins, tf.float32)[:, None]

        return model

    def reference(x):
        h = torch_head(x)
        return h, h * torch.randint(0, 2, (len(x),)).float()[:, None]

    def read(result):
        h, a = map(as_array, result)
        if len(h) < 1000:
            return [h]
        tf.random.set_seed(3)
        known = tf.random.uniform((len(h),), 0, 2, tf.int32).numpy()
        return [h, np.array([np.array_equal(known, (a != 0).any(1))], np.float32)]

    faulty, twin = tf_(port(3)), tf_(port(0))
    return Case(torch_(reference), faulty, twin, MORE[:4], read, elsewhere=MORE)
