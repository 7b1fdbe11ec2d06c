"""What users hand in: wrapped models, inputs of any structure, image layouts, arguments."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from parity.errors import FrameworkMissing, InputError, ModelError, UsageError
from parity.inputs.binding import bind
from parity.model import as_arrays, flatten_inputs, lay_out, map_arrays, name_of, wrap

draw = np.random.default_rng(10)
IMAGES = draw.standard_normal((2, 3, 4, 5)).astype("f")


def relu(x: Any) -> Any:
    return np.maximum(x, 0)


# --- wrap ----------------------------------------------------------------------------------------


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="RLlib is installed")
def test_a_library_that_is_missing_is_named_with_what_to_do() -> None:
    with pytest.raises(
        FrameworkMissing, match=r"rllib is not installed.*pip install 'ray\[rllib\]"
    ):
        wrap(relu, "rllib")


def test_wrap_keeps_the_object_itself() -> None:
    model = wrap(relu, "numpy", "NHWC", inputs=IMAGES, name="mine", mode="train")
    assert model.obj is relu and model.inputs is IMAGES
    assert (model.framework, model.input_layout, model.name, model.mode) == (
        "numpy", "NHWC", "mine", "train",
    )  # fmt: skip


def test_wrapping_again_adds_and_keeps() -> None:
    model = wrap(wrap(relu, "numpy", "NHWC", inputs=IMAGES, mode="train"), name="other")
    assert (model.name, model.input_layout, model.mode) == ("other", "NHWC", "train")
    assert model.inputs is IMAGES and wrap(model) == model
    assert wrap(model, input_layout="NCHW").input_layout == "NCHW"


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("wrong", [{"input_layout": "NWHC"}, {"mode": "test"}])
def test_wrong_words_are_refused(wrong: dict[str, Any], again: bool) -> None:
    model = wrap(relu, "numpy") if again else relu
    with pytest.raises(InputError, match=next(iter(wrong.values()))):
        wrap(model, **({} if again else {"framework": "numpy"}), **wrong)


def test_what_cannot_be_a_model_is_refused() -> None:
    with pytest.raises(UsageError, match="Unknown framework 'caffe'"):
        wrap(relu, framework="caffe")
    for thing in (3, "model", [relu], np.zeros(3)):
        with pytest.raises(ModelError, match="cannot be called"):
            wrap(thing)


def test_names() -> None:
    class Net:
        pass

    assert name_of(relu) == "relu" and name_of(Net()) == "Net" and name_of(Net) == "Net"
    assert name_of(lambda x: x) == "lambda"


# --- inputs --------------------------------------------------------------------------------------


def test_inputs_become_arrays_in_their_structure() -> None:
    arrays = as_arrays({"obs": [[1.0, 2.0], [3.0, 4.0]], "more": (IMAGES[0], [IMAGES, IMAGES[0]])})
    assert arrays["obs"].shape == (2, 2) and arrays["more"][0].shape == (3, 4, 5)
    assert isinstance(arrays["more"][1], tuple) and arrays["more"][1][0] is IMAGES
    assert as_arrays(IMAGES) is IMAGES


def test_flags_words_and_numbers_stay_as_they_are() -> None:
    given = {"x": IMAGES, "flag": True, "how": "sum", "rate": 0.5, "steps": 3, "none": None}
    found = as_arrays(given)
    assert all(type(found[name]) is type(given[name]) for name in given)
    assert list(flatten_inputs(found)) == ["x"]
    assert map_arrays(lambda array: array * 2, found)["steps"] == 3
    # NumPy's numbers are arrays, and so are Python's where nothing else is one
    assert as_arrays((IMAGES, np.float32(0.5)))[1].shape == ()
    assert list(flatten_inputs(as_arrays((1.0, 2, True, None)))) == ["0", "1", "2"]
    assert as_arrays(0.5).shape == ()


def test_tensors_become_arrays() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.arange(6.0, requires_grad=True)
    np.testing.assert_array_equal(as_arrays((tensor * 2,))[0], np.arange(6) * 2.0)


@pytest.mark.parametrize("wrong", [None, "x", ["a", "b"], object(), [[1, 2], [3]], {"x": None}])
def test_what_is_no_numbers_is_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match="inputs"):
        as_arrays(wrong)


def test_paths_of_inputs() -> None:
    one, two = np.zeros(1), np.ones(2)
    assert flatten_inputs(one) == {"0": one}
    assert list(flatten_inputs((one, two))) == ["0", "1"]
    nested = {"obs": one, "state": (one, {"h": two})}
    assert list(flatten_inputs(nested)) == ["obs", "state/0", "state/1/h"]
    doubled = flatten_inputs(map_arrays(lambda array: array * 2, nested))
    assert doubled["state/1/h"].tolist() == [2, 2]


# --- image layouts -------------------------------------------------------------------------------


def test_images_are_permuted_and_nothing_else() -> None:
    flat = draw.standard_normal((2, 7))
    moved = lay_out((IMAGES, {"flat": flat}), "NCHW", "NHWC")
    np.testing.assert_array_equal(moved[0], IMAGES.transpose(0, 2, 3, 1))
    assert moved[1]["flat"] is flat
    np.testing.assert_array_equal(lay_out(moved[0], "NHWC", "NCHW"), IMAGES)


@pytest.mark.parametrize(
    ("source", "target", "permuted"),
    [
        (None, None, False), ("NCHW", None, False), ("NHWC", None, False), (None, "NCHW", False),
        ("NHWC", "NHWC", False), (None, "NHWC", True), ("NHWC", "NCHW", True),
    ],
)  # fmt: skip
def test_images_are_permuted_only_where_layouts_are_said_to_differ(
    source: Any, target: Any, permuted: bool
) -> None:
    """A square image, or one with three rows, is like any other: shapes are not looked at."""
    for images in (IMAGES, draw.standard_normal((3, 3, 3, 3))):
        assert (lay_out(images, source, target) is not images) == permuted


# --- arguments -----------------------------------------------------------------------------------


def test_arrays_and_tuples_are_positional() -> None:
    assert bind(lambda x: x, 1) == ((1,), {})
    assert bind(lambda x, y: x, (1, 2)) == ((1, 2), {})


def test_what_a_function_asks_for_by_name_alone_is_given_by_name() -> None:
    named = ((1,), {"mask": 2})
    assert bind(lambda x, *, mask: x, (1, 2)) == named
    assert bind(lambda x, training=False, *, mask: x, (1, 2)) == named
    assert bind(lambda x, *, state, mask: x, (1, 2, 3)) == ((1,), {"state": 2, "mask": 3})
    # what has a default may be left out, so that nothing says what the last one is
    assert bind(lambda x, *, state=0, mask=0: x, (1, 2)) == ((1, 2), {})
    assert bind(lambda x, *, mask: x, (1, 2, 3)) == ((1, 2, 3), {})


def test_a_dict_goes_by_name_where_the_names_are_the_functions_own() -> None:
    inputs = {"obs": 1, "state": 2}
    assert bind(lambda obs, state: 0, inputs) == ((), inputs)
    assert bind(lambda state, obs, mask=None: 0, inputs) == ((), inputs)
    assert bind(lambda obs, **others: 0, inputs) == ((), inputs)
    assert bind(lambda **others: 0, inputs) == ((), inputs)  # it takes nothing else


@pytest.mark.parametrize("function", [lambda inputs: 0, lambda *all: 0, lambda obs: 0, max])
def test_a_dict_is_one_argument_where_they_are_not(function: Any) -> None:
    inputs = {"obs": 1, "state": 2}
    assert bind(function, inputs) == ((inputs,), {})


def test_a_flag_of_training_goes_to_those_that_take_it() -> None:
    inputs = {"x": 1, "training": False}
    assert bind(lambda x: 0, inputs) == ((), {"x": 1})
    assert bind(lambda x, training=None: 0, inputs) == ((), {"x": 1, "training": False})
    assert bind(lambda inputs, training: 0, inputs) == (({"x": 1},), {"training": False})
    with pytest.raises(InputError, match=r"training=True.*mode='train'"):
        bind(lambda x: 0, {"x": 1, "training": True})
    assert bind(lambda x: 0, {"x": 1, "training": True}, training=True) == ((), {"x": 1})
    mask = np.ones(3)  # an input like any other: it says of no model how it runs
    assert bind(lambda x, training: 0, {"x": 1, "training": mask}) == (
        (), {"x": 1, "training": mask},
    )  # fmt: skip
