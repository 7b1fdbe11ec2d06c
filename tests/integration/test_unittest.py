"""unittest's classes: an argument fails clearly and says how to do it; what it says works."""

import pytest

AS_ARGUMENT = """
import unittest, pytest, nets

class TestPort(unittest.TestCase):
    def test_port(self, assert_parity):
        assert_parity(nets.reference, nets.port, inputs=nets.inputs())
"""
BY_MARK = """
import unittest, pytest, nets

@pytest.mark.usefixtures("assert_parity")
class TestPort(unittest.TestCase):
    def test_port(self):
        self.assert_parity(nets.reference, nets.port, inputs=nets.inputs())
"""
UNDER_HYPOTHESIS = """
import unittest, nets
from hypothesis import given, strategies as st

class TestPort(unittest.TestCase):
    @given(batch=st.integers(1, 5))
    def test_port(self, assert_parity, batch):
        assert_parity(nets.reference, nets.port, inputs=nets.inputs(batch))
"""
AS_TOLD = """
import unittest, pytest, nets

class TestPort(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def fetch_assert_parity(self, assert_parity):
        self.assert_parity = assert_parity

    def test_port(self):
        self.assert_parity(nets.reference, nets.port, inputs=nets.inputs())

    def test_faulty(self):
        self.assert_parity(nets.reference, nets.faulty, inputs=nets.inputs())
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "xdist"])
@pytest.mark.parametrize("code", [AS_ARGUMENT, BY_MARK, UNDER_HYPOTHESIS])
def test_a_test_case_that_asks_for_the_fixture_is_shown_how_to_get_it(nets, code, workers):
    nets.makepyfile(code)
    result = nets.runpytest(*workers)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "assert_parity is a pytest fixture, and a unittest.TestCase gets no fixtures*",
            "*def fetch_assert_parity(self, assert_parity):",
        ]
    )
    assert "positional argument" not in result.stdout.str()
    assert "AttributeError" not in result.stdout.str()


def test_what_it_is_shown_works(nets):
    nets.makepyfile(AS_TOLD)
    result = nets.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*TestPort.test_faulty*", "diverged: reference*"])
    assert "Traceback" not in result.stdout.str()


def test_other_test_cases_are_left_alone(nets):
    nets.makepyfile(
        """
        import unittest

        class TestOther(unittest.TestCase):
            def test_it(self):
                self.assertEqual(2 + 2, 4)

            def test_needs_more(self, tmp_path):
                pass
        """
    )
    result = nets.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*TypeError*tmp_path*"])
