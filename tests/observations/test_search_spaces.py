"""The search over the observations of a space."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings

import parity
from parity.comparison import compare
from parity.model import flatten_inputs
from parity.observations.search import search, strategy_of

pytest.importorskip("parity.observations.spaces")
gymnasium = pytest.importorskip("gymnasium")
spaces = gymnasium.spaces

SPACE = spaces.Dict({"box": spaces.Box(-3, 3, (7,)), "index": spaces.Discrete(6)})
torch.manual_seed(0)
LINEAR, TABLE = torch.nn.Linear(7, 4), torch.nn.Embedding(6, 4)


def reference(d):
    return LINEAR(d["box"]) + TABLE(d["index"])


def port(d):
    one_hot = torch.nn.functional.one_hot(d["index"], 6).float()
    return d["box"] @ LINEAR.weight.T + LINEAR.bias + one_hot @ TABLE.weight


def short(d):
    return port({"box": d["box"], "index": d["index"].clamp(max=4)})


def first_of_ties(d):
    box = d["box"]
    largest = torch.nn.functional.one_hot(box.argmax(1), 7)
    return LINEAR(torch.where(largest > 0, box + 1, box)) + TABLE(d["index"])


def all_of_ties(d):
    box = d["box"]
    largest = box >= box.amax(1, keepdim=True)
    return LINEAR(torch.where(largest, box + 1, box)) + TABLE(d["index"])


def verdict(a, b):
    models = [parity.wrap(model, framework="torch") for model in (a, b)]
    run = lambda inputs: compare(*models, inputs=inputs)  # noqa: E731
    chosen = {"_hypothesis_internal_use_settings": settings(database=None, derandomize=True)}
    return search(models, run, strategy_of(SPACE), 200, decorations=chosen)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (reference, port, "parity"),
        (reference, short, "diverged"),
        (all_of_ties, first_of_ties, "diverged"),
    ],
)
def test_a_space_is_searched(a, b, expected):
    found = verdict(a, b)
    assert found.verdict == expected
    if expected == "diverged":
        observation = found.observation
        single = {key: array[0] for key, array in observation.items()}
        assert SPACE["box"].contains(single["box"])
        assert found.alone


def test_batches_are_of_one_and_of_more():
    sizes = set()

    @settings(max_examples=60, database=None, derandomize=True)
    @given(strategy_of(SPACE))
    def draw(observation):
        sizes.add({len(array) for array in flatten_inputs(observation).values()}.pop())

    draw()
    assert 1 in sizes and max(sizes) > 2


def test_the_edges_that_are_drawn_are_there():
    from parity.observations import EDGES
    from parity.observations.search import _EDGES

    assert set(_EDGES) <= set(EDGES)
