"""A model of the corpus in two frameworks: carried over in one call, compared in one call."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

import parity
from benchmarks.seeds import seed_all

CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Outcome:
    """What became of a pair: whether the target has the weights, and the verdict of `compare`."""

    written: bool
    verdict: str
    error: str = ""

    @property
    def is_right(self) -> bool:
        return self.written and self.verdict == "parity"

    @property
    def is_wrong(self) -> bool:
        """All pairs are right, so that only a doubt is forgiven."""
        return bool(self.error) or not self.written or self.verdict == "diverged"

    def __str__(self) -> str:
        return self.error or f"{'written' if self.written else 'not written'}, {self.verdict}"


@dataclass(frozen=True)
class Pair:
    """A model of the corpus, and two of its sides."""

    name: str
    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.name} {self.source} -> {self.target}"

    def judged(self) -> Outcome:
        """Builds both sides, moves the weights and compares: what a user does, and no more."""
        corpus = module(self.name)
        seed_all(1)
        source = corpus.SIDES[self.source]()
        seed_all(2)
        target = corpus.SIDES[self.target]()
        try:
            moved = parity.transfer(source, target, inputs=corpus.inputs())
            report = parity.compare(source, target, inputs=corpus.inputs())
        except Exception as error:  # what it raises, of whatever kind, is the outcome
            return Outcome(False, "error", f"{type(error).__name__}: {error}")
        return Outcome(moved.written, report.verdict)


def module(name: str) -> ModuleType:
    return import_module(f"benchmarks.interfaces.corpus.{name}")


def names() -> list[str]:
    """The models of the corpus."""
    return sorted(file.stem for file in CORPUS.glob("[a-z]*.py"))


def pairs() -> Iterator[Pair]:
    """Each model in each two of its frameworks, both ways."""
    for name in names():
        for source, target in itertools.permutations(module(name).SIDES, 2):
            yield Pair(name, source, target)
