"""TensorFlow: gradients of a model's outputs, and the line of the forward pass each step is of.

A tape runs its gradient functions far from the user's code, and hands them what the operation of
the forward pass read and gave only as far as they need it. But it hands on their results: so each
gradient is known by the value of the forward pass that it is a gradient of.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import backprop, record

from parity.frameworks.tensorflow_replay import to_numpy
from parity.frameworks.tensorflow_watcher import Watcher
from parity.frameworks.tensorflow_weights import Holdings
from parity.model import flatten_inputs
from parity.outputs.gradients import (
    Cotangents,
    cotangent_of,
    is_continuous,
    of_input,
    of_parameter,
)
from parity.patching import patched
from parity.site import Site
from parity.tape import Native, Op


@contextlib.contextmanager
def differentiable(inputs: Any, sites: BackwardSites | None = None) -> Iterator[Any]:
    """Within it a model's outputs can be differentiated, by the tape that it gives.

    Args:
        sites: of a run that is recorded.
    """
    seeing = contextlib.nullcontext() if sites is None else sites.seeing()
    with seeing, tf.GradientTape() as tape:
        tape.watch([one for one in flatten_inputs(inputs).values() if _is_continuous(one)])
        yield tape


def gradients(
    tape: Any,
    outputs: Mapping[str, Any],
    inputs: Any,
    held: Holdings,
    cotangents: Cotangents,
    sites: BackwardSites | None,
) -> dict[str, Any]:
    """Vector-Jacobian products of outputs, by what they are with respect to; None of no path.

    Args:
        sites: of a run that is recorded.
    """
    differentiated = {
        name: item
        for name, item in outputs.items()
        if isinstance(item, tf.Tensor) and _is_continuous(item)
    }
    sources = {
        of_input(path): tensor
        for path, tensor in flatten_inputs(inputs).items()
        if _is_continuous(tensor) and is_continuous(to_numpy(tensor))
    }
    for one in held.variables:
        if one.trainable and _is_continuous(one.variable):
            sources[of_parameter(one.name)] = one.variable
    if not differentiated or not sources:
        return dict.fromkeys(sources)
    given = []
    for name, item in differentiated.items():
        array = cotangents(name, tuple(item.shape))
        given.append(tf.constant(array.astype(item.dtype.as_numpy_dtype)))
        if sites is not None:
            sites.starts(name, item, given[-1])
    found = tape.gradient(list(differentiated.values()), list(sources.values()), given)
    return dict(zip(sources, found, strict=True))


def _is_continuous(tensor: Any) -> bool:
    return bool(tensor.dtype.is_floating or tensor.dtype.is_complex)


class BackwardSites:
    """Where the operation of the forward pass ran that a gradient function belongs to.

    Args:
        inputs: of the tape, by name: those that a backward pass starts from are added.
    """

    def __init__(self, watcher: Watcher, inputs: dict[str, int]) -> None:
        self._inputs = inputs
        self._watcher, self._recorder = watcher, watcher.recorder
        # by the value of a gradient, what it is a gradient of: of a sum and its terms it is one
        self._of: dict[int, set[int]] = {}
        self._site: Site | None = None
        watcher.recorder.differentiated = lambda: self._site

    @contextlib.contextmanager
    def seeing(self) -> Iterator[None]:
        """Within it what users say of their functions' gradients is seen."""
        own = record.record_operation

        def operation(
            kind: str, outputs: Any, inputs: Any, backward: Callable[..., Any], *more: Any
        ) -> None:
            site = self._recorder.site(kind)

            def function(*gradients: Any) -> Any:
                before, self._site = self._site, site
                try:
                    found = backward(*gradients)
                finally:
                    self._site = before
                self._note(map(self._found, inputs), found)
                return found

            own(kind, outputs, inputs, function, *more)

        with patched(record, record_operation=operation):
            yield

    @contextlib.contextmanager
    def followed(self) -> Iterator[None]:
        """Within it gradient functions are followed."""
        own = backprop._gradient_function

        def function(kind: str, *arguments: Any) -> Any:
            _, _, _, outputs, gradients = arguments[:5]
            op = self._differentiated(kind, outputs or (), gradients)
            before, self._site = self._site, Site("", "") if op is None else op.site
            try:
                found = own(kind, *arguments)
            finally:
                self._site = before
            if op is not None:
                self._note(op.inputs, found)
            return found

        pywrap_tfe.TFE_Py_RegisterGradientFunction(function)
        self._site = Site("", "")  # of sums between two functions
        try:
            yield
        finally:
            self._site = None
            pywrap_tfe.TFE_Py_RegisterGradientFunction(own)

    def starts(self, name: str, output: Native, cotangent: Native) -> None:
        """Says what a backward pass starts from, and of which output it is the gradient."""
        called = cotangent_of(name)
        value = self._inputs[called] = self._watcher.leaf(cotangent, "input", called)
        self._of[value] = {self._watcher.value(output)}

    def _differentiated(
        self, kind: str, outputs: Sequence[Any], gradients: Sequence[Any]
    ) -> Op | None:
        """The operation of the forward pass, by what is known of it."""
        values = {value for value in map(self._found, outputs) if value is not None}
        values = values.union(*map(self._gradient_of, gradients))
        made = [self._recorder.values[value].op for value in values]
        ops = [self._recorder.ops[index] for index in made if index >= 0]
        return next((op for op in ops if op.kind == kind), ops[0] if ops else None)

    def _found(self, tensor: Any) -> int | None:
        return self._recorder.find(tensor) if isinstance(tensor, tf.Tensor) else None

    def _gradient_of(self, tensor: Any) -> set[int]:
        """What a tensor is a gradient of; a sum of several of one value is one of it, too."""
        gradient = self._found(tensor)
        if gradient is None:
            return set()
        if gradient not in self._of:
            maker = self._recorder.values[gradient].op
            read = self._recorder.ops[maker].inputs if maker >= 0 else ()
            of = [self._of.get(one, set()) for one in read]
            self._of[gradient] = set.intersection(*of) if of else set()
        return self._of[gradient]

    def _note(self, values: Iterable[int | None], gradients: Any) -> None:
        gradients = [gradients] if isinstance(gradients, tf.Tensor) else gradients
        for value, tensor in zip(values, gradients, strict=False):
            gradient = self._found(tensor)
            if gradient is not None and value is not None:
                self._of.setdefault(gradient, set()).add(value)
