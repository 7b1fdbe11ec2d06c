"""For every test: one thread, a quiet TensorFlow, no deadlines, pytester, no GitHub."""

import itertools
import os
import sys

import numpy as np
import pytest
from hypothesis import settings

from benchmarks.seeds import seed_all
from parity.frameworks.quiet import silence

pytest_plugins = ["pytester"]

os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's; it must be set before torch is imported
silence()
settings.register_profile("parity", deadline=None)
settings.register_profile("laws", deadline=None, max_examples=500)  # `make laws`
settings.load_profile("parity")


@pytest.fixture(autouse=True)
def not_on_github(monkeypatch):
    """What runs inside a test plants divergences: they are no annotations of this project's own."""
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


_STATES = {}  # of the generators that modules of tests hold, as they were before any test


@pytest.fixture(autouse=True)
def same_draws():
    """A test draws the same whichever others ran before; other draws are for the benchmarks."""
    seed_all(0)
    for name, module in list(sys.modules.items()):
        if name.startswith("tests.") and name not in _STATES:
            held = [one for one in vars(module).values() if isinstance(one, np.random.Generator)]
            _STATES[name] = [(one.bit_generator, one.bit_generator.state) for one in held]
    for generator, state in itertools.chain.from_iterable(_STATES.values()):
        generator.state = state
