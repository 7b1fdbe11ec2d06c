"""One file per framework, the same sections in each: recognise, record, tensors, replay, version.

A framework is found through `sys.modules`: what the user has not imported is never imported here.
A new framework is one new file and one line in `FRAMEWORKS`.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, cast

from parity.errors import FrameworkMissing, ModelError, UsageError
from parity.progress import say
from parity.tape import Adapter, Array, Tape

if TYPE_CHECKING:
    from parity.model import Inputs, Model
    from parity.weights.cell_weights import CellWeights
    from parity.weights.tensors import Tensor

# framework: (the module that shows that it is in use, the file here)
FRAMEWORKS = {
    "torch": ("torch", "parity.frameworks.torch"),
    "tensorflow": ("tensorflow", "parity.frameworks.tensorflow"),
    "chainer": ("chainer", "parity.frameworks.chainer"),
    "numpy": ("numpy", "parity.frameworks.numpy"),
}
# Libraries whose models run in one of these frameworks, likewise.
LIBRARIES = {"rllib": ("ray", "parity.frameworks.rllib")}
ALIASES = {"tf": "tensorflow", "keras": "tensorflow", "pytorch": "torch"}


class Framework(Adapter, Protocol):
    """An adapter that also recognises models and records them."""

    def recognises(self, obj: object) -> bool:
        """Whether `obj` is a model of this framework."""

    def signed(self, obj: Any) -> Callable[..., Any]:
        """The function whose signature a model has."""

    def record(self, model: Model, inputs: Inputs) -> Tape:
        """Runs the model once on NumPy inputs, leaves it as it was, and returns the tape.

        Raises:
            ModelError: the model raised, or cannot be recorded.
        """

    def plain(self, model: Model, as_called: bool = False) -> Callable[[Inputs], dict[str, Array]]:
        """A function that runs the model on NumPy inputs without recording it.

        It gives the outputs by name, bit for bit those of `record`, as arrays of their own, and
        leaves the model as it was. The model must have been recorded before: that builds it.
        It raises ModelError where the model raises.

        Args:
            as_called: whether to run what the model's user runs, traced and compiled parts as they
                are, instead of the Python code behind them, which is what is recorded.
        """

    def other_random_state(self, turn: int) -> AbstractContextManager[None]:
        """Within it a model draws other numbers, at each turn, unless it sets a seed of its own."""

    def tensors(self, obj: object) -> list[Tensor]:
        """The parameters and buffers that a model holds, in its own order, each once."""

    @property
    def FILE_FORMATS(self) -> Mapping[str, str]:  # noqa: N802
        """The formats in which it writes files itself, by suffix, where another would do too."""

    def cells(self, names: Collection[str], read: Callable[[str], Array]) -> Iterable[CellWeights]:
        """The recurrent cells of its own that a model has, by the names of all its tensors.

        Args:
            read: an array of a tensor's shape, by name; it is moved about as its contents would be.
        """

    def cell_layer(self, name: str, known: Collection[str]) -> str | None:
        """The layer of its own that is a cell and that a weight is one of; None for no such.

        Args:
            known: the names of all of the model's tensors.
        """

    def momentum(self, kept: float) -> str:
        """What its batch norms call it where a batch leaves `kept` of a running statistic."""

    def stored_name(self, name: str) -> str:
        """What a tensor is called in a file."""

    def own_writer(self, obj: Any, name: str) -> Callable[[str], Any] | None:
        """What writes a model to a file of this name; None where the framework does not."""

    def own_reader(self, obj: Any, format: str) -> Callable[[str], Any] | None:
        """What fills a model from a file in its own format; None where it is another's."""

    def input_shapes(self, obj: Any) -> list[tuple[int | None, ...]]:
        """The shapes of a model's inputs, the batch first; [] where it does not state them."""

    def takes_channels_last(self, obj: Any) -> bool:
        """Whether a model's first layer goes over images whose channels come last."""

    def versions(self) -> dict[str, str]:
        """Versions and settings that can change numbers."""


class Library(Protocol):
    """Lends the models of a library a face that one of the frameworks records."""

    def recognises(self, obj: object) -> bool:
        """Whether `obj` is a model of this library."""

    def framework(self, obj: object) -> str:
        """The framework whose operations it runs.

        Raises:
            ModelError: it is no model of this library.
        """

    def prepared(self, obj: Any) -> Any:
        """The model as a callable with named outputs."""


def extra(name: str) -> str:
    """How to install what an extra of this package brings: it is on no index, so from a clone."""
    return f'pip install ".[{name}]", in the root of a clone of parity'


def load(name: str) -> Framework:
    """The adapter of a framework by name.

    Raises:
        UsageError: there is no framework of this name.
        FrameworkMissing: it is not installed.
    """
    __tracebackhide__ = True
    name = ALIASES.get(name, name)
    if name not in FRAMEWORKS:
        raise UsageError(
            f"Unknown framework {name!r}; known are {', '.join(FRAMEWORKS)}; "
            f"parity.wrap knows {', '.join(LIBRARIES)} too."
        )
    return cast(Framework, _imported(name, *FRAMEWORKS[name], extra(name)))


def _imported(name: str, module: str, adapter: str, install: str) -> Any:
    __tracebackhide__ = True
    if module not in sys.modules and importlib.util.find_spec(module) is None:
        raise FrameworkMissing(f"{name} is not installed. Install it with: {install}", name)
    if module not in sys.modules:
        say(f"importing {name}")
    return importlib.import_module(adapter)


def prepare(obj: Any, framework: str | None) -> tuple[Any, str]:
    """What is to be recorded, and the name of the framework that records it.

    Raises:
        ParityError: as for `recognise`; or the model is not of the library that was named.
    """
    __tracebackhide__ = True
    for name, (module, adapter) in LIBRARIES.items():
        if framework == name or framework is None and module in sys.modules:
            library: Library = _imported(name, module, adapter, f"pip install 'ray[{name}]'")
            if framework == name or library.recognises(obj):
                runs = library.framework(obj)
                return library.prepared(obj), runs
    return obj, recognise(obj, framework)


def recognise(obj: object, framework: str | None = None) -> str:
    """The name of the framework that a model is of.

    Raises:
        ModelError: it cannot be told, or `obj` cannot be called.
    """
    __tracebackhide__ = True
    if framework is not None:
        load(framework)
        return ALIASES.get(framework, framework)
    in_use = [name for name, (module, _) in FRAMEWORKS.items() if module in sys.modules]
    for name in in_use:
        if load(name).recognises(obj):
            return name
    if not callable(obj):
        raise ModelError(
            f"{type(obj).__name__} is no model that parity knows, and cannot be called. "
            "Hand in a torch, Keras, TensorFlow or Chainer model, or a function over tensors."
        )
    if isinstance(obj, type):
        raise ModelError(f"{obj.__name__} is a class. Hand in an instance: {obj.__name__}(...).")
    from parity.frameworks.function_framework import told_by

    models = {name: load(name).recognises for name in in_use}
    roots = {**ALIASES, **{name: name for name in FRAMEWORKS}}
    used: set[str] = set()
    for told in told_by(obj, models, roots):
        used = told & set(in_use)
        if len(used) == 1:
            return used.pop()
    name = getattr(obj, "__name__", type(obj).__name__)
    why = f": its module uses {' and '.join(sorted(used))}" if used else ""
    which = [one for one in FRAMEWORKS if one in used or not used]
    ways = " or ".join(f"framework={one!r}" for one in which)
    words = " or ".join(f"{word_of(obj)}@{one}" for one in which)
    raise ModelError(
        f"Cannot tell the framework of {name!r}{why}. Name it: parity.wrap({name}, ...) with "
        f"{ways}.",
        f"Cannot tell the framework of {name!r}{why}. Name it behind an @: {words}.",
    )


def framework_of(tensor: object) -> str:
    """The framework that a tensor is of; "" if it is no tensor, or of NumPy's or another."""
    root = type(tensor).__module__.partition(".")[0]
    name = ALIASES.get(root, root)
    tensors = hasattr(tensor, "shape") and hasattr(tensor, "dtype")
    return name if tensors and name in FRAMEWORKS and name != "numpy" else ""


def word_of(obj: Any) -> str:
    """How the command names a function, as far as it can be seen from it."""
    name, module = getattr(obj, "__qualname__", "<"), getattr(obj, "__module__", None)
    return f"{module}:{name}" if module and "<" not in name else "package.module:attribute"
