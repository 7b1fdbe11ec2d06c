"""Writes docs/causes.md: each cause from its own docstring, with reports and pairs of the gallery.

python -m benchmarks.causes [--write docs/causes.md]
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Iterator

from benchmarks.pages import write

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

_HEAD = """\
# Causes

What a divergence may come from. A cause is reported only with its evidence: the one change that it
names, made to what the reference computes, gives the candidate's value to rounding on the user's
inputs and on generated ones. It is *confirmed* when the fix alone makes the candidate reconverge:
what the repaired candidate would give, as the cause predicts it, is substituted into the
candidate's own float64 run, and everything that depends on it is the reference's, down to the
outputs or to the next divergence. A cause that fits without that, or whose prediction is read off
what it should predict, is reported as *consistent with the evidence, not proved*, with the reason
([decision 0012](decisions/0012-confirmed-is-measured.md)). Where nothing holds, the report says
`unexplained`, and what comes closest.

`weights-not-shared` is reported before anything is located, and never as confirmed: the models'
weight matrices hold as many values, and none of the one is in the other, in any arrangement,
precision or multiple, nor a gate of a cell that one of them joins. Transfer them
(`parity.transfer`), or compare what the models are made of (`parity.structure`).

Each cause is a function of `parity/diagnosis/causes/`, and its text here is that function's
docstring. The pairs named are in `benchmarks/corpus/gallery/`; the reports are public issues
that they follow.
This page is written by `python -m benchmarks.causes --write docs/causes.md`.
"""


def page() -> str:
    """Writes docs/causes.md from the causes' docstrings and the gallery."""
    return _HEAD + "".join(f"{line}\n" for line in _families())


def _families() -> Iterator[str]:
    from benchmarks.corpus.gallery.__main__ import load
    from benchmarks.corpus.gallery.entry import ENTRIES
    from parity.diagnosis.causes import causes, families

    load()
    for family in families():
        of_family = next(c for c in causes() if c.family == family)
        yield f"\n## {family.capitalize().replace('_', ' ')}\n"
        yield inspect.getdoc(inspect.getmodule(of_family.propose)) or ""
        for cause in causes():
            if cause.family != family:
                continue
            yield f"\n### {', '.join(f'`{kind}`' for kind in cause.kinds)}\n"
            yield from _paragraphs(inspect.getdoc(cause.propose) or "")
            planted = [e for e in ENTRIES.values() if set(cause.kinds) & set(e.causes)]
            sources = sorted({e.source for e in planted if e.source})
            if sources:
                yield f"\n**Reported:** {'; '.join(sources)}."
            if planted:
                yield f"\n**Planted in:** {', '.join(f'`{e.name}`' for e in planted)}."


def _paragraphs(docstring: str) -> Iterator[str]:
    """A docstring as Markdown: `Looks like:` and `Proof:` begin paragraphs of their own."""
    for line in re.sub(r"\n+(?=(Looks like|Proof|Source):)", "\n\n", docstring).split("\n"):
        head = re.match(r"(Looks like|Proof|Source):\s*(.*)", line)
        yield f"**{head[1]}:** {head[2]}".rstrip() if head else line.strip()


if __name__ == "__main__":
    sys.exit(write("benchmarks.causes", page))
