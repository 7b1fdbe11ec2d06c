"""Round 9: objects of many kinds that models return, and what parity reads of them."""

from __future__ import annotations

import collections
import dataclasses
import io
import types
from concurrent import futures
from typing import Any, ClassVar

import networkx
import numpy as np
import pydantic
import tensorflow as tf
import torch
from PIL import Image
from torch.distributions.utils import lazy_property

from benchmarks.attacks.corpus import Case, attack, numpy_, tf_, torch_
from benchmarks.attacks.heads import W, X, tf_head, torch_head

RULE = "objects-of-all-kinds"


def _sides(reference, port, wrong, right, read):
    """A reference of TensorFlow's, and ports of torch's with and without a fault."""
    return Case(
        tf_(lambda x: reference(tf_head(x))),
        torch_(lambda x: port(torch_head(x), wrong)),
        torch_(lambda x: port(torch_head(x), right)),
        X,
        read,
    )


# --- what its class says --------------------------------------------------------------------------


@dataclasses.dataclass
class HeatingDevice:
    """A device of a house, and where it is to be set."""

    setpoint: Any
    power: Any


@dataclasses.dataclass
class Plan:
    value: Any
    device: Any


@attack(RULE, "a plan says how a heating device is set; its set points are another scale's", 9)
def device_of_a_plan() -> Case:
    def plan(q, scale=1.0):
        return Plan(q, HeatingDevice(20.0 + scale * q, abs(q)))

    def read(thing):
        return [thing.value, thing.device.setpoint, thing.device.power]

    return _sides(plan, plan, 1.8, 1.0, read)


class Reach:
    horizon = 5


class Grasp:
    horizon = 9


@dataclasses.dataclass
class Choice:
    """A class of skills that a hierarchical agent goes on with."""

    q: Any
    skill: type


@attack(
    RULE, "the skill that an agent chooses is a class; it takes the worst instead of the best", 9
)
def skill_is_a_class() -> Case:
    def choose(q, sign=1):
        best = int(np.argmax(sign * np.asarray(q).sum(0)))
        return Choice(q, [Reach, Grasp, Reach, Grasp][best])

    def read(thing):
        return [thing.q, np.array(thing.skill.__name__)]

    q = np.asarray(tf_head(X)).sum(0)
    assert (np.argmax(q) - np.argmin(q)) % 2
    return _sides(choose, choose, -1, 1, read)


class _Discounted:
    gamma: ClassVar[float] = 0.99

    def __init__(self, returns):
        self.returns = returns


class _DiscountedOtherwise(_Discounted):
    gamma: ClassVar[float] = 0.9


@attack(RULE, "a result says its discount by its class; the port's class has another one", 9)
def discount_of_a_class() -> Case:
    def port(q, kind):
        return kind(q)

    def read(thing):
        return [thing.returns, thing.gamma]

    return _sides(_Discounted, port, _DiscountedOtherwise, _Discounted, read)


class _TorchPolicy:
    """As torch's distributions: what is not always needed is worked out when it is asked for."""

    temperature = 1.0

    def __init__(self, logits):
        self.logits = logits

    @lazy_property
    def probs(self):
        return torch.softmax(self.logits / self.temperature, -1)


class _TorchPolicyHot(_TorchPolicy):
    @lazy_property
    def probs(self):
        return torch.softmax(self.logits / 2, -1)


class _TfPolicy:
    def __init__(self, logits):
        self.logits, self.probs = logits, tf.nn.softmax(logits)


class _TfPolicyLazy(_TfPolicy):
    """The same that works its probabilities out when they are asked for."""

    def __init__(self, logits):
        self.logits = logits

    @property
    def probs(self):
        return tf.nn.softmax(self.logits)


def _logits_and_probs(policy):
    return [policy.logits, policy.probs]


@attack(
    RULE, "probabilities are a lazy property of torch's, of twice the temperature in the port", 9
)
def lazy_probabilities() -> Case:
    def model(kind):
        return torch_(lambda x: kind(torch_head(x)))

    faulty, twin = model(_TorchPolicyHot), model(_TorchPolicy)
    return Case(model(_TorchPolicy), faulty, twin, X, _logits_and_probs)


@attack(RULE, "probabilities are a property of one framework's, and a lazy one of torch's", 9)
def lazy_beside_a_property() -> Case:
    faulty, twin = (
        torch_(lambda x, kind=kind: kind(torch_head(x))) for kind in (_TorchPolicyHot, _TorchPolicy)
    )
    reference = tf_(lambda x: _TfPolicyLazy(tf_head(x)))
    return Case(reference, faulty, twin, X, _logits_and_probs)


# --- of libraries ---------------------------------------------------------------------------------


@attack(RULE, "a planner returns a graph of networkx whose costs are the negative ones", 9)
def graph_of_costs() -> Case:
    def planned(q, sign=1.0):
        graph = networkx.DiGraph()
        for at, row in enumerate(np.asarray(q).tolist()):
            for to, cost in enumerate(row):
                graph.add_edge(at, 10 + to, weight=2.0 + sign * cost)
        return {"q": q, "graph": graph}

    def read(thing):
        costs = [data["weight"] for *_, data in thing["graph"].edges(data=True)]
        return [thing["q"], np.array(costs)]

    return _sides(planned, planned, -1.0, 1.0, read)


@attack(RULE, "a saliency map is returned as an image of Pillow's: rows and columns exchanged", 9)
def saliency_as_an_image() -> Case:
    def seen(q, axes=(0, 1)):
        shades = np.round(100 + 50 * np.asarray(q)).astype(np.uint8).transpose(axes)
        return {"q": q, "map": Image.fromarray(np.ascontiguousarray(shades))}

    def read(thing):
        return [thing["q"], np.asarray(thing["map"]).astype(np.int64)]

    return _sides(seen, seen, (1, 0), (0, 1), read)


@attack(RULE, "a picture of the Q-values is returned as a file in memory: negative in the port", 9)
def picture_in_memory() -> Case:
    def drawn(q, sign=1):
        file = io.BytesIO()
        shades = np.round(100 + sign * 50 * np.asarray(q)).astype(np.uint8)
        Image.fromarray(shades).save(file, "PNG")
        return {"q": q, "picture": file}

    def read(thing):
        return [thing["q"], np.frombuffer(thing["picture"].getvalue(), np.uint8).astype(int)]

    return _sides(drawn, drawn, -1, 1, read)


class _Decision(pydantic.BaseModel):
    """What a service answers: an action, and how it is scaled back to the actuator."""

    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    q: Any
    _limit: float = pydantic.PrivateAttr(default=1.0)

    def command(self):
        return self._limit * self.q


@attack(RULE, "a decision of pydantic's keeps the actuator's limit to itself, which is another", 9)
def limit_of_a_decision() -> Case:
    def decide(q, limit=2.0):
        made = _Decision(q=q)
        made._limit = limit
        return made

    def read(thing):
        return [thing.q, thing.command()]

    return _sides(decide, decide, 3.0, 2.0, read)


class _Angles:
    def __init__(self, angle, **more):
        self.angle = angle
        for name, item in more.items():
            setattr(self, name, item)


@attack(RULE, "the unit of an angle has another name in the port, and is another: degrees", 9)
def renamed_unit() -> Case:
    def reference(q):
        return _Angles(q, unit="rad")

    def port(q, unit):
        return _Angles(q, angle_unit=unit)

    def read(thing):
        return [thing.angle, np.array(getattr(thing, "unit", getattr(thing, "angle_unit", "")))]

    return _sides(reference, port, "deg", "rad", read)


@attack(RULE, "the scale of an action has another name in the port, and is another number", 9)
def renamed_scale() -> Case:
    def reference(q):
        return types.SimpleNamespace(action=q, scale=2.0)

    def port(q, scale):
        return types.SimpleNamespace(action=q, max_action=scale)

    def read(thing):
        return [thing.action, getattr(thing, "scale", getattr(thing, "max_action", 0.0))]

    return _sides(reference, port, 20.0, 2.0, read)


# --- of Python ------------------------------------------------------------------------------------


@attack(
    RULE, "what an agent does where it knows nothing is the default of a defaultdict: another", 9
)
def default_of_a_dict() -> Case:
    def table(q, default=0.0):
        known = collections.defaultdict(lambda: default)
        known["start"] = q
        return known

    def read(thing):
        return [thing["start"], thing["never seen"]]

    return _sides(table, table, 9.0, 0.0, read)


class _Spec:
    """An array's description, which gives one of its parts as NumPy's by name."""

    def __init__(self, low, high):
        self.low, self.high = low, high
        self.shape, self.dtype = tuple(low.shape), "float32"

    def numpy(self, name):
        return np.asarray(getattr(self, name))


@attack(
    RULE, "bounds of actions come as a description that has a shape, a dtype and numpy(name)", 9
)
def described_bounds() -> Case:
    def described(q, width=1.0):
        return _Spec(q - 1.0, q + width)

    def read(thing):
        return [thing.numpy("low"), thing.numpy("high")]

    return _sides(described, described, 1.5, 1.0, read)


NAMES = ("left", "right", "up", "down")


@attack(
    RULE, "actions come in the order of their values, as an OrderedDict: the worst comes first", 9
)
def ranking_in_a_dict() -> Case:
    def ranked(q, best_first=True):
        means = dict(zip(NAMES, np.asarray(q).mean(0).tolist(), strict=True))
        order = sorted(NAMES, key=means.get, reverse=best_first)
        return collections.OrderedDict((name, q[:, NAMES.index(name)]) for name in order)

    def read(thing):
        return [np.array(list(thing)), *thing.values()]

    return _sides(ranked, ranked, False, True, read)


class _InfoArray(np.ndarray):
    """NumPy's own example of a subclass: an array that carries its unit."""

    def __new__(cls, array, unit):
        made = np.asarray(array).view(cls)
        made.unit = unit
        return made

    def __array_finalize__(self, other):
        self.unit = getattr(other, "unit", "")


@attack(
    RULE, "an array carries its unit as NumPy's guide to subclasses shows: degrees, not radians", 9
)
def unit_of_an_array() -> Case:
    def model(unit):
        return numpy_(lambda x: _InfoArray(np.tanh(x @ W), unit))

    def read(thing):
        return [np.asarray(thing), np.array(thing.unit)]

    return Case(model("rad"), model("deg"), model("rad"), X, read)


class _Squashed:
    """A mean, and the function by which its user brings it into bounds."""

    def __init__(self, mean, squash):
        self.mean, self.squash = mean, squash


@attack(RULE, "an action is squashed by the function that comes with it: a sigmoid, not a tanh", 9)
def squash_of_a_library() -> Case:
    def model(squash):
        return torch_(lambda x: _Squashed(torch_head(x), squash))

    def read(thing):
        return [thing.mean, thing.squash(thing.mean)]

    return Case(model(torch.tanh), model(torch.sigmoid), model(torch.tanh), X, read)


@attack(RULE, "a value is worked out by a thread, and comes as a future: its sign is another", 9)
def value_in_the_future() -> Case:
    def valued(q, sign=1.0):
        with futures.ThreadPoolExecutor(1) as pool:
            return {"q": q, "value": pool.submit(lambda: sign * float(np.asarray(q).mean()))}

    def read(thing):
        return [thing["q"], thing["value"].result()]

    return _sides(valued, valued, -1.0, 1.0, read)
