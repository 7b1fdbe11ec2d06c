"""What every adapter keeps to: each framework builds the same models here and goes through it."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from parity.errors import ModelError
from parity.frameworks import load
from parity.model import wrap
from parity.tape import Tape

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
draw = np.random.default_rng(11)
FLAT = draw.standard_normal((5, 7)).astype("f")
NCHW = draw.standard_normal((3, 2, 9, 8)).astype("f")
NHWC = np.ascontiguousarray(NCHW.transpose(0, 2, 3, 1))


@dataclass(frozen=True)
class Bench:
    """A framework's models, and what the tests ask of them.

    Attributes:
        models: by name; those of `MODELS` below.
        layers: for a model the layers that its operations must name; none in a plain function.
        images: as this framework's convolutions take them.
        arrays: the arrays of plain outputs, in order.
        call: runs a model without parity, in `mode`.
        state: all that recording must leave as it was, in comparable form.
        seeded: seeds the framework's generator, runs what it is given, then draws.
    """

    framework: str
    models: dict[str, Any]
    layers: dict[str, set[str]]
    images: np.ndarray
    call: Callable[[Any, np.ndarray, str], Any]
    arrays: Callable[[Any], list[np.ndarray]]
    state: Callable[[Any], dict[str, Any]]
    seeded: Callable[[Callable[[], Any]], np.ndarray]


# --- the models, as a user of each framework writes them -----------------------------------------


def torch_bench() -> Bench:
    torch = pytest.importorskip("torch")
    nn = torch.nn
    functional = torch.nn.functional
    torch.set_num_threads(1)
    torch.manual_seed(4)

    class Mlp(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(7, 6), nn.Linear(6, 4)

        def forward(self, x: Any) -> Any:
            h = torch.tanh(self.first(x))
            return torch.softmax(self.second(h), dim=1)

    class Conv(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)
            self.head = nn.Linear(27, 4)

        def forward(self, x: Any) -> Any:
            h = functional.relu(self.norm(self.conv(x)))
            h = functional.max_pool2d(h, 2)
            return self.head(h.flatten(1))

    class Nested(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = Mlp()

        def forward(self, x: Any) -> Any:
            h = self.body(x)
            return {"q": h * 2 - 1, "state": (torch.exp(h), (h * h).sum(1))}

    class Noisy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dense, self.drop = nn.Linear(7, 6), nn.Dropout(0.4)

        def forward(self, x: Any) -> Any:
            return self.drop(torch.tanh(self.dense(x)))

    def raises(x: Any) -> Any:
        return torch.reshape(x, (3, 3))

    def call(model: Any, array: np.ndarray, mode: str) -> Any:
        was = model.training
        model.train(mode == "train")
        try:
            return model(torch.from_numpy(array.copy()))
        finally:
            model.train(was)

    def state(model: Any) -> dict[str, Any]:
        return {
            **{key: item.numpy().tobytes() for key, item in model.state_dict().items()},
            "grad": [parameter.grad for parameter in model.parameters()],
            "training": [module.training for module in model.modules()],
            "hooks": [len(module._forward_hooks) for module in model.modules()],
            "random": torch.get_rng_state().numpy().tobytes(),
            "grad mode": torch.is_grad_enabled(),
        }

    def seeded(run: Callable[[], Any]) -> np.ndarray:
        torch.manual_seed(6)
        run()
        return torch.rand(3).numpy()

    def arrays(output: Any) -> list[np.ndarray]:
        return [item.detach().numpy() for item in in_order(output)]

    models = {"mlp": Mlp(), "conv": Conv(), "nested": Nested(), "noisy": Noisy()}
    layers = {
        "mlp": {"first", "second"},
        "conv": {"conv", "norm", "head"},
        "nested": {"body", "body.first", "body.second"},
        "noisy": {"dense", "drop"},
    }
    models |= {"raises": raises}
    return Bench("torch", models, layers, NCHW, call, arrays, state, seeded)


def keras_bench() -> Bench:
    tf, keras = tensorflow()
    layers = keras.layers

    class Mlp(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = layers.Dense(6, name="first"), layers.Dense(4, name="second")

        def call(self, x: Any) -> Any:
            h = tf.tanh(self.first(x))
            return tf.nn.softmax(self.second(h), axis=1)

    class Conv(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = layers.Conv2D(3, 3, name="conv"), layers.BatchNormalization()
            self.pool, self.head = layers.MaxPooling2D(2), layers.Dense(4, name="head")

        def call(self, x: Any, training: bool = False) -> Any:
            h = tf.nn.relu(self.norm(self.conv(x), training=training))
            h = self.pool(h)
            return self.head(tf.reshape(h, (h.shape[0], -1)))

    class Nested(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.body = Mlp()

        def call(self, x: Any) -> Any:
            h = self.body(x)
            return {"q": h * 2 - 1, "state": (tf.exp(h), tf.reduce_sum(h * h, 1))}

    class Noisy(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense, self.drop = layers.Dense(6, name="dense"), layers.Dropout(0.4, name="drop")

        def call(self, x: Any, training: bool = False) -> Any:
            return self.drop(tf.tanh(self.dense(x)), training=training)

    class Raises(keras.Model):
        def call(self, x: Any) -> Any:
            return tf.reshape(x, (3, 3))

    def call(model: Any, array: np.ndarray, mode: str) -> Any:
        return model(tf.constant(array), training=mode == "train")

    def state(model: Any) -> dict[str, Any]:
        return {
            **{variable.path: variable.numpy().tobytes() for variable in model.variables},
            "trainable": [layer.trainable for layer in model._flatten_layers()],
            "eager": tf.config.functions_run_eagerly(),
        }

    def arrays(output: Any) -> list[np.ndarray]:
        return [item.numpy() for item in in_order(output)]

    models = {"mlp": Mlp(), "conv": Conv(), "nested": Nested(), "noisy": Noisy()}
    for name, model in models.items():  # a first call builds
        model(NHWC if name == "conv" else FLAT)
    known = {
        "mlp": {"first", "second"},
        "conv": {"conv", "head"},
        "nested": {"first", "second"},
        "noisy": {"dense", "drop"},
    }
    models |= {"raises": Raises()}
    return Bench("tensorflow", models, known, NHWC, call, arrays, state, seeded_tensorflow)


def function_bench() -> Bench:
    tf, _ = tensorflow()
    weight = {
        name: tf.Variable(draw.standard_normal(shape).astype("f"), name=name)
        for name, shape in {
            "first": (7, 6), "second": (6, 4), "kernel": (3, 3, 2, 3), "head": (27, 4),
        }.items()
    }  # fmt: skip

    @tf.function
    def mlp(x: Any) -> Any:
        h = tf.tanh(tf.matmul(x, weight["first"]) + 0.5)
        return tf.nn.softmax(tf.matmul(h, weight["second"]), axis=1)

    def conv(x: Any) -> Any:
        h = tf.nn.relu(tf.nn.conv2d(x, weight["kernel"], 1, "VALID"))
        h = tf.nn.max_pool2d(h, 2, 2, "VALID")
        return tf.matmul(tf.reshape(h, (h.shape[0], -1)), weight["head"])

    def nested(x: Any) -> Any:
        h = mlp(x)
        return {"q": h * 2 - 1, "state": (tf.exp(h), tf.reduce_sum(h * h, 1))}

    def noisy(x: Any) -> Any:
        return tf.nn.dropout(tf.tanh(tf.matmul(x, weight["first"])), 0.4)

    def raises(x: Any) -> Any:
        return tf.reshape(x, (3, 3))

    def call(model: Any, array: np.ndarray, mode: str) -> Any:
        return model(tf.constant(array))

    def state(model: Any) -> dict[str, Any]:
        found = {name: variable.numpy().tobytes() for name, variable in weight.items()}
        return {**found, "eager": tf.config.functions_run_eagerly()}

    def arrays(output: Any) -> list[np.ndarray]:
        return [item.numpy() for item in in_order(output)]

    models = {"mlp": mlp, "conv": conv, "nested": nested, "noisy": noisy, "raises": raises}
    return Bench("tensorflow", models, {}, NHWC, call, arrays, state, seeded_tensorflow)


def chainer_bench() -> Bench:
    pytest.importorskip("pkg_resources", reason="Chainer needs setuptools<81")
    from parity.frameworks.chainer_numpy import import_chainer

    chainer = import_chainer()
    F, L = chainer.functions, chainer.links

    class Mlp(chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.first, self.second = L.Linear(7, 6), L.Linear(6, 4)

        def forward(self, x: Any) -> Any:
            h = F.tanh(self.first(x))
            return F.softmax(self.second(h), axis=1)

    class Conv(chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.conv, self.norm = L.Convolution2D(2, 3, 3), L.BatchNormalization(3)
                self.head = L.Linear(27, 4)

        def forward(self, x: Any) -> Any:
            h = F.relu(self.norm(self.conv(x)))
            h = F.max_pooling_2d(h, 2, cover_all=False)
            return self.head(F.reshape(h, (h.shape[0], -1)))

    class Nested(chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.body = Mlp()

        def forward(self, x: Any) -> Any:
            h = self.body(x)
            return {"q": h * 2 - 1, "state": (F.exp(h), F.sum(h * h, 1))}

    class Noisy(chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                self.dense = L.Linear(7, 6)

        def forward(self, x: Any) -> Any:
            return F.dropout(F.tanh(self.dense(x)), 0.4)

    def raises(x: Any) -> Any:
        return F.reshape(x, (3, 3))

    def call(model: Any, array: np.ndarray, mode: str) -> Any:
        with chainer.using_config("train", mode == "train"):
            return model(array)

    def state(model: Any) -> dict[str, Any]:
        return {
            **{key: item.array.tobytes() for key, item in model.namedparams()},
            **{key + ".grad": item.grad.tobytes() for key, item in model.namedparams()},
            "persistent": [
                np.asarray(vars(link)[key]).tobytes()
                for link in model.links()
                for key in sorted(link._persistent)
            ],
            "hooks": dict(chainer.get_function_hooks()),
            "config": (chainer.config.train, chainer.config.enable_backprop),
            "apply": chainer.FunctionNode.apply,
        }

    def seeded(run: Callable[[], Any]) -> np.ndarray:
        np.random.seed(6)
        run()
        return np.random.random(3)

    def arrays(output: Any) -> list[np.ndarray]:
        return [item.array for item in in_order(output)]

    models = {"mlp": Mlp(), "conv": Conv(), "nested": Nested(), "noisy": Noisy()}
    layers = {
        "mlp": {"/first", "/second"},
        "conv": {"/conv", "/norm", "/head"},
        "nested": {"/body", "/body/first", "/body/second"},
        "noisy": {"/dense"},
    }
    models |= {"raises": raises}
    return Bench("chainer", models, layers, NCHW, call, arrays, state, seeded)


def tensorflow() -> tuple[Any, Any]:
    tf = pytest.importorskip("tensorflow")
    keras = pytest.importorskip("keras")
    tf.random.set_seed(4)
    return tf, keras


def seeded_tensorflow(run: Callable[[], Any]) -> np.ndarray:
    tf, _ = tensorflow()
    run()
    drawn: np.ndarray = tf.random.uniform([3]).numpy()
    return drawn


def in_order(output: Any) -> list[Any]:
    if isinstance(output, dict):
        return [item for value in output.values() for item in in_order(value)]
    if isinstance(output, tuple):
        return [item for value in output for item in in_order(value)]
    return [output]


# --- the contract --------------------------------------------------------------------------------

BENCHES = {
    "torch": torch_bench,
    "keras": keras_bench,
    "tensorflow function": function_bench,
    "chainer": chainer_bench,
}
MODELS = ("mlp", "conv", "nested")
each_model = pytest.mark.parametrize("which", MODELS)


@pytest.fixture(scope="module", params=BENCHES)
def bench(request: pytest.FixtureRequest) -> Bench:
    return BENCHES[request.param]()


def record(bench: Bench, which: str, mode: str = "eval") -> Tape:
    model = wrap(bench.models[which], bench.framework, mode=mode)  # type: ignore[arg-type]
    return load(bench.framework).record(model, inputs_of(bench, which))


def inputs_of(bench: Bench, which: str) -> np.ndarray:
    return bench.images if which == "conv" else FLAT


def recorded(tape: Tape, value: int) -> np.ndarray:
    return tape.adapter.to_numpy(tape.recorded[value])


@each_model
def test_recording_runs_what_the_model_runs(bench: Bench, which: str) -> None:
    plain = bench.arrays(bench.call(bench.models[which], inputs_of(bench, which), "eval"))
    tape = record(bench, which)
    names = ["q", "state/0", "state/1"] if which == "nested" else ["output"]
    assert list(tape.outputs) == names
    for array, value in zip(plain, tape.outputs.values(), strict=True):
        assert recorded(tape, value).tobytes() == array.tobytes()


@pytest.mark.parametrize("mode", ["eval", "train"])
@each_model
def test_a_plain_run_gives_what_recording_gives_and_leaves_all_as_it_was(
    bench: Bench, which: str, mode: str
) -> None:
    tape = record(bench, which, mode)
    model = wrap(bench.models[which], bench.framework, mode=mode)  # type: ignore[arg-type]
    run = load(bench.framework).plain(model)
    before = bench.state(bench.models[which])
    for _ in range(2):  # what a first run left behind would show in the second
        outputs = run(inputs_of(bench, which))
        assert outputs.keys() == tape.outputs.keys()
        for name, array in outputs.items():
            assert array.tobytes() == recorded(tape, tape.outputs[name]).tobytes()
    assert bench.state(bench.models[which]) == before


@each_model
def test_what_a_plain_run_gave_stays_when_it_runs_again(bench: Bench, which: str) -> None:
    record(bench, which)
    run = load(bench.framework).plain(wrap(bench.models[which], bench.framework))
    first = run(inputs_of(bench, which))
    kept = {name: array.tobytes() for name, array in first.items()}
    run(inputs_of(bench, which) + 1)
    assert {name: array.tobytes() for name, array in first.items()} == kept


def test_a_plain_run_that_raises_states_the_line(bench: Bench) -> None:
    run = load(bench.framework).plain(wrap(bench.models["raises"], bench.framework))
    with pytest.raises(ModelError, match="raised"):
        run(FLAT)


@each_model
def test_the_inputs_are_on_the_tape_and_reach_the_outputs(bench: Bench, which: str) -> None:
    tape = record(bench, which)
    (value,) = tape.inputs.values()
    np.testing.assert_array_equal(recorded(tape, value), inputs_of(bench, which))
    assert set(tape.outputs.values()) <= dependents(tape, {value})


@each_model
def test_the_tape_is_well_formed(bench: Bench, which: str) -> None:
    tape = record(bench, which)
    assert [value.id for value in tape.values] == list(range(len(tape.values)))
    assert tape.framework == bench.framework and tape.ops
    known = {value.id for value in tape.values if value.kind != "computed"}
    for index, op in enumerate(tape.ops):
        assert op.index == index and set(op.inputs) <= known, op
        assert all(tape.values[value].op == index for value in op.outputs)
        known |= set(op.outputs)
    assert known == set(range(len(tape.values)))
    for value in tape.values:
        assert recorded(tape, value.id).shape == value.shape
        assert recorded(tape, value.id).dtype == value.dtype


@each_model
def test_a_replay_is_bit_identical(bench: Bench, which: str) -> None:
    tape = record(bench, which)
    run = tape.replay()
    for value in tape.values:
        assert run.array(value.id).dtype == recorded(tape, value.id).dtype
        assert run.array(value.id).tobytes() == recorded(tape, value.id).tobytes()


@each_model
def test_a_float64_replay_is_float64_and_near(bench: Bench, which: str) -> None:
    tape = record(bench, which)
    run = tape.replay("float64")
    assert not run.fallbacks
    for value in tape.values:
        single, double = recorded(tape, value.id), run.array(value.id)
        if single.dtype.kind == "f":
            assert double.dtype == np.float64, tape.producer(value.id)
            scale = np.abs(double).max(initial=0)
            np.testing.assert_allclose(single, double, rtol=1e-5, atol=1e-5 * scale)
        else:
            np.testing.assert_array_equal(single, double)
    # the float64 run is not the float32 run, cast
    for value in tape.outputs.values():
        assert (run.array(value) != recorded(tape, value)).any()


def dependents(tape: Tape, values: set[int]) -> set[int]:
    """Values that the given ones reach, themselves included."""
    reached = set(values)
    for op in tape.ops:
        if not reached.isdisjoint(op.inputs):
            reached |= set(op.outputs)
    return reached


@each_model
def test_a_replaced_value_changes_what_depends_on_it_alone(bench: Bench, which: str) -> None:
    tape = record(bench, which)
    base = tape.replay("float64")
    floating = [
        op.outputs[0]
        for op in tape.ops
        if not op.static and base.array(op.outputs[0]).dtype.kind == "f"
    ]
    assert len(floating) > 2
    for value in (floating[0], floating[len(floating) // 2], floating[-1]):
        new = np.random.default_rng(value).uniform(0.1, 0.9, base.array(value).shape)
        for run in (
            tape.replay("float64", replaced={value: new}, base=base),
            tape.replay("float64", replaced={value: new}),
        ):
            touched = dependents(tape, {value})
            for other in tape.values:
                if other.id not in touched:
                    assert run.array(other.id).tobytes() == base.array(other.id).tobytes()
            np.testing.assert_array_equal(run.array(value), new)
            outputs = touched & set(tape.outputs.values())
            assert outputs
            for output in outputs:
                assert (run.array(output) != base.array(output)).any()
    # and nothing of it stays behind
    for value in tape.values:
        assert tape.replay().array(value.id).tobytes() == recorded(tape, value.id).tobytes()


# A word in the kind of an operation, and what is in the line of every framework's model.
LINES = {
    "softmax": "softmax(",
    "tanh": "tanh(",
    "conv": "conv",
    "relu": "relu(",
    "pool": "pool",
    "exp": "exp(",
    "sum": "sum",
}


@each_model
def test_every_operation_names_its_line(bench: Bench, which: str) -> None:
    tape = record(bench, which)
    for op in tape.ops:
        assert op.site.frames, f"{op.kind} has no line"
        assert op.site.frames[0].file == __file__, op
        assert op.site.source == f"{__file__}:{op.site.frames[0].line}"
    seen = set()
    for op in tape.ops:
        for word, code in LINES.items():
            if op.kind.lower().removeprefix("aten.").lstrip("_").startswith(word):
                assert code in op.site.code, op
                seen.add(word)
    expected = {"mlp": {"softmax", "tanh"}, "conv": {"conv", "relu"}, "nested": {"softmax", "exp"}}
    assert expected[which] <= seen


@each_model
def test_layers_are_named(bench: Bench, which: str) -> None:
    tape = record(bench, which)
    found = {op.site.layer for op in tape.ops}
    for layer in bench.layers.get(which, set()):
        assert any(path == layer or path.endswith(f"/{layer}") for path in found), (layer, found)
    names = [value.name for value in tape.values if value.kind == "parameter"]
    assert len(names) >= 2 and all(names) and len(set(names)) == len(names)


@pytest.mark.parametrize("mode", ["eval", "train"])
@pytest.mark.parametrize("which", [*MODELS, "noisy"])
def test_recording_changes_nothing(bench: Bench, which: str, mode: str) -> None:
    model = bench.models[which]
    random.seed(3)
    np.random.seed(3)

    def state() -> dict[str, Any]:
        inputs = inputs_of(bench, which).tobytes()
        generators = random.getstate(), str(np.random.get_state())
        return {**bench.state(model), "inputs": inputs, "generators": generators}

    before = state()
    tape = record(bench, which, mode)
    assert state() == before
    tape.replay()
    tape.replay("float64")
    assert state() == before


def test_recording_draws_nothing_from_the_user(bench: Bench) -> None:
    untouched = bench.seeded(lambda: None)
    for which in ("mlp", "noisy"):
        after = bench.seeded(lambda which=which: record(bench, which, "train"))
        np.testing.assert_array_equal(after, untouched)


def test_noise_is_a_draw_that_replays_as_it_was(bench: Bench) -> None:
    tape = record(bench, "noisy", "train")
    assert any(op.role == "random" for op in tape.ops)
    for precision in (None, "float64"):
        run = tape.replay(precision)  # type: ignore[arg-type]
        (value,) = tape.outputs.values()
        np.testing.assert_allclose(run.array(value), recorded(tape, value), rtol=1e-5, atol=1e-6)
        assert (run.array(value) == 0).any()


def test_layers_that_draw_are_off_in_eval_mode(bench: Bench) -> None:
    draws = any(op.role == "random" for op in record(bench, "noisy").ops)
    assert draws == (not bench.layers)  # a plain function has no mode


def test_a_model_that_raises_names_its_line(bench: Bench) -> None:
    with pytest.raises(ModelError) as caught:
        record(bench, "raises")
    assert __file__ in str(caught.value) and "reshape(x, (3, 3))" in str(caught.value)


def test_a_model_that_returns_nothing_is_refused(bench: Bench) -> None:
    model = wrap(lambda x: None, bench.framework)
    with pytest.raises(ModelError, match="returned no"):
        load(bench.framework).record(model, FLAT)


def test_nothing_stays_on_after_an_error(bench: Bench) -> None:
    before = bench.state(bench.models["mlp"])
    for model in (bench.models["raises"], lambda x: None):
        with pytest.raises(ModelError):
            load(bench.framework).record(wrap(model, bench.framework), FLAT)
    assert bench.state(bench.models["mlp"]) == before
    test_recording_runs_what_the_model_runs(bench, "mlp")


def test_versions_are_strings(bench: Bench) -> None:
    found = load(bench.framework).versions()
    assert found[bench.framework] and all(isinstance(item, str) for item in found.values())
