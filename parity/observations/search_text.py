"""What a search found, in words."""

from __future__ import annotations

import numpy as np

from parity.model import Inputs, as_it_is, flatten_given, flatten_inputs
from parity.observations.search import Found

_SHOWN = 64  # elements of an array that are printed in full


def describe(found: Found) -> str:
    """The report on the observation, the observation, and the report on random inputs."""
    parts = [str(found.error if found.report is None else found.report)]
    if found.observation is not None:
        parts.append(_observation(found))
    parts += [_on_random(found), found.caveat if found.alone else ""]
    parts += found.notes
    return "\n\n".join(part.rstrip() for part in parts if part)


def _observation(found: Found) -> str:
    if not found.alone:
        examples = f"of {found.examples} examples none diverges by itself"
        how = f"several observations run together; {examples}"
    elif found.examples:
        how = (
            f"the smallest observation found on which {_what(found)} "
            f"({found.examples} examples run, {found.compared} compared in full)"
        )
    else:
        how = "the saved observation"
    return "\n".join([f"{how}:", *_arrays(found.observation)])


def _what(found: Found) -> str:
    """What happens there: a model that raises diverges from none."""
    return "they diverge" if found.error is None else "a model raises"


def _arrays(inputs: Inputs) -> list[str]:
    lines = []
    with np.printoptions(threshold=_SHOWN, edgeitems=2, precision=9, floatmode="maxprec"):
        for path, array in flatten_given(inputs).items():
            if as_it_is(array):
                lines.append(f"  {path}: {array!r}")
                continue
            numbers = "\n".join(f"    {line}" for line in str(array).splitlines())
            lines.append(f"  {path}: {array.dtype} {array.shape}\n{numbers}")
    return lines


def _on_random(found: Found) -> str:
    if found.on_random is None or found.random is None:
        return ""
    shapes = ", ".join(str(array.shape) for array in flatten_inputs(found.random).values())
    head = f"on distinct random inputs of shape {shapes}:"
    if found.on_random.verdict == "parity":
        return f"{head} they agree; few observations show this"
    return f"{head}\n\n{found.on_random}"
