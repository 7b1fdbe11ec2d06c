"""For every test: one thread, a quiet TensorFlow, no deadlines, pytester, no GitHub."""

import os
import sys

import numpy as np
import pytest
from hypothesis import settings

from benchmarks.seeds import seed_all
from parity.frameworks.import_hooks import silence

pytest_plugins = ["pytester"]

os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's; it must be set before torch is imported
silence()
settings.register_profile("parity", deadline=None)
settings.register_profile("laws", deadline=None, max_examples=500)  # `make laws`
settings.load_profile("parity")


@pytest.fixture(autouse=True)
def not_on_github(monkeypatch):
    """Runs inside a test plant divergences: they must not become annotations of this project."""
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)


_STATES = []  # of the generators that modules of tests hold, as they were before any test
_SEEN = {}  # the modules that were looked through for them, and how many there were then


@pytest.fixture(autouse=True)
def same_draws():
    """A test draws the same values whichever ran before; other draws are for the benchmarks."""
    seed_all(0)
    if _SEEN.get("count") != len(
        sys.modules
    ):  # to look through thousands takes longer than many a test
        for name in [one for one in sys.modules if one not in _SEEN and one.startswith("tests.")]:
            held = vars(sys.modules[name]).values()
            made = (one.bit_generator for one in held if isinstance(one, np.random.Generator))
            _STATES.extend((one, one.state) for one in made)
        _SEEN.update(dict.fromkeys(sys.modules, True), count=len(sys.modules))
    for generator, state in _STATES:
        generator.state = state
