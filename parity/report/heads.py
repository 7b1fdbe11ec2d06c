"""Several heads: which of a model's tensors lead to which of its outputs, and which heads part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parity.tape import Tape

if TYPE_CHECKING:
    from parity.diagnosis.region import OutputPair

_SHOWN = 5  # layers in a line


@dataclass(frozen=True)
class Trunk:
    """Tensors that lead to the same outputs.

    Attributes:
        outputs: names of all outputs that they lead to.
        layers: that read them, in the order of the data flow.
        tensors: parameters, by their names in the model.
    """

    outputs: tuple[str, ...]
    layers: tuple[str, ...]
    tensors: tuple[str, ...]


@dataclass(frozen=True)
class Heads:
    """What the heads of one model share.

    Attributes:
        trunks: with several outputs first; () of a model with one output or without tensors.
        equal: how many tensors of one head alone have an equal in another head alone, which is
            not the same tensor.
    """

    trunks: tuple[Trunk, ...]
    equal: int = 0

    @property
    def shared(self) -> tuple[Trunk, ...]:
        return tuple(trunk for trunk in self.trunks if len(trunk.outputs) > 1)


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


def heads_lines(
    pair: tuple[Heads, Heads], names: tuple[str, str], verdicts: Mapping[str, str]
) -> Iterator[str]:
    """The lines of a report; none where no model has several heads made of tensors.

    Args:
        names: of the models.
        verdicts: of the outputs, by name.
    """
    if not any(heads.trunks for heads in pair):
        return
    yield "heads: " + ", ".join(f"{name} {verdict}" for name, verdict in verdicts.items())
    for heads, model in zip(pair, names, strict=True):
        for trunk in heads.trunks:
            several = len(trunk.outputs) > 1
            verb = "share" if several else "alone has"
            yield f"  {model}: {_and(trunk.outputs)} {verb} {_told(trunk)}"
        if heads.trunks and not heads.shared:
            equal = f"; equal, not shared: {heads.equal} tensors" if heads.equal else ""
            yield f"  {model}: the heads share no tensor{equal}"
    ours, theirs = ({trunk.outputs for trunk in heads.shared} for heads in pair)
    if ours != theirs and all(heads.trunks for heads in pair):  # of a function none are seen
        yield "  one model shares what the other does not: trained, they part"


def outputs_lines(heads: Heads, outputs: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """A table of one model's outputs, its headings first: what each has alone, what it shares.

    Nothing of a model with one output, or without tensors.
    """
    if not heads.trunks:
        return
    yield "output", "has alone", "shares"
    for name in outputs:
        own = [trunk for trunk in heads.trunks if name in trunk.outputs]
        alone = [_told(trunk) for trunk in own if len(trunk.outputs) == 1]
        shared = [
            f"{_told(trunk)} with {_and([one for one in trunk.outputs if one != name])}"
            for trunk in own
            if len(trunk.outputs) > 1
        ]
        yield name, "; ".join(alone) or "nothing", "; ".join(shared) or "nothing"


def _told(trunk: Trunk) -> str:
    count = f"{len(trunk.tensors)} tensor{'s' * (len(trunk.tensors) != 1)}"
    return f"{count} of {_listed(trunk.layers)}"


def _rank(names: Sequence[str], outputs: Sequence[str]) -> tuple[int, ...]:
    return -len(names), *map(outputs.index, names)


def _behind(tape: Tape, value: int) -> set[int]:
    """The parameters that a value is computed from; what is not trained keeps no head together."""
    found: set[int] = set()
    seen: set[int] = set()
    stack = [value]
    while stack:
        one = stack.pop()
        if one in seen:
            continue
        seen.add(one)
        producer = tape.producer(one)
        if producer is not None:
            stack.extend(producer.inputs)
        elif tape.values[one].kind == "parameter":
            found.add(one)
    return found


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


def _and(names: Sequence[str]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"


def _listed(layers: Sequence[str]) -> str:
    more = len(layers) - _SHOWN
    return ", ".join(layers[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def paired_heads(
    reference: Tape, candidate: Tape, pairs: Sequence[OutputPair]
) -> tuple[Heads, Heads]:
    """What the heads of both models share, under the reference's names of the outputs."""
    return (
        heads_of(reference, {pair.name: pair.reference for pair in pairs}),
        heads_of(candidate, {pair.name: pair.candidate for pair in pairs}),
    )
