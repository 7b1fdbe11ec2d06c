"""Causes: what a divergence may come from, a function for each, a file for each family.

A cause is a function that gets a case and proposes explanations: what the candidate's value would
be if one thing were changed in what the reference computes. `parity.diagnosis.explain` computes
them on several inputs and keeps what holds on all. So a cause may propose freely; it must be quick,
and what it proposes must have parameters that a person can act on.

A new cause is one function in a module of this package, decorated with `cause`, and nothing else:
the modules are found by themselves, and its docstring is its page in docs/causes.md. See
docs/adding-a-cause.md.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from parity.diagnosis.case import Case
from parity.diagnosis.trial import Predict as Predict
from parity.diagnosis.trial import Trial
from parity.tape import Array, Op

LAST = 3  # the tier of what is asked only where nothing else holds, proved or not

# The families that are asked first, in this order: of explanations that hold alike the first one is
# reported. Any other module of this package comes after them, by name.
_ORDER = (
    "gradients",
    *("softmax", "softmax_within", "reduction", "reductions_together", "mean_divisor"),
    *("dueling", "distributional"),
    *("weight_layout", "layout", "regrouped", "shifts", "input_order"),
    *("spatial", "pools", "strides", "crops"),
    *("norm", "affine", "spread", "batch_statistics", "folded_norms"),
    *("activation", "activation_within", "biases", "weights", "layers_exchanged"),
    *("recurrent", "recurrent_steps", "unrolled_rnn", "fused_rnn"),
    *("attention", "mask_shift", "mask_inverted", "fused_attention", "heads", "positions"),
    *("rotary", "resize"),
    *("dropout", "dropouts"),
    *("inputs", "unread"),
    *(
        "distribution",
        "logits",
        "precision",
        "rows",
        "operations",
        "moves",
        "wiring",
        "rewired",
        "op_order",
    ),
    *("blends", "exchanged_steps", "index_parts", "indices", "repeated", "stored", "fills"),
    *("splits", "parts_read", "operands", "expectations", "ends"),
    *(
        "other_steps",
        "factors",
        "bounds",
        "discounts",
        "batched",
        "adjacency",
        "diagonal",
        "tables",
        "elements",
    ),
    "formulas",
)


@dataclass(frozen=True)
class Edit:
    """A change to one call on the candidate's line.

    Attributes:
        functions: names of the call to change, without module; () for any call with the keyword.
        keyword: the argument's names over the frameworks, such as ("axis", "dim"), torch's last.
        value: the source text to put there.
        position: where the argument stands when it is not given by name; None if it never does.
        adds: whether it may be added where the call has none: an axis makes another shape.
    """

    functions: tuple[str, ...]
    keyword: tuple[str, ...]
    value: str
    position: int | None = None
    adds: bool = True


def as_it_is(trial: Trial) -> Array:
    """The candidate's own value: what is proved is that the fixed candidate is the reference."""
    return trial.candidate


@dataclass(frozen=True)
class Explanation:
    """A proposal: under this one change the reference's computation gives the candidate's value.

    Attributes:
        kind: a cause's kind.
        summary: one line in the field's words, both sides' parameters in it.
        candidate: from a trial the value that the candidate gives if this is the cause, in the
            reference's layout.
        reference: from a trial the reference's value by the same formula without the change: proof
            that the formula is what is computed here. None where it is the tape itself that ran.
        parameters: name to (reference's, candidate's).
        edit: how to fix the candidate's line, if one argument does it.
        cost: how much is assumed, among proposals of one function; the smallest is preferred.
        evidence: further facts that a reader can check by eye.
        unproved: why this is consistent with the evidence and no proof, though it holds; "" where
            it is one.
        places: what computes the wrong value in the reference and in the candidate, where that may
            lie before the region, or further on in it; None where it is the region's entry.
    """

    kind: str
    summary: str
    candidate: Predict = as_it_is
    reference: Predict | None = None
    parameters: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    edit: Edit | None = None
    cost: float = 0.0
    evidence: tuple[str, ...] = ()
    unproved: str = ""
    places: tuple[Op | None, Op | None] = (None, None)

    @property
    def reads_the_same(self) -> bool:
        """Whether it says the same of both sides: a reader would learn nothing."""
        return bool(self.parameters) and all(a == b for a, b in self.parameters.values())


Propose = Callable[[Case], Iterator[Explanation]]


def of_x(form: Callable[..., Array], *arguments: Any) -> Predict:
    """Predicts by a formula of a trial's largest input: form(x, *arguments)."""
    return lambda trial: form(trial.x, *arguments)


@dataclass(frozen=True)
class RegisteredCause:
    """A registered cause.

    Attributes:
        kinds: what its explanations may be called.
        tier: how specific it is. Those of tier 0 name an operation's own parameter and are asked
            first; tier 1 are general relations between two arrays or two weights; tier 2 last
            resorts. A later tier is asked only where an earlier one explains nothing, and `LAST`
            only where none holds, proved or not.
        enclosures: whether it is also to be asked with more of the surrounding operations in view.
        sums: whether it is also to be asked with the whole sum in view that the place is a part of.
        propose: the function.
    """

    kinds: tuple[str, ...]
    tier: int
    enclosures: bool
    propose: Propose
    sums: bool = False

    @property
    def family(self) -> str:
        return self.propose.__module__.rsplit(".", 1)[-1]


_REGISTERED: list[RegisteredCause] = []


def cause(
    *kinds: str, tier: int = 0, enclosures: bool = False, sums: bool = False
) -> Callable[[Propose], Propose]:
    """Registers a function that proposes explanations; see `RegisteredCause`."""

    def register(propose: Propose) -> Propose:
        _REGISTERED.append(RegisteredCause(kinds, tier, enclosures, propose, sums))
        return propose

    return register


def causes() -> tuple[RegisteredCause, ...]:
    """All causes, the families in their order."""
    _load()

    def place(one: RegisteredCause) -> tuple[int, str]:
        return (*_ORDER, one.family).index(one.family), one.family

    return tuple(sorted(_REGISTERED, key=place))


def families() -> tuple[str, ...]:
    """The modules that register causes, in the order in which they are asked."""
    return tuple(dict.fromkeys(one.family for one in causes()))


@cache
def _load() -> None:
    for module in pkgutil.iter_modules(__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{__name__}.{module.name}")
