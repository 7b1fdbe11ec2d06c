"""Correct pairs, however differently they are written: parity, with every output compared."""

from __future__ import annotations

import pytest

from benchmarks.corpus.scenarios import clean


@pytest.mark.parametrize("name", clean.PAIRS)
def test_a_clean_pair_has_parity(name):
    report = clean.PAIRS[name]().compare()

    assert report.verdict == "parity", str(report)
    assert report.divergences == []
    assert report.coverage.outputs == 1.0
