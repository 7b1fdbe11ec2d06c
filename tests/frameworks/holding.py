"""What models hold besides their weights, and a picture of all that may change."""

from __future__ import annotations

import array
import os
import random
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from parity.frameworks import tensorflow_keeping


class Slotted:
    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class Holding:
    """Counters, containers, arrays and generators, as attributes, in a class, and in a closure."""

    of_all = 0

    def __init__(self) -> None:
        self.calls = 0
        self.listed: list[Any] = []
        self.table: dict[str, Any] = {"first": 1}
        self.known: set[int] = {0}
        self.last: deque[int] = deque([1, 2], maxlen=2)
        self.array = np.zeros(3)
        self.objects = np.array(["one", 2], dtype=object)
        self.raw = array.array("i", [1, 2])
        self.modern, self.legacy = np.random.default_rng(1), np.random.RandomState(1)
        self.python = random.Random(1)
        self.slotted = Slotted()
        self.view = memoryview(array.array("i", [1, 2])).cast("B")
        self.masked = np.ma.array([1.0, 2.0], mask=[False, True])
        self.context: ContextVar[int] = ContextVar("count")
        self.context.set(1)
        self.of_thread = threading.local()
        self.of_thread.count, self.of_thread.listed = 1, []
        self.remembers = remembering()


def remembering() -> Callable[[], None]:
    count, listed = 0, [0]

    def remembers() -> None:
        nonlocal count
        count += 1
        listed.append(count)

    return remembers


def picture(*things: Any) -> dict[str, Any]:
    """All that things hold, by path, in comparable form; and what is kept for the whole process."""
    found: dict[str, Any] = {"class": str(vars(Holding)), **_of_the_process()}
    seen: dict[int, Any] = {}

    def visit(path: str, thing: Any) -> None:
        if thing is None or isinstance(thing, (str, int, float)):
            found[path] = repr(thing)
        elif id(thing) not in seen and not isinstance(thing, type):
            seen[id(thing)] = thing
            contents = _contents(thing)
            if contents is not None:
                found[path] = contents
            for name, item in _inside(thing):
                visit(f"{path}.{name}", item)

    visit("", list(things))
    return found


def _contents(thing: Any) -> Any:
    if isinstance(thing, np.random.Generator):
        return str(thing.bit_generator.state)
    if isinstance(thing, np.random.RandomState):
        return str(thing.get_state())
    if isinstance(thing, random.Random):
        return thing.getstate()
    if isinstance(thing, (array.array, memoryview)):
        return thing.tobytes()
    if isinstance(thing, np.ma.MaskedArray):
        return thing.data.tobytes(), np.ma.getmaskarray(thing).tobytes()
    if isinstance(thing, ContextVar):
        return thing.get()
    if type(thing).__name__ == "Generator" and hasattr(thing, "get_state"):  # torch's
        return thing.get_state().numpy().tobytes()
    if hasattr(thing, "detach"):
        read = thing.detach().numpy().tobytes(), str(thing.dtype), thing.requires_grad
        return read, thing._version, id(thing)
    if hasattr(thing, "numpy") and hasattr(thing, "dtype"):
        return "" if thing.dtype == "resource" else np.asarray(thing.numpy()).tobytes()
    if isinstance(thing, np.ndarray):
        return str(thing.tolist()) if thing.dtype.hasobject else (thing.tobytes(), thing.shape)
    if isinstance(thing, (list, tuple, dict, set, deque)):
        return len(thing)
    return None


def _inside(thing: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(thing, dict):
        yield from ((str(key), item) for key, item in thing.items())
    elif isinstance(thing, (list, tuple, set, deque)):
        yield from ((str(at), item) for at, item in enumerate(thing))
    elif hasattr(thing, "__closure__"):
        for cell in thing.__closure__ or ():
            yield "cell", cell.cell_contents
    elif isinstance(thing, threading.local):
        yield from vars(thing).items()
    elif isinstance(thing, Slotted):
        yield "count", thing.count
    elif hasattr(thing, "_flatten_layers"):
        yield "variables", [variable.numpy() for variable in thing.variables]
        yield "trained", [variable.trainable for variable in thing.variables]
        yield "states", [state.numpy() for state in getattr(thing, "states", ())]
        for layer in thing._flatten_layers():
            yield from ((name, item) for name, item in vars(layer).items() if name[0] != "_")
    elif hasattr(thing, "detach"):
        yield "grad", thing.grad
    elif type(thing).__name__ in _GENERATORS or str(type(thing).__module__).startswith(_OPENED):
        for name, item in getattr(thing, "__dict__", {}).items():
            if name not in ("_node", "_device", "_name_scope") and name[:6] != "_self_":
                yield name, item


_OPENED = ("test", "torch.nn", "chainer.", "types")
_GENERATORS = ("Generator", "SeedGenerator")


def _of_the_process() -> dict[str, Any]:
    found: dict[str, Any] = {
        "python": random.getstate(), "numpy": str(np.random.get_state()), "errors": np.geterr(),
    }  # fmt: skip
    torch, tf = sys.modules["torch"], sys.modules["tensorflow"]
    found["torch"] = torch.get_rng_state().numpy().tobytes()
    found["modes"] = torch.is_grad_enabled(), torch.get_default_dtype()
    found["eager"] = tf.config.functions_run_eagerly()
    made = tensorflow_keeping.global_generators()
    found["seeds"] = [(id(one), one.state.numpy().tobytes()) for one in made]
    context = sys.modules["tensorflow.python.eager.context"].context()
    found["seed"] = context._seed, getattr(context, "_rng", random).getstate()
    cudnn, keras = torch.backends.cudnn, sys.modules["keras"].backend
    found["flags"] = {
        "torch": (torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()),
        "cudnn": (cudnn.deterministic, cudnn.benchmark, torch.get_float32_matmul_precision()),
        "keras": (keras.floatx(), keras.epsilon(), keras.image_data_format()),
        "TF32": tf.config.experimental.tensor_float_32_execution_enabled(),
        "print": str(np.get_printoptions()),
        "environment": dict(os.environ),
    }
    config = sys.modules["chainer"].config
    found["chainer"] = dict(vars(config._local)), dict(vars(config._global))
    return found
