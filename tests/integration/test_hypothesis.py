"""The fixture under hypothesis: no health check, examples shrunk and shown, no short deadline."""

import pytest

SHRINKS = """
import nets
from hypothesis import given, strategies as st

@given(batch=st.integers(1, 50))
def test_batches(assert_parity, batch):
    candidate = nets.port if batch < 13 else nets.faulty
    assert_parity(nets.reference, candidate, inputs=nets.inputs(batch))
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_a_failing_example_is_shrunk_and_shown(nets, workers):
    nets.makepyfile(SHRINKS)
    result = nets.runpytest_subprocess(*workers)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["diverged: reference*", "*.py:7: NotParity", "*batch=13,*"])
    assert "HealthCheck" not in result.stdout.str()


def test_models_that_agree_pass(nets):
    nets.makepyfile(SHRINKS.replace("nets.faulty", "nets.port"))
    nets.runpytest().assert_outcomes(passed=1)


SLOW = """
import time, nets, parity
from hypothesis import given, settings, strategies as st

def slow(x):
    time.sleep(0.25)
    return nets.port(x)

@settings({settings})
@given(batch=st.integers(1, 3))
def test_slow(assert_parity, batch):
    candidate = parity.wrap(slow, framework="numpy")
    assert_parity(nets.reference, candidate, inputs=nets.inputs(batch))
"""


# In a process of their own: this one's hypothesis has no deadline at all.
def test_the_default_deadline_is_lifted(nets):
    nets.makepyfile(SLOW.format(settings="max_examples=2"))
    nets.runpytest_subprocess().assert_outcomes(passed=1)


def test_a_deadline_that_somebody_chose_is_kept(nets):
    nets.makepyfile(SLOW.format(settings="max_examples=2, deadline=150"))
    result = nets.runpytest_subprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*DeadlineExceeded*"])
