"""Layouts of images that nobody stated: found out by running, and never guessed past a failure."""

from __future__ import annotations

import numpy as np
import pytest

import parity
from parity.errors import ModelError
from tests.weights import transfer_models as nets

RNG = np.random.default_rng(3)
NCHW = RNG.normal(size=(3, 3, 11, 11)).astype("f")
NHWC = NCHW.transpose(0, 2, 3, 1)
MAKERS = {"torch": nets.TorchImages, "keras": nets.keras_images, "chainer": nets.ChainerImages}


def pair(source, target):
    layout = {"keras": "NHWC"}
    return [
        nets.shuffled(MAKERS[name](), NHWC if name == "keras" else NCHW, layout.get(name, "NCHW"))
        for name in (source, target)
    ]


@pytest.mark.parametrize("other", ["torch", "chainer"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("stated", [(), (0,), (1,), (0, 1)])
@pytest.mark.parametrize("given", [True, False])
def test_layouts_that_are_not_stated(other, turned, stated, given):
    names = ("keras", other) if turned else (other, "keras")
    models = [m if n in stated else parity.wrap(m.obj) for n, m in enumerate(pair(*names))]
    inputs = (NHWC if turned else NCHW) if given else None
    result = parity.transfer(*models, inputs=inputs)
    assert result.verdict == "parity"
    found = [note for note in result.table.notes if note.startswith("images: ")]
    if len(stated) == 2 or (0 if turned else 1) not in stated:
        assert len(found) == (0 if len(stated) == 2 else 1)


def test_a_model_that_fails_in_every_layout_says_so_and_stays():
    source, target = pair("torch", "keras")
    before = nets.contents(target)
    with pytest.raises(ModelError, match="to have 3 channels, but got 5"):
        parity.transfer(source.obj, target.obj, RNG.normal(size=(3, 5, 11, 11)).astype("f"))
    assert all(map(np.array_equal, before, nets.contents(target)))
