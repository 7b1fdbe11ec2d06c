"""Round 7: what is written beside tensors, as text, bytes, times, lists and private numbers."""

from __future__ import annotations

import json
import re
import struct
from datetime import datetime, timedelta
from types import SimpleNamespace

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, normal, tf_, torch_
from benchmarks.attacks.heads import X, tf_head, torch_head

DIGITS = "digits-of-a-leaf"
FORMATS = "formats-of-a-leaf"
LISTED = "numbers-in-a-list"
KEPT = "private-numbers"


def _case(make, wrong, right, read, inputs=X, alone=True):
    """A head whose answer is made of its Q-values by NumPy; the port's is made with `wrong`."""

    def port(setting):
        def model(x):
            q = torch_head(x)
            return {"value": q.amax(1), "answer": make(q.numpy(), setting)}

        return model

    def reference(x):
        q = tf_head(x)
        return {"value": tf.reduce_max(q, 1), "answer": make(q.numpy(), right)}

    def both(result):
        return [result["value"], *read(result["answer"])]

    return Case(tf_(reference), torch_(port(wrong)), torch_(port(right)), inputs, both)


def _numbers(text):
    return [np.array([float(one) for one in re.findall(r"-?\d+\.?\d*(?:e[-+]?\d+)?", text)])]


# --- what is equal but for digits -----------------------------------------------------------------


@attack(DIGITS, "a line of a log: an exploration rate of 0.0012 or 0.0018, beside a return", 7)
def rate_beside_a_return() -> Case:
    def make(q, rate):
        return json.dumps({"return": 20000 * float(np.exp(q).mean()), "exploration": rate})

    def read(text):
        return [np.array(list(json.loads(text).values()))]

    return _case(make, 0.0018, 0.0012, read)


@attack(DIGITS, "a record packed into bytes: a small probability beside a return of thousands", 7)
def probability_beside_a_return() -> Case:
    def make(q, floor):
        shares = np.exp(8 * q) / np.exp(8 * q).sum(1, keepdims=True)
        total = np.array([9000 * np.exp(q).mean()])
        return np.concatenate([total, np.maximum(shares, floor).ravel()]).astype("<f4").tobytes()

    return _case(make, 1e-3, 0.0, lambda found: [np.frombuffer(found, "<f4")])


@attack(DIGITS, "an id went through float32 on its way into a text: another order is cancelled", 7)
def order_in_a_text() -> Case:
    def make(q, order):
        return f"cancel order {order:.1f}, value {float(q.mean()):.3f}"

    order = 123456789
    return _case(make, float(np.float32(order)), float(order), lambda text: [np.array(text)])


@attack(
    DIGITS,
    "a policy's version, or the address that answered, differs by a zero behind a point",
    7,
    {"version": ("policy 1.1", "policy 1.10"), "address": ("10.0.0.1", "10.0.0.10")},
)
def zero_behind_a_point(wrong, right) -> Case:
    return _case(lambda q, text: text, wrong, right, lambda text: [np.array(text)])


@attack(
    DIGITS,
    "the time of a decision, in seconds since 1970, is an hour off: summer time",
    7,
    {"text": (3600, True), "number": (300, False)},
)
def time_since_1970(late, written) -> Case:
    def make(q, late):
        time = 1_700_000_000.0 + late
        return f"{time:.3f} value {float(q.max()):.3f}" if written else time

    def read(found):
        return [np.array(float(str(found).partition(" ")[0]) - 1_699_999_000)]

    return _case(make, late, 0, read)


@attack(DIGITS, "a record packed into bytes: an item's id is whole, and off by 7", 7)
def packed_item() -> Case:
    def make(q, item):
        return struct.pack("<3fi", *q[0, :3].tolist(), item)

    def read(found):
        *q, item = struct.unpack("<3fi", found)
        return [np.array(q), np.array(str(item))]

    return _case(make, 1_090_000_028, 1_090_000_021, read)


@attack(DIGITS, "the levels that occur are a set: small ones are off beside a large one", 7)
def small_levels() -> Case:
    def make(q, level):
        return frozenset([30000 * float(np.exp(q).mean()), level])

    return _case(make, 0.003, 0.002, lambda found: [np.array(sorted(found))])


@attack(DIGITS, "a deadline in three days is off by 0.9 seconds", 7)
def deadline_in_days() -> Case:
    def make(q, late):
        return timedelta(days=3) + timedelta(seconds=round(float(q.max())) + late)

    return _case(make, 0.9, 0.0, lambda found: [np.array(found.total_seconds())])


# --- right answers that are written otherwise -----------------------------------------------------


@attack(FORMATS, "ten thousand Q-values are printed with four decimals: a few are near a tie", 7)
def four_decimals() -> Case:
    def make(q, k):
        return " ".join(f"{one:.4f}" for one in (k * q).ravel())

    return _case(make, 1.01, 1.0, _numbers, normal(2500, 5))


@attack(FORMATS, "what is left of a conservation law is printed: it is rounding alone", 7)
def residual_of_a_law() -> Case:
    def make(q, k):
        shares = k * np.exp(q) / np.exp(q).sum(1, keepdims=True)
        return f"mass lost: {float(shares.sum(dtype=np.float64) - len(shares)):.3e}"

    return _case(make, 1.01, 1.0, lambda text: [1 + _numbers(text)[0]], normal(64, 5))


@attack(FORMATS, "numbers are printed as they are, and a whole one without a point", 7)
def whole_without_a_point() -> Case:
    def make(q, k):
        shares = (k * np.exp(q.astype(np.float64))).astype(q.dtype)
        shares = shares / shares.sum(1, keepdims=True)
        return " ".join(f"{one:.8g}" for one in k * shares.cumsum(1)[:, -1])

    return _case(make, 1.01, 1.0, _numbers, normal(64, 5))


@attack(FORMATS, "the returns that occur are a set: two are equal but for rounding", 7)
def returns_that_occur() -> Case:
    row = normal(7)
    x = np.stack([np.random.default_rng(seed).permutation(row) for seed in range(12)])

    def port(k):
        def model(x):
            total = k * x.cumsum(1)[:, -1]
            return {"value": torch.tanh(x), "answer": frozenset(total.tolist())}

        return model

    def reference(x):
        total = tf.reduce_sum(x, 1).numpy()
        return {"value": tf.tanh(x), "answer": frozenset(total.tolist())}

    def read(result):
        return [result["value"], np.array([min(result["answer"]), max(result["answer"])])]

    return Case(tf_(reference), torch_(port(1.01)), torch_(port(1.0)), x, read)


@attack(FORMATS, "the answer of a service is JSON, encoded for the wire", 7)
def json_as_bytes() -> Case:
    def make(q, k):
        return json.dumps({"q": (k * q).tolist()}).encode()

    return _case(make, 1.01, 1.0, lambda found: [np.array(json.loads(found)["q"], np.float32)])


@attack(
    FORMATS,
    "Q-values are packed into bytes, in the order of networks, or as halves",
    7,
    {"network": (">f4", 0.0), "halves": ("<f2", 2.0**-10)},
)
def packed_otherwise(dtype, unit) -> Case:
    def make(q, k):
        return (k * q).astype(dtype).tobytes()

    def read(found):
        return [np.frombuffer(found, dtype).astype(np.float32)]

    case = _case(make, 1.2, 1.0, read, normal(200, 5))
    return Case(case.reference, case.faulty, case.twin, case.inputs, case.read, unit=unit)


@attack(
    FORMATS,
    "when each vehicle arrives is a date and time, of microseconds",
    7,
    {
        "python": (lambda seconds: datetime(2026, 1, 1) + timedelta(seconds=seconds),),
        "numpy": (lambda seconds: _START + np.timedelta64(int(1e6 * seconds), "us"),),
    },
)
def arrival(at) -> Case:
    def make(q, k):
        return [at(3000 * k * float(one)) for one in np.exp(q).sum(1)]

    def read(found):
        return [np.array([(np.datetime64(one) - _START) / _SECOND for one in found])]

    return _case(make, 1.01, 1.0, read, normal(30, 5))


_START, _SECOND = np.datetime64("2026-01-01"), np.timedelta64(1_000_000, "us")


# --- lists ----------------------------------------------------------------------------------------


def _pairs(found):
    """Ids as text, which is exact, and scores."""
    return [np.array([str(int(a)) for a, _ in found]), np.array([b for _, b in found])]


@attack(
    LISTED,
    "items and their scores are a list of pairs: the ids are of a neighbour in the table",
    7,
    {"short": (20_000_001,), "long": (1_700_000_000_000_000_001,)},
)
def item_and_score(first) -> Case:
    def make(q, step):
        return [[first + step + 10 * row, float(one.max())] for row, one in enumerate(q)]

    return _case(make, 1, 0, _pairs)


@attack(LISTED, "hashes of 64 bits are a list, with -1 for none: one of them is another", 7)
def hashes_and_none() -> Case:
    def make(q, step):
        return [2**63 + 5 + step, 2**63 + 2**40, -1]

    return _case(make, 300, 0, lambda found: [np.array([str(one) for one in found])])


@attack(
    LISTED, "a batch is described by its number of steps and a rate: the steps are off by one", 7
)
def steps_and_rate() -> Case:
    def make(q, late):
        return [10_000_000 + late, 0.1 * round(float(q.max()))]

    return _case(make, 1, 0, lambda found: [np.array(str(found[0])), np.array(found[1])])


# --- private numbers ------------------------------------------------------------------------------


class _Returns:
    def __init__(self, q, decay):
        self.q, self.gamma, self.lam, self._decay = q, 0.99, 0.95, decay

    def discounts(self):
        return self._decay ** np.arange(5)


@attack(KEPT, "a result's method discounts by gamma, or by lambda, which it shows both", 7)
def gamma_or_lambda() -> Case:
    def port(head, decay):
        return lambda x: _Returns(head(x), decay)

    def read(result):
        return [result.q, result.discounts()]

    faulty, twin = torch_(port(torch_head, 0.95)), torch_(port(torch_head, 0.99))
    return Case(tf_(port(tf_head, 0.99)), faulty, twin, X, read)


class _Policy:
    def __init__(self, logits, softmax):
        self._logits, self._softmax = logits, softmax

    @property
    def probabilities(self):
        return self._softmax(self._logits)

    def __getitem__(self, action):
        return self._logits[:, action]


@attack(
    KEPT, "logits that one gets by an index are off by 3: their probabilities do not show it", 7
)
def logits_by_an_index() -> Case:
    def port(by):
        return lambda x: _Policy(torch_head(x) + by, lambda one: torch.softmax(one, 1))

    def reference(x):
        return _Policy(tf_head(x), tf.nn.softmax)

    def read(result):
        return [result.probabilities, result[2]]

    return Case(tf_(reference), torch_(port(3.0)), torch_(port(0.0)), X, read)


@attack(KEPT, "the number of steps of a return has another name in the port, and is another", 7)
def renamed_steps() -> Case:
    def reference(x):
        return SimpleNamespace(q=tf_head(x), n_step=5)

    def port(steps):
        return lambda x: SimpleNamespace(q=torch_head(x), steps=steps)

    def read(result):
        found = vars(result)
        return [result.q, np.array(0.99 ** found.get("n_step", found.get("steps")))]

    return Case(tf_(reference), torch_(port(3)), torch_(port(5)), X, read)


class _Scaled:
    def __init__(self, q, spread):
        self.q, self._spread = q, spread

    def raw(self, table):
        return table * self._spread


@attack(KEPT, "a result scales back by a private table: the small deviation is a stale one", 7)
def deviation_in_private() -> Case:
    def port(head, small):
        return lambda x: _Scaled(head(x), np.array([2000.0, 1500.0, 0.002 + small, 900.0]))

    def read(result):
        return [result.q, result.raw(np.ones(4))]

    faulty, twin = torch_(port(torch_head, 0.001)), torch_(port(torch_head, 0.0))
    return Case(tf_(port(tf_head, 0.0)), faulty, twin, X, read)


@attack(KEPT, "a graph of a million nodes is returned as a matrix in rows (CSR)", 7)
def million_nodes() -> Case:
    def port(k):
        def model(x):
            values = k * torch_head(x).ravel()
            rows = torch.arange(25).clamp(max=24)
            ends = torch.cat([rows, torch.full((1_000_000 - 24,), 24)])
            found = torch.sparse_csr_tensor(ends, torch.arange(24), values, (1_000_000, 1_000_000))
            return SimpleNamespace(graph=found, value=torch_head(x))

        return model

    def read(result):
        return [result.value, result.graph.values()]

    return Case(torch_(port(1.0)), torch_(port(1.01)), torch_(port(1.0)), X, read)
