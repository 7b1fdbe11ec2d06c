"""Round 10: state from call to call that is kept where no attribute, list or variable holds it.

Each model is right or wrong when it is first called; what later calls give follows the first.
"""

from __future__ import annotations

import itertools
import queue
import threading
from collections import UserDict, deque
from contextvars import ContextVar

import numpy as np
import tensorflow as tf
import torch

from benchmarks.attacks.corpus import Case, attack, numpy_, tf_, torch_
from benchmarks.attacks.heads import W, X, tf_head, torch_head

ELSEWHERE = "state-kept-elsewhere"


class _Turns:
    """Self-play: an actor plays for either side in turn."""

    def __init__(self):
        self.turn = 0

    def __call__(self, x):
        self.turn += 1
        return (1.0 if self.turn % 2 else -1.0) * tf_head(x)


@attack(
    ELSEWHERE, "an actor plays for either side in turn, by itertools.cycle: it begins wrong", 10
)
def sides_in_turn() -> Case:
    class Cycled:
        def __init__(self, *sides):
            self.sides = itertools.cycle(sides)

        def __call__(self, x):
            return next(self.sides) * torch_head(x)

    return Case(tf_(_Turns()), torch_(Cycled(-1.0, 1.0)), torch_(Cycled(1.0, -1.0)), X)


@attack(
    ELSEWHERE, "frames are stacked in a queue.Queue, which begins with zeros, or with the first", 10
)
def frames_in_a_queue() -> Case:
    class Listed:
        def __init__(self):
            self.frames = deque([np.zeros(X.shape, np.float32)] * 2)

        def __call__(self, x):
            self.frames.append(x)
            return torch_head(x - self.frames.popleft())

    class Queued:
        def __init__(self, first):
            self.frames = queue.Queue()
            self.first = first

        def __call__(self, x):
            while self.frames.qsize() < 2:
                self.frames.put(self.first * x)
            self.frames.put(x)
            return tf_head(x - self.frames.get())

    return Case(torch_(Listed()), tf_(Queued(1.0)), tf_(Queued(0.0)), X)


@attack(
    ELSEWHERE, "velocities by the last observation, which each thread keeps: of none, it is 0", 10
)
def last_of_each_thread() -> Case:
    class Velocity:
        def __init__(self, head, still):
            self.head, self.still, self.kept = head, still, threading.local()

        def __call__(self, x):
            last = getattr(self.kept, "last", x if self.still else 0.0 * x)
            self.kept.last = x
            return self.head(x), self.head(x - last + 0.1)

    faulty, twin = (torch_(Velocity(torch_head, still)) for still in (False, True))
    return Case(tf_(Velocity(tf_head, True)), faulty, twin, X)


@attack(
    ELSEWHERE, "an observation filter is a coroutine: its mean begins at 0, or at what comes", 10
)
def filter_that_is_a_coroutine() -> Case:
    def tracker(begins_at_first):
        x = yield None
        mean = x if begins_at_first else 0.0 * x
        while True:
            mean = 0.9 * mean + 0.1 * x
            x = yield mean

    class Tracked:
        def __init__(self, begins_at_first):
            self.filter = tracker(begins_at_first)
            next(self.filter)

        def __call__(self, x):
            return torch_head(self.filter.send(x))

    class Plain:
        def __init__(self):
            self.mean = None

        def __call__(self, x):
            self.mean = 0.0 * x if self.mean is None else self.mean
            self.mean = 0.9 * self.mean + 0.1 * x
            return tf_head(self.mean)

    return Case(tf_(Plain()), torch_(Tracked(True)), torch_(Tracked(False)), X)


@attack(
    ELSEWHERE, "visits are counted in a lookup table of TensorFlow's, for a bonus: one too many", 10
)
def visits_in_a_table() -> Case:
    class Counted:
        def __init__(self, more):
            self.visits = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, 0.0)
            self.more = more

        def __call__(self, x):
            state = tf.cast(tf.floor(4 * x[:, 0]), tf.int64)
            self.visits.insert(state, self.visits.lookup(state) + 1)
            return tf_head(x), tf.math.rsqrt(self.visits.lookup(state) + self.more)

    class Reference:
        def __init__(self):
            self.visits = {}

        def __call__(self, x):
            states = torch.floor(4 * x[:, 0]).long().tolist()
            for one in set(states):
                self.visits[one] = self.visits.get(one, 0) + 1
            counts = torch.tensor([float(self.visits[one]) for one in states])
            return torch_head(x), counts.rsqrt()

    return Case(torch_(Reference()), tf_(Counted(1.0)), tf_(Counted(0.0)), X)


class _WarmUp(torch.nn.Module):
    """Warms up over ten calls."""

    def __init__(self, before):
        super().__init__()
        self.calls = before
        self.register_buffer("w", torch.from_numpy(W))

    def forward(self, x):
        self.calls += 1
        return min(self.calls / 10.0, 1.0) * torch.tanh(x @ self.w)


@attack(
    ELSEWHERE, "a scripted module counts its calls to warm up: it counts before or afterwards", 10
)
def scripted_counter() -> Case:
    class Reference:
        def __init__(self):
            self.calls = 0

        def __call__(self, x):
            self.calls += 1
            return min(self.calls / 10.0, 1.0) * tf_head(x) + 0.1

    def port(before):
        warm = torch.jit.script(_WarmUp(before))
        return torch_(lambda x: warm(x) + 0.1)

    faulty, twin = port(-1), port(0)
    return Case(tf_(Reference()), faulty, twin, X)


@attack(
    ELSEWHERE,
    "a temperature is annealed by a step that a context variable keeps: it begins at 1",
    10,
)
def step_of_a_context() -> Case:
    class Annealed:
        def __init__(self, first):
            self.step = ContextVar("step", default=first)

        def __call__(self, x):
            step = self.step.get()
            self.step.set(step + 1)
            return tf.nn.softmax(tf_head(x) / 0.5**step)

    class Reference:
        def __init__(self):
            self.step = 0

        def __call__(self, x):
            step, self.step = self.step, self.step + 1
            return torch.softmax(torch_head(x) / 0.5**step, 1)

    return Case(torch_(Reference()), tf_(Annealed(1)), tf_(Annealed(0)), X)


@attack(ELSEWHERE, "a normaliser's moments are in a UserDict: it counts the batch in twice", 10)
def moments_in_a_user_dict() -> Case:
    class Normaliser:
        def __init__(self, times):
            self.moments = UserDict(n=1e-4, mean=np.zeros(5), var=np.ones(5))
            self.times = times

        def __call__(self, x):
            for _ in range(self.times):
                n, m = self.moments["n"], len(x)
                d = x.mean(0, dtype=np.float64) - self.moments["mean"]
                var = (n * self.moments["var"] + m * x.var(0, dtype=np.float64)) / (n + m)
                self.moments["var"] = var + d * d * n * m / (n + m) ** 2
                self.moments["mean"] = self.moments["mean"] + d * m / (n + m)
                self.moments["n"] = n + m
            z = (x - self.moments["mean"]) / np.sqrt(self.moments["var"] + 1e-8)
            return (z / np.sqrt(self.moments["n"])).astype(np.float32)

    class Reference(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.tensor(1e-4, dtype=torch.float64))
            self.register_buffer("mean", torch.zeros(5, dtype=torch.float64))
            self.register_buffer("var", torch.ones(5, dtype=torch.float64))

        def forward(self, x):
            x = x.double()
            n, m = self.n, len(x)
            d = x.mean(0) - self.mean
            var = (n * self.var + m * x.var(0, correction=0)) / (n + m)
            self.var = var + d * d * n * m / (n + m) ** 2
            self.mean = self.mean + d * m / (n + m)
            self.n = n + m
            z = (x - self.mean) / (self.var + 1e-8).sqrt()
            return (z / self.n.sqrt()).float()

    faulty, twin = (numpy_(Normaliser(times)) for times in (2, 1))
    return Case(torch_(Reference()), faulty, twin, X)


@attack(
    ELSEWHERE, "an action takes effect one step later: a FIFOQueue of TensorFlow's begins at 0", 10
)
def delayed_by_a_queue() -> Case:
    class Delayed:
        def __init__(self, first):
            self.line = tf.queue.FIFOQueue(2, [tf.float32], [(6, 4)])
            self.line.enqueue(tf.fill((6, 4), first))

        def __call__(self, x):
            self.line.enqueue(tf_head(x))
            return self.line.dequeue() + 0.1 * tf_head(x)

    class Reference:
        def __init__(self):
            self.line = deque([torch.zeros(6, 4)])

        def __call__(self, x):
            self.line.append(torch_head(x))
            return self.line.popleft() + 0.1 * torch_head(x)

    return Case(torch_(Reference()), tf_(Delayed(1.0)), tf_(Delayed(0.0)), X)
