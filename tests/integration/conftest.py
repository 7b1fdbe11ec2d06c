"""Models for the runs inside the tests: of NumPy, which need no framework and take milliseconds."""

import contextlib

import pytest

import parity.comparison  # noqa: F401
from parity import errors, frameworks

# Pytester forgets what a run inside a test imported, and TensorFlow crashes when imported again.
for name in ("torch", "tensorflow", "chainer"):
    with contextlib.suppress(errors.FrameworkMissing):
        frameworks.load(name)

NETS = """
import numpy as np

rng = np.random.default_rng(1)
WEIGHT = rng.normal(size=(7, 3)).astype("float32")


def inputs(batch=5):
    return np.random.default_rng(2).normal(size=(batch, 7)).astype("float32")


def reference(x):
    return np.tanh(x @ WEIGHT)


def port(x):
    return np.tanh(np.matmul(x, WEIGHT))


def faulty(x):
    return np.tanh(x @ WEIGHT) * np.float32(1.5)


def zeros(x):
    return np.zeros_like(x)


def broken(x):
    raise RuntimeError("the weights were never loaded")
"""

# one test of each kind
TESTS = """
import nets

def test_agrees(assert_parity):
    assert_parity(nets.reference, nets.port, inputs=nets.inputs(3))
    assert_parity(nets.reference, nets.port, inputs=nets.inputs(4))

def test_differs(assert_parity):
    assert_parity(nets.reference, nets.faulty, inputs=nets.inputs())

def test_breaks(assert_parity):
    assert_parity(nets.reference, nets.broken, inputs=nets.inputs())

def test_compares_nothing():
    pass
"""


@pytest.fixture
def of_each_kind():
    """A test file with one test of each kind, as text."""
    return TESTS


@pytest.fixture
def nets(pytester):
    """Pytester, in a folder with a module `nets`."""
    pytester.makepyfile(nets=NETS)
    pytester.syspathinsert()
    return pytester
