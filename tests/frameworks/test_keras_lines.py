"""Functional Keras models run in Keras' code alone; the lines that build them are reported."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest

keras = pytest.importorskip("keras")

from keras import layers  # noqa: E402

import parity  # noqa: E402
from parity.frameworks import load  # noqa: E402

INPUTS = np.random.default_rng(0).normal(size=(4, 6)).astype("float32")


def _lines(model, inputs=INPUTS):
    """The first line of each operation, by its kind, in the order of the run."""
    tape = load("tensorflow").record(parity.wrap(model, inputs=inputs), inputs)
    return [(op.kind, op.site.code) for op in tape.ops]


def test_each_step_has_the_line_that_calls_it():
    x = keras.Input((6,))
    hidden = layers.Dense(5)(x)
    doubled = hidden * 2
    model = keras.Model(x, keras.ops.tanh(doubled))
    assert _lines(model) == [
        ("MatMul", "hidden = layers.Dense(5)(x)"),
        ("BiasAdd", "hidden = layers.Dense(5)(x)"),
        ("Mul", "doubled = hidden * 2"),
        ("Tanh", "model = keras.Model(x, keras.ops.tanh(doubled))"),
    ]


def test_a_layer_that_is_called_twice_has_two_lines():
    x = keras.Input((6,))
    dense = layers.Dense(6, use_bias=False)
    once = dense(x)
    twice = dense(once)
    assert _lines(keras.Model(x, twice)) == [
        ("MatMul", "once = dense(x)"),
        ("MatMul", "twice = dense(once)"),
    ]


def test_a_sequential_model_has_the_lines_that_make_its_layers():
    model = keras.Sequential(
        [
            keras.Input((6,)),
            layers.Dense(5, use_bias=False),
            layers.ReLU(),
        ]
    )
    assert _lines(model) == [
        ("MatMul", "layers.Dense(5, use_bias=False),"),
        ("Relu", "layers.ReLU(),"),
    ]


@keras.saving.register_keras_serializable("keras_lines")
class Doubled(layers.Layer):
    def call(self, x):
        return x + x


def test_a_layer_of_the_users_own_has_its_own_line_first():
    x = keras.Input((6,))
    model = keras.Model(x, Doubled()(x))
    tape = load("tensorflow").record(parity.wrap(model, inputs=INPUTS), INPUTS)
    assert [frame.code for frame in tape.ops[0].site.frames[:2]] == [
        "return x + x",
        "model = keras.Model(x, Doubled()(x))",
    ]


def test_a_model_inside_another_has_both_lines():
    x = keras.Input((6,))
    inner = keras.Model(x, keras.ops.exp(x))
    y = keras.Input((6,))
    outer = keras.Model(y, inner(y))
    tape = load("tensorflow").record(parity.wrap(outer, inputs=INPUTS), INPUTS)
    assert [frame.code for frame in tape.ops[0].site.frames[:2]] == [
        "inner = keras.Model(x, keras.ops.exp(x))",
        "outer = keras.Model(y, inner(y))",
    ]


def test_the_model_is_saved_cloned_and_restored_as_before(tmp_path):
    x = keras.Input((6,))
    model = keras.Model(x, Doubled()(layers.Dense(3)(x)))
    model.save(tmp_path / "model.keras")
    copies = [keras.models.load_model(tmp_path / "model.keras"), keras.models.clone_model(model)]
    copies[1].set_weights(model.get_weights())
    for copy in copies:
        assert np.array_equal(copy(INPUTS), model(INPUTS))
        assert parity.compare(model, copy, inputs=INPUTS).verdict == "parity"


@pytest.mark.parametrize(
    "first", ["import parity, keras", "import keras, parity"], ids=["parity first", "keras first"]
)
def test_whichever_is_imported_first(first, tmp_path):
    script = tmp_path / "model.py"
    script.write_text(
        f"{first}\n"
        + textwrap.dedent(
            """
            import numpy as np
            from parity.frameworks import load

            x = keras.Input((6,))
            model = keras.Model(x, keras.ops.tanh(x))
            inputs = np.ones((2, 6), "float32")
            tape = load("tensorflow").record(parity.wrap(model, inputs=inputs), inputs)
            print("LINE", tape.ops[0].site.code)
            """
        )
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert "LINE model = keras.Model(x, keras.ops.tanh(x))" in done.stdout
