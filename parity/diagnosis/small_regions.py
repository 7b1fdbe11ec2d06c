"""What is asked of small regions: one operation each, a normalisation, products of their own."""

from __future__ import annotations

from parity.diagnosis.region import Region
from parity.operations import ADDITIONS, PRODUCTS, SUBTRACTIONS


def one_operation_each(reference: Region, candidate: Region) -> bool:
    """Whether two regions are one operation each, the same in both."""
    if reference.computing != 1 or candidate.computing != 1:
        return False
    return _first_word(reference) == _first_word(candidate)


def _first_word(region: Region) -> str:
    return next(op.word for op in region.ops if op.role != "move")


def has_other_products(larger: Region, smaller: Region) -> bool:
    """Whether a larger region multiplies by matrices or kernels that a smaller one does not."""
    known = {op.index for op in smaller.ops}
    return any(op.word in PRODUCTS and op.index not in known for op in larger.ops)


def contains(larger: Region, smaller: Region) -> bool:
    """Whether all operations of a region are another's, too."""
    return {op.index for op in smaller.ops} <= {op.index for op in larger.ops}


def is_normalisation(first: Region, rest: Region) -> bool:
    """Whether a shift and the division after it are all there is: together they are one cause."""
    shifted = _first_word(first) in ADDITIONS | SUBTRACTIONS
    return shifted and rest.computing == 1 and _first_word(rest) == "divide"
