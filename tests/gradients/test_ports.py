"""Right ports that other people wrote: their parameters are paired, and their gradients agree."""

from __future__ import annotations

import pytest

from benchmarks.ports.port import ports

PORTS = {
    # two encoders that are alike, and an attention by heads against one in one matrix
    "uncertainty/maac": 39,
    "piers/colight": 27,  # a number by itself, which no step pairs; two inputs are masks
}


@pytest.mark.parametrize("name", PORTS)
def test_their_gradients_agree(name: str) -> None:
    port = next(one for one in ports() if one.name == name)
    report = port.compared(gradients=True)
    assert report.verdict == "parity", str(report)
    rows = [row for row in report.comparisons[0].outputs if row.is_gradient]
    assert len(rows) == PORTS[name]
