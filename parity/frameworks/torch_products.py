"""Products of ATen as `parity.products` has them."""

from __future__ import annotations

from parity.operations import kernel_name
from parity.products import Product, einsum_equation
from parity.tape import Op, Tape


def product(op: Op, tape: Tape) -> Product | None:
    """See `Traits.product`."""
    if op.word == "dense" and kernel_name(op.kind) == "addmm" and len(op.inputs) == 3:
        return Product((op.inputs[1], op.inputs[2]), bias=op.inputs[0])
    if op.word == "dense" and len(op.inputs) in (2, 3):
        bias = op.inputs[2] if len(op.inputs) > 2 else None
        return Product((op.inputs[0], op.inputs[1]), bias, (False, True))
    if op.word not in ("matmul", "einsum") or len(op.inputs) != 2:
        return None
    factors = op.inputs[0], op.inputs[1]
    if op.word == "matmul":
        return Product(factors)
    ranks = [len(tape.values[v].shape) for v in (*factors, op.outputs[0])]
    equation = einsum_equation(str(op.attributes.get("equation", "")), ranks)
    return Product(factors, equation=equation) if equation else None
