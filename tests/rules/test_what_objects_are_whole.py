"""For objects of all kinds what is not compared is named: a fault is no parity, a twin no alarm."""

from __future__ import annotations

import collections
import copy
import functools
import types
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
import scipy.sparse.linalg
import torch
from torch.distributions.utils import lazy_property

from parity.code_owners import is_users_class, known_by_name
from parity.outputs.objects import is_device
from tests.rules.test_outputs_are_all_compared import (
    Build,
    compared,
    in_numpy,
    in_tensorflow,
    in_torch,
)

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")


class Namespace(types.SimpleNamespace):
    """Of a class of the user's."""


class Left:
    """A skill."""


class Right:
    """Another."""


class Discounted:
    gamma: ClassVar[float] = 0.99
    bounds: ClassVar[Any] = np.array([0.5, 1.0])

    def __init__(self, q: Any) -> None:
        self.q = q


class DiscountedLess(Discounted):
    gamma: ClassVar[float] = 0.9


class OtherBounds(Discounted):
    bounds: ClassVar[Any] = np.array([0.5, 2.0])


class Lazy:
    factor = 1.0

    def __init__(self, q: Any) -> None:
        self.q = q

    @lazy_property
    def best(self) -> Any:
        return self.factor * self.q


class LazyTwice(Lazy):
    factor = 2.0


class Heating:
    def __init__(self, set_to: Any) -> None:
        self.set_to = set_to


class HeatingDevice(Heating):
    """Not a framework's."""


class Size(NamedTuple):
    long: float
    short: float


class Spec:
    """It has a method that is named like a tensor's."""

    def __init__(self, low: Any) -> None:
        self.low, self.shape, self.dtype = low, (5, 3), "float32"

    def numpy(self, name: str) -> Any:
        return np.asarray(getattr(self, name))


class Array(np.ndarray):
    unit = ""


def array(unit: str) -> Build:
    def build(h: Any) -> Any:
        made = np.asarray(h).view(Array)
        made.unit = unit
        return made

    return build


def operator(damping: float) -> Build:
    def build(h: Any) -> Any:
        return scipy.sparse.linalg.LinearOperator((3, 3), matvec=lambda v: damping * v)

    return build


def adapted(rate: float, squash: Any = torch.nn.Tanh) -> Build:
    def build(h: Any) -> Any:
        net = torch.nn.Sequential(torch.nn.Linear(3, 2), squash())
        with torch.no_grad():
            net[0].weight.copy_(rate * torch.ones(2, 3))
            net[0].bias.zero_()
        return copy.deepcopy(net)

    return build


def held(**attributes: Any) -> Build:
    return lambda h: Namespace(q=h, **attributes)


def ordered(*names: str) -> Build:
    return lambda h: collections.OrderedDict((name, h * len(name)) for name in names)


def default(factory: Any) -> Build:
    return lambda h: collections.defaultdict(factory, start=h)


def position(risk: float) -> Build:
    return lambda h: Size(risk * float(h[0, 0]), risk)


# what one model returns, a twin, and a fault; all of torch but where one is of NumPy
KINDS: dict[str, tuple[Build, Build, Build]] = {
    "class": (held(skill=Left), held(skill=Left), held(skill=Right)),
    "function": (held(act=torch.tanh), held(act=np.tanh), held(act=torch.sigmoid)),
    "function of tf": (held(act=torch.tanh), held(act=tf.tanh), held(act=tf.sigmoid)),
    "said by class": (Discounted, Discounted, DiscountedLess),
    "array of class": (Discounted, Discounted, OtherBounds),
    "lazy": (Lazy, Lazy, LazyTwice),
    "device": (
        lambda h: Namespace(q=h, device=HeatingDevice(h)),
        lambda h: Namespace(q=h, device=HeatingDevice(h)),
        lambda h: Namespace(q=h, device=HeatingDevice(2 * h)),
    ),
    "renamed text": (held(unit="rad"), held(angle="rad"), held(angle="deg")),
    "renamed truth": (held(greedy=True), held(best=True), held(best=False)),
    "default": (default(float), default(float), default(int)),
    "order": (ordered("a", "bb"), ordered("a", "bb"), ordered("bb", "a")),
    "model": (adapted(0.5), adapted(0.5), adapted(-0.5)),
    "layers": (adapted(0.5), adapted(0.5), adapted(0.5, torch.nn.Sigmoid)),
    "size": (position(0.5), position(0.5), position(0.25)),
    "numpy()": (Spec, Spec, lambda h: Spec(2 * h)),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_fault_is_no_parity(name: str) -> None:
    reference, twin, faulty = KINDS[name]
    assert compared(in_torch(reference), in_torch(twin)).verdict == "parity"
    assert compared(in_torch(reference), in_torch(faulty)).verdict != "parity"


def test_a_number_and_a_text_on_an_array_of_ones_own_count() -> None:
    assert compared(in_numpy(array("rad")), in_numpy(array("rad"))).verdict == "parity"
    assert compared(in_numpy(array("rad")), in_numpy(array("deg"))).verdict == "diverged"


def test_a_librarys_object_without_an_array_is_named() -> None:
    for damping in (0.1, 0.0):
        found = compared(in_numpy(operator(0.1)), in_numpy(operator(damping)))
        assert found.verdict == "unverified"
        assert any("LinearOperator, which is not compared" in one for one in found.reasons)
    equal = held(step=functools.reduce, space=slice(3))
    assert compared(in_torch(equal), in_tensorflow(equal)).verdict == "parity"


def test_a_mask_of_keras_counts_between_models_of_tensorflow() -> None:
    def masked(hides: bool) -> Build:
        def build(h: Any) -> Any:
            h = tf.identity(h)
            h._keras_mask = h > (0.0 if hides else -1e9)
            return h

        return build

    reference = in_tensorflow(masked(True))
    assert compared(reference, in_tensorflow(masked(True))).verdict == "parity"
    assert compared(reference, in_tensorflow(masked(False))).verdict == "unverified"
    assert compared(reference, in_tensorflow(lambda h: h)).verdict == "unverified"
    assert compared(reference, in_torch(lambda h: h)).verdict == "parity"


def test_devices_are_what_frameworks_call_so() -> None:
    texts = "cpu cuda:0 /job:localhost/replica:0/task:0/device:CPU:0 /GPU:0 @numpy @cupy:1".split()
    assert all(map(is_device, texts))
    assert not any(map(is_device, ["pump", "heating device", "cpu2", "gpus"]))
    reference = held(device="cpu")
    assert (
        compared(in_torch(reference), in_tensorflow(held(device="/device:CPU:0"))).verdict
        == "parity"
    )
    assert compared(in_torch(reference), in_tensorflow(held(device="pump"))).verdict != "diverged"


def test_a_function_that_a_library_makes_is_not_known_by_its_name() -> None:
    assert known_by_name(torch.tanh) and known_by_name(tf.tanh) and known_by_name(np.tanh)
    assert not known_by_name(torch.vmap(lambda x: x)) and not known_by_name(np.ones(2).take)
    assert not is_users_class(tf.DType) and is_users_class(Spec)
