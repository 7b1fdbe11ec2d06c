"""What is reported rests on what a model computes: other names of its parameters change nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import parity.inputs.preprocessing
from benchmarks.corpus.gallery.__main__ import load
from benchmarks.corpus.gallery.check import check
from benchmarks.corpus.gallery.entry import ENTRIES

load()
SEED = 1
SAMPLE = [name for name, entry in ENTRIES.items() if entry.causes][::10]


class Renaming:
    """An adapter that gives every parameter and constant a random name."""

    def __init__(self, adapter, random):
        self._adapter, self._random = adapter, random
        self.recorded = self.given = False

    def __getattr__(self, name):
        return getattr(self._adapter, name)

    def record(self, *arguments):
        tape = self._adapter.record(*arguments)
        self.recorded = True
        for value in tape.values:
            if value.op < 0 and value.kind != "input":
                self.given = True
                tape.values[value.id] = replace(value, name=f"v{self._random.integers(1 << 30)}")
        return tape


@pytest.mark.parametrize("name", SAMPLE)
def test_other_names_change_nothing(name, monkeypatch):
    before = check(ENTRIES[name], SEED)
    adapters = []

    def renaming(framework, load=parity.inputs.preprocessing.load):
        adapters.append(Renaming(load(framework), np.random.default_rng(len(adapters))))
        return adapters[-1]

    monkeypatch.setattr(parity.inputs.preprocessing, "load", renaming)
    after = check(ENTRIES[name], SEED)

    assert any(adapter.recorded for adapter in adapters)
    if not any(adapter.given for adapter in adapters):
        pytest.skip("its models have neither parameters nor constants")
    facts = ("verdict", "placed", "all_placed", "cause", "all_causes", "confirmed", "wrong")
    assert {fact: getattr(before, fact) for fact in facts} == {
        fact: getattr(after, fact) for fact in facts
    }, (before.stated, after.stated)
