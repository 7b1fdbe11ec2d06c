"""Dense layers that read one value, stacked into one layer in the other model.

A policy's mean and deviation, a dueling network's two streams, the queries, keys and values of an
attention: one product that is split, or a product for each. The pieces are taken in the order in
which they run; where that does not lead to parity, in the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, permutations

import numpy as np

from parity.architecture.align import partners
from parity.architecture.program import Program
from parity.weights.cell_weights import Terms
from parity.weights.operands import Part

Parts = dict[str, Part]
Sides = tuple[Program, Mapping[int, Parts]]


def stacks(
    source: Sides, target: Sides, steps: Mapping[int, int], way: int = 0
) -> Iterator[tuple[Parts, Parts]]:
    """The parts of what is one layer in one model and several in the other.

    Args:
        source, target: programs, and the parts of each step.
        steps: pairs of steps that belong together already.
        way: number of the order in which pieces are taken.
    """
    source_runs = _free(source, set(steps))
    target_runs = _free(target, set(steps.values()))
    for left in source_runs:
        around = partners(source[0].before[left[0]], steps)
        for right in target_runs:
            if target[0].before[right[0]] != around:
                continue
            if (len(left) == 1) == (len(right) == 1):
                continue
            joined = [_joined(side, own, way) for side, own in ((source, left), (target, right))]
            shapes = [{role: part.shape for role, part in own.items()} for own in joined]
            if shapes[0] and shapes[0] == shapes[1]:
                yield joined[0], joined[1]
                target_runs.remove(right)
                break


def _free(side: Sides, taken: set[int]) -> list[list[int]]:
    """Dense steps without a partner, those together that read one value."""
    program, parts = side
    found: dict[int, list[int]] = defaultdict(list)
    for number, step in enumerate(program.steps):
        kernel = parts.get(number, {}).get("kernel")
        if step.kind == "dense" and number not in taken and kernel and kernel.input is not None:
            found[program.graph.root(kernel.input)].append(number)
    return list(found.values())


def _joined(side: Sides, steps: Sequence[int], way: int) -> Parts:
    """The parts of several layers as those of one; none where not all have the same."""
    order = next(islice(permutations(steps), way, None), None) if len(steps) > 1 else steps
    pieces = [side[1][step] for step in order or ()]
    if not pieces or any(piece.keys() != pieces[0].keys() for piece in pieces):
        return {}
    return {role: concatenated([piece[role] for piece in pieces]) for role in pieces[0]}


def concatenated(parts: Sequence[Part]) -> Part:
    """Several parts as one, whose outputs are theirs one after the other."""
    if len(parts) == 1:
        return parts[0]

    def find() -> Terms | None:
        found = [part.find() for part in parts]
        whole = [terms[0][1] for terms in found if terms and len(terms) == 1]
        return [(1.0, np.concatenate(whole))] if len(whole) == len(parts) else None

    return replace(parts[0], find=find)
