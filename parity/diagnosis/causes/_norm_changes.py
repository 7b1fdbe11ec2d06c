"""What has to be changed in the reference's normalisation to have the candidate's, and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from parity.diagnosis.case import Case
from parity.diagnosis.causes import Edit
from parity.diagnosis.causes._attested import holds_repeated
from parity.diagnosis.normalisation import Normalisation, plain, same
from parity.tape import Array


@dataclass
class Changes:
    """What has to be changed in the reference's norm to have the candidate's, thing by thing.

    Attributes:
        made: the reference's with what is changed so far.
    """

    case: Case
    reference: Normalisation
    candidate: Normalisation
    made: Normalisation
    kinds: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    parameters: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    def state(self, kind: str, parameters: Mapping[str, tuple[Any, Any]], words: str = "") -> None:
        self.kinds.append(kind)
        self.parameters.update(parameters)
        self.words.append(words or in_words(parameters))

    def statistics(self) -> bool:
        """Changes what is averaged; False where something unknown differs."""
        reference, candidate = self.reference, self.candidate
        if reference.statistics == candidate.statistics:
            return True
        kind, parameters = _statistics_changed(self.case, reference, candidate)
        self.state(kind, parameters)
        here = _spelt([self.case.candidate_axis(axis) for axis in reference.statistics.axes])
        if "axis" in parameters and reference.scale.ndim == self.case.first.reference.ndim:
            self.words[-1] += f", which is {here} here" if here != parameters["axis"][0] else ""
        scale, least = reference.scale, reference.least
        if reference.to_unit_length:  # the sum over other axes has another number of terms
            scale = np.full_like(scale, candidate.statistics.count(scale.shape) ** -0.5)
            least = candidate.least if least else least
        self.made = replace(reference, statistics=candidate.statistics, scale=scale, least=least)
        return True

    def scale(self) -> bool:
        if same(self.made.scale, self.candidate.scale):
            return True
        changed = _scale_changed(self.case, self.made, self.candidate)
        if changed is None:
            return False
        kind, parameters, self.made = changed
        self.state(kind, parameters)
        return True

    def offset(self) -> bool:
        made, candidate = self.made, self.candidate
        slack = 1e-7 * float(np.abs(made.scale).max())
        if np.allclose(made.offset, candidate.offset, rtol=1e-6, atol=slack):
            return True
        if not np.allclose(candidate.offset, 0.0, atol=slack):
            return False
        words = "no offset, the reference has one"
        self.state("norm-affine-missing", {"offset": (True, False)}, words)
        self.made = replace(made, offset=np.zeros_like(made.offset))
        return True

    def placement_and_epsilon(self) -> None:
        reference, made, candidate = self.reference, self.made, self.candidate
        both_seen = made.least > 0 and candidate.least > 0
        if made.placement != candidate.placement:
            if both_seen:
                where = reference.where_epsilon_is, candidate.where_epsilon_is
                words = f"epsilon {where[1]}, the reference {where[0]}"
                places = {"placement": (reference.placement, candidate.placement)}
                self.state("norm-epsilon-placement", places, words)
            made = replace(made, placement=candidate.placement).with_epsilon(made.epsilon)
        if not same(np.array(made.least), np.array(candidate.least)):
            ratio = reference.epsilon / made.epsilon if made.epsilon else 1.0
            epsilons = reference.epsilon, plain(candidate.epsilon * ratio)
            was, now = (
                _epsilon_in_words(epsilon, norm, not both_seen)
                for epsilon, norm in zip(epsilons, (reference, candidate), strict=True)
            )
            words = f"epsilon {now}, the reference {was}"
            self.state("norm-epsilon", {"epsilon": epsilons}, words)
            if len(self.kinds) > 1:
                self.kinds.pop()  # it goes with what else is changed
            made = made.with_epsilon(candidate.epsilon)
        self.made = made


def in_words(parameters: Mapping[str, tuple[Any, Any]]) -> str:
    """Parameters of the candidate with the reference's."""
    return "; ".join(f"{name} {b}, the reference {a}" for name, (a, b) in parameters.items())


def _epsilon_in_words(epsilon: float, norm: Normalisation, alone: bool) -> str:
    """An epsilon in words; where one side's is too small to show, the other's place is given."""
    if not alone:
        return f"{epsilon:g}"
    return f"{epsilon:g} {norm.where_epsilon_is}" if epsilon else "none that shows"


def _statistics_changed(
    case: Case, reference: Normalisation, candidate: Normalisation
) -> tuple[str, dict[str, tuple[Any, Any]]]:
    a, b = reference.statistics, candidate.statistics
    if a.centred != b.centred and a.axes == b.axes and a.groups == b.groups:
        return "norm-not-centered", {"centred": (a.centred, b.centred)}
    if a.axes == b.axes:
        return "norm-axis", {"groups": (a.groups, b.groups)}
    rank = reference.scale.ndim
    flattened = rank > case.first.reference.ndim  # in the reference: named as in the candidate
    axes = (
        [-1 if axis == rank - 1 else axis for axis in a.axes],
        [
            (-1 if axis == rank - 1 else axis) if flattened else case.candidate_axis(axis)
            for axis in b.axes
        ],
    )
    return "norm-axis", {"axis": (_spelt(axes[0]), _spelt(axes[1]))}


def _spelt(axes: Sequence[int]) -> Any:
    return axes[0] if len(axes) == 1 else tuple(_ordered(axes))


def _ordered(axes: Sequence[int]) -> list[int]:
    return sorted(axes, key=lambda axis: (axis < 0, axis))


def _scale_changed(
    case: Case, made: Normalisation, candidate: Normalisation
) -> tuple[str, dict[str, tuple[Any, Any]], Normalisation] | None:
    """Why the scales differ, and the reference's with that changed."""
    count = candidate.statistics.count(made.scale.shape)
    bessel = float(np.sqrt((count - 1) / count)) if count > 1 else 1.0
    for factor, ddof in ((bessel, (0, 1)), (1 / bessel, (1, 0))):
        if bessel < 1 and same(made.scale * factor, candidate.scale):
            scaled = replace(made, scale=made.scale * factor, least=made.least * factor)
            return "variance-ddof", {"ddof": ddof}, scaled
    if made.to_unit_length != candidate.to_unit_length and _constant(made.scale / candidate.scale):
        root = float(count) ** (0.5 if made.to_unit_length else -0.5)
        if same(made.scale * root, candidate.scale):
            kinds = ("sum", "mean") if made.to_unit_length else ("mean", "sum")
            return "reduction-kind", {"kind": kinds}, replace(made, scale=made.scale * root)
    changed = without_scale_or_one(case, made.scale, candidate.scale)
    if changed is None:
        return None
    kind, stated = changed
    return kind, stated, replace(made, scale=candidate.scale)


def without_scale_or_one(
    case: Case, reference: Array, candidate: Array
) -> tuple[str, dict[str, tuple[Any, Any]]] | None:
    if same(candidate, np.ones_like(candidate)):
        return "norm-affine-missing", {"scale": (True, False)}
    gap = candidate - reference
    if _constant(gap) and not _constant(reference) and same(np.abs(gap), np.ones_like(gap)):
        kept = ("1 + w", "w") if gap.flat[0] < 0 else ("w", "1 + w")
        if kept[1] == "1 + w" and holds_repeated(case.candidate, candidate):
            return None  # a weight of other numbers: 1 is added nowhere
        return "rmsnorm-offset", {"scale": kept}
    return None


def _constant(array: Array) -> bool:
    low, high = float(array.min()), float(array.max())
    return high - low <= 1e-6 * max(abs(low), abs(high))


def edit_of(kinds: list[str], parameters: dict[str, tuple[Any, Any]]) -> Edit | None:
    if kinds == ["norm-epsilon"]:
        return Edit((), ("epsilon", "eps"), repr(parameters["epsilon"][0]))
    if kinds == ["variance-ddof"]:
        return Edit((), ("ddof", "correction"), repr(parameters["ddof"][0]))
    return None
