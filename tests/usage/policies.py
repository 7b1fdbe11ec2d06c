"""One policy in four frameworks, called in five ways: nothing here knows of parity.

Each builder takes the weights and gives a model of its framework, written as its users write it:
observations are dicts, NamedTuples, dataclasses or several arguments; so are outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import keras
import tensorflow as tf
import torch
from torch import nn

from parity.frameworks.chainer_numpy import import_chainer

chainer = import_chainer()
F = chainer.functions


class Seen(NamedTuple):
    """An observation."""

    position: Any
    velocity: Any


class Acted(NamedTuple):
    logits: Any
    value: Any


@dataclass(frozen=True)
class Frame:
    """An observation that may come without a mask."""

    position: Any
    velocity: Any
    mask: Any = None


@dataclass
class Decision:
    logits: Any
    value: Any


class Arithmetic:
    """What the policies are made of, in a framework's own operations."""

    def __init__(self, cat: Any, matmul: Any, tanh: Any, softmax: Any, sigmoid: Any) -> None:
        self.cat, self.matmul, self.tanh = cat, matmul, tanh
        self.softmax, self.sigmoid = softmax, sigmoid

    def heads(self, w: Any, position: Any, velocity: Any) -> tuple[Any, Any]:
        h = self.tanh(self.matmul(self.cat(position, velocity), w["trunk"]))
        return self.matmul(h, w["pi"]), self.matmul(h, w["v"])

    def masked(self, w: Any, position: Any, velocity: Any, mask: Any) -> tuple[Any, Any]:
        logits, value = self.heads(w, position, velocity)
        return (logits if mask is None else logits + (mask - 1.0) * 1e4), value

    def step(self, w: Any, position: Any, velocity: Any, state: Any) -> tuple[Any, Any]:
        """One step of a recurrence with a gate; the new state comes out."""
        x = self.cat(position, velocity)
        gate = self.sigmoid(self.matmul(x, w["gate_x"]) + self.matmul(state, w["gate_h"]))
        new = self.tanh(self.matmul(x, w["trunk"]) + self.matmul(state, w["turn"]))
        state = gate * state + (1.0 - gate) * new
        return self.matmul(state, w["pi"]), state


def ways(math: Arithmetic, w: Any) -> dict[str, Any]:
    """How a policy is called, by name: functions of the observation as the framework gives it."""

    def of_dict(observation: Any) -> Any:
        found = math.masked(w, *(observation[k] for k in ("position", "velocity", "mask")))
        return dict(zip(("logits", "value"), found, strict=True))

    def of_tuple(observation: Any) -> Any:
        return Acted(*math.heads(w, observation.position, observation.velocity))

    def of_dataclass(frame: Any) -> Any:
        return Decision(*math.masked(w, frame.position, frame.velocity, frame.mask))

    def of_several(position: Any, velocity: Any, mask: Any, training: Any) -> Any:
        scale = 2.0 if training else 1.0
        logits, value = math.masked(w, position, velocity, mask)
        return logits * scale, value

    def of_state(observation: Any, state: Any) -> Any:
        logits, state = math.step(w, observation["position"], observation["velocity"], state)
        return {"logits": logits, "state": state}

    return {
        "dict": of_dict,
        "NamedTuple": of_tuple,
        "dataclass": of_dataclass,
        "several": of_several,
        "state": of_state,
    }


def in_torch(way: str, weights: Any) -> Any:
    math = Arithmetic(
        lambda *some: torch.cat(some, -1), torch.matmul, torch.tanh, torch.softmax, torch.sigmoid
    )

    class Policy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name, array in weights.items():
                self.register_parameter(name, nn.Parameter(torch.from_numpy(array.copy())))
            self.way = ways(math, dict(self.named_parameters()))[way]

    call = _call(way, "forward")
    return type("Policy", (Policy,), {"forward": call})()


def in_keras(way: str, weights: Any) -> Any:
    ops = keras.ops
    math = Arithmetic(
        lambda *some: ops.concatenate(some, -1), ops.matmul, ops.tanh, ops.softmax, ops.sigmoid
    )

    class Policy(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            own = {k: self.add_weight(shape=a.shape, name=k) for k, a in weights.items()}
            for name, array in weights.items():
                own[name].assign(array)
            self.way = ways(math, own)[way]
            self.built = True

    return type("Policy", (Policy,), {"call": _call(way, "call")})()


def in_tensorflow(way: str, weights: Any) -> Any:
    math = Arithmetic(
        lambda *some: tf.concat(some, -1), tf.matmul, tf.tanh, tf.nn.softmax, tf.sigmoid
    )

    class Policy(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.own = {name: tf.Variable(array, name=name) for name, array in weights.items()}
            self.way = ways(math, self.own)[way]

    return type("Policy", (Policy,), {"__call__": _call(way, "__call__")})()


def in_chainer(way: str, weights: Any) -> Any:
    math = Arithmetic(lambda *some: F.concat(some, -1), F.matmul, F.tanh, F.softmax, F.sigmoid)

    class Policy(chainer.Chain):
        def __init__(self) -> None:
            super().__init__()
            with self.init_scope():
                for name, array in weights.items():
                    setattr(self, name, chainer.Parameter(array.copy()))
            self.way = ways(math, {name: getattr(self, name) for name in weights})[way]

    return type("Policy", (Policy,), {"forward": _call(way, "forward")})()


def _call(way: str, name: str) -> Any:
    """A method with the arguments of that way: signatures are what determines how to call it."""
    if way == "several":

        def several(self: Any, position: Any, velocity: Any, mask: Any, training: Any) -> Any:
            return self.way(position, velocity, mask, training)

        return several
    if way == "state":

        def step(self: Any, observation: Any, state: Any) -> Any:
            return self.way(observation, state)

        return step

    def alone(self: Any, observation: Any) -> Any:
        return self.way(observation)

    return alone
