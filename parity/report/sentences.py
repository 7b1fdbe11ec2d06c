"""The sentences of a report, each written once; every renderer takes them from here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from parity.result import ByFormula, Heads, Trunk

_SHOWN = 5  # layers in a line


def formula_lines(found: ByFormula, reference: str, candidate: str) -> Iterator[str]:
    """The lines of a report, the first the judgement."""
    yield (
        f"by the formula {found.formula} "
        + {
            "both": "both models are right, within rounding",
            "reference": f"{reference} is right and {candidate} is not",
            "candidate": f"{candidate} is right and {reference} is not",
            "neither": f"neither {reference} nor {candidate} is right",
            "unknown": "it cannot be told which model is right",
        }[found.right]
    )
    for row in found.outputs:
        for model, held in ((reference, row.reference), (candidate, row.candidate)):
            if held is not None and held.residual is not None and held.as_ran is not None:
                yield (
                    f"  output {row.name!r}: {model} is off by {held.residual:.1e} of its size in "
                    f"float64, by {held.as_ran:.1e} as it ran"
                )
    for problem in found.problems:
        yield f"  {problem}"


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


def _and(names: Sequence[str]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"


def _listed(layers: Sequence[str]) -> str:
    more = len(layers) - _SHOWN
    return ", ".join(layers[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
