"""Numbers in texts, bytes, times, sets and lists: moved inputs show what rounding does to them."""

from __future__ import annotations

import base64
import json
import struct
import time
import zlib
from collections.abc import Callable
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import parity
from parity.diagnosis.printed_numbers import compare_arrays, compare_leaves
from parity.report.report import Report

tf = pytest.importorskip("tensorflow")

X = 0.3 * np.random.default_rng(0).standard_normal((40, 5)).astype("f")
W = np.random.default_rng(1).standard_normal((5, 4)).astype("f")
START = datetime(2026, 1, 1)


def in_tensorflow(x: Any) -> Any:
    return tf.tanh(tf.matmul(x, W))


def in_torch(x: Any) -> Any:
    return torch.tanh(x @ torch.from_numpy(W))


def compare(reference: Any, candidate: Any, inputs: Any = X) -> Report:
    sides = (reference, "tensorflow"), (candidate, "torch")
    return parity.compare(*(parity.wrap(a, framework=b) for a, b in sides), inputs=inputs)


def verdict(write: Callable[..., Any], first: Any, second: Any, inputs: Any = X) -> str:
    """Of a head whose Q-values are written with a setting of either model's."""

    def reference(x: Any) -> Any:
        q = in_tensorflow(x)
        return {"value": tf.reduce_max(q, 1), "answer": write(q.numpy(), first)}

    def port(x: Any) -> Any:
        q = in_torch(x)
        return {"value": q.amax(1), "answer": write(q.numpy(), second)}

    return compare(reference, port, inputs).verdict


# --- what is computed, in any form ----------------------------------------------------------------

FORMS = {
    "text": lambda q, k: " ".join(f"{one:.9f}" for one in (k * q).ravel()),
    "decimal commas": lambda q, k: " ".join(f"{k * one:.9f}".replace(".", ",") for one in q[0]),
    "four decimals": lambda q, k: " ".join(f"{one:.4f}" for one in (k * q).ravel()),
    "hexadecimal": lambda q, k: " ".join(float(k * one).hex() for one in q.ravel()),
    "base64": lambda q, k: base64.b64encode((k * q).astype("<f4").tobytes()).decode(),
    "JSON": lambda q, k: json.dumps((k * q).tolist()),
    "JSON in bytes": lambda q, k: json.dumps((k * q).tolist()).encode(),
    "float32": lambda q, k: (k * q).astype("<f4").tobytes(),
    "in the order of networks": lambda q, k: (k * q).astype(">f4").tobytes(),
    "float64": lambda q, k: (k * q).astype("<f8").tobytes(),
    "halves": lambda q, k: (k * q).astype("<f2").tobytes(),
    "a time": lambda q, k: START + timedelta(seconds=3000 * k * float(np.exp(q).mean())),
    "times of NumPy": lambda q, k: np.array(
        [np.datetime64(START) + np.timedelta64(int(3e9 * k * one), "us") for one in np.exp(q[0])]
    ),
    "a set": lambda q, k: frozenset((k * q[0]).tolist()),
    "a set with a whole number": lambda q, k: frozenset([0, *(k * q[0]).tolist()]),
    "whole prices": lambda q, k: [round(10_000 * k * float(one)) for one in q.ravel()],
    "a list": lambda q, k: (k * np.exp(q).astype("d")).tolist(),
}


@pytest.mark.parametrize("write", FORMS.values(), ids=FORMS.keys())
def test_computed_numbers_are_no_alarm_in_any_form(write: Callable[..., Any]) -> None:
    assert verdict(write, 1.0, 1.0) != "diverged"
    assert verdict(write, 1.0, 1.2) != "parity"


@pytest.mark.parametrize("form", ["text", "JSON", "JSON in bytes", "a time", "a set", "a list"])
def test_computed_numbers_are_compared_where_they_can_be_read(form: str) -> None:
    assert verdict(FORMS[form], 1.0, 1.0) == "parity"
    assert verdict(FORMS[form], 1.0, 1.01) == "diverged"


# --- what nothing moves ---------------------------------------------------------------------------

SETTINGS = {
    "a rate beside a return": (
        lambda q, rate: json.dumps({"return": 2e4 * float(np.exp(q).mean()), "rate": rate}),
        *(0.0012, 0.0018),
    ),
    "an order's number": (
        lambda q, order: f"order {order:.1f}, value {float(q.mean()):.6f}",
        *(123456789.0, float(np.float32(123456789))),
    ),
    "a version": (lambda q, version: version, "policy 1.10", "policy 1.1"),
    "a time since 1970": (lambda q, late: 1_700_000_000.0 + late, 0, 300),
    "a record": (
        lambda q, item: struct.pack("<3fi", *q[0, :3].tolist(), item),
        *(1_090_000_021, 1_090_000_022),
    ),
    "a level": (
        lambda q, level: frozenset([3e4 * float(np.exp(q).mean()), level]),
        *(0.002, 0.003),
    ),
    "a deadline": (
        lambda q, late: timedelta(days=3, seconds=round(float(q.max())) + late),
        *(0.0, 0.9),
    ),
    "an item beside its score": (
        lambda q, step: [[20_000_001 + step + row, float(one.max())] for row, one in enumerate(q)],
        *(0, 1),
    ),
    "hashes": (lambda q, step: [2**63 + 5 + step, 2**63 + 2**40, -1], 0, 300),
    "steps and a rate": (
        lambda q, late: [10_000_000 + late, 0.1 * round(float(q.max()))],
        *(0, 1),
    ),
}


@pytest.mark.parametrize(("write", "first", "second"), SETTINGS.values(), ids=SETTINGS.keys())
def test_what_no_rounding_moves_is_equal_or_not(write: Any, first: Any, second: Any) -> None:
    assert verdict(write, first, first) == "parity"
    assert verdict(write, first, second) != "parity"


def test_a_text_that_is_another_one_in_every_run_is_not_compared() -> None:
    # no state of the model's, which would be put back before each run
    assert verdict(lambda q, _: f"at {time.perf_counter_ns()} ns", 0, 0) == "unverified"


def test_values_without_runs_on_moved_inputs_may_be_rounding() -> None:
    values = np.array([1.0, 2.0])
    nothing: tuple[tuple[Any, ...], ...] = (), ()
    assert compare_arrays(values, values * (1 + 1e-5), nothing) == "unclear"
    assert compare_arrays(values, values * 1.01, nothing) == "differ"
    assert compare_arrays(values, values * (1 + 1e-8), nothing) == "equal"
    assert compare_leaves("left", "right", nothing) == "differ"


# --- what an object keeps -------------------------------------------------------------------------


class Discounted:
    def __init__(self, q: Any, kept: Any) -> None:
        self.q, self.gamma, self.lam, self._kept = q, 0.99, 0.95, kept

    def discounts(self) -> Any:
        return self._kept * np.ones(4)


class Logits:
    def __init__(self, logits: Any, softmax: Any) -> None:
        self._logits, self._softmax = logits, softmax

    @property
    def probabilities(self) -> Any:
        return self._softmax(self._logits)

    def __getitem__(self, action: int) -> Any:
        return self._logits[:, action]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(0.99, 0.95, id="another that is public"),
        pytest.param(np.array([2e3, 0.002]), np.array([2e3, 0.003]), id="beside a large one"),
    ],
)
def test_what_a_method_reads_is_compared_by_itself(first: Any, second: Any) -> None:
    def of(head: Any, kept: Any) -> Any:
        return lambda x: Discounted(head(x), kept)

    for kept, expected in ((first, {"parity"}), (second, {"unverified", "diverged"})):
        pair = of(in_tensorflow, first), of(in_torch, kept)
        assert compare(*pair).verdict in expected


@pytest.mark.parametrize("by", [0.0, 3.0])
def test_what_one_gets_by_an_index_is_compared(by: float) -> None:
    pair = (
        lambda x: Logits(in_tensorflow(x), tf.nn.softmax),
        lambda x: Logits(in_torch(x) + by, lambda one: torch.softmax(one, 1)),
    )
    found = compare(*pair).verdict
    assert (found == "parity") == (not by)


@pytest.mark.parametrize(("steps", "expected"), [(5, "parity"), (3, "unverified")])
def test_a_setting_of_another_name_may_be_the_same(steps: int, expected: str) -> None:
    pair = (
        lambda x: SimpleNamespace(q=in_tensorflow(x), n_step=5),
        lambda x: SimpleNamespace(q=in_torch(x), steps=steps),
    )
    assert compare(*pair).verdict == expected


def test_outputs_of_other_names_in_another_order_are_paired_by_what_they_hold() -> None:
    def reference(x: Any) -> Any:
        h = in_tensorflow(x)
        return {"mean": h, "scale": tf.exp(h)}

    def port(k: float) -> Any:
        def model(x: Any) -> Any:
            h = in_torch(x)
            return {"sigma": k * torch.exp(h), "mu": h}

        return model

    report = compare(reference, port(1.0))
    assert report.verdict == "unverified"
    assert "'mean' and 'mu'" in " ".join(report.worst.reasons)
    assert compare(reference, port(1.3)).verdict == "diverged"


def test_a_hash_that_jumps_excuses_no_other_hash() -> None:
    board = np.random.default_rng(5).integers(0, 3, (8, 9)).astype("f")
    weight = np.random.default_rng(6).standard_normal((9, 4)).astype("f")

    def buckets(x: Any, dtype: str) -> Any:
        return np.array([zlib.crc32(one.tobytes()) % 1024 for one in x.numpy().astype(dtype)])

    def reference(x: Any) -> Any:
        return tf.tanh(tf.matmul(x, weight)), buckets(x, "float32")

    def port(dtype: str) -> Any:
        return lambda x: (torch.tanh(x @ torch.from_numpy(weight)), buckets(x, dtype))

    assert compare(reference, port("float32"), inputs=board).verdict == "parity"
    assert compare(reference, port("float64"), inputs=board).verdict == "unverified"
