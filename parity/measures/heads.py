"""Several heads: which of a model's tensors lead to which of its outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from parity.result import Heads, Trunk
from parity.tape import Tape

if TYPE_CHECKING:
    from parity.diagnosis.region import OutputPair


def heads_of(tape: Tape, outputs: Mapping[str, int]) -> Heads:
    """What the outputs of a model are made from.

    Args:
        outputs: their value ids by the names that the report gives them.
    """
    if len(outputs) < 2:
        return Heads(())
    reached: dict[int, list[str]] = {}  # tensor: the outputs that it leads to
    for name, value in outputs.items():
        for leaf in _behind(tape, value):
            reached.setdefault(leaf, []).append(name)
    groups: dict[tuple[str, ...], list[int]] = {}
    for leaf in sorted(reached):
        groups.setdefault(tuple(reached[leaf]), []).append(leaf)
    trunks = [
        Trunk(names, _layers(tape, leaves), tuple(tape.values[leaf].name for leaf in leaves))
        for names, leaves in sorted(groups.items(), key=lambda group: _rank(group[0], [*outputs]))
    ]
    alone = [leaves for names, leaves in groups.items() if len(names) == 1]
    return Heads(tuple(trunks), _equal(tape, alone))


def _rank(names: Sequence[str], outputs: Sequence[str]) -> tuple[int, ...]:
    return -len(names), *map(outputs.index, names)


def _behind(tape: Tape, value: int) -> set[int]:
    """The parameters that a value is computed from; only what is trained is shared."""
    walk = tape.graph.backward([value], lambda value, op: True)
    return {one for one, op in walk if op is None and tape.values[one].kind == "parameter"}


def _layers(tape: Tape, leaves: Sequence[int]) -> tuple[str, ...]:
    readers = sorted(index for leaf in leaves for index in tape.consumers[leaf])
    sites = [tape.ops[index].site for index in readers]
    return tuple(dict.fromkeys(site.layer or site.source.rsplit("/", 1)[-1] for site in sites))


def _equal(tape: Tape, groups: Sequence[Sequence[int]]) -> int:
    """How many tensors of each group but the first have an equal in a group before it."""
    count = 0
    before: list[np.ndarray] = []
    for leaves in groups:
        arrays = [tape.adapter.to_numpy(tape.recorded[leaf]) for leaf in leaves]
        for array in arrays:
            varied = array.size > 1 and (array != array.flat[0]).any()
            count += bool(varied) and any(np.array_equal(array, other) for other in before)
        before += arrays
    return count


def paired_heads(
    reference: Tape, candidate: Tape, pairs: Sequence[OutputPair]
) -> tuple[Heads, Heads]:
    """What the heads of both models share, under the reference's names of the outputs."""
    pairs = [pair for pair in pairs if pair.name not in reference.gradients]
    return (
        heads_of(reference, {pair.name: pair.reference for pair in pairs}),
        heads_of(candidate, {pair.name: pair.candidate for pair in pairs}),
    )
