"""A step of a model: what an operation, or several, are called in the field."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from parity.tape import Op, Site, Tape

_ACTIVATIONS = frozenset(
    "relu relu6 leaky_relu tanh sigmoid elu selu celu gelu softplus softsign mish silu "
    "hard_sigmoid hard_swish softmax log_softmax log_sigmoid".split()
)
DENSE = frozenset(("dense", "matmul", "einsum", "tensordot"))  # words of products
ADDITIONS = frozenset(("add", "bias_add"))
# The step that an operation is by itself, by its word.
STEPS = {
    **{word: word for word in _ACTIVATIONS},
    **{word: word for word in "batch_norm layer_norm group_norm rms_norm".split()},
    **dict.fromkeys(DENSE, "dense"),
    **dict.fromkeys(("convolution", "depthwise_convolution"), "convolution"),
    **{word: word for word in "transposed_convolution max_pool average_pool embedding".split()},
}
# Steps that stand in for one another at one place without any other change.
FAMILIES = _ACTIVATIONS, frozenset(("max_pool", "average_pool"))

# The parameters that make a size of a step's.
_SIZES = {
    "dense": ("units",),
    "convolution": ("filters", "kernel"),
    "transposed_convolution": ("filters", "kernel"),
    "embedding": ("features",),
}

Read = tuple[str, dict[str, Any]]  # an operation as a step: its kind and its parameters


@dataclass(eq=False)
class Step:
    """A step of a model.

    Attributes:
        kind: in the field's words, with underscores.
        ops: indices of its operations, in the order of the tape.
        parameters: by name, as far as the tape has them; comparable across frameworks.
        opaque: holds whatever a recurrence or an attention is made of.
        operands: values that are added, scale or shift, and statistics, by their role.
    """

    kind: str
    site: Site
    ops: tuple[int, ...]
    parameters: dict[str, Any] = field(default_factory=dict)
    opaque: bool = False
    operands: dict[str, int] = field(default_factory=dict)

    @property
    def size(self) -> tuple[Any, ...]:
        """What sets it apart from others of its kind: units, filters and kernel."""
        return tuple(self.parameters[name] for name in _SIZES.get(self.kind, ()))

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.kind, *self.size)

    @property
    def width(self) -> int | None:
        """How many features it multiplies to; None where it has no weights to multiply by."""
        return self.parameters.get("units") or self.parameters.get("filters")

    def alike(self, other: Step) -> bool:
        return self.kind == other.kind or bool(self.width and other.width)

    @property
    def words(self) -> str:
        return self.kind.replace("_", " ")


def axes_of(tape: Tape, op: Op, rank: int) -> tuple[int, ...]:
    """The axes that an operation is given to work on; () where it is given none."""
    given = tape.setting(op, "axis")
    axes = (given,) if isinstance(given, int) else given
    if not isinstance(axes, (list, tuple)) or not all(isinstance(axis, int) for axis in axes):
        return ()
    return tuple(sorted(axis % rank for axis in axes)) if rank else ()


def text(value: Any) -> str:
    """A parameter as it is shown; a tuple of equal numbers as one."""
    if isinstance(value, tuple):
        same = len(set(value)) == 1
        return str(value[0]) if same else f"({', '.join(map(str, value))})"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
