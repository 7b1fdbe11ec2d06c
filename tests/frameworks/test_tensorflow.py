"""What is special to TensorFlow and Keras: op callbacks, variables, graphs, float64 kernels."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parity.frameworks.import_hooks import silence

silence()
tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

import parity  # noqa: E402
from parity.errors import ModelError  # noqa: E402
from parity.frameworks import load  # noqa: E402
from parity.model import wrap  # noqa: E402
from parity.tape import Tape  # noqa: E402

adapter = load("tensorflow")
layers = keras.layers


@pytest.fixture
def draw() -> np.random.Generator:
    keras.utils.set_random_seed(7)
    return np.random.default_rng(11)


def record(obj: Any, inputs: Any, mode: Any = "eval") -> Tape:
    return adapter.record(wrap(obj, "tensorflow", mode=mode), inputs)


def normal(draw: np.random.Generator, *shape: int) -> np.ndarray:
    return draw.standard_normal(shape).astype("float32")


def randomise(model: Any, draw: np.random.Generator) -> Any:
    """Weights random and distinct, also where Keras starts with zeros and ones."""
    for variable in model.weights:
        if variable.dtype.startswith("float"):
            positive = "variance" in variable.path
            new = draw.uniform(0.5, 1.5, variable.shape) if positive else None
            variable.assign(new if positive else draw.standard_normal(variable.shape) * 0.5)
    return model


def kinds(tape: Tape) -> list[str]:
    return [op.kind for op in tape.ops]


def names(tape: Tape, *of: str) -> list[str]:
    return [value.name for value in tape.values if value.kind in of]


def assert_replays(tape: Tape, below: float = 2e-6) -> None:
    """Bit for bit in the recorded precision; in float64 close to that, each in a double kernel."""
    again, wide = tape.replay(), tape.replay("float64")
    for value in tape.values:
        recorded = adapter.to_numpy(tape.recorded[value.id])
        assert again.array(value.id).tobytes() == recorded.tobytes(), tape.producer(value.id)
    assert not wide.fallbacks
    for value in tape.outputs.values():
        exact, rounded = wide.array(value), again.array(value)
        if rounded.dtype.kind == "f":
            assert exact.dtype == np.float64
            difference = np.abs(exact - rounded).max()
            assert 0 < difference <= below * np.abs(exact).max()


# --- models --------------------------------------------------------------------------------------


def conv_net() -> Any:
    image = keras.Input((9, 11, 3))
    h = layers.Conv2D(5, 3, padding="same", strides=2)(image)
    h = layers.BatchNormalization()(h)
    h = layers.LeakyReLU(negative_slope=0.15)(h)
    h = layers.DepthwiseConv2D(2, depth_multiplier=2)(h)
    h = layers.AveragePooling2D(2)(h)
    return keras.Model(image, layers.Dense(7, activation="softmax")(layers.Flatten()(h)))


def recurrent_net() -> Any:
    steps = keras.Input((6, 4))
    h = layers.LSTM(5, return_sequences=True)(steps)
    h = layers.Bidirectional(layers.GRU(3, return_sequences=True))(h)
    return keras.Model(steps, layers.Dense(2)(h))


def attention_net() -> Any:
    steps = keras.Input((6, 4))
    h = layers.MultiHeadAttention(2, 3)(steps, steps)
    return keras.Model(steps, layers.LayerNormalization()(h + steps))


def upsampling_net() -> Any:
    image = keras.Input((5, 6, 3))
    h = layers.UpSampling2D((2, 3), interpolation="bilinear")(image)
    return keras.Model(image, layers.Conv2DTranspose(4, 3, strides=2)(h))


class Head(layers.Layer):
    def __init__(self, out: int, **options: Any) -> None:
        super().__init__(**options)
        self.hidden = layers.Dense(6, activation="relu", name="hidden")
        self.out = layers.Dense(out, name="out")

    def call(self, x: Any) -> Any:
        return self.out(self.hidden(x))


class Dueling(keras.Model):
    def __init__(self) -> None:
        super().__init__(name="dueling")
        self.advantage, self.value = Head(3, name="advantage"), Head(1, name="value")

    def call(self, obs: Any, mask: Any = None, bias: Any = None) -> Any:
        a = self.advantage(obs)
        a = a if bias is None else a + bias
        return {"q": self.value(obs) + a - tf.reduce_mean(a, axis=1, keepdims=True), "a": (a,)}


class Linear(tf.Module):
    def __init__(self, draw: np.random.Generator, rows: int, columns: int) -> None:
        super().__init__()
        self.w = tf.Variable(normal(draw, rows, columns))
        self.calls = tf.Variable(1.5, trainable=False)

    @tf.function
    def __call__(self, x: Any) -> Any:
        self.calls.assign_add(2.0)
        return tf.nn.tanh(x @ self.w) * self.calls


class Stack(tf.Module):
    def __init__(self, draw: np.random.Generator) -> None:
        super().__init__()
        self.blocks = [Linear(draw, 4, 5), Linear(draw, 5, 6)]
        self.head = layers.Dense(2, name="any")
        self.head.build((None, 6))

    def __call__(self, x: Any) -> Any:
        for block in self.blocks:
            x = block(x)
        return self.head(x)


# --- recording and replaying ---------------------------------------------------------------------

NETS = [
    (conv_net, (3, 9, 11, 3)),
    (recurrent_net, (3, 6, 4)),
    (attention_net, (3, 6, 4)),
    (upsampling_net, (2, 5, 6, 3)),
]


@pytest.mark.parametrize("mode", ["eval", "train"])
@pytest.mark.parametrize(("make", "shape"), NETS, ids=lambda item: getattr(item, "__name__", ""))
def test_keras_nets_replay(make: Any, shape: Any, mode: str, draw: np.random.Generator) -> None:
    net, x = randomise(make(), draw), normal(draw, *shape)
    before = [variable.numpy().tobytes() for variable in net.variables]
    tape = record(net, x, mode)
    assert [variable.numpy().tobytes() for variable in net.variables] == before
    assert_replays(tape)
    plain = net(x, training=mode == "train").numpy()
    assert tape.replay().array(tape.outputs["output"]).tobytes() == plain.tobytes()


def test_batch_statistics_are_those_of_the_mode(draw: np.random.Generator) -> None:
    net, x = randomise(conv_net(), draw), normal(draw, 3, 9, 11, 3)
    outputs = {}
    for mode in ("eval", "train"):
        tape = record(net, x, mode)
        outputs[mode] = tape.replay().array(tape.outputs["output"])
    assert np.abs(outputs["eval"] - outputs["train"]).max() > 1e-3


def test_a_replaced_value_reaches_the_output(draw: np.random.Generator) -> None:
    net, x = randomise(conv_net(), draw), normal(draw, 3, 9, 11, 3)
    tape, other = record(net, x), normal(draw, 3, 9, 11, 3)
    replayed = tape.replay(replaced={tape.inputs["0"]: other}).array(tape.outputs["output"])
    assert replayed.tobytes() == net(other, training=False).numpy().tobytes()


def test_layers_and_lines_of_a_subclassed_model(draw: np.random.Generator) -> None:
    net = Dueling()
    net(normal(draw, 2, 4))
    tape = record(randomise(net, draw), {"obs": normal(draw, 5, 4), "bias": normal(draw, 5, 3)})
    found = {op.site.layer for op in tape.ops if op.kind == "MatMul"}
    assert found == {
        f"{head}/{dense}" for head in ("advantage", "value") for dense in ("hidden", "out")
    }
    assert "advantage/hidden/kernel" in names(tape, "parameter")
    mean = tape.ops[kinds(tape).index("Mean")]
    assert mean.site.layer == "" and mean.site.code.startswith('return {"q"')
    assert mean.site.source.startswith(__file__)
    assert mean.attributes == {"keep_dims": True, "axis": 1}
    relu = tape.ops[kinds(tape).index("Relu")]
    assert relu.site.code == "return self.out(self.hidden(x))"
    assert [frame.function for frame in relu.site.frames] == ["call", "call"]
    assert set(tape.outputs) == {"q", "a/0"} and set(tape.inputs) == {"obs", "bias"}
    assert_replays(tape)


def test_a_layer_called_twice_has_one_name(draw: np.random.Generator) -> None:
    tied = layers.Dense(4, name="tied")
    image = keras.Input((4,))
    tape = record(keras.Model(image, tied(tied(image))), normal(draw, 3, 4))
    assert [op.site.layer for op in tape.ops if op.kind == "MatMul"] == ["tied", "tied"]
    assert names(tape, "parameter").count("tied/kernel") == 1


def test_several_inputs_of_a_functional_model(draw: np.random.Generator) -> None:
    a, b = keras.Input((4,), name="a"), keras.Input((3,), name="b")
    joined = layers.Concatenate()([a, b])
    x, y = normal(draw, 2, 4), normal(draw, 2, 3)
    for net, inputs in (
        (keras.Model([a, b], joined), (x, y)),
        (keras.Model({"a": a, "b": b}, joined), {"b": y, "a": x}),
    ):
        tape = record(net, inputs)
        assert (tape.replay().array(tape.outputs["output"]) == np.hstack([x, y])).all()
        assert [op.role for op in tape.ops] == ["move"]


def test_an_unbuilt_model_is_built_and_then_recorded(draw: np.random.Generator) -> None:
    net = keras.Sequential([layers.Dense(5), layers.BatchNormalization(), layers.Dense(2)])
    x = normal(draw, 7, 4)
    tape = record(net, x, "train")
    assert not any(op.role == "random" for op in tape.ops)  # no initialiser on the tape
    assert len(names(tape, "parameter")) == 6
    assert (net.layers[1].moving_mean.numpy() == 0).all()
    assert_replays(tape)


# --- modules, functions, variables ---------------------------------------------------------------


def test_modules_are_named_by_attribute(draw: np.random.Generator) -> None:
    stack, x = Stack(draw), normal(draw, 3, 4)
    tape = record(stack, x)
    assert {op.site.layer for op in tape.ops} == {"blocks/0", "blocks/1", "head"}
    assert {"blocks/0/w", "blocks/1/w", "head/kernel"} <= set(names(tape, "parameter"))
    assert "blocks/0/calls" in names(tape, "buffer")
    assert [float(block.calls) for block in stack.blocks] == [1.5, 1.5]
    assert_replays(tape)
    expected = stack(tf.constant(x)).numpy()
    assert tape.replay().array(tape.outputs["output"]).tobytes() == expected.tobytes()


def test_a_read_after_a_write_sees_it(draw: np.random.Generator) -> None:
    state = tf.Variable(normal(draw, 3, 4))
    before = state.numpy()

    def step(x: Any) -> Any:
        state.assign(tf.tanh(x + state))
        state.assign_sub(x)
        return tf.nn.relu(state), state  # relu's kernel reads the variable by itself

    x = normal(draw, 3, 4)
    tape = record(step, x)
    assert (state.numpy() == before).all()
    assert tape.outputs["1"] == tape.ops[-1].inputs[0]
    other = normal(draw, 3, 4)
    replayed = tape.replay("float64", replaced={tape.inputs["0"]: other.astype(np.float64)})
    wide = np.tanh(other.astype(np.float64) + before) - other
    assert np.allclose(replayed.array(tape.outputs["0"]), np.maximum(wide, 0), rtol=1e-13)
    assert names(tape, "parameter") == ["state"]


def test_embeddings_read_from_a_variable(draw: np.random.Generator) -> None:
    rows = tf.Variable(normal(draw, 9, 5))
    tape = record(tf.function(lambda i: tf.gather(rows, i) * 2.0), np.array([[1, 2], [7, 0]]))
    assert kinds(tape) == ["ResourceGather", "Mul"] and tape.ops[0].role == "move"
    assert names(tape, "parameter") == ["rows"]
    expected = rows.numpy().astype(np.float64)[[[1, 2], [7, 0]]] * 2
    assert (tape.replay("float64").array(tape.outputs["output"]) == expected).all()


def test_layers_inside_a_plain_function(draw: np.random.Generator) -> None:
    class Agent:
        def __init__(self) -> None:
            self.trunk = keras.Sequential([keras.Input((4,)), layers.Dense(3, name="first")])

        def act(self, x: Any) -> Any:
            return tf.argmax(self.trunk(x), axis=-1)

    tape = record(Agent().act, normal(draw, 6, 4))
    assert tape.ops[0].site.layer == "trunk/first"
    assert "trunk/first/kernel" in names(tape, "parameter")
    assert tape.ops[-1].attributes["axis"] == -1


def test_an_object_whose_variables_are_a_method(draw: np.random.Generator) -> None:
    class Holder:
        def __init__(self) -> None:
            self.dense = layers.Dense(2)
            self.dense.build((None, 3))

        def variables(self) -> Any:  # as RLlib's TFModelV2 has it
            return self.dense.variables

        def __call__(self, x: Any) -> Any:
            return self.dense(x)

    tape = record(Holder(), draw.normal(size=(4, 3)).astype("f"))
    assert {"dense/kernel", "dense/bias"} <= {value.name for value in tape.values}


@pytest.mark.parametrize("seeded", [True, False])
def test_random_states_are_left_alone(seeded: bool, draw: np.random.Generator) -> None:
    generator = tf.random.Generator.from_seed(5)

    def noisy(x: Any) -> Any:
        np.random.random(), random.random()
        return x + tf.random.normal((4,)) + keras.random.normal((4,)) + generator.normal((4,))

    def draws() -> list[Any]:
        return [tf.random.normal((3,)).numpy().tolist(), np.random.random(), random.random()] + [
            keras.random.normal((3,)).numpy().tolist(),
            generator.state.numpy().tolist(),
        ]

    x, expected = normal(draw, 2, 4), None
    for recorded in (False, True):
        keras.utils.set_random_seed(3)
        generator.reset_from_seed(5)
        if not seeded:
            keras.random.normal((3,))
        tape = record(noisy, x) if recorded else None
        found = draws()
        expected = expected or found
        assert found == expected
    assert tape is not None
    assert sum(op.role == "random" for op in tape.ops) >= 3
    assert_replays(tape)


def test_dropout_is_drawn_once(draw: np.random.Generator) -> None:
    net = keras.Sequential([keras.Input((40,)), layers.Dropout(0.5), layers.Dense(3)])
    x = normal(draw, 2, 40)
    tape = record(net, x, "train")
    assert [op.kind for op in tape.ops if op.role == "random"] == ["StatelessRandomUniformV2"]
    assert (
        tape.replay().array(tape.outputs["output"]).tobytes()
        == net(x, training=True).numpy().tobytes()
    )
    assert not any(op.role == "random" for op in record(net, x).ops)


# --- graphs, precisions, kernels -----------------------------------------------------------------


def test_a_restored_model_is_one_operation(tmp_path: Path, draw: np.random.Generator) -> None:
    module, x = Linear(draw, 4, 5), normal(draw, 3, 4)
    module(tf.constant(x))
    tf.saved_model.save(module, str(tmp_path))
    restored = tf.saved_model.load(str(tmp_path))
    assert adapter.recognises(restored)
    tape = record(restored, x)
    assert kinds(tape) == ["PartitionedCall"] and "graph" in tape.caveats[0]
    assert float(restored.calls) == 3.5
    for _ in range(2):  # replaying it writes to no variable either
        assert (
            tape.replay().array(tape.outputs["output"])
            == adapter.to_numpy(tape.recorded[tape.outputs["output"]])
        ).all()
    assert float(restored.calls) == 3.5
    assert [op.kind for op in tape.replay("float64").fallbacks] == ["PartitionedCall"]


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16", "float64"])
def test_other_precisions(policy: str, draw: np.random.Generator) -> None:
    net = keras.Sequential(
        [keras.Input((4,)), layers.Dense(5, dtype=policy), layers.Dense(3, dtype=policy)]
    )
    x = normal(draw, 6, 4)
    tape = record(randomise(net, draw), x)
    assert tape.values[tape.inputs["0"]].dtype == ("float64" if policy == "float64" else "float32")
    (first, a, second, b) = (v.numpy().astype(np.float64) for v in net.weights)
    wide = tape.replay("float64").array(tape.outputs["output"])
    assert np.allclose(wide, (x.astype(np.float64) @ first + a) @ second + b, rtol=1e-12)
    recorded = adapter.to_numpy(tape.recorded[tape.outputs["output"]])
    assert (tape.replay().array(tape.outputs["output"]) == recorded).all()


def kernels() -> dict[str, Any]:
    draw = np.random.default_rng(2)
    scale, offset, mean, variance = (tf.constant(np.abs(normal(draw, 3)) + 0.5) for _ in range(4))
    raw = tf.raw_ops

    def norm(training: bool, factor: float) -> Any:
        return lambda x: raw.FusedBatchNormV3(
            x=x, scale=scale, offset=offset, mean=mean, variance=variance, epsilon=1e-2,
            is_training=training, exponential_avg_factor=factor,
        )[: 3 if training else 1]  # fmt: skip

    def bilinear(**options: bool) -> Any:
        return lambda x: raw.ResizeBilinear(images=x, size=[13, 4], **options)

    return {
        "batch norm": norm(False, 1.0),
        "batch norm, training": norm(True, 1.0),
        "batch norm, moving": norm(True, 0.3),
        "leaky relu": lambda x: tf.nn.leaky_relu(x, 0.3),
        "response": lambda x: tf.nn.local_response_normalization(x, 2, 1.1, 0.3, 0.7),
        "bilinear": bilinear(),
        "bilinear, corners": bilinear(align_corners=True),
        "bilinear, centers": bilinear(half_pixel_centers=True),
        "max pool 3d": lambda x: tf.tanh(tf.nn.max_pool3d(x[None], 3, 2, "SAME")),
        "avg pool 3d": lambda x: tf.nn.avg_pool3d(x[None], (2, 3, 2), (1, 2, 2), "SAME"),
        "avg pool 3d, valid": lambda x: tf.nn.avg_pool3d(x[None], 2, 1, "VALID"),
        "fft": lambda x: tf.abs(tf.signal.rfft(x)),
        "range": lambda x: x * tf.range(0.1, 3.0, 1.0),
    }


@pytest.mark.parametrize("which", kernels())
def test_kernels_without_float64_have_one(which: str, draw: np.random.Generator) -> None:
    assert_replays(record(kernels()[which], normal(draw, 4, 7, 5, 3)))


def test_a_kernel_that_has_none_is_said_to_run_as_recorded(draw: np.random.Generator) -> None:
    tape = record(lambda x: tf.image.resize(x, (5, 11), "bicubic") * 2, normal(draw, 2, 4, 3, 2))
    assert [op.kind for op in tape.replay("float64").fallbacks] == ["ResizeBicubic"]


# --- errors, cleanliness -------------------------------------------------------------------------


def test_an_error_of_the_model_is_reported_in_short(draw: np.random.Generator) -> None:
    class Wrong(keras.Model):
        def call(self, x: Any) -> Any:
            return tf.matmul(x, tf.ones((5, 2)))

    with pytest.raises(ModelError) as caught:
        record(Wrong(), normal(draw, 3, 4))
    text = str(caught.value)
    assert text.startswith(
        "Wrong (tensorflow) raised InvalidArgumentError: Matrix size-incompatible"
    )
    assert "return tf.matmul(x, tf.ones((5, 2)))" in text and len(text.splitlines()) == 2
    assert not tf.config.functions_run_eagerly()
    assert keras.config.is_traceback_filtering_enabled()
    assert len(record(lambda x: x + 1, normal(draw, 2)).ops) == 1  # no callback was left behind


@pytest.mark.parametrize("nothing", [None, "text"])
def test_no_tensors(nothing: Any) -> None:
    with pytest.raises(ModelError, match="returned no tensors but"):
        record(lambda x: nothing, np.ones(3))


def test_a_graph_of_tensorflow_1_is_refused() -> None:
    with tf.Graph().as_default(), pytest.raises(ModelError, match="disable_eager_execution"):
        record(lambda x: x, np.ones(3))


def test_what_goes_through_numpy_is_said() -> None:
    tape = record(lambda x: tf.constant(np.tanh(x.numpy())) + 1, np.ones(3))
    assert "through NumPy" in tape.caveats[0]


def test_what_is_recognised(draw: np.random.Generator) -> None:
    concrete = tf.function(lambda x: x * 2).get_concrete_function(tf.TensorSpec((3,)))
    for obj in (
        layers.Dense(2),
        conv_net(),
        Linear(draw, 2, 3),
        tf.function(lambda x: x),
        concrete,
    ):
        assert adapter.recognises(obj), obj
    for obj in (print, np.tanh, lambda x: x, tf.constant(1.0)):
        assert not adapter.recognises(obj), obj


def test_a_tape_is_freed_with_its_last_reference(draw: np.random.Generator) -> None:
    net, x = randomise(conv_net(), draw), normal(draw, 3, 9, 11, 3)
    gc.collect()
    gc.disable()
    try:
        tape = record(net, x)
        alive = weakref.ref(tape.recorded[tape.ops[0].outputs[0]])
        del tape
        assert alive() is None
    finally:
        gc.enable()


def test_numpy_is_shared_not_copied(draw: np.random.Generator) -> None:
    array = normal(draw, 64, 64)
    tensor = adapter.from_numpy(array)
    assert np.shares_memory(adapter.to_numpy(tensor), adapter.to_numpy(tensor))
    assert adapter.from_numpy(array.T).numpy().tobytes() == np.ascontiguousarray(array.T).tobytes()
    assert adapter.to_numpy(adapter.from_numpy(np.float32(2.5))) == 2.5


def test_silence_leaves_what_the_user_set() -> None:
    code = (
        "import os; from parity.frameworks.import_hooks import silence; silence(); "
        "print(os.environ['TF_CPP_MIN_LOG_LEVEL'])"
    )
    for given, expected in (({}, "3"), ({"TF_CPP_MIN_LOG_LEVEL": "0"}, "0")):
        environment = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"} | given
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )
        assert done.stdout.strip() == expected, done.stderr


def test_versions_name_what_changes_numbers() -> None:
    assert {"tensorflow", "keras", "threads", "TF32", "oneDNN"} <= set(adapter.versions())


def test_a_graph_that_its_maker_frees_is_replayed() -> None:
    def jacobian(outer):
        def model(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.tanh(x) if outer else 2 * x
            return tape.batch_jacobian(y, x)

        return parity.wrap(model, framework="tensorflow")

    def reference(x):
        return tf.linalg.diag(1 - tf.tanh(x) ** 2)

    x = np.random.default_rng(3).standard_normal((4, 3)).astype("f")
    given = parity.wrap(reference, framework="tensorflow")
    assert parity.compare(given, jacobian(True), inputs=x).verdict == "parity"
    assert parity.compare(given, jacobian(False), inputs=x).verdict == "diverged"


class Tempered(tf.Module):
    def __init__(self):
        super().__init__()
        self.temperature = tf.Variable(2.0)

    def __call__(self, x):
        return x / tf.sqrt(self.temperature) + tf.constant(2.0)


def test_a_scalar_variable_is_distinguished_from_a_constant_that_is_equal() -> None:
    model = Tempered()
    tape = record(parity.wrap(model, framework="tensorflow"), np.ones((2, 3), np.float32))
    leaves = [value for value in tape.values if value.op < 0 and value.kind != "input"]
    assert sorted((value.name, value.kind) for value in leaves) == [
        ("", "constant"),
        ("temperature", "parameter"),
    ]
    assert model.temperature.numpy() == 2.0
