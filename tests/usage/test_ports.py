"""Twenty ports as their users call them, and none needs a line of glue to be compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parity
from tests.usage.policies import (
    Frame,
    Seen,
    in_chainer,
    in_keras,
    in_tensorflow,
    in_torch,
)

draw = np.random.default_rng(0)
SIZES = {"trunk": (5, 6), "pi": (6, 4), "v": (6, 1), "gate_x": (5, 6), "gate_h": (6, 6),
         "turn": (6, 6)}  # fmt: skip
WEIGHTS = {name: draw.normal(size=size).astype("f") for name, size in SIZES.items()}
POSITION, VELOCITY = (draw.normal(size=(7, n)).astype("f") for n in (2, 3))
MASK = (draw.random((7, 4)) < 0.7).astype("f")
MASK[:, 0] = 1
STATE = draw.normal(size=(7, 6)).astype("f")
INPUTS: dict[str, Any] = {
    "dict": {"position": POSITION, "velocity": VELOCITY, "mask": MASK},
    "NamedTuple": Seen(POSITION, VELOCITY),
    "dataclass": Frame(POSITION, VELOCITY, MASK),
    "several": (POSITION, VELOCITY, MASK),
    "state": ({"position": POSITION, "velocity": VELOCITY}, STATE),
}
BUILDERS = {"torch": in_torch, "keras": in_keras, "tensorflow": in_tensorflow,
            "chainer": in_chainer}  # fmt: skip

each_way = pytest.mark.parametrize("way", INPUTS)
each_port = pytest.mark.parametrize("port", BUILDERS)


def built(framework: str, way: str, weights: Any = WEIGHTS) -> Any:
    return BUILDERS[framework](way, weights)


@each_port
@each_way
def test_a_port_is_compared_as_it_is(way: str, port: str) -> None:
    # a reference in torch; the port in torch is compared with the one in Chainer
    reference = built("chainer" if port == "torch" else "torch", way)
    report = parity.compare(reference, built(port, way), inputs=INPUTS[way])
    assert report.verdict == "parity", str(report)
    assert report.worst.coverage.outputs_compared == 2
    if way != "several":
        second = "state" if way == "state" else "value"
        assert [one.name for one in report.worst.outputs] == ["logits", second]


@each_port
@each_way
def test_a_fault_in_it_is_found(way: str, port: str) -> None:
    wrong = {**WEIGHTS, "pi": WEIGHTS["pi"][::-1].copy()}
    reference = built("chainer" if port == "torch" else "torch", way)
    report = parity.compare(reference, built(port, way, wrong), inputs=INPUTS[way])
    assert report.verdict == "diverged"
    verdicts = {one.name: one.verdict for one in report.worst.outputs}
    assert list(verdicts.values()) == ["diverged", "parity"]


@each_port
def test_training_is_what_the_mode_says(port: str) -> None:
    """It is asked for without a default; in training the logits are doubled."""
    inputs = INPUTS["several"]
    modes = [parity.wrap(built(port, "several"), mode=mode) for mode in ("eval", "train")]  # type: ignore[arg-type]
    assert parity.compare(modes[1], modes[1], inputs=inputs).verdict == "parity"
    report = parity.compare(*modes, inputs=inputs)
    assert [one.verdict for one in report.worst.outputs] == ["diverged", "parity"]


@each_port
def test_what_a_model_can_do_without_may_be_none(port: str) -> None:
    reference = built("chainer" if port == "torch" else "torch", "dataclass")
    frame = Frame(POSITION, VELOCITY)
    assert parity.compare(reference, built(port, "dataclass"), inputs=frame).verdict == "parity"
    observation = {"position": POSITION, "velocity": VELOCITY, "mask": None}
    reference = built("chainer" if port == "torch" else "torch", "dict")
    assert parity.compare(reference, built(port, "dict"), inputs=observation).verdict == "parity"


def _by_names(position: Any, velocity: Any) -> Any:
    return np.concatenate([position, velocity], -1) @ WEIGHTS["trunk"]


@pytest.mark.parametrize("record", [Seen, Frame])
def test_a_model_that_takes_the_fields_gets_them(record: Callable[..., Any]) -> None:
    def whole(observation: Any) -> Any:
        return _by_names(observation.position, observation.velocity)

    def separate(position: Any, velocity: Any, mask: Any = None) -> Any:
        return _by_names(position, velocity)

    models = [parity.wrap(one, framework="numpy") for one in (whole, separate)]
    assert parity.compare(*models, inputs=record(POSITION, VELOCITY)).verdict == "parity"
