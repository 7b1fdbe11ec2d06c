"""Products of TensorFlow as `parity.products` has them."""

from __future__ import annotations

from parity.products import Product, einsum_equation
from parity.tape import Op, Tape


def product(op: Op, tape: Tape) -> Product | None:
    """See `Traits.product`."""
    if op.word not in ("matmul", "einsum") or len(op.inputs) != 2:
        return None
    factors, given = (op.inputs[0], op.inputs[1]), op.attributes
    if op.word == "matmul":
        first = bool(given.get("transpose_a") or given.get("adj_x"))
        second = bool(given.get("transpose_b") or given.get("adj_y"))
        return Product(factors, transposed=(first, second))
    ranks = [len(tape.values[v].shape) for v in (*factors, op.outputs[0])]
    equation = einsum_equation(str(given.get("equation", "")), ranks)
    return Product(factors, equation=equation) if equation else None
