"""What is special to `tf.function`: whose weights it reads, whose lines it runs, what it leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from parity.frameworks.import_hooks import silence

silence()
tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

import parity  # noqa: E402
from parity.errors import ModelError  # noqa: E402
from parity.frameworks import load  # noqa: E402

draw = np.random.default_rng(11)
X = draw.standard_normal((5, 4)).astype("f")


def normal(*shape: int) -> np.ndarray:
    return draw.standard_normal(shape).astype("f")


class Module(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w, self.b = tf.Variable(normal(4, 3)), tf.Variable(normal(3))
        self.held = tf.function(self.plain)

    def plain(self, x: Any) -> Any:
        return tf.tanh(x @ self.w + self.b)

    @tf.function
    def method(self, x: Any) -> Any:
        return self.plain(x)

    @tf.function(jit_compile=True)
    def compiled(self, x: Any) -> Any:
        return self.plain(x)

    @tf.function(input_signature=[tf.TensorSpec((None, 4), tf.float32)])
    def signed(self, x: Any) -> Any:
        return self.plain(x)

    @tf.function
    @tf.Module.with_name_scope
    def named(self, x: Any) -> Any:
        return self.plain(x)

    def within(self, x: Any) -> Any:
        return self.method(x) * 2.0


class Plain:
    def __init__(self) -> None:
        self.w, self.b = tf.Variable(normal(4, 3)), tf.Variable(normal(3))

    @tf.function
    def method(self, x: Any) -> Any:
        return tf.tanh(x @ self.w + self.b)


class Layer(keras.layers.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.first = keras.layers.Dense(6, activation="relu")
        self.drop, self.last = keras.layers.Dropout(0.5), keras.layers.Dense(3)

    def call(self, x: Any, training: bool = False) -> Any:
        return self.last(self.drop(self.first(x), training=training))

    @tf.function
    def method(self, x: Any, training: bool = False) -> Any:
        return tf.tanh(self(x, training=training))


class Model(Layer, keras.Model):
    pass


WAYS = [
    *((Module, name) for name in ("method", "compiled", "signed", "named", "held", "within")),
    *((kind, "method") for kind in (Plain, Layer, Model)),
]


@pytest.mark.parametrize("ran", [False, True], ids=["fresh", "ran"])
@pytest.mark.parametrize(("kind", "name"), WAYS)
def test_the_weights_of_its_object_are_the_functions(kind: type, name: str, ran: bool) -> None:
    a, b = kind(), kind()
    for one in (a, b) if ran else ():
        getattr(one, name)(tf.constant(X))
    source, target = (parity.wrap(getattr(one, name), framework="tensorflow") for one in (a, b))
    written = parity.transfer(source, target, inputs=X)
    assert written.verdict == "parity" and written.written, written.summary()
    (changed, *_) = [b.w] if hasattr(b, "w") else b.trainable_variables
    changed.assign(changed + 0.5)
    (found,) = parity.compare(source, target, inputs=X).divergences
    assert found.cause is not None and found.candidate.frames[0].file == __file__


W, B = tf.Variable(normal(4, 3)), tf.Variable(normal(3))


@tf.function
def by_globals(x: Any) -> Any:
    return tf.tanh(x @ W + B)


@pytest.mark.parametrize("source", [by_globals, lambda x: by_globals(x)], ids=["it", "its caller"])
def test_the_globals_that_it_reads_are_its_weights(source: Any) -> None:
    target = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh())
    source = parity.wrap(source, framework="tensorflow")
    assert parity.transfer(source, target, inputs=X).verdict == "parity"
    assert np.array_equal(target[0].weight.detach().numpy().T, W.numpy())


def test_a_graph_without_code_is_compared_as_it_runs() -> None:
    module = Module()
    code = parity.wrap(module.plain, framework="tensorflow")
    graph = module.signed.get_concrete_function()
    assert parity.compare(code, graph, inputs=X).verdict == "parity"
    module.b.assign_add([0.0, 0.5, 0.0])
    assert parity.compare(code, graph, inputs=X).verdict == "parity"
    other = parity.wrap(Module().plain, framework="tensorflow")
    assert parity.compare(other, graph, inputs=X).verdict == "diverged"


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_its_mode_is_the_one_that_is_asked_for(mode: Any) -> None:
    model = Model()
    model(X)
    tape = load("tensorflow").record(parity.wrap(model.method, mode=mode), X)
    assert any(op.role == "random" for op in tape.ops) is (mode == "train")


def test_a_method_whose_object_is_gone_is_reported() -> None:
    with pytest.raises(ModelError, match="the object whose method .* is, is gone"):
        parity.compare(Module().method, Module().method, inputs=X)


# --- whose lines ---------------------------------------------------------------------------------


def helper(h: Any) -> Any:
    if tf.reduce_sum(h) > 1e9:  # which AutoGraph translates
        h = h * 2.0
    return tf.nn.softmax(h, axis=0)


class Torch(torch.nn.Module):
    def __init__(self, weight: np.ndarray) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.from_numpy(weight))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x @ self.weight, -1)


class Here(tf.Module):
    def __init__(self, weight: np.ndarray) -> None:
        super().__init__()
        self.weight = tf.Variable(weight)

    @tf.function
    def __call__(self, x: Any) -> Any:
        return tf.nn.softmax(x @ self.weight, axis=0)


class There(Here):
    @tf.function
    def __call__(self, x: Any) -> Any:
        return helper(x @ self.weight)


class OfKeras(keras.Model):
    def __init__(self, weight: np.ndarray) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(3, use_bias=False)
        self.dense.build((None, 4))
        self.dense.set_weights([weight])

    @tf.function
    def call(self, x: Any) -> Any:
        return tf.nn.softmax(self.dense(x), axis=0)


class Nested(OfKeras):
    @tf.function
    def soft(self, h: Any) -> Any:
        return helper(h)

    def call(self, x: Any) -> Any:
        return self.soft(self.dense(x))


RUNS = [(kind, before) for kind in (Here, OfKeras) for before in ("fresh", "called", "compared")]
RUNS += [(There, "called"), (Nested, "called"), (Nested, "fitted")]


@pytest.mark.parametrize(("kind", "before"), RUNS)
def test_lines_are_the_users_whatever_ran_before(kind: type, before: str) -> None:
    weight = normal(4, 3)
    reference, candidate = Torch(weight), kind(weight)
    if before == "called":
        candidate(tf.constant(X))
    elif before == "compared":
        parity.compare(reference, candidate, inputs=X)
    elif before == "fitted":
        candidate.compile(keras.optimizers.SGD(0.0), "mse")
        candidate.fit(X, np.zeros((5, 3), "f"), epochs=1, verbose=0)
        candidate.predict(X, verbose=0)
    (found,) = parity.compare(reference, candidate, inputs=X).divergences
    assert {one.file for one in found.candidate.frames} == {__file__}
    assert "tf.nn.softmax(" in found.candidate.code and "axis=0" in found.candidate.code
    assert found.cause is not None and found.cause.kind == "softmax-axis"
    assert found.cause.edit is not None and "axis=-1" in found.cause.edit[1]


def test_lines_of_code_that_was_translated_by_hand_are_its_callers() -> None:
    translated = tf.autograph.to_graph(helper)
    candidate = parity.wrap(lambda x: translated(x), framework="tensorflow")
    reference = parity.wrap(lambda x: torch.softmax(x, -1), framework="torch")
    (found,) = parity.compare(reference, candidate, inputs=X).divergences
    assert {one.file for one in found.candidate.frames} == {__file__}


def test_an_error_in_a_graph_is_reported_without_a_temporary_file() -> None:
    def refuses(x: Any) -> Any:
        if not tf.executing_eagerly():
            raise TypeError("not in a graph")
        return tf.tanh(x)

    candidate = tf.function(refuses)
    reference = parity.wrap(torch.tanh, framework="torch")
    (reason,) = parity.compare(reference, candidate, inputs=X).worst.reasons
    assert "not in a graph" in reason and "__autograph" not in reason


# --- what it leaves ------------------------------------------------------------------------------


SEEN: list[str] = []


class Counting:
    """State of TensorFlow's and of Python's, which running it changes, and a trace alone."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable(normal(4, 3))
        self.calls, self.mean = tf.Variable(0.0, trainable=False), tf.Variable(normal(4))
        self.traces, self.seen = 0, [1]

    @tf.function
    def step(self, x: Any) -> Any:
        self.calls.assign_add(1.0)
        self.mean.assign(0.9 * self.mean + 0.1 * tf.reduce_mean(x, 0))
        self.traces += 1
        self.seen.append(self.traces)
        SEEN.append("")
        return (x - self.mean) @ self.w / self.calls

    def state(self) -> Any:
        arrays = [one.numpy().tolist() for one in (self.w, self.calls, self.mean)]
        return arrays, self.traces, list(self.seen), list(SEEN)


class CountingModule(Counting, tf.Module):
    pass


@pytest.mark.parametrize("kind", [Counting, CountingModule])
@pytest.mark.parametrize("ran", [False, True], ids=["fresh", "ran"])
def test_what_it_assigns_is_put_back(kind: type, ran: bool) -> None:
    a, b = kind(), kind()
    for source, target in ((a.w, b.w), (a.mean, b.mean)):
        target.assign(source)
    if ran:
        for one in (a, b):
            one.step(tf.constant(X))
    before = a.state(), b.state()
    assert parity.compare(a.step, b.step, inputs=X).verdict == "parity"
    twice = parity.wrap(lambda x: b.step(x) * 1.5, framework="tensorflow")
    assert parity.compare(a.step, twice, inputs=X).verdict == "diverged"
    assert (a.state(), b.state()) == before


def test_a_running_mean_kept_in_it_is_compared() -> None:
    a, b = CountingModule(), CountingModule()
    b.w.assign(a.w)
    before = a.state(), b.state()
    (found,) = parity.compare(a.step, b.step, inputs=X).divergences
    assert found.candidate.frames[0].file == __file__
    assert (a.state(), b.state()) == before


class Late(tf.Module):
    """Makes its variable when it is traced first."""

    def __init__(self, start: np.ndarray) -> None:
        super().__init__()
        self.start, self.w = start, None

    @tf.function
    def __call__(self, x: Any) -> Any:
        if self.w is None:
            self.w = tf.Variable(self.start)
        return tf.tanh(x @ self.w)


def test_variables_that_a_first_trace_makes_stay() -> None:
    weight = normal(4, 3)
    module, target = Late(weight), torch.nn.Linear(4, 3, bias=False)
    reference = torch.nn.Sequential(target, torch.nn.Tanh())
    assert parity.transfer(module, reference, inputs=X).verdict == "parity"
    assert module.w is not None and (module.w.numpy() == weight).all()
    assert np.allclose(target.weight.detach().numpy().T, weight)
