"""Strides of several convolutions, one after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Explanation, cause
from parity.diagnosis.causes._limits import CONVOLUTIONS_IN_A_ROW
from parity.diagnosis.causes._sides import CaseSide, sides
from parity.diagnosis.causes._weights import same
from parity.diagnosis.causes._window_results import as_target, channels_first, without_bias
from parity.diagnosis.causes._window_sites import WindowSite, sites_of
from parity.diagnosis.causes._windows import Slide, read_off, slid
from parity.diagnosis.causes.combinators import first_fitting
from parity.diagnosis.trial import Trial
from parity.errors import ReplayError
from parity.tape import Array

_KINDS = ("conv", "max", "mean")


@cause("stride")
@first_fitting
def stride_elsewhere(case: Case) -> Iterator[Explanation]:
    """Of several convolutions another one has the stride.

    Looks like: a bottleneck of the other version, whose 3x3 convolution takes the step in place of
        the 1x1; the result has the right size and the weights fit.
    Proof: the reference's convolutions computed anew one after the other, each with the candidate's
        stride and padding, give the candidate's value.
    """
    both = sides(case)
    found = [list(sites_of(side, _KINDS)) for side in both]
    if not 2 <= len(found[0]) == len(found[1]) <= CONVOLUTIONS_IN_A_ROW:
        return
    if not all(map(_is_the_same, *found)):
        return
    steps = [[one.slide.stride for one in sites] for sites in found]
    whole = [[math.prod(axis) for axis in zip(*one, strict=True)] for one in steps]
    if steps[0] == steps[1] or whole[0] != whole[1]:
        return
    slides = [slide for site in found[1] if (slide := _slide(both[1], site)) is not None]
    if len(slides) < len(found[1]):
        return
    own, other = (tuple(_in_words(one) for one in each) for each in steps)
    yield Explanation(
        "stride",
        f"strides {', '.join(other)} of convolutions one after the other; the reference's are "
        f"{', '.join(own)}",
        partial(_with_strides, case, found[0], slides),
        parameters={"stride": (own, other)},
    )


def _is_the_same(one: WindowSite, other: WindowSite) -> bool:
    """Whether two sites are one convolution or pool, but for how it goes over the image."""
    if one.is_hidden or other.is_hidden or one.slide.kind != other.slide.kind:
        return False
    if one.kernel is None or other.kernel is None:
        return one.slide.size == other.slide.size
    return one.slide.groups == other.slide.groups and same(one.kernel, other.kernel)


def _slide(side: CaseSide, site: WindowSite) -> Slide | None:
    """How a site goes over its input, read off what it gives."""
    x, made = (
        channels_first(array, site.channels_last, site.slide)
        for array in side.values(side.case.first.given, [site.base, site.at])
    )
    return read_off([without_bias(made, site.bias)], x, site.slide, site.kernel)


def _with_strides(
    case: Case, sites: Sequence[WindowSite], slides: Sequence[Slide], trial: Trial
) -> Array:
    replaced: dict[int, Array] = {}
    for site, slide in zip(sites, slides, strict=True):
        (array,) = case.reference_values(trial.given, [site.base], replaced)
        x = channels_first(array, site.channels_last, site.slide)
        laid = as_target(site, slid(x, slide, site.kernel))
        if laid is None:
            raise ReplayError("a convolution's result of other axes")
        replaced[site.at] = laid
    return case.run_reference(trial.given, replaced)


def _in_words(stride: Sequence[int]) -> str:
    return str(stride[0]) if len(set(stride)) == 1 else str(tuple(stride))
