"""Iterators, files, queues, schedules and seeds: put back, or what is lost is said."""

from __future__ import annotations

import csv
import io
import itertools
import queue
import sys
from collections import ChainMap, deque
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import parity
from parity.errors import ModelError
from parity.frameworks.chainer_numpy import import_chainer

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")
chainer = import_chainer()
L = chainer.links
X = np.random.default_rng(0).standard_normal((4, 3)).astype("f")
ARRAYS = [np.full(3, number, "f") for number in range(80)]


class Doing:
    """Does something with what it holds, and doubles its input."""

    def __init__(self, held: Any, does: Callable[[Any], object]) -> None:
        self.held, self.does = held, does

    def __call__(self, x: Any) -> Any:
        self.does(self.held)
        return x * 2


def said(held: Any, does: Callable[[Any], object], framework: str = "torch") -> str:
    """What a report says that could not be put back."""
    model = parity.wrap(Doing(held, does), framework=framework, name="doing")
    doubled = parity.wrap(lambda x: x * 2, framework="torch", name="doubled")
    found = parity.compare(doubled, model, inputs=X).comparisons[0]
    return "".join(one for one in found.caveats if "put back" in one)


# --- iterators and files -------------------------------------------------------------------------

PUT_BACK: dict[str, Callable[[], Iterator[Any]]] = {
    "list": lambda: iter(ARRAYS),
    "reversed": lambda: reversed(ARRAYS),
    "tuple": lambda: iter(tuple(ARRAYS)),
    "range": lambda: iter(range(80)),
    "array": lambda: iter(np.arange(80)),
    "zip": lambda: zip(ARRAYS, range(80), strict=True),
    "map": lambda: map(np.sum, ARRAYS),
    "filter": lambda: filter(np.shape, ARRAYS),
    "chain": lambda: begun(itertools.chain(ARRAYS, ARRAYS)),
}
SAID: dict[str, Callable[[], Iterator[Any]]] = {
    "cycle": lambda: itertools.cycle(ARRAYS),
    "enumerate": lambda: enumerate(ARRAYS),
    "islice": lambda: itertools.islice(ARRAYS, 60),
    "product": lambda: itertools.product(ARRAYS, ARRAYS),
    "accumulate": lambda: itertools.accumulate(range(80)),
    "count": itertools.count,
    "dict": lambda: iter(dict.fromkeys(range(80))),
    "generator": lambda: of_a_generator(),
    "expression": lambda: (array for array in ARRAYS),
    "batches": lambda: iter(torch.utils.data.DataLoader(torch.arange(80.0))),
    "rows": lambda: csv.reader(itertools.cycle(["1,2"])),
}


def begun(iterator: Iterator[Any]) -> Iterator[Any]:
    next(iterator)
    return iterator


def of_a_generator() -> Iterator[Any]:
    for array in ARRAYS:
        yield array + 0  # what it gave shows where it stands


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("kind", [*PUT_BACK, *SAID])
def test_iterators(kind: str, again: bool) -> None:
    make = (PUT_BACK | SAID)[kind]
    held, other = make(), make()
    if again:
        next(held), next(other)
    if kind in SAID:
        assert "doing changed held" in said(held, next, "numpy")
    else:
        assert not said(held, next, "numpy")
        assert str(next(held)) == str(next(other))
    assert not said(make(), lambda _: None, "numpy")


def test_a_generators_rng_is_put_back() -> None:
    rng = np.random.default_rng(1)

    def numbers(rng: Any) -> Iterator[float]:
        while True:
            yield rng.normal()

    held = numbers(rng)
    next(held)
    before = str(rng.bit_generator.state)
    assert not said(held, next)
    assert str(rng.bit_generator.state) == before


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text("".join(f"{number}\n" for number in range(90)))
    with path.open() as text, path.open("rb") as raw, path.open() as begun:
        text.readline(), next(begun)
        assert not said(text, lambda file: file.readline())
        assert not said(raw, lambda file: file.read(3))
        assert (text.readline(), raw.read(1)) == ("1\n", b"0")
        assert "changed held" in said(begun, next)
    memory = io.StringIO("abc")
    assert not said(memory, lambda file: file.write("other text"))
    assert (memory.read(), memory.getvalue()) == ("abc", "abc")
    with (tmp_path / "log").open("w") as log:
        assert "changed held" in said(log, lambda file: file.write("a line"))
    assert not said(sys.stdout, lambda file: file.write("a line"))


def test_queues_and_chained_dicts() -> None:
    held = SimpleNamespace(queue=queue.Queue(), chained=ChainMap({}, {"a": 1}))
    held.queue.put(1)

    def does(held: Any) -> None:
        held.queue.put(2), held.queue.get()
        held.chained["a"] = 2

    assert not said(held, does)
    assert list(held.queue.queue) == [1] and held.queue.unfinished_tasks == 1
    assert held.chained.maps == [{}, {"a": 1}]


# --- what the frameworks keep --------------------------------------------------------------------


def test_schedules_distributions_and_sparse_tensors() -> None:
    layer = torch.nn.Linear(3, 3)
    held = SimpleNamespace(optimizer=torch.optim.SGD(layer.parameters(), 0.1))
    held.schedule = torch.optim.lr_scheduler.StepLR(held.optimizer, 1)
    held.normal = torch.distributions.Normal(torch.zeros(3), torch.ones(3))
    held.sparse = torch.eye(3).to_sparse()
    held.scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    held.scaler.scale(torch.ones(1))

    def does(held: Any) -> None:
        held.optimizer.step()
        held.schedule.step()
        held.normal.loc = held.normal.loc + 1
        held.normal.scale.mul_(2)
        held.sparse.mul_(2)
        held.scaler.update(8.0)

    assert not said(held, does)
    assert held.schedule.last_epoch == 0 and held.optimizer.param_groups[0]["lr"] == 0.1
    assert held.normal.loc.tolist() == [0, 0, 0] and held.normal.scale.tolist() == [1, 1, 1]
    assert held.sparse.to_dense().tolist() == torch.eye(3).tolist()
    assert held.scaler.get_scale() == 4


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_a_backward_pass_that_had_begun_goes_on(mode: str) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3), torch.nn.GRU(3, 3))
    loss = net(torch.from_numpy(X))[0].sum()
    model = parity.wrap(lambda x: net(x)[0], framework="torch", mode=mode)
    parity.compare(model, model, inputs=X)
    loss.backward()
    assert net[0].weight.grad is not None


def test_what_tensorflow_can_save_is_put_back_and_a_queue_is_said() -> None:
    held = SimpleNamespace(data=iter(tf.data.Dataset.range(90).shuffle(3, seed=1)))
    held.table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1)
    held.table.insert([7], [8])
    other = iter(tf.data.Dataset.range(90).shuffle(3, seed=1))
    assert int(next(held.data)) == int(next(other))

    def does(held: Any) -> None:
        held.table.insert([next(held.data)], [1])
        held.table.remove(tf.constant([7], tf.int64))

    assert not said(held, does, "tensorflow")
    assert int(next(held.data)) == int(next(other))
    assert int(held.table.size()) == 1 and held.table.lookup(7).numpy() == 8
    filled = tf.queue.FIFOQueue(90, [tf.float32])
    assert "changed held" in said(filled, lambda held: held.enqueue(1.0), "tensorflow")


def test_seeds_policies_and_modes_of_tensorflow_and_keras() -> None:
    def does(_: Any) -> None:
        tf.random.set_seed(7)
        keras.utils.set_random_seed(7)
        keras.random.normal((3,))
        keras.config.set_dtype_policy("mixed_bfloat16")
        tf.config.run_functions_eagerly(True)
        torch.autograd.set_detect_anomaly(True)

    def draws(between: Callable[[], object]) -> Any:
        keras.utils.set_random_seed(1)
        first = tf.random.normal((2,)).numpy(), keras.random.normal((2,)).numpy()
        between()
        return str((first, tf.random.normal((2,)).numpy(), keras.random.normal((2,)).numpy()))

    expected = draws(lambda: None)
    assert draws(lambda: said(None, does, "tensorflow")) == expected
    assert keras.config.dtype_policy().name == "float32"
    assert not tf.config.functions_run_eagerly() and not torch.is_anomaly_enabled()


def test_what_is_trained_of_keras() -> None:
    class Freezing(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = keras.layers.Dense(3), keras.layers.Dense(3)

        def call(self, x: Any) -> Any:
            self.body.trainable = False
            return self.head(self.body(x))

    net = Freezing()
    net(X)
    net.body.trainable = True
    parity.compare(net, net, inputs=X)
    assert len(net.trainable_variables) == 4 and all(one.trainable for one in net.body.variables)


# --- first calls, errors and transfers -----------------------------------------------------------


class State:
    """What a first call changes of the user's own, besides what it builds."""

    def __init__(self) -> None:
        self.counts, self.table = [0], {"calls": 0}
        self.last, self.known = deque([1], maxlen=2), {1}
        self.space = SimpleNamespace(seen=False)

    def changes(self, model: Any) -> None:
        for one in (self, model):
            one.counts.append(1)
            one.table["calls"] = one.table["new"] = 1
            one.last.append(2)
            one.known.add(2)
            one.space.seen = one.space.new = True

    def read(self) -> str:
        return str(
            (list(self.counts), dict(self.table), list(self.last), set(self.known), self.space)
        )


class LateTorch(torch.nn.Module):
    def __init__(self, state: State) -> None:
        super().__init__()
        self.dense: Any = None
        self.more: list[Any] = []
        self.state = state

    def forward(self, x: Any) -> Any:
        if self.dense is None:
            self.dense = torch.nn.Linear(3, 3)
            self.more.extend([torch.nn.Linear(3, 3), torch.tanh])
            self.register_buffer("seen", torch.zeros(3))
        self.state.changes(self)
        return self.more[1](self.more[0](self.dense(x)) + self.seen)


class LateTensorFlow(tf.Module):
    def __init__(self, state: State) -> None:
        super().__init__()
        self.kernel: Any = None
        self.state = state

    def __call__(self, x: Any) -> Any:
        if self.kernel is None:
            self.kernel = tf.Variable(tf.eye(3))
        self.state.changes(self)
        return x @ self.kernel


class LateKeras(keras.Model):
    def __init__(self, state: State) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(3)
        self.state = state

    def call(self, x: Any) -> Any:
        self.state.changes(self)
        return self.dense(x)


class LateChainer(chainer.Chain):
    def __init__(self, state: State) -> None:
        super().__init__()
        self.state = state
        with self.init_scope():
            self.dense = L.Linear(None, 3)

    def forward(self, x: Any) -> Any:
        self.state.changes(self)
        return self.dense(x)


@pytest.mark.parametrize("late", [LateTorch, LateTensorFlow, LateKeras, LateChainer])
def test_a_first_call_leaves_the_users_own_as_it_was(late: Any) -> None:
    state = State()
    net = late(state)
    for name, item in vars(State()).items():
        setattr(net, name, item)
    before = state.read()
    assert State.read(net) == before
    report = parity.compare(net, net, inputs=X)
    assert report.verdict == "parity", str(report)  # what the first call draws is no part of it
    assert (state.read(), State.read(net)) == (before, before)
    weights = getattr(net, "kernel", None) if late is LateTensorFlow else net.dense
    assert weights is not None
    net(X if late is not LateTorch else torch.from_numpy(X))


class Counting(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dense, self.going_on, self.last = torch.nn.Linear(3, 3), itertools.count(), 90

    def forward(self, x: Any) -> Any:
        if next(self.going_on) >= self.last:
            raise ValueError("no more")
        return self.dense(x)


@pytest.mark.parametrize("last", [0, 1])
def test_what_is_lost_is_said_where_a_model_raises(last: int) -> None:
    net = Counting()
    net.last = last
    with pytest.raises(ModelError, match=r"no more(.|\n)*going_on, which cannot be put back"):
        parity.compare(net, net, inputs=X)


def test_what_is_lost_is_said_by_a_transfer() -> None:
    transferred = str(parity.transfer(Counting(), Counting(), inputs=X))
    assert transferred.count("changed going_on, which cannot be put back") == 2
