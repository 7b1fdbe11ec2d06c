"""The frameworks that parity knows: how each is found, and its adapter loaded.

A framework is found through `sys.modules`: what the user has not imported is never imported here.
A new framework is one file and one call of `register`; see docs/adding-a-framework.md. What an
adapter has to offer is `protocol.Framework`, what it may state of itself besides `protocol.Traits`.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from parity.errors import FrameworkMissing, UsageError
from parity.progress import say

if TYPE_CHECKING:
    from parity.frameworks.protocol import Framework, Traits


@dataclass(frozen=True)
class Registered:
    """What is known of a framework before it is imported.

    Attributes:
        module: the module that shows that it is in use.
        adapter: the module that is its adapter.
        aliases: other names that users give it.
        packages: whose code is its own, so that none of its lines is a user's; default `module`.
        title: how people write it; default its name.
        variables: environment variables that it reads at its start and that may change values.
        generated: folders for temporary files into which it writes code that it generates.
        model_files: endings of files that it writes and reads itself, as of whole models.
        numbers_layers: whether the names it invents for layers are counted through the process.
    """

    module: str
    adapter: str
    aliases: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    title: str = ""
    variables: tuple[str, ...] = ()
    generated: tuple[str, ...] = ()
    model_files: tuple[str, ...] = ()
    numbers_layers: bool = False


FRAMEWORKS: dict[str, Registered] = {}
# Libraries whose models run in one of these frameworks: the module that shows that they are in
# use, and the file here.
LIBRARIES = {"rllib": ("ray", "parity.frameworks.rllib")}
# Numerical packages that have no adapter: their code is no user's either.
OTHER_PACKAGES = ("jax",)


def register(name: str, framework: Registered) -> None:
    """Makes a framework known, as `parity.wrap(..., framework=name)` takes it.

    Args:
        name: what it is called in options, reports and JSON.
        framework: where it and its adapter are; see docs/adding-a-framework.md.
    """
    FRAMEWORKS[name] = framework
    _forget()


def unregister(name: str) -> None:
    """Makes a framework unknown again, as at the end of a test that registered it."""
    del FRAMEWORKS[name]
    _forget()


def _forget() -> None:
    owner_of.cache_clear()
    packages.cache_clear()


def aliases() -> dict[str, str]:
    """The names of frameworks by their aliases."""
    return {alias: name for name, one in FRAMEWORKS.items() for alias in one.aliases}


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
    name = aliases().get(name, name)
    if name not in FRAMEWORKS:
        raise UsageError(
            f"Unknown framework {name!r}; known are {', '.join(FRAMEWORKS)}; "
            f"parity.wrap knows {', '.join(LIBRARIES)} too."
        )
    framework = FRAMEWORKS[name]
    found = load_adapter(name, framework.module, framework.adapter, extra(name))
    return cast("Framework", found)


def load_adapter(name: str, module: str, adapter: str, install: str) -> Any:
    """Imports an adapter.

    Raises:
        FrameworkMissing: what it is for is not installed; the message states how to.
    """
    __tracebackhide__ = True
    if module not in sys.modules and importlib.util.find_spec(module) is None:
        raise FrameworkMissing(f"{name} is not installed. Install it with: {install}", name)
    if module not in sys.modules:
        say(f"importing {name}")
    return importlib.import_module(adapter)


def names_in_use() -> list[str]:
    """The frameworks that are imported."""
    return [name for name, one in FRAMEWORKS.items() if one.module in sys.modules]


def in_use() -> list[Framework]:
    """The adapters of the frameworks that are imported."""
    return [load(name) for name in names_in_use()]


def traits() -> list[Traits]:
    """What is particular to each of them."""
    return [framework.TRAITS for framework in in_use()]


@functools.cache
def packages() -> frozenset[str]:
    """The packages whose code is no user's."""
    known = (one for framework in FRAMEWORKS.values() for one in _packages_of(framework))
    return frozenset((*known, *OTHER_PACKAGES))


def _packages_of(framework: Registered) -> tuple[str, ...]:
    return framework.packages or (framework.module,)


@functools.cache
def owner_of(module: str) -> str:
    """The framework whose code a module is, by the module's name; "" for any other."""
    for name, framework in FRAMEWORKS.items():
        for package in _packages_of(framework):
            if module == package or module.startswith(f"{package}."):
                return name
    return ""


def framework_of(tensor: object) -> str:
    """The framework that a tensor is of; "" if it is no tensor, or of NumPy's or another."""
    name = owner_of(type(tensor).__module__)
    tensors = hasattr(tensor, "shape") and hasattr(tensor, "dtype")
    return name if tensors and name != "numpy" else ""


# --- those that come with this package -----------------------------------------------------------

register(
    "torch",
    Registered(
        "torch",
        "parity.frameworks.torch",
        aliases=("pytorch",),
        packages=("torch", "functorch", "torchgen"),
        title="PyTorch",
        variables=("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",),
    ),
)
register(
    "tensorflow",
    Registered(
        "tensorflow",
        "parity.frameworks.tensorflow",
        aliases=("tf", "keras"),
        packages=("tensorflow", "keras", "tf_keras"),
        title="TensorFlow",
        variables=(
            "TF_ENABLE_ONEDNN_OPTS",
            "TF_DETERMINISTIC_OPS",
            "TF_NUM_INTRAOP_THREADS",
            "TF_NUM_INTEROP_THREADS",
            "KERAS_BACKEND",
            "XLA_FLAGS",
        ),
        generated=("__autograph_generated_file",),
        model_files=(".keras", ".h5"),
        numbers_layers=True,
    ),
)
register(
    "chainer",
    Registered(
        "chainer", "parity.frameworks.chainer", packages=("chainer", "chainerx"), title="Chainer"
    ),
)
register("numpy", Registered("numpy", "parity.frameworks.numpy", aliases=("np",), title="NumPy"))
