"""Checks of formulas on drawn cases, and the same formulas with one thing broken.

A check is a function `check(book, case)` that holds formulas of `book` against something written
otherwise. It runs on cases that hypothesis draws; and on mutants, whose source differs by one
expression, it must fail.
"""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

import parity
from parity.rl import special


@dataclass(frozen=True)
class Case:
    """Sizes and a seed: `batch` of states, `n` actions, `m` atoms; `scale` of the values."""

    seed: int
    batch: tuple[int, ...]
    n: int
    m: int
    scale: float

    def draws(self) -> Any:
        return np.random.default_rng(self.seed)


# Logits of 500 saturate every softmax, and tanh of 30 is 1 in float64.
cases = st.builds(
    Case,
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(1, 4), max_size=2).map(tuple),
    st.integers(1, 5),
    st.integers(1, 6),
    st.sampled_from([1e-6, 1.0, 30.0, 500.0]),
)
FIXED = [
    Case(0, (3,), 4, 5, 1.0),
    Case(1, (2, 3), 3, 4, 3.0),
    Case(2, (3,), 4, 5, 30.0),
    Case(3, (), 1, 1, 1.0),
]

Check = Callable[[Any, Case], None]


def book(**broken: Any) -> Any:
    """The formulas and the special functions by name, with broken ones in place of their own."""
    return types.SimpleNamespace(**{**vars(special), **vars(parity.rl), **broken})


@dataclass(frozen=True)
class Mutant:
    """One expression of a module of parity/rl/ made wrong, and the check that must see it."""

    check: Check
    module: str
    right: str
    wrong: str

    def __str__(self) -> str:
        return f"{self.check.__name__}: {self.right} -> {self.wrong}"

    def book(self) -> Any:
        """The formulas, with those of the broken module in place of its own."""
        module = importlib.import_module(f"parity.rl.{self.module}")
        source = inspect.getsource(module)
        assert source.count(self.right) == 1, f"{source.count(self.right)} of {self.right!r}"
        broken = types.ModuleType(module.__name__)
        code = compile(source.replace(self.right, self.wrong), module.__file__ or "", "exec")
        exec(code, broken.__dict__)
        return book(**vars(broken))


def checks_pass(mutant: Mutant) -> None:
    """The check on the same module run anew and not broken: it must pass, or it proves nothing."""
    unbroken = replace(mutant, wrong=mutant.right).book()
    for case in FIXED:
        mutant.check(unbroken, case)


def kills(mutant: Mutant) -> bool:
    """Whether the check fails on the mutant, by what it asserts or by an error of a formula."""
    book = mutant.book()
    for case in FIXED:
        try:
            mutant.check(book, case)
        except (AssertionError, parity.ParityError):
            return True
    return False


def same(found: Any, expected: Any, scale: float = 1e-3) -> None:
    """Asserts equal shapes, and values equal to some hundred roundings of the largest.

    Args:
        scale: of what the values were made of, where that may be larger, as in a difference.
    """
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, (found.shape, expected.shape)
    finite = np.abs(expected[np.isfinite(expected)])
    largest = float(finite.max()) if finite.size else 0.0
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13 * max(largest, scale))
