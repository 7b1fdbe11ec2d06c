"""A file of weights as the source: paired by names and shapes, and never called proved."""

from __future__ import annotations

import itertools

import keras
import numpy as np
import pytest
import torch
from keras import layers

import parity
from parity.errors import FileError
from parity.weights.files import write_weights
from parity.weights.saving import save
from tests.weights import image_nets
from tests.weights import transfer_models as nets

RNG = np.random.default_rng(11)
EVERY = list(itertools.product(nets.FRAMEWORKS, repeat=2))
SUFFIXES = {"torch": ".pt", "keras": ".weights.h5", "chainer": ".npz"}


def through_file(folder, makers, source, target, inputs, images=False, suffix=""):
    """The transfer of a file alone, and the comparison with the model that it was saved from."""
    model, written, given = nets.both(makers, source, target, inputs, images)
    path = folder / f"model{suffix or SUFFIXES[source]}"
    save(model, path)
    last = images and target == "keras"
    result = parity.transfer(path, written, inputs.transpose(0, 2, 3, 1) if last else inputs)
    assert result.verdict == "unverified" and result.report is None
    return result, parity.compare(model, written, inputs=given)


@pytest.mark.parametrize(("source", "target"), EVERY)
def test_images_from_a_file_alone(tmp_path, source, target):
    images = RNG.normal(size=(3, 3, 11, 11)).astype("f")
    result, report = through_file(tmp_path, nets.IMAGES, source, target, images, True)
    assert report.verdict == "parity", f"{result}\n{report}"
    assert result.table.left == ((), ())


@pytest.mark.parametrize("suffix", [".keras", ".h5", ".npz", ".safetensors"])
def test_what_keras_writes_in_other_formats(tmp_path, suffix):
    images = RNG.normal(size=(3, 3, 11, 11)).astype("f")
    result, report = through_file(tmp_path, nets.IMAGES, "keras", "torch", images, True, suffix)
    assert report.verdict == "parity", f"{result}\n{report}"


@pytest.mark.parametrize("target", ["torch", "keras"])
def test_what_keras_2_writes(tmp_path, target):
    """Its names end in `:0`, layer by layer in one HDF5 file."""
    images = RNG.normal(size=(3, 3, 11, 11)).astype("f")
    model, written, given = nets.both(nets.IMAGES, "keras", target, images, True)
    tensors = {f"{t.name}:0": t.read() for t in nets.load("tensorflow").tensors(model.obj)}
    write_weights(tmp_path / "model.h5", tensors, "keras-h5")
    shown = images if target == "torch" else given
    result = parity.transfer(tmp_path / "model.h5", written, shown)
    assert result.verdict == "unverified" and result.table.left == ((), ())
    assert result.table.rows[0].source == (next(iter(tensors)),)
    assert parity.compare(model, written, inputs=given).verdict == "parity"


@pytest.mark.parametrize(("source", "target"), [one for one in EVERY if one[0] != "chainer"])
def test_trunks_of_the_same_shapes_are_distinguished_by_their_names(tmp_path, source, target):
    inputs = RNG.normal(size=(3, 4)).astype("f")
    result, report = through_file(tmp_path, nets.TRUNKS, source, target, inputs)
    assert report.verdict == "parity", f"{result}\n{report}"
    assert sum("paired by their names" in note for note in result.table.notes) == 2


@pytest.mark.parametrize("target", ["torch", "keras"])
def test_names_that_say_nothing_are_taken_in_their_order_and_reported(tmp_path, target):
    inputs = RNG.normal(size=(3, 4)).astype("f")
    result, _ = through_file(tmp_path, nets.TRUNKS, "chainer", target, inputs)
    words = "taken in the order of their names; give the source's model too"
    assert sum(words in note for note in result.table.notes) == 2


@pytest.mark.parametrize("turned", [False, True])
def test_embeddings_from_a_file_alone(tmp_path, turned):
    makers = {"torch": nets.TorchWords, "keras": nets.keras_words}
    names = list(makers)[:: -1 if turned else 1]
    inputs = RNG.integers(0, 7, size=(4, 3))
    result, report = through_file(tmp_path, makers, *names, inputs)
    assert result.table.left == ((), ())
    assert report.verdict == "parity", f"{result}\n{report}"


@pytest.mark.parametrize("seed", range(12))
def test_drawn_nets_from_a_file_alone(tmp_path, seed):
    source, target = EVERY[seed % len(EVERY)]
    makers, inputs = image_nets.makers(seed)
    result, report = through_file(tmp_path, makers, source, target, inputs, True)
    assert report.verdict == "parity", f"{result}\n{report}"


@pytest.mark.parametrize("suffix", [".weights.h5", ".h5", ".keras"])
def test_a_keras_file_with_its_model_is_proved(tmp_path, suffix):
    images = RNG.normal(size=(3, 3, 11, 11)).astype("f")
    model, target, given = nets.both(nets.IMAGES, "keras", "torch", images, True)
    save(model, tmp_path / f"model{suffix}")
    fresh = parity.wrap(nets.keras_images(), input_layout="NHWC")
    path = tmp_path / f"model{suffix}"
    assert parity.transfer(path, target, given, source_model=fresh).verdict == "parity"
    other = parity.wrap(nets.keras_trunks())
    with pytest.raises(FileError, match="does not fit"):
        parity.transfer(path, nets.TorchTrunks(), np.zeros((2, 4), "f"), source_model=other)


def test_a_file_that_lacks_what_its_model_has(tmp_path):
    path = tmp_path / "model.npz"
    np.savez(path, **{"0/W": np.zeros((3, 4), "f")})
    link = nets.chainer.Sequential(nets.L.Linear(4, 3))
    target = torch.nn.Linear(4, 3)
    before = target.weight.detach().numpy().copy()
    with pytest.raises(FileError, match="has no /0/b, which the source's model has"):
        parity.transfer(path, target, np.ones((2, 4), "f"), source_model=link)
    np.savez(path, **{"0/W": np.zeros((4, 3), "f"), "0/b": np.zeros(3, "f")})
    with pytest.raises(FileError, match=r"0/W is \(4, 3\), in the source's model \(3, 4\)"):
        parity.transfer(path, target, np.ones((2, 4), "f"), source_model=link)
    assert np.array_equal(before, target.weight.detach().numpy())


# --- a smaller Nature DQN ------------------------------------------------------------------------


class ChainerHead(nets.chainer.ChainList):
    def __init__(self):
        L = nets.L
        super().__init__(
            L.Convolution2D(4, 8, 8, stride=4),
            L.Convolution2D(8, 12, 4, stride=2),
            L.Convolution2D(12, 12, 3),
            L.Linear(12 * 7 * 7, 20),
        )

    def forward(self, x):
        for layer in self:
            x = nets.F.relu(layer(x))
        return x


def nature():
    return nets.chainer.Sequential(ChainerHead(), nets.L.Linear(20, 9))


def keras_nature():
    inputs = h = layers.Input((84, 84, 4))
    for filters, size, stride in ((8, 8, 4), (12, 4, 2), (12, 3, 1)):
        h = layers.Conv2D(filters, size, strides=stride, activation="relu")(h)
    h = layers.Dense(20, activation="relu", name="first")(layers.Flatten()(h))
    model = keras.Model(inputs, layers.Dense(9, name="last")(h))
    return parity.wrap(model, input_layout="NHWC")


@pytest.fixture
def saved(tmp_path):
    images = RNG.normal(size=(64, 4, 84, 84)).astype("f")
    source = nets.shuffled(nature(), images[:2])
    nets.chainer.serializers.save_npz(tmp_path / "model.npz", source.obj)
    return source.obj, tmp_path / "model.npz", images


def test_a_file_alone_is_converted_and_not_called_proved(saved):
    model, path, images = saved
    target = keras_nature()
    result = parity.transfer(path, target)
    assert result.verdict == "unverified" and result.report is None
    assert any("not proved" in note for note in result.table.notes)
    permuted = [row for row in result.table.rows if "permuted" in row.done]
    assert [row.source for row in permuted] == [("0/3/W",)] and "(7,7,12)" in permuted[0].done
    expected, found = model(images).array, target.obj(images.transpose(0, 2, 3, 1)).numpy()
    assert (expected.argmax(1) == found.argmax(1)).all()
    np.testing.assert_allclose(expected, found, atol=1e-5 * np.abs(expected).max())


def test_a_file_with_its_model_is_proved(saved):
    _, path, _ = saved
    result = parity.transfer(path, keras_nature(), source_model=nature())
    assert result.verdict == "parity"
    assert len(result.table.rows) == 10


def test_a_file_that_contradicts_the_model_is_reported(saved):
    _, path, _ = saved
    with np.load(path) as loaded:
        arrays = dict(loaded)
    arrays["0/2/W"] = np.zeros((12, 12, 4, 4), "f")
    arrays["1/W"] = np.zeros((20, 9), "f")
    np.savez(path, **arrays)
    result = parity.transfer(path, keras_nature())
    notes = " ".join(result.table.notes)
    assert "0/2/W is (12, 12, 4, 4)" in notes and "takes only (12, 12, 3, 3)" in notes
    assert "1/W is (20, 9), where last/kernel takes only (9, 20)" in notes
