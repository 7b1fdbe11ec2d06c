"""What a region computes, as a formula that a person can read: `a - sum(b, axis=1) * c`."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from parity.diagnosis.causes._index_in_words import permutation, sliced
from parity.diagnosis.causes._limits import CHARACTERS_OF_A_FORMULA
from parity.diagnosis.causes._sides import CaseSide
from parity.errors import ReplayError
from parity.operations import FILLED, WORDS
from parity.products import Product
from parity.tape import Array, Op

_TEST, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(6)  # how strongly an expression binds
_INFIX = {
    "add": ("+", _SUM),
    "bias_add": ("+", _SUM),
    "subtract": ("-", _SUM),
    "multiply": ("*", _PRODUCT),
    "divide": ("/", _PRODUCT),
    "floor_divide": ("//", _PRODUCT),
    "remainder": ("%", _PRODUCT),
    "power": ("**", _POWER),
}
_IDLE = {"+": "0", "-": "0", "*": "1", "/": "1", "**": "1"}  # operands that change nothing
_COMPARED = {
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "logical_and": "&",
    "logical_or": "|",
}
_EXCHANGED = {
    "subtract_from": "subtract",
    "divide_from": "divide",
    "power_from": "power",
    "reciprocal": "divide",
}
# What a shape alone decides, and what changes no number.
_SILENT = frozenset(("cast", "copy", "broadcast", "expand_dims", "squeeze"))
_JOINING = frozenset(("concatenate", "stack", "pad", "reflect_pad", "replicate_pad", "gather"))
_UNSAID: tuple[Any, ...] = (None, "", (), [], {}, False)
_VALUES = re.compile("[0-9]+|[\ue000-\uf8ff]'?")  # numbers, and names until they are letters
_NAMES = 6  # that are listed, one after another
_WINDOW = re.compile("stride|pad|dilat|group|^[spd][xyhw]$")  # settings that are 1 or 0 if none
_HIDDEN = frozenset(
    (
        *("half_to_float", "keepdim", "keep_dims", "keepdims", "sorted", "data_format"),
        *("beta_inv", "incompatible_shape_error", "allowtf32", "scale_grad_by_freq", "sparse"),
    )
)


class TooLong(Exception):
    """A formula that nobody would read."""


@dataclass(frozen=True)
class Formula:
    """An expression, and how strongly it binds.

    Attributes:
        spread: how it is written where it does not meet other values element by element, if it is
            repeated to a larger shape; "" if it is not.
    """

    text: str
    binds: int = _ATOM
    spread: str = ""

    @property
    def alone(self) -> str:
        """The expression as an argument."""
        return self.spread or self.text

    def within(self, binds: int, right: bool = False) -> str:
        """The expression as an operand of one that binds so strongly."""
        loose = self.binds < binds or (right and self.binds == binds)
        return f"({self.text})" if loose else self.text


class Formulas:
    """The values of one side's region as formulas of others.

    Attributes:
        names: what values are called that are not written out.
        moves: whether moves are written out that the shapes alone imply, as an axis of length 1.
        constants: whether it is written out what constants are made of.
    """

    def __init__(
        self,
        side: CaseSide,
        names: Mapping[int, str],
        moves: bool = False,
        constants: bool = False,
    ) -> None:
        self._side, self._names, self._moves, self._constants = side, names, moves, constants
        self._tape = side.view.tape
        self._inside = {op.index for op in side.view.ops}
        self._known: dict[int, Formula] = {}

    def of(self, value: int) -> Formula:
        """A value in terms of what has a name.

        Raises:
            TooLong: it takes more than `CHARACTERS_OF_A_FORMULA`, or what has no name.
        """
        if value not in self._known:
            found = self._made(value)
            if len(found.text) > CHARACTERS_OF_A_FORMULA:
                raise TooLong
            self._known[value] = found
        return self._known[value]

    def _made(self, value: int) -> Formula:
        op = self._tape.producer(value)
        opened = self._constants and op is not None and op.static
        if value in self._names and not opened:
            return Formula(self._names[value])
        if op is None or not (opened or op.index in self._inside or op.role == "move"):
            raise TooLong
        if op.role == "move":
            return self._moved(op, value)
        return self._computed(op, value)

    # --- operations that compute ------------------------------------------------------------------

    def _computed(self, op: Op, value: int) -> Formula:
        if op.draw is not None:
            return Formula(f"{op.draw}{_shape(self._tape.values[value].shape)}")
        if op.word not in WORDS and not op.site.source:
            raise TooLong  # a whole model, as of NumPy's
        if op.word == "attention" and len(op.inputs) in (3, 4):
            return self._attention(op)
        word = _EXCHANGED.get(op.word, op.word)
        operands = [self.of(one) for one in op.inputs]
        scalar = self._tape.setting(op, "scalar")
        if isinstance(scalar, (int, float)) and (word in _INFIX or word in _COMPARED):
            operands.append(Formula(_number(scalar)))
        if op.word == "reciprocal":
            operands.append(Formula("1"))
        if word != op.word:
            operands.reverse()
        if len(operands) == 2:
            written = self._infix(op, word, *operands)
            if written is not None:
                return written
        if word == "negate":
            return Formula(f"-{operands[0].within(_SIGN)}", _SIGN)
        if word == "square":
            return Formula(f"{operands[0].within(_POWER, True)} ** 2", _POWER)
        product = self._tape.product(op)
        if product is not None:
            return self._product(product)
        if word == "add_all":
            return Formula(" + ".join(one.within(_SUM, True) for one in operands), _SUM)
        return self._called(op, value, [one.alone for one in operands])

    def _infix(self, op: Op, word: str, first: Formula, second: Formula) -> Formula | None:
        if word in _COMPARED:
            sides = first.within(_TEST, True), second.within(_TEST, True)
            return Formula(f"{sides[0]} {_COMPARED[word]} {sides[1]}", _TEST)
        if word not in _INFIX:
            return None
        sign, binds = _INFIX[word]
        if second.text == _IDLE.get(sign):
            return first
        if first.text == _IDLE.get(sign) and sign in "+*":
            return second
        if word in ("add", "subtract"):
            factor = self._tape.setting(op, "factor", 1)
            if factor != 1:
                second = Formula(f"{_number(factor)} * {second.within(_PRODUCT)}", _PRODUCT)
        return Formula(f"{first.within(binds)} {sign} {second.within(binds, True)}", binds)

    def _product(self, product: Product) -> Formula:
        """A product as `@`; of a weight only what it is multiplied with counts, not how it lies."""
        if product.equation:
            factors = ", ".join(self.of(one).alone for one in product.factors)
            found = Formula(f"einsum({product.equation!r}, {factors})")
        else:
            turned = zip(product.factors, product.transposed, strict=True)
            left, right = (
                self.of(one).within(_ATOM) + ".T" * (swaps and self._tape.is_live(one))
                for one, swaps in turned
            )
            found = Formula(f"{left} @ {right}", _PRODUCT)
        if product.bias is None:
            return found
        return Formula(f"{found.text} + {self.of(product.bias).within(_SUM, True)}", _SUM)

    def _attention(self, op: Op) -> Formula:
        """Attention in one operation, as it is defined: softmax(mask(q k^T / sqrt(d))) v."""
        query, key, value = (
            (Formula(one.spread) if one.spread else one).within(_ATOM)
            for one in map(self.of, op.inputs[:3])
        )
        given, width = op.attributes, self._tape.values[op.inputs[0]].shape[-1]
        scale = given.get("scale")
        scaled = f" / {_number(width**0.5)}" if scale is None else f" * {_number(scale)}"
        scores = f"{query} @ {key}.T{scaled}"
        if len(op.inputs) == 4:
            scores = f"masked({scores}, {self.of(op.inputs[3]).text})"
        elif given.get("is_causal"):
            scores = f"causal({scores})"
        return Formula(f"softmax({scores}) @ {value}", _PRODUCT)

    def _called(self, op: Op, value: int, arguments: list[str]) -> Formula:
        said = [f"{name}={_shown(setting)}" for name, setting in self._settings(op)]
        if op.word in _JOINING:
            arguments = [*_alike(arguments)]
        text = f"{op.word}({', '.join([*arguments, *said])})"
        if len(op.outputs) > 1:
            text += f"[{op.outputs.index(value)}]"
        return Formula(text)

    def _settings(self, op: Op) -> Iterator[tuple[str, Any]]:
        """What an operation is given beside tensors."""
        axis, values = self._tape.setting(op, "axis"), self._tape.values
        for name, setting in op.attributes.items():
            is_axis = isinstance(axis, int) and setting is axis  # of which 0 is said, too
            if name in _HIDDEN or setting in _UNSAID and not is_axis:
                continue
            if _WINDOW.search(name) and str(setting).strip("[(0, 1)]") in ("", "VALID"):
                continue
            if setting is axis:
                yield "axis", _last_as_one_writes_it(setting, len(values[op.inputs[0]].shape))
            else:
                yield name, setting

    # --- moves ------------------------------------------------------------------------------------

    def _moved(self, op: Op, value: int) -> Formula:
        sources = [one for one in op.inputs if self._is_written(one)] or [*op.inputs[:1]]
        if op.word == "broadcast" and len(op.outputs) == len(op.inputs):
            sources = [op.inputs[op.outputs.index(value)]]
        elif op.word in ("reshape", "broadcast"):
            sources = [op.inputs[0]]  # to a shape that may have been computed
        if op.word == "copy" and len(op.inputs) == 2:  # into another tensor's place
            return self.of(op.inputs[1])
        if len(sources) != 1 or op.word in _JOINING:
            return self._called(op, value, [self.of(one).alone for one in op.inputs])
        (source,) = sources
        found = self.of(source)
        before, after = (self._tape.values[one].shape for one in (source, value))
        if op.word in _SILENT and not self._moves:
            repeated = math.prod(before) < math.prod(after)
            spread = f"broadcast({found.alone}, {_shape(after)})" if repeated else found.spread
            return Formula(found.text, found.binds, spread)
        if found.spread:
            found = Formula(found.spread)
        index = _flat(after) if op.word == "reshape" else self._index(source, value)
        if index is None:
            return self._called(op, value, [found.text])
        if np.array_equal(index.ravel(), np.arange(math.prod(before))):
            if before == after or _without_ones(before) == _without_ones(after) and not self._moves:
                return found
            return Formula(f"reshape({found.text}, {_shape(after)})")
        axes = permutation(before, index)
        if axes is not None:
            return Formula(f"transpose({found.text}, {axes})")
        part = sliced(before, index)
        if part is not None:
            return self._part(source, part) or Formula(f"{found.within(_ATOM)}[{part}]")
        return self._called(op, value, [found.text])

    def _part(self, source: int, part: str) -> Formula | None:
        """A part of what is joined along another axis, as what is joined of the parts."""
        op, along = self._tape.producer(source), part.split(", ")
        if source in self._names or op is None or op.word != "concatenate":
            return None
        axis, rank = self._tape.setting(op, "axis"), len(self._tape.values[source].shape)
        if not isinstance(axis, int) or [*along, *":" * rank][axis % rank] != ":":
            return None
        parts = ", ".join(f"{self.of(one).within(_ATOM)}[{part}]" for one in op.inputs)
        gone = sum(one.lstrip("-").isdigit() for one in along[axis % rank :])
        return Formula(f"concatenate({parts}, axis={axis % rank - rank + gone})")

    def _is_written(self, value: int) -> bool:
        """Whether a value has a place in a formula: indices and axes of a move have none."""
        if value in self._names:
            return self._tape.is_live(value)
        op = self._tape.producer(value)
        return op is not None and not op.static and op.word not in FILLED

    def _index(self, source: int, value: int) -> Array | None:
        """Where in what a move reads each element is that it gives; None where it gives others.

        Flags show one binary digit of a place at a time.
        """
        of = self._tape.values[source]
        places = np.arange(1, of.size + 1).reshape(of.shape)
        try:
            if of.dtype == "bool":
                digits = range(of.size.bit_length())
                found = sum(self._run(source, value, places >> n & 1 > 0) << n for n in digits)
            else:
                found = self._run(source, value, places.astype(of.dtype))
        except (ReplayError, ValueError, IndexError, TypeError):  # it takes no such numbers
            return None
        index = np.asarray(found) - 1
        whole = index.size and index.min() >= 0 and index.max() < of.size
        return index if whole else None

    def _run(self, source: int, value: int, places: Array) -> Array:
        run = self._side.model.run.branch()
        run.replace(source, places)
        run.step(self._tape.ops[self._tape.values[value].op])
        return np.rint(run.array(value)).astype(np.int64)


def _alike(arguments: list[str]) -> Iterator[str]:
    """Arguments; of some in a row that are one expression of different values the first."""
    for _, run in itertools.groupby(arguments, lambda one: _VALUES.sub("#", one)):
        first, *others = run
        few = len(others) < (_NAMES if _VALUES.fullmatch(first) else 2)
        yield first
        yield from others if few else [f"... {len(others)} more alike"]


def _flat(shape: tuple[int, ...]) -> Array:
    return np.arange(math.prod(shape)).reshape(shape)


def _without_ones(shape: tuple[int, ...]) -> list[int]:
    return [n for n in shape if n > 1]


def _shape(shape: tuple[int, ...]) -> str:
    return str(tuple(int(n) for n in shape))


def _last_as_one_writes_it(axis: Any, rank: int) -> Any:
    """Axes counted from the first, and the last as -1, however they were given."""
    if isinstance(axis, (list, tuple)):
        return [_last_as_one_writes_it(one, rank) for one in axis]
    if not isinstance(axis, int) or not rank:
        return axis
    return -1 if axis % rank == rank - 1 else axis % rank


def _number(value: float) -> str:
    return f"{value:.6g}"


def _shown(setting: Any) -> str:
    if isinstance(setting, float):
        return _number(setting)
    if isinstance(setting, (list, tuple)):
        inner = ", ".join(map(_shown, setting))
        return inner if len(setting) == 1 else f"({inner})"
    return str(setting)
