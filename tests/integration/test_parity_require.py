"""--parity-require: a missing framework skips with its reason, or is an error where it is named."""

import pytest

NEEDS = """
import dataclasses, nets, parity, pytest, parity.frameworks

@pytest.fixture(autouse=True)
def without_torch(monkeypatch):
    missing = dataclasses.replace(parity.frameworks.FRAMEWORKS["torch"], module="not_torch")
    monkeypatch.setitem(parity.frameworks.FRAMEWORKS, "torch", missing)

def test_torch(assert_parity):
    assert_parity(nets.reference, parity.wrap(nets.port, framework="torch"), inputs=nets.inputs())

def test_numpy(assert_parity):
    assert_parity(nets.reference, nets.port, inputs=nets.inputs())
"""
WITHOUT_TORCH = """
import dataclasses
import parity.frameworks

missing = dataclasses.replace(parity.frameworks.FRAMEWORKS["torch"], module="not_torch")
parity.frameworks.register("torch", missing)
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "xdist"])
def test_a_missing_framework_skips_with_its_reason(nets, workers):
    file = nets.makepyfile(NEEDS).name
    result = nets.runpytest("-ra", *workers)
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(
        [f"SKIPPED * {file}:*: torch is not installed. Install it with: pip install *torch*"]
    )


@pytest.mark.parametrize("name", ["torch", "pytorch", "numpy,torch"])
def test_a_required_one_that_is_missing_stops_the_run(nets, name):
    nets.makepyfile("def test_nothing(): pass")
    nets.makeconftest(WITHOUT_TORCH)
    result = nets.runpytest_subprocess("--parity-require", name)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --parity-require:", "*torch is not installed*"])
    result.stdout.no_fnmatch_line("*passed*")


def test_a_required_one_that_a_test_misses_fails_it(nets):
    """As on a worker on another machine: the check at the start did not see it."""
    nets.makepyfile(NEEDS)
    result = nets.runpytest("--parity-require", "torch")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["torch is not installed*", "--parity-require names torch"])


def test_one_that_is_not_required_still_skips(nets):
    nets.makepyfile(NEEDS)
    nets.runpytest("--parity-require", "numpy").assert_outcomes(passed=1, skipped=1)


def test_a_required_one_that_is_there_changes_nothing(nets):
    nets.makepyfile("def test_nothing(): pass")
    nets.runpytest("--parity-require", "numpy").assert_outcomes(passed=1)


def test_one_that_cannot_be_imported_is_reported(nets):
    nets.makepyfile("def test_nothing(): pass")
    nets.makepyfile(not_torch="", broken_adapter="raise ImportError('libfast.so: not found')")
    nets.makeconftest(
        """
        import parity.frameworks

        broken = parity.frameworks.Registered("not_torch", "broken_adapter")
        parity.frameworks.register("torch", broken)
        """
    )
    result = nets.runpytest_subprocess("--parity-require", "torch", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*torch cannot be imported: ImportError: libfast.so: not found"])


def test_all_that_is_missing_or_unknown_is_listed(nets):
    nets.makepyfile("def test_nothing(): pass")
    nets.makeconftest(WITHOUT_TORCH)
    result = nets.runpytest_subprocess(
        "--parity-require", "theano,torch", "--parity-require", "caffe"
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*'theano'*known are*torch*", "*torch is not installed*", "*'caffe'*"]
    )
