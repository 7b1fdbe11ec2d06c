"""docs/causes.md is what the code says, and every cause is there with a planted fault."""

from __future__ import annotations

from pathlib import Path

from benchmarks.causes import page
from benchmarks.corpus.gallery.__main__ import load
from benchmarks.corpus.gallery.entry import ENTRIES
from parity.diagnosis.causes import causes

PAGE = Path(__file__).parents[2] / "docs" / "causes.md"


def test_the_page_is_up_to_date():
    assert PAGE.read_text() == page(), "run: python -m benchmarks.causes --write docs/causes.md"


def test_every_cause_says_what_it_looks_like_and_its_proof():
    for cause in causes():
        text = cause.propose.__doc__ or ""
        assert "Looks like:" in text and "Proof:" in text, cause.kinds


def test_every_cause_has_a_planted_fault():
    load()
    planted = {kind for entry in ENTRIES.values() for kind in entry.causes}
    for cause in causes():
        assert set(cause.kinds) <= planted, cause.kinds
