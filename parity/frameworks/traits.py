"""What may be particular to a framework; the defaults are those of one with nothing particular."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from parity.keeping.leaf import StateRules

Items = Iterable[tuple[Any, Any]]


def _none(_: Any) -> None:
    return None


def _itself(thing: Any) -> Any:
    return thing


def _never(*_: object) -> bool:
    return False


@dataclass(frozen=True)
class Traits:
    """Answers to what code above the adapters asks of a framework.

    Attributes:
        state: how what models hold is put back after a run.
        layout: the layout of images where an operation states none.
        last_first: whether kernels of convolutions are (*space, in, out), not (out, in, *space).
        parts: what a tensor that is no plain array is made of, as a sparse one; None for others.
        readable: of a tensor of this framework what `np.asarray` can read; others as they are.
        is_shape: whether a thing is the framework's class of a tensor's shape, which is numbers.
        marks: attributes by which the framework passes something on with a tensor, as a mask.
        parameters: the weights of a model among outputs, by name; None for what is no model.
        is_traced: whether the code that runs now would otherwise run only while a graph is traced.
        switches: settings that change values beyond `versions`, for `parity doctor`.
        keywords: arguments that it calls otherwise than NumPy, by NumPy's name, as `dim` for
            `axis`.
        imported_as: short names under which users import its modules of functions.
        divergences: the module with `kl_divergence` of its distributions, if it has one.
        running_average: how a norm states which share of an old statistic stays (`old`), or that
            of the new one (`new`).
    """

    state: StateRules = field(default_factory=StateRules)
    layout: str = "NCHW"
    last_first: bool = False
    parts: Callable[[Any], Items | None] = _none
    readable: Callable[[Any], Any] = _itself
    is_shape: Callable[[object], bool] = _never
    marks: tuple[str, ...] = ()
    parameters: Callable[[Any], dict[str, Any] | None] = _none
    is_traced: Callable[[], bool] = _never
    switches: Callable[[], dict[str, str]] = dict
    keywords: Mapping[str, str] = field(default_factory=dict)
    imported_as: tuple[str, ...] = ()
    divergences: str = ""
    running_average: str = "momentum {old:g}"
