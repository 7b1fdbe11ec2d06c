"""A fixed sample of `benchmarks.random`: right pairs pass, wrong ones diverge at the fault."""

from __future__ import annotations

import pytest

from benchmarks.random.cases import SUBJECTS, Case, outcome

UNVERIFIED = {"truncated normal by rejection": "branches on random draws in Python"}


@pytest.mark.parametrize("pair", [0, 1])
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_a_right_pair(subject, pair):
    names = subject.pairs[pair % len(subject.pairs)]
    found = outcome(Case(subject, names, "", 5, 0))
    if subject.name in UNVERIFIED:
        assert found.verdict == "unverified"
        assert UNVERIFIED[subject.name] in found.told
    else:
        assert found.verdict == "parity", found.told


@pytest.mark.parametrize(
    ("subject", "fault"),
    [(subject, fault) for subject in SUBJECTS for fault in subject.faults[:1]],
    ids=lambda item: item if isinstance(item, str) else item.name,
)
def test_a_wrong_pair(subject, fault):
    found = outcome(Case(subject, subject.pairs[0], fault, 1, 0))
    assert found.verdict == "diverged", found.told
