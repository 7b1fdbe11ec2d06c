"""The fixture: it passes on parity alone, and its failure is the report and nothing of parity's."""

import pytest


def test_it_returns_the_report_of_models_that_agree(nets):
    nets.makepyfile(
        """
        import nets

        def test_port(assert_parity):
            report = assert_parity(nets.reference, nets.port, inputs=nets.inputs())
            assert report.verdict == "parity"
            assert report.coverage.outputs == 1
        """
    )
    nets.runpytest().assert_outcomes(passed=1)


def test_a_divergence_fails_with_the_report_and_the_line_of_the_test(nets):
    nets.makepyfile(
        test_it="""
        import nets

        def test_port(assert_parity):
            assert_parity(nets.reference, nets.faulty, inputs=nets.inputs())
        """,
    )
    result = nets.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*_ test_port _*",
            "diverged: reference (numpy) against faulty (numpy)",
            "*1. reference against faulty: inputs agree, outputs differ by 50.0%*",
            "coverage: 1 of 1 outputs compared*",
            "test_it.py:4: NotParity",
            "FAILED test_it.py::test_port - NotParity: diverged: reference (numpy) *",
        ]
    )
    output = result.stdout.str()
    assert "Traceback" not in output
    assert "def test_port" not in output
    assert "parity/" not in output  # none of its files


def test_a_later_candidate_that_diverges_fails(nets):
    nets.makepyfile(
        """
        import nets

        def test_ports(assert_parity):
            assert_parity(nets.reference, nets.port, nets.faulty, inputs=nets.inputs())
        """
    )
    result = nets.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["the odd one out is faulty"])


def test_unverified_fails(nets):
    nets.makepyfile(
        """
        import nets

        def test_nothing_to_see(assert_parity):
            assert_parity(nets.zeros, nets.zeros, inputs=nets.inputs())
        """
    )
    result = nets.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["unverified: zeros*"])


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (
            "nets.reference, nets.broken, inputs=nets.inputs()",
            [
                "broken (numpy) raised RuntimeError: the weights were never loaded",
                "  at *nets.py:*: raise RuntimeError*",
            ],
        ),
        (
            "nets.reference, nets.port, inputs=nets.inputs()[:, :6]",
            ["reference (numpy) raised ValueError: matmul:*", "  at *nets.py:*"],
        ),
        ("nets.reference, nets.port", ["No inputs: give compare(..., inputs=array)*"]),
        ("nets.reference, inputs=nets.inputs()", ["compare needs two models or more*"]),
    ],
    ids=["model raises", "wrong shape", "no inputs", "one model"],
)
def test_an_error_fails_with_its_message_alone(nets, arguments, lines):
    nets.makepyfile(f"import nets\ndef test_it(assert_parity):\n  assert_parity({arguments})\n")
    result = nets.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([*lines, "*.py:3: NotParity"])
    assert "Traceback" not in result.stdout.str()
    assert "assert_parity(" not in result.stdout.str()


def test_wrap_in_a_test_shows_the_line_of_the_test_alone(nets):
    nets.makepyfile(
        """
        import nets, parity

        def test_it(assert_parity):
            parity.wrap(nets.reference, framework="theano")
        """
    )
    result = nets.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([">*framework=*theano*", "E *Unknown framework 'theano'*"])
    assert "def wrap" not in result.stdout.str()


def test_it_is_an_assertion_error(nets):
    """So that what handles failed assertions, such as `xfail(raises=...)`, treats it as one."""
    nets.makepyfile(
        """
        import nets, pytest

        @pytest.mark.xfail(raises=AssertionError, strict=True)
        def test_known(assert_parity):
            assert_parity(nets.reference, nets.faulty, inputs=nets.inputs())

        def test_expected(assert_parity):
            with pytest.raises(AssertionError, match="50.0%"):
                assert_parity(nets.reference, nets.faulty, inputs=nets.inputs())
        """
    )
    nets.runpytest().assert_outcomes(passed=1, xfailed=1)


def test_the_header_shows_the_version(nets):
    import parity

    nets.runpytest().stdout.fnmatch_lines([f"parity: {parity.__version__}"])


def test_the_short_summary_has_one_line_in_a_ci_too(nets, monkeypatch):
    monkeypatch.setenv("CI", "true")
    nets.makepyfile(
        """
        import nets

        def test_port(assert_parity):
            assert_parity(nets.reference, nets.faulty, inputs=nets.inputs())
        """
    )
    result = nets.runpytest()
    summary = str(result.stdout).partition("short test summary info")[2].splitlines()
    assert [line[:6] for line in summary[1:3]] == ["FAILED", "======"]
    assert "diverged: reference (numpy) against faulty (numpy)" in summary[1]
    assert "of scale" in str(result.stdout)  # the report itself is whole
