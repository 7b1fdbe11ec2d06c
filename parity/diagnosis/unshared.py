"""Models that share no weights at all: one finding in place of an explanation for every layer.

A port that was never given the reference's weights differs at each of its products, and every one
could be explained by 'other numbers'. What helps is to transfer them, or to compare structure.

It is said only where it is plain. No parameter of the candidate is made of the reference's numbers,
whatever their order and signs; no two kernels of one shape go together in any order of their axes,
as a scaled, rounded or further trained one would; there are two kernels or more; and no output
agrees.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from parity.diagnosis.judge import Verdict
from parity.diagnosis.outputs import output_matches
from parity.diagnosis.region import OutputPair
from parity.matching.match import Match
from parity.numerics.difference import residual
from parity.report.summary import Cause, Divergence
from parity.tape import Array, Op, Site, Tape

_FEWEST = 2  # kernels; of one alone 'other numbers' says as much
_DISTINCT = 8  # numbers in a parameter that tells anything: zeros and ones are everybody's
_SHARED = 0.5  # of a parameter's numbers; some are found in a large model by chance
_SAMPLE = 4096  # elements of a kernel that are held against another's
_CERTAIN = 7.0  # standard deviations of what independent numbers have in common
_MANY = 1 << 20  # numbers of a model; of more, those with certain bits stand for all
_APART = 1e-3  # of an output


def as_one(verdict: Verdict, found: Divergence, outputs: Sequence[OutputPair]) -> Verdict:
    """A verdict on models that were not looked into, with the one finding on them."""
    assert found.cause is not None
    return replace(
        verdict,
        verdict="diverged",
        reasons=(f"{found.cause.summary}: {found.detail}", *verdict.reasons),
        divergences=(found,),
        outputs={**verdict.outputs, **{pair.name: "diverged" for pair in outputs}},
    )


def unshared(matched: Match, outputs: Sequence[OutputPair]) -> Divergence | None:
    """The one finding on models that share no weights; None where they may share some."""
    tapes = matched.reference.tape, matched.side.tape
    apart = _apart(matched, outputs)
    if apart is None:
        return None
    ours, theirs = (_parameters(tape) for tape in tapes)
    kernels = [[array for array in own.values() if array.ndim > 1] for own in (ours, theirs)]
    if min(map(len, kernels)) < _FEWEST or _dtypes(tapes[0], ours) != _dtypes(tapes[1], theirs):
        return None
    if _shared(ours, theirs) or _related(*kernels):
        return None
    counts = [len(own) for own in kernels]
    return _finding(tapes, (list(ours), list(theirs)), counts, apart)


def _apart(matched: Match, outputs: Sequence[OutputPair]) -> float | None:
    """How far the outputs are apart; None where one agrees or cannot be held against the other."""
    largest = 0.0
    for pair in outputs:
        ours = matched.reference.array(pair.reference)
        theirs = matched.side.array(pair.candidate)
        if ours.shape != theirs.shape or ours.dtype.kind != "f" or output_matches(matched, pair):
            return None
        left = residual(ours, theirs)
        if not _APART < left < np.inf:
            return None
        largest = max(largest, left)
    return largest or None


def _parameters(tape: Tape) -> dict[int, Array]:
    """Parameters that lead to an output and tell something, in the order in which they are read."""
    read = dict.fromkeys(value for op in tape.ops for value in _on_the_way(tape, op))
    found = {}
    for value in read:
        if tape.values[value].kind == "parameter" and value in tape.recorded:
            array = tape.adapter.to_numpy(tape.recorded[value])
            if array.dtype.kind == "f" and np.unique(array.ravel()[:_SAMPLE]).size >= _DISTINCT:
                found[value] = array
    return found


def _on_the_way(tape: Tape, op: Op) -> tuple[int, ...]:
    return op.inputs if op.index in tape.used else ()


def _dtypes(tape: Tape, values: dict[int, Array]) -> set[str]:
    return {tape.values[value].dtype for value in values}


def _shared(ours: dict[int, Array], theirs: dict[int, Array]) -> bool:
    """Whether some parameter of the candidate is made of the reference's numbers."""
    many = max(sum(array.size for array in own.values()) for own in (ours, theirs)) > _MANY
    known = np.sort(np.concatenate([_numbers(array, many) for array in ours.values()]))
    for array in theirs.values():
        own = _numbers(array, many)
        places = np.searchsorted(known, own).clip(max=len(known) - 1)
        if own.size and (known[places] == own).mean() > _SHARED:
            return True
    return False


def _numbers(array: Array, many: bool) -> Array:
    """The sizes of an array's numbers as bits; of many those that the bits themselves choose."""
    found = np.abs(array.ravel().astype(np.float32, copy=False)).view(np.uint32)
    if many:
        found = found[(found * np.uint32(2654435761)) >> np.uint32(27) == 0]
    kept: Array = found[found != 0]  # zeros are everybody's
    return kept


def _related(ours: Sequence[Array], theirs: Sequence[Array]) -> bool:
    """Whether two kernels go together, in some order of their axes."""
    groups: dict[tuple[int, ...], list[Array]] = defaultdict(list)
    for array in ours:
        groups[array.shape].append(array)
    for shape, group in groups.items():
        places = np.random.default_rng(0).permutation(int(np.prod(shape)))[:_SAMPLE]
        others = [array for kernel in theirs for array in _laid_out(kernel, shape)]
        if others:
            left, right = (_directions(some, places) for some in (group, others))
            certain = min(0.98, max(0.5, _CERTAIN / np.sqrt(len(places))))
            if np.abs(left @ right.T).max() > certain:
                return True
    return False


def _laid_out(array: Array, shape: tuple[int, ...]) -> Iterator[Array]:
    if sorted(array.shape) == sorted(shape):
        for axes in itertools.permutations(range(array.ndim)):
            if tuple(array.shape[axis] for axis in axes) == shape:
                yield array.transpose(axes)


def _directions(arrays: Sequence[Array], places: Array) -> Array:
    rows = np.stack([array.ravel()[places] for array in arrays]).astype(np.float64)
    rows -= rows.mean(axis=1, keepdims=True)
    found: Array = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    return found


def _finding(
    tapes: tuple[Tape, Tape], values: tuple[list[int], list[int]], counts: list[int], apart: float
) -> Divergence:
    models = [tape.model for tape in tapes]
    names = [_listed(tape, own) for tape, own in zip(tapes, values, strict=True)]
    sites = [_reader(tape, own) for tape, own in zip(tapes, values, strict=True)]
    told = f"the weights differ: none of {models[1]} is one of {models[0]}"
    return Divergence(
        sites[0],
        sites[1],
        residual=apart,
        met=False,
        detail="transfer them (parity.transfer), or compare structure (parity.structure); what "
        "else differs shows when they are shared",
        cause=Cause(
            kind="weight-values",
            summary=told,
            parameters={"weights": (names[0], names[1])},
            confirmed=False,
            residual_before=apart,
            residual_after=apart,
            inputs=1,
            evidence=(
                f"no number of {counts[1]} kernels is among those of {counts[0]}, but by chance, "
                "and no two kernels go together",
            ),
            unproved="where no weight is shared, nothing that is computed with them can be held "
            "against the other's",
        ),
        output_before=apart,
    )


def _listed(tape: Tape, values: Sequence[int]) -> str:
    names = [tape.values[value].name for value in values]
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def _reader(tape: Tape, values: Sequence[int]) -> Site:
    """The first operation on the way to an output that computes with one of the weights."""
    own = set(values)
    for op in tape.ops:
        if op.role != "move" and not op.static and not own.isdisjoint(op.inputs):
            return op.site
        if op.static or op.role == "move":
            own.update(op.outputs if not own.isdisjoint(op.inputs) else ())
    return Site("model", "")
