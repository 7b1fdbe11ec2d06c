"""Random numbers that no watcher sees: a model's own runs differ, and chance is no divergence."""

from __future__ import annotations

import random
import secrets
import struct
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import numpy as np
import pytest

import parity

torch = pytest.importorskip("torch")

X = np.random.default_rng(0).normal(size=(500, 5)).astype(np.float32)
W = torch.linspace(-1, 1, 20).reshape(5, 4)
SYSTEM = random.SystemRandom()


def in_a_thread(shape):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(np.random.standard_normal, shape).result()


def of_the_system(shape):
    return np.array([SYSTEM.gauss(0, 1) for _ in range(int(np.prod(shape)))]).reshape(shape)


def of_bytes(shape):
    size = int(np.prod(shape))
    whole = struct.unpack(f"{size}Q", secrets.token_bytes(8 * size))
    return 3.4641 * (np.array(whole).reshape(shape) / 2.0**64 - 0.5)


def of_entropy(shape):
    entropy = np.random.SeedSequence().entropy
    return np.random.default_rng(entropy).standard_normal(shape)


UNSEEN = [in_a_thread, of_the_system, of_bytes, of_entropy]


def head(x):
    return torch.tanh(x @ W)


def reference(x):
    h = head(x)
    return h, h + 0.1 * torch.randn(h.shape)


def actor(draw, size=0.1, scale=1.0):
    def port(x):
        h = scale * head(x)
        return h, h + size * torch.from_numpy(np.float32(draw(tuple(h.shape))))

    return port


def compared(first, second):
    models = (parity.wrap(one, framework="torch") for one in (first, second))
    report = parity.compare(*models, inputs=X)
    return report.verdict, " ".join(report.comparisons[0].reasons)


@pytest.mark.parametrize("draw", UNSEEN)
@pytest.mark.parametrize("size", [0.1, 0.3])
def test_noise_that_is_not_seen_is_no_divergence_and_no_parity(draw, size):
    found, reasons = compared(reference, actor(draw, size))
    assert found == "unverified"
    assert "whenever it runs" in reasons


@pytest.mark.parametrize("draw", UNSEEN)
def test_a_fault_beside_it_is_one(draw):
    found, reasons = compared(reference, actor(draw, scale=1.5))
    assert found == "diverged"
    assert "whenever it runs" in reasons


def test_two_models_that_draw_by_one_state_are_no_parity():
    """Recorded from one global state they drew the same values, as if by chance."""
    assert compared(actor(in_a_thread), actor(in_a_thread))[0] == "unverified"


def test_what_differs_for_good_stays_a_divergence_where_nothing_is_drawn():
    assert compared(head, lambda x: head(x) + 0.1)[0] == "diverged"


def test_a_count_of_its_calls_is_no_chance():
    calls = count()  # goes on, and never back

    def port(x):
        return head(x) * (1.0 + 0.1 * next(calls))

    assert compared(head, port)[0] in ("diverged", "unverified")


# --- beside draws that are followed ---------------------------------------------------------------


def drops(x):
    h = head(x)
    return h, torch.dropout(h + 1.0, 0.2, True)


def explores(often):
    def port(x):
        h, kept = drops(x)
        coins = torch.tensor([SYSTEM.random() < often for _ in x])
        return h, torch.where(coins[:, None], 3.0, kept)

    return port


def of_torch(often):
    def port(x):
        h, kept = drops(x)
        return h, torch.where(torch.rand(len(x), 1) < often, 3.0, kept)

    return port


@pytest.mark.parametrize("often", [0.1, 0.3])
def test_coins_that_are_not_seen_behind_dropout_are_no_divergence(often):
    found, reasons = compared(of_torch(0.1), explores(often))
    assert found == "unverified"
    assert "cannot be seen" in reasons


def test_coins_that_are_not_seen_behind_dropout_are_no_parity():
    assert compared(drops, explores(0.02))[0] != "parity"


def test_a_fault_beside_both_is_a_divergence():
    def port(x):
        h, kept = explores(0.1)(x)
        return 1.5 * h, kept

    assert compared(of_torch(0.1), port)[0] == "diverged"


def test_dropout_alone_is_parity():
    assert compared(drops, lambda x: drops(x))[0] == "parity"
