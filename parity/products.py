"""Products of two factors, in one convention for all frameworks.

An adapter reads its own attributes into `Product` (`Traits.product`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_letters, ascii_uppercase
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parity.tape import Op, Tape


_BATCH = ascii_uppercase  # of axes before those of matrices, the last of them for the last


@dataclass(frozen=True)
class Product:
    """What is multiplied, as matrices or along the axes of an equation.

    Attributes:
        factors: value ids.
        bias: of what is added to the product in the same operation; None for none.
        transposed: for each factor whether its last two axes are swapped before.
        equation: as einsum has it, a letter for each axis: `ab,bc->ac`; "" of matrices.
    """

    factors: tuple[int, int]
    bias: int | None = None
    transposed: tuple[bool, bool] = (False, False)
    equation: str = ""

    def letters(self, ranks: Sequence[int]) -> tuple[str, str, str]:
        """A letter for each axis of both factors and of the result: the same where they meet.

        Args:
            ranks: of both factors.
        """
        if self.equation:
            left, right, result = self.equation.replace("->", ",").split(",")
            return left, right, result
        words = []
        for rank, matrix, is_transposed in zip(ranks, ("rs", "sc"), self.transposed, strict=True):
            own = matrix if rank > 1 else "s"
            batch = _BATCH[len(_BATCH) - rank + len(own) :]
            words.append(batch + (own[::-1] if is_transposed else own))
        batch = max((word.rstrip("rsc") for word in words), key=len)
        return words[0], words[1], batch + "r" * (ranks[0] > 1) + "c" * (ranks[1] > 1)


def product_of(op: Op, tape: Tape, dense_transposed: bool = False) -> Product | None:
    """The product that an operation is, by its word and the settings of `parity.operations`.

    Args:
        dense_transposed: whether the weight of `dense` is (out, in).
    """
    if op.word == "dense" and len(op.inputs) in (2, 3):
        bias = op.inputs[2] if len(op.inputs) == 3 else None
        return Product((op.inputs[0], op.inputs[1]), bias, (False, dense_transposed))
    if op.word not in ("matmul", "einsum", "tensordot") or len(op.inputs) != 2:
        return None
    factors = op.inputs[0], op.inputs[1]
    if op.word == "matmul":
        first, second = (tape.setting(op, f"transposes_{one}") for one in ("first", "second"))
        return Product(factors, transposed=(bool(first), bool(second)))
    ranks = [len(tape.values[v].shape) for v in (*factors, op.outputs[0])]
    if op.word == "einsum":
        equation = einsum_equation(str(tape.setting(op, "equation", "")), ranks)
    else:
        equation = tensordot_equation(tape.setting(op, "axes"), ranks)
    return Product(factors, equation=equation) if equation else None


def einsum_equation(text: str, ranks: Sequence[int]) -> str:
    """An equation with a letter for each axis, those behind its dots too; "" where it has another.

    Args:
        ranks: of both factors and of the result.
    """
    words = text.replace(" ", "").replace("->", ",").split(",")
    if "->" not in text or len(words) != 3:
        return ""
    whole = [_without_dots(word, rank) for word, rank in zip(words, ranks, strict=True)]
    return "{},{}->{}".format(*whole) if list(map(len, whole)) == list(ranks) else ""


def _without_dots(word: str, rank: int) -> str:
    """Axes that an equation leaves out, in letters that none has."""
    hidden = rank - len(word.replace("...", ""))
    return word.replace("...", "".join(chr(0x3B1 + n) for n in range(20 - hidden, 20)))


def tensordot_equation(axes: Any, ranks: Sequence[int]) -> str:
    """The equation of a product over given axes of both factors, or over a number of them."""
    if isinstance(axes, int):
        axes = list(range(ranks[0] - axes, ranks[0])), list(range(axes))
    if not isinstance(axes, (list, tuple)) or len(axes) != 2:
        return ""
    over = [[one] if isinstance(one, int) else list(one) for one in axes]
    first, second = list(ascii_letters[: ranks[0]]), list(ascii_letters[-ranks[1] :])
    for one, other in zip(*over, strict=True):
        second[other] = first[one]
    kept = [letter for letter in (*first, *second) if (letter in first) != (letter in second)]
    return "{},{}->{}".format(*map("".join, (first, second, kept))) if len(kept) == ranks[2] else ""
