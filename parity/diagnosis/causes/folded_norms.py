"""A batch normalisation that one side keeps as a scale and an offset, its statistics folded in."""

from __future__ import annotations

from collections.abc import Iterator

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Edit, Explanation, cause
from parity.diagnosis.causes._attested import repeats
from parity.diagnosis.causes._limits import SAME_PARAMETER
from parity.diagnosis.causes.batch_statistics import (
    channel_axis,
    is_of_batch,
    roles_of,
    vectors_of,
)
from parity.diagnosis.causes.norm import forms_of
from parity.diagnosis.normalisation import AffineMap, Form, Normalisation, of_form
from parity.tape import Array

_NOT_SEEN = "what is folded into the scale and the offset is not seen: it may be other weights, too"


@cause("norm-affine-missing", "norm-batch-statistics")
def folded_statistics(case: Case) -> Iterator[Explanation]:
    """A scale and an offset per channel on one side; on the other a norm of another kind.

    The scale and the offset are those of a batch normalisation with the running statistics folded
    in. The other side takes the batch's statistics, or it takes stored ones and then neither
    scales nor shifts.

    Looks like: as those of a norm that shows its running mean and variance.
    Proof: one side's value is that of the norm, the other's of a scale and an offset that are among
        its weights. What they are made of is not seen, so this is never a proof.
    """
    forms = forms_of(case)
    if forms is None:
        return
    vectors = vectors_of(case)
    for kept, other, of_candidate in ((*forms, False), (*forms[::-1], True)):
        if isinstance(kept, AffineMap) and _is_folded(kept, vectors):
            yield from _against(case, kept, other, vectors, of_candidate)


def _is_folded(kept: AffineMap, vectors: list[Array]) -> bool:
    """Whether a scale is kept as it is, and no variance is there of which it may be made."""
    held = any(repeats(kept.scale, vector, SAME_PARAMETER) for vector in vectors)
    return held and channel_axis(kept) is not None and not any(roles_of(kept, vectors))


def _against(
    case: Case, kept: AffineMap, other: Form, vectors: list[Array], of_candidate: bool
) -> Iterator[Explanation]:
    """A folded norm against another one.

    Args:
        of_candidate: whether it is the candidate's that is folded.
    """
    predicted = of_form(case, kept), of_form(case, other)
    if isinstance(other, Normalisation):
        if _may_be_of_batch(kept, other):
            used = ("batch", "running") if of_candidate else ("running", "batch")
            yield Explanation(
                "norm-batch-statistics",
                f"batch normalisation by the {used[1]} statistics; the reference takes the "
                f"{used[0]} ones",
                *(predicted if of_candidate else predicted[::-1]),
                {"statistics": used},
                Edit((), ("training",), repr(not of_candidate)),
                unproved=_NOT_SEEN,
            )
    elif any(roles.is_bare for roles in roles_of(other, vectors)):
        has = (False, True) if of_candidate else (True, False)
        sides = "reference", "candidate"
        yield Explanation(
            "norm-affine-missing",
            f"the {sides[not of_candidate]} normalises by a stored mean and variance, without a "
            f"scale and an offset; the {sides[of_candidate]}'s scale and offset hold more",
            *(predicted if of_candidate else predicted[::-1]),
            {"scale": has, "offset": has},
            unproved=_NOT_SEEN,
        )


def _may_be_of_batch(kept: AffineMap, other: Normalisation) -> bool:
    """Whether a norm by the batch's statistics becomes the kept map with running ones."""
    channels = channel_axis(kept)
    if channels in (None, 0) or len(kept.scale) == 1 or not other.statistics.centred:
        return False
    # the ratio of the scales is the divisor, a root of a variance
    return is_of_batch(other, channels) and bool((other.scale / kept.scale > 0).all())
