"""An action distribution as a function: each of its methods is an output, ready to be compared.

A method of a distribution is a function of its parameters and of an action, another distribution
or noise. So two distributions are compared as any two models are; see docs/distributions.md.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from parity.errors import InputError, UsageError
from parity.frameworks import owner_of, traits
from parity.frameworks.recognise import recognise
from parity.model import Model, name_of, wrap
from parity.rl.distributions import Distribution, NoClosedForm

METHODS = ("log_prob", "entropy", "kl", "mode", "sample")
# What libraries call them: torch, TensorFlow Probability, Chainer, ChainerRL, RLlib.
_SPELLED = {
    "log_prob": ("log_prob", "logp"),
    "entropy": ("entropy",),
    "kl": ("kl", "kl_divergence"),
    "mode": ("mode", "most_probable", "deterministic_sample"),
    "sample": ("sample", "rsample"),
}
_LACKS = object()
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def methods(
    make: Callable[..., Any],
    framework: str | None = None,
    *,
    of: Sequence[str] | None = None,
    name: str | None = None,
    **own: Callable[..., Any] | None,
) -> Model:
    """A distribution's methods as one model, whose outputs have the methods' names.

    Its inputs are a dict, a *case*: `parameters`, a dict that `make` takes by names; and as far as
    they are there `action` for log_prob, `other`, parameters again, for KL(self, other), and
    `noise` for sample. `parity.observations.distributions` draws such cases.

    Args:
        make: gives the distribution for its parameters: a class, or a function of tensors.
        framework: of the tensors, as for `parity.wrap`; needed unless `make` shows it.
        of: the methods that are to be compared; default those that the distribution has.
        name: for reports; default that of `make`.
        own: functions in place of the distribution's own methods, by the method's name: `log_prob`
            and `kl`, of the distribution and of an action, or of another distribution; `entropy`
            and `mode`, of the distribution alone; `sample`, of the distribution and of noise: it
            must draw nothing itself.

    Raises:
        ParityError: the framework is not known, or `of` or `own` names no method.
    """
    asked = METHODS if of is None else tuple(of)
    unknown = [method for method in asked if method not in METHODS]
    if unknown or not asked:
        raise UsageError(f"of is {of!r}; it must name some of: {', '.join(METHODS)}.")
    if strange := own.keys() - set(METHODS):
        raise UsageError(
            f"{', '.join(sorted(strange))}: no such method; own functions are for: "
            f"{', '.join(METHODS)}."
        )
    given = {method: function for method, function in own.items() if function is not None}
    title = name or name_of(make)
    found = _Methods(make, asked, of is not None, given, title)
    return wrap(found, framework=framework or _framework_of(make), name=title)


class _Methods:
    """What `methods` wraps."""

    def __init__(
        self,
        make: Callable[..., Any],
        asked: Sequence[str],
        strict: bool,
        own: Mapping[str, Callable[..., Any]],
        name: str,
    ) -> None:
        self.make = make
        self.asked, self.strict, self.own, self.name = asked, strict, own, name

    def __call__(
        self, parameters: Any, action: Any = None, other: Any = None, noise: Any = None
    ) -> dict[str, Any]:
        distribution = self._made(parameters)
        arguments: dict[str, tuple[Any, ...]] = {"entropy": (), "mode": ()}
        if action is not None:
            arguments["log_prob"] = (action,)
        if other is not None:
            arguments["kl"] = (self._made(other),)
        if noise is not None:
            arguments["sample"] = (noise,)
        outputs = {}
        for method in self.asked:
            if method not in arguments:
                continue
            found = self._called(distribution, method, arguments[method])
            if found is not _LACKS:
                outputs[method] = found
            elif self.strict:
                raise InputError(
                    f"{self.name} has no {method}; leave it out of of=, or give {method}=, a "
                    "function of the distribution."
                )
        return outputs

    def _made(self, parameters: Any) -> Any:
        if not isinstance(parameters, Mapping):
            raise InputError(
                f"parameters of {self.name} are {type(parameters).__name__}; give a dict by the "
                "names that it takes."
            )
        return self.make(**parameters)

    def _called(self, distribution: Any, method: str, arguments: tuple[Any, ...]) -> Any:
        """What a method gives; `_LACKS` where the distribution has none, or no closed form."""
        function = self.own.get(method)
        if function is not None:
            return function(distribution, *arguments)
        function = _kl(distribution) if method == "kl" else None
        if function is not None:
            arguments = (distribution, *arguments)
        else:
            spelled = [name for name in _SPELLED[method] if _has(distribution, name)]
            if not spelled:
                return _LACKS
            try:
                function = getattr(distribution, spelled[0])
            except NotImplementedError:  # a property of torch's base class
                return _LACKS
        if not callable(function):
            return function
        if method == "sample":
            self._check_noise(function)
        try:
            return function(*arguments)
        except (NotImplementedError, NoClosedForm):
            return _LACKS

    def _check_noise(self, function: Callable[..., Any]) -> None:
        # what a library's own sample takes, a shape or a seed, has a default
        needed = [
            one
            for one in inspect.signature(function).parameters.values()
            if one.name == "noise" or one.default is one.empty and one.kind in _POSITIONAL
        ]
        if len(needed) != 1:
            raise InputError(
                f"{self.name} draws its own noise. Give parity.rl.methods(..., sample=lambda "
                "distribution, noise: ...), or cases without noise, or of= without sample."
            )


def _has(distribution: Any, name: str) -> bool:
    # not hasattr, which would run a property
    return hasattr(type(distribution), name) or name in getattr(distribution, "__dict__", {})


def _kl(distribution: Any) -> Callable[..., Any] | None:
    """The function that has the KL of a library's distributions, where no method has it."""
    for one in traits():
        library: Any = sys.modules.get(one.divergences)
        if library is not None and isinstance(distribution, library.Distribution):
            found: Callable[..., Any] = library.kl_divergence
            return found
    return None


def _framework_of(make: Callable[..., Any]) -> str | None:
    """That of a class of a framework's or of ours; None where `wrap` has to find it."""
    made = make.func if isinstance(make, partial) else make
    if not isinstance(made, type):
        return recognise(made)
    if issubclass(made, Distribution):
        return "numpy"
    known = filter(None, (owner_of(cls.__module__) for cls in made.__mro__))
    if (framework := next(known, "")) != "":
        return framework
    raise UsageError(
        f"The framework of {made.__name__} is not known. Name it: parity.rl.methods("
        f"{made.__name__}, framework='torch')."
    )
