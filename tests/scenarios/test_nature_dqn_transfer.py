"""Seed 004: a ChainerRL Nature DQN's file, brought to Keras by the command, and proved."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.corpus.scenarios.pair import chainer
from examples.naturedqn import chainer_net, keras_net
from parity.cli import main

TARGET, SOURCE = "examples.naturedqn:keras_net", "examples.naturedqn:chainer_net"
PERMUTED = "inputs permuted from CHW (64,7,7) to HWC (7,7,64): the flatten before the dense"
# The file as the question lists it, in the layout of either framework.
QUESTION = {
    "chainer": {
        "0/0": (32, 4, 8, 8),
        "0/1": (64, 32, 4, 4),
        "0/2": (64, 64, 4, 4),
        "0/3": (512, 3136),
        "1": (9, 512),
    },
    "keras": {
        "conv": (8, 8, 4, 32),
        "conv_1": (4, 4, 32, 64),
        "conv_2": (4, 4, 64, 64),
        "fully_connected": (3136, 512),
        "fully_connected_1": (9, 512),
    },
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The trained model, its file, images, and its Q-values for them."""
    path = tmp_path_factory.mktemp("seed") / "model.npz"
    rng = np.random.default_rng(4)
    np.random.seed(4)  # of Chainer's own initial weights
    model = chainer_net()
    chainer.serializers.save_npz(path, model)
    images = rng.uniform(0, 1, (64, 4, 84, 84)).astype(np.float32)
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        return path, images, model(images).array


def q_values(file, images):
    model = keras_net()
    model.load_weights(file)
    return model(images.transpose(0, 2, 3, 1)).numpy()


@pytest.mark.parametrize("words", [[], ["--source-model", SOURCE]])
def test_the_command_brings_the_file_to_keras(saved, tmp_path, capsys, words):
    path, images, expected = saved
    out = tmp_path / "out.keras"
    code = main(["transfer", str(path), TARGET, "-o", str(out), *words])
    printed = capsys.readouterr().out
    assert code == (0 if words else 3)
    assert printed.startswith("parity: 10 tensors" if words else "unverified: 10 tensors")
    assert printed.count("inputs permuted") == printed.count(PERMUTED) == 1
    assert ("--source-model" in printed) == (not words)
    found = q_values(out, images)
    assert (found.argmax(1) == expected.argmax(1)).sum() == 64
    # float32 sums over 3136 features, of which each framework has its own order
    assert np.abs(found - expected).max() <= 2e-6 * np.abs(expected).max()


def test_what_contradicts_the_model_in_the_questions_listing_is_reported(tmp_path, capsys):
    path = tmp_path / "model.npz"
    notes = {}
    for framework, shapes in QUESTION.items():
        kernel, bias = {"chainer": ("W", "b"), "keras": ("kernel", "bias")}[framework]
        out = 3 if framework == "keras" else 0
        arrays = {}
        for name, shape in shapes.items():
            size = shape[-1] if out else shape[0]
            arrays[f"{name}/{kernel}"] = np.zeros(shape, "f")
            arrays[f"{name}/{bias}"] = np.zeros(9 if 9 in shape else size, "f")
        np.savez(path, **arrays)
        assert main(["transfer", str(path), TARGET, "--json", str(tmp_path / "report.json")]) == 3
        result = json.loads((tmp_path / "report.json").read_text())
        notes[framework] = " ".join(result["table"]["notes"])
        assert "conv_2/kernel" in result["table"]["left"][1]
    expected = "0/2/W is (64, 64, 4, 4), where conv_2/kernel takes only (64, 64, 3, 3); "
    assert expected in notes["chainer"]
    assert "it would leave 64x6x6 = 2304 features, and 0/3/W takes 3136" in notes["chainer"]
    expected = "conv_2/kernel is (4, 4, 64, 64), where conv_2/kernel takes only (3, 3, 64, 64); "
    assert expected in notes["keras"] and "64x6x6 = 2304 features" in notes["keras"]
    expected = "fully_connected_1/kernel is (9, 512), where fully_connected_1/kernel takes only "
    assert f"{expected}(512, 9): it lies the other way round" in notes["keras"]
    assert "other way round" not in notes["chainer"]
