"""What an adapter offers: to recognise and record models, to read their weights; and its traits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from parity.arrays import Array
from parity.keeping.leaf import StateRules
from parity.operation import Adapter, Op
from parity.products import Product, product_of

if TYPE_CHECKING:
    from parity.model import Inputs, Model
    from parity.tape import Tape
    from parity.weights.cell_weights import CellWeights
    from parity.weights.tensors import Tensor
    from parity.windows import Padding, Window


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


# --- traits --------------------------------------------------------------------------------------

Items = Iterable[tuple[Any, Any]]


def _none(*_: Any) -> None:
    return None


def _itself(thing: Any) -> Any:
    return thing


def _never(*_: object) -> bool:
    return False


@dataclass(frozen=True)
class WeightRules:
    """How weights of a framework's own layers are named, laid out and stored.

    Attributes:
        cells: its recurrent cells that a model has, by the names of all its tensors and what reads
            an array of a tensor's shape; it is moved about as the tensor's contents would be.
        cell_layer: the layer of its own that is a cell and that a weight is one of, by the weight's
            name and the names of all of the model's tensors; None for no such.
        momentum: what its batch norms call it where a batch leaves so much of a running statistic.
        stored_name: what a tensor is called in a file.
        file_formats: the formats in which it writes files itself, by suffix, where another would do
            too.
        own_writer: what writes a model to a file of this name; None where the framework does not.
        own_reader: what fills a model from a file in this format; None where it is another's.
        input_shapes: the shapes of a model's inputs, the batch first; [] where it states none.
        takes_channels_last: whether a model's first layer takes images whose channels come last.
    """

    cells: Callable[[Collection[str], Callable[[str], Array]], Iterable[CellWeights]] = (
        lambda names, read: ()
    )
    cell_layer: Callable[[str, Collection[str]], str | None] = _none
    momentum: Callable[[float], str] = "momentum {:g}".format
    stored_name: Callable[[str], str] = _itself
    file_formats: Mapping[str, str] = field(default_factory=dict)
    own_writer: Callable[[Any, str], Callable[[str], Any] | None] = _none
    own_reader: Callable[[Any, str], Callable[[str], Any] | None] = _none
    input_shapes: Callable[[Any], list[tuple[int | None, ...]]] = lambda obj: []
    takes_channels_last: Callable[[Any], bool] = _never


@dataclass(frozen=True)
class Traits:
    """Answers to what code above the adapters asks of a framework.

    Attributes:
        state: how what models hold is put back after a run.
        settings: its own names of the settings of `parity.operations`; the same where it has none.
        weights: how weights of its layers are named, laid out and stored.
        window: how a convolution, a pool or what gives columns goes over its input; None of all
            else, and where its attributes do not state it.
        padding: what a padding puts around its input; None of all else, likewise.
        product: the factors of a product and how they meet; None of all else, likewise. The
            default reads words and settings.
        gates: of a cell of an LSTM that is one operation, what it reads for each unit: "a" for the
            new state, "i", "f" and "o" for the gates; "" of all else.
        channel_axis: where the channels are in an image of so many axes that an operation reads or
            gives.
        parts: what a tensor that is no plain array is made of, as a sparse one; None for others.
        readable: of a tensor of this framework what `np.asarray` can read; others as they are.
        to_bfloat16: a tensor in that dtype; as it is where the framework does not have it.
        is_foreign: whether a kernel is none of the framework's: it may be another in float64.
        is_stateless: whether an operation draws by what it reads alone, as by a key.
        is_shape: whether a thing is the framework's class of a tensor's shape, which is numbers.
        marks: attributes by which the framework passes something on with a tensor, as a mask.
        parameters: the weights of a model among outputs, by name; None for what is no model.
        is_traced: whether the code that runs now would otherwise run only while a graph is traced.
        switches: settings that change values beyond `versions`, for `parity doctor`.
        keywords: arguments that it calls otherwise than NumPy, by NumPy's name, as `dim` for
            `axis`.
        imported_as: short names under which users import its modules of functions.
        divergences: the module with `kl_divergence` of its distributions, if it has one.
    """

    state: StateRules = field(default_factory=StateRules)
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    weights: WeightRules = field(default_factory=WeightRules)
    window: Callable[[Op, Tape], Window | None] = _none
    padding: Callable[[Op, Tape], Padding | None] = _none
    product: Callable[[Op, Tape], Product | None] = product_of
    gates: Callable[[Op], str] = lambda op: ""
    channel_axis: Callable[[Op, int], int] = lambda op, rank: 1
    parts: Callable[[Any], Items | None] = _none
    readable: Callable[[Any], Any] = _itself
    to_bfloat16: Callable[[Any], Any] = _itself
    is_foreign: Callable[[Op], bool] = _never
    is_stateless: Callable[[Op], bool] = _never
    is_shape: Callable[[object], bool] = _never
    marks: tuple[str, ...] = ()
    parameters: Callable[[Any], dict[str, Any] | None] = _none
    is_traced: Callable[[], bool] = _never
    switches: Callable[[], dict[str, str]] = dict
    keywords: Mapping[str, str] = field(default_factory=dict)
    imported_as: tuple[str, ...] = ()
    divergences: str = ""
