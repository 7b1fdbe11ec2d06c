"""Products of Chainer as `parity.products` has them."""

from __future__ import annotations

from parity.products import Product, einsum_equation, tensordot_equation
from parity.tape import Op, Tape


def product(op: Op, tape: Tape) -> Product | None:
    """See `Traits.product`."""
    if len(op.inputs) < 2:
        return None
    factors, given = (op.inputs[0], op.inputs[1]), op.attributes
    if op.word == "dense":
        return Product(factors, op.inputs[2] if len(op.inputs) > 2 else None, (False, True))
    if len(op.inputs) != 2:
        return None
    if op.word == "matmul":
        return Product(factors, transposed=(bool(given.get("transa")), bool(given.get("transb"))))
    ranks = [len(tape.values[v].shape) for v in (*factors, op.outputs[0])]
    equation = ""
    if op.word == "einsum":
        equation = einsum_equation(f"{given.get('in_subs')}->{given.get('out_sub')}", ranks)
    elif op.word == "tensordot":
        equation = tensordot_equation(given.get("axes"), ranks)
    return Product(factors, equation=equation) if equation else None
