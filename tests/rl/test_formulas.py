"""Every formula agrees with another implementation, and its check sees it broken."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from . import choices, heads, numbers, targets
from .checking import Case, Mutant, book, cases, checks_pass, kills

MODULES = (heads, targets, choices, numbers)
CHECKS = [check for module in MODULES for check in module.CHECKS]
MUTANTS = [mutant for module in MODULES for mutant in module.MUTANTS]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@settings(max_examples=25)
@given(cases)
def test_it_agrees_with_another_implementation(check: Any, case: Case) -> None:
    check(book(), case)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # broken formulas divide by zero
def test_a_broken_formula_is_seen(mutant: Mutant) -> None:
    checks_pass(mutant)  # so that it is the mutation that is seen
    assert kills(mutant)


def test_every_check_sees_a_mutant() -> None:
    assert {mutant.check for mutant in MUTANTS} == set(CHECKS)
