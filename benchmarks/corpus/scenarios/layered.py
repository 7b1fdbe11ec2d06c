"""A distributional head whose softmax is a layer of the framework: its name is the place."""

from __future__ import annotations

from collections import OrderedDict

import keras
import numpy as np
import torch
from torch import nn

from .c51_sizes import ACTIONS, ATOMS
from .pair import Pair, Side, chainer, place_of, tagged_lines

F, L = chainer.functions, chainer.links

FEATURES, HIDDEN = 11, 17
PAIRS = (("torch", "keras"), ("chainer", "keras"), ("keras", "torch"), ("chainer", "torch"))


class ChainerHead(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.hidden = L.Linear(FEATURES, HIDDEN)
            self.logits = L.Linear(HIDDEN, ACTIONS * ATOMS)

    def forward(self, x):
        h = F.relu(self.hidden(x))
        logits = F.reshape(self.logits(h), (-1, ACTIONS, ATOMS))
        return F.softmax(logits, axis=2)  # stage: softmax


def torch_head(arrays, axis):
    model = nn.Sequential(
        OrderedDict(
            hidden=nn.Linear(FEATURES, HIDDEN),
            relu=nn.ReLU(),
            logits=nn.Linear(HIDDEN, ACTIONS * ATOMS),
            atoms=nn.Unflatten(1, (ACTIONS, ATOMS)),
            distribution=nn.Softmax(dim=axis),
        )
    )
    with torch.no_grad():
        for layer, (kernel, bias) in zip((model.hidden, model.logits), arrays, strict=True):
            layer.weight.copy_(torch.from_numpy(kernel))
            layer.bias.copy_(torch.from_numpy(bias))
    return model.eval()


def keras_head(arrays, axis):
    model = keras.Sequential(
        [
            keras.layers.Input((FEATURES,)),
            keras.layers.Dense(HIDDEN, activation="relu", name="hidden"),
            keras.layers.Dense(ACTIONS * ATOMS, name="logits"),
            keras.layers.Reshape((ACTIONS, ATOMS), name="atoms"),
            keras.layers.Softmax(axis=axis, name="distribution"),
        ]
    )
    model.set_weights([array for kernel, bias in arrays for array in (kernel.T, bias)])
    return model


def chainer_head(arrays, axis):
    assert axis == -1, "Chainer has no softmax layer; this head is a correct reference"
    model = ChainerHead()
    for layer, (kernel, bias) in zip((model.hidden, model.logits), arrays, strict=True):
        layer.W.array[...], layer.b.array[...] = kernel, bias
    return model


HEADS = {"torch": torch_head, "keras": keras_head, "chainer": chainer_head}


def softmax_layer_pair(reference: str, candidate: str, axis: int) -> Pair:
    """The candidate's softmax layer over `axis` of (batch, actions, atoms); -1 is right."""
    rng = np.random.default_rng(7)
    arrays = [
        (rng.normal(size=shape).astype(np.float32), rng.normal(size=shape[0]).astype(np.float32))
        for shape in ((HIDDEN, FEATURES), (ACTIONS * ATOMS, HIDDEN))
    ]
    return Pair(
        Side(reference, HEADS[reference](arrays, -1)),
        Side(candidate, HEADS[candidate](arrays, axis)),
        (rng.normal(size=(5, FEATURES)).astype(np.float32),),
    )


def is_at_softmax(divergence) -> bool:
    """Whether both sides name the softmax: its layer, or in Chainer, which has none, its line."""
    reference = divergence.reference
    at_line = place_of(reference) in tagged_lines(__file__, "stage: softmax")
    at_layer = "distribution" in (reference.layer or "")
    return (at_line or at_layer) and "distribution" in (divergence.candidate.layer or "")
