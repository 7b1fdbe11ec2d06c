"""What an adapter offers: to recognise models, to record them, and to read their weights."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from parity.tape import Adapter, Array, Tape

if TYPE_CHECKING:
    from parity.model import Inputs, Model
    from parity.weights.tensors import Tensor


class Framework(Adapter, Protocol):
    """An adapter that also recognises models and records them; a module, or any object."""

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
        """Within it a model draws other samples, at each turn, unless it sets a seed of its own."""

    def tensors(self, obj: object) -> list[Tensor]:
        """The parameters and buffers that a model holds, in its own order, each once."""

    def versions(self) -> dict[str, str]:
        """Versions and settings that can change values."""


class Library(Protocol):
    """Wraps the models of a library in what one of the frameworks records."""

    def recognises(self, obj: object) -> bool:
        """Whether `obj` is a model of this library."""

    def framework(self, obj: object) -> str:
        """The framework whose operations it runs.

        Raises:
            ModelError: it is no model of this library.
        """

    def prepared(self, obj: Any) -> Any:
        """The model as a callable with named outputs."""
