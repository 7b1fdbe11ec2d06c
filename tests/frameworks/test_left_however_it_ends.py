"""All is left as it was, bit for bit, however a run ends and whatever ran the model."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import strategies

import parity
from parity.errors import ParityError
from parity.observations.search import search
from tests.frameworks.changing import DEEDS, FRAMEWORKS, X, built
from tests.frameworks.holding import picture


def ending(raises_at: int | None) -> Callable[[], None]:
    runs = itertools.count()

    def ends() -> None:
        if next(runs) == raises_at:
            raise ValueError("no")

    return ends


def changing(framework: str, raises_at: int | None, mode: str) -> parity.Model:
    def does(model: Any, x: Any) -> None:
        for deed in DEEDS:
            deed(model, x)

    model = built(framework, does, mode)
    vars(model.obj)["ends"] = ending(raises_at)
    return model


def compared(model: parity.Model, other: parity.Model, given: np.ndarray) -> None:
    parity.compare(model, other, inputs=given)


def transferred(model: parity.Model, other: parity.Model, given: np.ndarray) -> None:
    parity.transfer(model, other, inputs=given)


def searched(model: parity.Model, other: parity.Model, given: np.ndarray) -> None:
    found = search(
        [model, other],
        lambda inputs: parity.compare(model, other, inputs=inputs),
        strategies.just(given),
        1,
    )
    if found.error is not None:
        raise found.error


def assert_left(run: Any, model: parity.Model, models: list[parity.Model]) -> None:
    given = X.copy()
    before = picture(model.obj, given)
    with contextlib.suppress(ParityError):  # some runs only ask whether a model takes something
        run(*models, given)
    after = picture(model.obj, given)
    assert not [path for path in before | after if before.get(path) != after.get(path)]


@pytest.mark.parametrize("raises_at", [None, 1])
@pytest.mark.parametrize("run", [compared, transferred, searched])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_models_that_pass_and_raise(framework: str, run: Any, raises_at: int | None) -> None:
    model = changing(framework, raises_at, "train" if run is compared else "eval")
    other = changing(framework, None, "eval") if run is transferred else model
    assert_left(run, model, [model, other])


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_models_that_diverge(framework: str) -> None:
    model = changing(framework, None, "eval")
    other = parity.wrap(lambda x: x * 0 + 7, framework="numpy", name="other")
    assert_left(searched if framework == "numpy" else compared, model, [other, model])


# --- what the caller gives -----------------------------------------------------------------------


class Pair(NamedTuple):
    one: Any
    two: Any


@dataclass
class Observation:
    one: Any
    two: Any


def arrays(kind: str, framework: str) -> tuple[Any, list[Any]]:
    def tensor(array: np.ndarray) -> Any:
        if framework != "torch":
            return array.copy()
        made = torch.from_numpy(array.copy()).requires_grad_()
        made.grad = torch.ones(4, 3)
        return made

    one, two = tensor(X), tensor(X + 1)
    given = {"dict": {"one": one, "two": two}, "tuple": Pair(one, two)}
    return given.get(kind, Observation(one, two)), [one, two]


@pytest.mark.parametrize("raises_at", [None, 0, 1])
@pytest.mark.parametrize("kind", ["dict", "tuple", "dataclass"])
@pytest.mark.parametrize("framework", ["torch", "chainer", "numpy"])
def test_what_the_caller_gives(framework: str, kind: str, raises_at: int | None) -> None:
    ends = ending(raises_at)

    def model(observation: Any = None, *, one: Any = None, two: Any = None) -> Any:
        one = one if observation is None else observation.one
        two = two if observation is None else observation.two
        for array in (one, two):
            written = getattr(array, "array", array)
            with torch.no_grad():
                written *= 2
        ends()
        return one + two

    given, held = arrays(kind, framework)
    fields = given if kind == "dict" else vars(given) if kind == "dataclass" else given._asdict()
    before = picture(held), {name: id(item) for name, item in fields.items()}
    wrapped = parity.wrap(model, framework=framework)
    with contextlib.suppress(ParityError):
        parity.compare(wrapped, wrapped, inputs=given)
    fields = given if kind == "dict" else vars(given) if kind == "dataclass" else given._asdict()
    assert (picture(held), {name: id(item) for name, item in fields.items()}) == before
