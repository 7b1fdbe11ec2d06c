"""Errors of `compare` and `wrap`: each says what is wrong, where, and what to do."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

import parity
from parity.errors import FrameworkMissing, InputError, ModelError, UsageError
from parity.weights.inventory import inventory

X = np.random.default_rng(0).normal(size=(5, 7)).astype("float32")


def square(x):
    return np.square(x)


def fails(x):
    raise KeyError("layer_3")


def fails_silently(x):
    raise RuntimeError


def nothing(x):
    return None


class Net:
    def __init__(self, size):
        self._size = size

    def __call__(self, x):
        return x


def message(kind, call):
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, parity.ParityError)
    return str(caught.value)


@pytest.mark.parametrize(
    ("kind", "call", "says"),
    [
        (
            InputError,
            lambda: parity.compare(square, inputs=X),
            ["two models or more", "a reference and its candidates"],
        ),
        (
            InputError,
            lambda: parity.compare(square, square),
            ["No inputs", "compare(..., inputs=array)", "parity.wrap(model, inputs=array)"],
        ),
        (
            InputError,
            lambda: parity.compare(square, square, inputs=X[:0]),
            ["'0'", "of square", "is empty", "(0, 7)"],
        ),
        (
            InputError,
            lambda: parity.compare(square, square, inputs={}),
            ["of square", "no arrays"],
        ),
        (
            InputError,
            lambda: parity.compare(square, square, inputs=np.array(["a", "b"])),
            ["dtype <U1", "Give arrays of numbers, dense, or tuples and dicts of them"],
        ),
        (
            InputError,
            lambda: parity.wrap(square, input_layout="NWHC"),
            ["'NWHC'", "must be 'NCHW' or 'NHWC'"],
        ),
        (
            InputError,
            lambda: parity.wrap(square, mode="test"),
            ["'test'", "must be 'eval' or 'train'"],
        ),
        (
            UsageError,
            lambda: parity.wrap(square, framework="theano"),
            ["Unknown framework 'theano'", "torch, tensorflow, chainer, numpy"],
        ),
        (
            ModelError,
            lambda: parity.wrap(X),
            ["ndarray", "cannot be called", "or a function over tensors"],
        ),
        (
            ModelError,
            lambda: parity.wrap(len),
            ["Cannot tell the framework of 'len'", "parity.wrap(len, ...) with framework='torch'"],
        ),
        (
            ModelError,
            lambda: parity.compare(square, nothing, inputs=X),
            ["nothing (numpy) returned no arrays but NoneType. Return arrays, or tuples, dicts"],
        ),
        (
            ModelError,
            lambda: parity.wrap(Net),
            ["Net is a class. Hand in an instance: Net(...)."],
        ),
        (
            ModelError,
            lambda: parity.compare(square, parity.wrap(Net, framework="numpy"), inputs=X),
            ["Net (numpy) is a class. Hand in an instance: Net(...)."],
        ),
    ],
)
def test_it_says_what_and_what_to_do(kind, call, says):
    text = message(kind, call)
    for part in says:
        assert part in text, text


def test_a_model_that_raises_is_reported_with_its_own_line():
    text = message(ModelError, lambda: parity.compare(square, fails, inputs=X))
    assert text.startswith("fails (numpy) raised KeyError: 'layer_3'\n")
    line = fails.__code__.co_firstlineno + 1
    assert re.search(rf'test_library_messages\.py:{line}: raise KeyError\("layer_3"\)$', text)


def test_a_framework_that_the_name_has_is_not_said_again():
    model = parity.wrap(fails, name="fails (numpy)")
    text = message(ModelError, lambda: parity.compare(square, model, inputs=X))
    assert text.startswith("fails (numpy) raised KeyError")


def test_an_error_without_a_text_is_reported_by_its_kind():
    text = message(ModelError, lambda: parity.compare(square, fails_silently, inputs=X))
    assert text.startswith("fails_silently (numpy) raised RuntimeError: no message\n")


def test_a_missing_framework_is_reported_with_the_command_that_installs_it(monkeypatch):
    import parity.frameworks

    missing = replace(parity.frameworks.FRAMEWORKS["torch"], module="not_torch", adapter="nowhere")
    monkeypatch.setitem(parity.frameworks.FRAMEWORKS, "torch", missing)
    with pytest.raises(FrameworkMissing) as caught:
        parity.wrap(square, framework="pytorch")
    assert caught.value.framework == "torch"
    assert str(caught.value) == (
        'torch is not installed. Install it with: pip install ".[torch]", in the root of a '
        "clone of parity"
    )


def test_the_cause_of_a_models_error_is_kept():
    with pytest.raises(ModelError) as caught:
        parity.compare(square, fails, inputs=X)
    assert isinstance(caught.value.__cause__, KeyError)


def test_torch_a_wrong_shape_names_the_model_and_the_users_line():
    torch = pytest.importorskip("torch")

    class Policy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = torch.nn.Linear(6, 3)

        def forward(self, x):
            return self.hidden(x)

    text = message(ModelError, lambda: parity.compare(Policy(), square, inputs=X))
    assert text.startswith("Policy (torch) raised RuntimeError: mat1 and mat2 shapes")
    assert re.search(r"test_library_messages\.py:\d+: return self\.hidden\(x\)$", text)


def test_tensors_of_another_framework_are_reported_with_it():
    pytest.importorskip("torch")
    tf = pytest.importorskip("tensorflow")

    def port(x):
        return tf.nn.relu(x.numpy())

    model = parity.wrap(port, framework="torch")
    with pytest.raises(ModelError) as caught:
        parity.compare(square, model, inputs=X)
    assert str(caught.value) == (
        "port (torch) returned no tensors but EagerTensor, a tensor of tensorflow. If it is a "
        "function over those, say so: parity.wrap(port, framework='tensorflow')."
    )
    assert caught.value.command.endswith("behind an @: package.module:attribute@tensorflow.")


def test_a_function_of_a_module_with_two_frameworks_is_reported_with_both():
    torch = pytest.importorskip("torch")
    tf = pytest.importorskip("tensorflow")
    space = {"torch": torch, "tf": tf, "__name__": "nets"}
    exec("def port(x): return abs(x)", space)  # its own code points to neither
    with pytest.raises(ModelError) as caught:
        parity.wrap(space["port"])
    assert str(caught.value) == (
        "Cannot tell the framework of 'port': its module uses tensorflow and torch. Name it: "
        "parity.wrap(port, ...) with framework='torch' or framework='tensorflow'."
    )
    assert caught.value.command.endswith("an @: nets:port@torch or nets:port@tensorflow.")


def channels_last(x):
    return np.tanh(x @ np.ones((3, 4)))


def channels_first(x):
    return np.tanh(np.moveaxis(x, 1, -1) @ np.ones((3, 4)))


def laid_out(function, layout):
    return parity.wrap(function, framework="numpy", input_layout=layout)


@pytest.mark.parametrize(
    ("reference", "candidate", "shape", "python", "command"),
    [
        (
            *(channels_first, channels_last, (2, 3, 8, 9)),
            "channels last, on inputs of shape (2, 8, 9, 3). Say so: "
            "parity.wrap(model, input_layout='NHWC').",
            "Say so behind its name, as in nets:port@NHWC.",
        ),
        (
            *(laid_out(channels_last, "NHWC"), channels_first, (2, 8, 9, 3)),
            "channels first, on inputs of shape (2, 3, 8, 9). Say so: "
            "parity.wrap(model, input_layout='NCHW').",
            "Say so behind its name, as in nets:port@NCHW.",
        ),
        (
            *(channels_last, channels_first, (2, 8, 9, 3)),
            "Say how both take them: parity.wrap(reference, input_layout='NHWC') and "
            "parity.wrap(model, input_layout='NCHW').",
            "Say how both take them, as in nets:reference@NHWC nets:port@NCHW.",
        ),
        (
            *(channels_last, channels_first, (2, 3, 8, 9)),
            "Inputs are laid out as the first model takes them: give them so, and say it: "
            "parity.wrap(model, input_layout='NHWC').",
            "give them so, and say it behind its name, as in nets:reference@NHWC.",
        ),
        (
            *(channels_first, channels_last, (2, 8, 9, 3)),
            "on inputs of shape (2, 3, 8, 9). Inputs are laid out as the first model takes them: "
            "give them so.",
            "give them so.",
        ),
        (
            *(channels_first, channels_last, (2, 3, 9)),
            "channels last, on inputs of shape (2, 9, 3). Give it inputs of its own: "
            "parity.wrap(model, inputs=array).",
            "name a function of no arguments that returns parity.wrap(model, inputs=array).",
        ),
    ],
)
def test_channels_in_the_other_place_are_reported(reference, candidate, shape, python, command):
    with pytest.raises(ModelError) as caught:
        parity.compare(reference, candidate, inputs=np.ones(shape, "float32"))
    assert "raised ValueError: matmul" in str(caught.value)
    assert str(caught.value).endswith(python)
    assert caught.value.command.endswith(command)


def test_where_moved_channels_do_not_help_nothing_is_said_of_them():
    images = np.ones((2, 5, 8, 9), "float32")
    assert "channels" not in message(
        ModelError, lambda: parity.compare(fails, fails, inputs=images)
    )
    text = message(ModelError, lambda: parity.compare(channels_last, channels_last, inputs=images))
    assert "It runs" not in text


def test_of_one_model_the_other_place_of_the_channels_is_reported_too():
    text = message(ModelError, lambda: inventory(channels_last, np.ones((2, 3, 8, 9), "float32")))
    assert text.endswith(
        "It runs with channels last, on inputs of shape (2, 8, 9, 3). Give them so."
    )


def test_keras_images_with_channels_in_the_other_place_are_reported():
    keras = pytest.importorskip("keras")
    port = keras.Sequential([keras.Input((8, 9, 3)), keras.layers.Conv2D(4, 3)])
    model = parity.wrap(channels_first, framework="numpy")
    images = np.ones((2, 3, 8, 9), "float32")
    text = message(ModelError, lambda: parity.compare(model, port, inputs=images))
    assert "expected axis -1 of input shape" in text
    assert text.endswith("Say so: parity.wrap(model, input_layout='NHWC').")


def test_torch_of_a_scripted_model_the_function_is_asked_for():
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its end
        scripted = torch.jit.script(torch.nn.Linear(7, 3))
    text = message(ModelError, lambda: parity.compare(scripted, square, inputs=X))
    assert "torch.jit" in text
    assert "Hand in the module" in text


def test_a_report_is_neither_true_nor_false():
    report = parity.compare(square, square, inputs=X)
    with pytest.raises(TypeError, match=r"read report\.verdict"):
        bool(report)


def test_an_unknown_attribute_of_the_package_is_reported():
    with pytest.raises(AttributeError, match="module 'parity' has no attribute 'comparee'"):
        parity.comparee  # noqa: B018


@pytest.mark.parametrize(
    ("inputs", "says"),
    [
        (
            {"observation": X, "action": X, "mask": X},
            ["takes (obs, act)", "a dict of 'observation', 'action', 'mask'", "Give a tuple"],
        ),
        (
            (X, X, X),
            ["takes (obs, act)", "a tuple of 3", "is written ((first, second),)"],
        ),
        (X, ["takes (obs, act)", "was given one array", "Give a tuple"]),
        (
            (X, 0.5),
            ["Numbers and flags of Python's are passed on as they are", "np.float32(...)"],
        ),
    ],
)
def test_inputs_that_do_not_fit_are_reported_with_what_the_model_takes(inputs, says):
    def net(obs, act):
        return obs @ act.T

    model = parity.wrap(net, framework="numpy", name="Net")
    text = " ".join(
        message(ModelError, lambda: parity.compare(model, model, inputs=inputs)).split()
    )
    for words in (*says, "parity.wrap(model, inputs=...)") if isinstance(inputs, dict) else says:
        assert words in text


def test_what_a_model_raises_of_its_own_is_reported_without_advice():
    def net(obs, act):
        raise KeyError("layer_3")

    model = parity.wrap(net, framework="numpy")
    text = message(ModelError, lambda: parity.compare(model, model, inputs=(X, X)))
    assert "takes" not in text
