"""Pools of another kind over the same windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._sides import sides
from parity.diagnosis.causes._window_results import target_of
from parity.diagnosis.causes._window_sites import site_of
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.causes.spatial import base_of, predicted, slide_of

_KINDS = {"max": "maximum", "mean": "mean"}


@cause("reduction-kind")
@first_fitting
def pool_kind(case: Case) -> Iterator[Explanation]:
    """A pool takes the maximum of each window, the other's the mean.

    Looks like: values that are too large everywhere, or too small, in a result of the right size.
    Proof: the pool computed anew of the reference's input, by the candidate's kind over the same
        windows, gives the candidate's value, and by the reference's kind the reference's.
    """
    both = sides(case)
    sites = [site_of(side, _KINDS) for side in both]
    source = sites[0]
    if source is None or sites[1] is None or source.slide.kind == sites[1].slide.kind:
        return
    x = base_of(source, case.first)
    slides = []
    for side, site in zip(both, sites, strict=True):
        assert site is not None
        own = replace(source, slide=replace(source.slide, kind=site.slide.kind))
        found = slide_of(side, site, own, x)
        if found is None:
            return
        slides.append(found)
    one, other = slides
    same = (one.size, one.stride, one.dilation, one.places(x.shape[2:]))
    if same != (other.size, other.stride, other.dilation, other.places(x.shape[2:])):
        return
    kinds = one.kind, other.kind
    predict = partial(predicted, source, target_of(both[0], source, source, one, x), None)
    yield Explanation(
        "reduction-kind",
        f"the pool takes the {_KINDS[kinds[1]]} of each window; the reference's takes the "
        f"{_KINDS[kinds[0]]}",
        partial(predict, other),
        partial(predict, one),
        {"kind": kinds},
    )
