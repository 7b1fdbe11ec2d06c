"""`assert_parity(observations=)`: hypothesis's own ways, no vacuous pass, failures that replay."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import settings
from hypothesis.database import InMemoryExampleDatabase

NETS = """
import queue

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

WEIGHT = np.random.default_rng(1).normal(size=(7, 3)).astype("float32")
CALLS = queue.SimpleQueue()  # a list would be as it was before, after each run
STRATEGY = arrays(np.float32, (2, 7), elements=st.floats(-2, 2, width=32))
ALONE = arrays(np.float32, (1, 7), elements=st.floats(-2, 2, width=32))
BATCHES = st.integers(1, 4).flatmap(
    lambda rows: arrays(np.float32, (rows, 7), elements=st.floats(-2, 2, width=32)))
ZEROS = st.just(np.zeros((2, 7), "float32"))


def reference(x):
    CALLS.put(bytes(x))
    return np.tanh(x @ WEIGHT)


def calls():
    return [CALLS.get() for _ in range(CALLS.qsize())]


def port(x):
    return np.tanh(np.matmul(x, WEIGHT))


def clipped(x):
    return np.tanh(x @ WEIGHT).clip(-0.97, 0.97)


def noisy(x):
    return port(x) + np.random.normal(size=3).astype("float32")


def centred(x):
    out = port(x)
    return out - out.mean(0) if len(x) > 3 else out


def broken(x):
    if (x > 1.5).any():
        raise RuntimeError("the table ends at 1.5")
    return port(x)
"""


@pytest.fixture
def searched(pytester):
    """Runs a test's file, whose failing examples it keeps from run to run."""
    pytester.makepyfile(nets=NETS)
    pytester.syspathinsert()
    # hypothesis takes another profile by itself where it sees a CI: no database, and no seeds;
    # and the default one keeps what was found where pytest was started, under the tests' names
    kept = InMemoryExampleDatabase()
    settings.register_profile("kept", settings.get_profile("default"), database=kept)

    def run(code, *options, own_process=False):
        pytester.makepyfile(test_it="import nets, hypothesis\nfrom hypothesis import *\n" + code)
        if own_process:  # which starts in a folder of its own
            return pytester.runpytest_subprocess("--hypothesis-profile=default", *options)
        return pytester.runpytest_inprocess("--hypothesis-profile=kept", *options)

    yield run
    settings.load_profile("parity")


def one(candidate, strategy="STRATEGY", decorators="", more=""):
    call = f"assert_parity(nets.reference, nets.{candidate}, observations=nets.{strategy}{more})"
    return f"{decorators}\ndef test_port(assert_parity):\n    report = {call}\n"


def test_models_that_agree_pass_and_the_report_is_given(searched):
    code = one("port") + "    assert report.verdict == 'parity'\n"
    code += "    assert nets.CALLS.qsize() > 100\n"
    searched(code).assert_outcomes(passed=1)


def test_a_failure_shows_the_observation_the_report_and_one_on_random_inputs(searched):
    result = searched(one("clipped"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "diverged: reference (numpy) against clipped (numpy)",
            "the smallest observation found on which they diverge (*",
            "  0: float32 (2, 7)",
            "on distinct random inputs of shape (8, 7):",
            "diverged: reference (numpy) against clipped (numpy)",
            "test_it.py:5: NotParity",
            "FAILED test_it.py::test_port - NotParity: diverged: reference*",
        ]
    )
    assert "HealthCheck" not in result.stdout.str()
    assert "Traceback" not in result.stdout.str()
    assert "observation=" not in result.stdout.str()  # it is shown once, above


# --- hypothesis as its users know it -------------------------------------------------------------

COUNT = "    seen = set(nets.calls())\n    assert 0 < len(seen) <= {}\n"


@pytest.mark.parametrize(
    ("decorators", "more"), [("@settings(max_examples=6)", ""), ("", ", max_examples=6")]
)
def test_max_examples_of_the_test_or_of_the_call(searched, decorators, more):
    few = one("port", decorators=decorators, more=more) + COUNT.format(45)
    searched(few).assert_outcomes(passed=1)
    many = one("port", more=", max_examples=200") + COUNT.format(45)
    searched(many).assert_outcomes(failed=1)


def test_a_profile_holds(searched, pytester):
    pytester.makeconftest(
        "import hypothesis\nhypothesis.settings.register_profile('six', max_examples=6)\n"
    )
    code = one("port") + COUNT.format(45)
    searched(code, "--hypothesis-profile=six").assert_outcomes(passed=1)
    searched(code).assert_outcomes(failed=1)


def test_without_the_phase_that_draws_the_test_is_skipped_as_hypothesis_does(searched):
    decorators = "@settings(phases=[Phase.reuse])"
    searched(one("port", decorators=decorators)).assert_outcomes(skipped=1)
    result = searched(one("clipped", decorators=decorators))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["several observations run together; of 0 examples none*"])


def test_a_seed_repeats_the_run(searched):
    code = one("port", more=", max_examples=30")
    code += "    import zlib; print('RAN', zlib.crc32(b''.join(nets.calls())))\n"

    def ran(seed):
        result = searched(code, "-s", f"--hypothesis-seed={seed}")
        return re.findall(r"RAN (\d+)", result.stdout.str())

    assert ran(5) == ran(5) != ran(6)


def test_an_explicit_example_is_run(searched):
    decorators = (
        "import numpy as np\n@settings(phases=[Phase.explicit])\n"
        "@example(observation=np.full((1, 7), 1.9, 'float32'))"
    )
    code = one("broken", "ALONE.filter(lambda x: x.max() < 1)", decorators)
    result = searched(code)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["broken (numpy) raised RuntimeError: the table ends at 1.5"])


def test_a_slow_model_meets_no_deadline(searched):
    code = "import time, parity\ndef slow(x):\n    time.sleep(0.25)\n    return nets.port(x)\n"
    code += (
        "def test_port(assert_parity):\n"
        "    slowly = parity.wrap(slow, framework='numpy')\n"
        "    assert_parity(nets.reference, slowly, observations=nets.STRATEGY, max_examples=2)\n"
    )
    searched(code).assert_outcomes(passed=1)


def test_under_given_it_says_what_to_do(searched):
    code = (
        "@given(st=strategies.integers())\ndef test_port(assert_parity, st):\n"
        "    assert_parity(nets.reference, nets.port, observations=nets.STRATEGY)\n"
    )
    result = searched("from hypothesis import strategies\n" + code)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*this test is under @given. Take @given off*"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("nets.port, observations=nets.STRATEGY, inputs=nets.WEIGHT", "Give inputs= or obs*"),
        ("observations=nets.STRATEGY", "*needs two models or more*"),
        ("nets.port, observations='CartPole'", "*observation*"),
        (
            "parity.wrap(nets.port, inputs=nets.WEIGHT), observations=nets.STRATEGY",
            "port is wrapped with inputs of its own*",
        ),
    ],
)
def test_what_does_not_fit_is_reported(searched, arguments, message):
    code = "import parity\ndef test_port(assert_parity):\n"
    result = searched(f"{code}    assert_parity(nets.reference, {arguments})\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([message, "*.py:5: NotParity"])


def test_in_a_fixture_it_is_refused(searched):
    code = "import pytest\n@pytest.fixture\ndef checked(assert_parity):\n"
    code += "    assert_parity(nets.reference, nets.port, observations=nets.STRATEGY)\n"
    result = searched(code + "def test_port(checked):\n    pass\n")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["observations= belongs in a test, not in a fixture."])


def test_decorators_that_would_do_nothing_are_refused(searched):
    code = "@settings(max_examples=3)\ndef test_port(assert_parity):\n"
    code += "    assert_parity(nets.reference, nets.port, inputs=nets.WEIGHT.T)\n"
    result = searched(code)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["@settings, @seed, @example and @reproduce_failure do nothing*"])


# --- a formula, which gets the same observations -------------------------------------------------

FORMULA = "def book(x):\n    return np.tanh(x @ nets.WEIGHT.astype(float))\n"


@pytest.mark.parametrize(
    ("candidate", "right"),
    [("port", "both"), ("clipped", "reference")],
)
def test_a_formula_says_who_is_right_on_the_observation(searched, candidate, right):
    code = "import numpy as np\n" + FORMULA + one(candidate, more=", formula=book")
    code += f"    assert report.by_formula.right == {right!r}\n"
    result = searched(code)
    if candidate == "port":
        result.assert_outcomes(passed=1)
        return
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "by the formula book reference is right and clipped is not",
            "the smallest observation found on which they diverge (*",
        ]
    )


def test_a_formula_that_is_wrong_about_both_leaves_the_verdict(searched):
    code = one("port", more=", formula=lambda x: x[:, :3]")
    code += "    assert report.by_formula.right == 'neither'\n"
    searched(code).assert_outcomes(passed=1)
    searched(code.replace("neither", "both")).assert_outcomes(failed=1)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("lambda x: x[:, 9]", "formula: lambda (numpy) raised IndexError: index 9*"),
        ("'tanh'", "formula is 'tanh'; give a function of NumPy arrays*"),
    ],
)
def test_a_formula_that_does_not_fit_is_no_divergence(searched, formula, message):
    result = searched(one("port", more=f", formula={formula}"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([message, "*.py:5: NotParity"])
    assert "the smallest observation" not in result.stdout.str()


# --- no vacuous pass -----------------------------------------------------------------------------


def test_observations_that_prove_nothing_do_not_pass(searched):
    result = searched(one("port", "ZEROS"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["unverified: reference*", "*constant*"])


def test_a_model_that_draws_random_numbers_does_not_pass(searched):
    searched(one("noisy", more=", max_examples=5")).assert_outcomes(failed=1)


def test_a_fault_that_only_company_shows_is_found(searched):
    result = searched(one("centred", "ALONE"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["several observations run together; *none diverges by itself:"])


def test_examples_run_in_the_batches_that_the_strategy_gives(searched):
    result = searched(one("centred", "BATCHES"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["the smallest observation found*", "  0: float32 (4, 7)"])


def test_a_model_that_raises_on_some_observations_fails_with_them(searched):
    result = searched(one("broken"))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "broken (numpy) raised RuntimeError: the table ends at 1.5",
            "the smallest observation found on which a model raises (*",
            "  0: float32 (2, 7)",
        ]
    )
    shown = result.stdout.str()
    assert "diverged" not in shown and "they diverge" not in shown
    assert shown.count("[[") == 1 and "observation=" not in shown


CRASHING = """
import keras
import parity
import tensorflow as tf
import torch
from parity.frameworks.chainer import chainer


def check(largest):
    if float(largest) > 1.5:
        raise RuntimeError("the table ends at 1.5")


def in_torch(x):
    check(x.abs().max())
    return torch.tanh(x)


class InKeras(keras.Model):
    def call(self, x):
        check(keras.ops.max(keras.ops.abs(x)))
        return keras.ops.tanh(x)


class InGraph(tf.Module):
    @tf.function
    def __call__(self, x):
        tf.debugging.assert_less(tf.reduce_max(tf.abs(x)), 1.5, "the table ends at 1.5")
        return tf.tanh(x)


class InChainer(chainer.Chain):
    def forward(self, x):
        check(abs(getattr(x, "array", x)).max())
        return chainer.functions.tanh(x)


torch_model = parity.wrap(in_torch, framework="torch")
keras_model, graph, chain = InKeras(), InGraph(), InChainer()
sound = parity.wrap(torch.tanh, framework="torch")
"""


@pytest.mark.parametrize("model", ["torch_model", "keras_model", "graph", "chain"])
@pytest.mark.parametrize("is_reference", [False, True])
def test_a_crash_is_reported_in_every_framework(searched, pytester, model, is_reference):
    pytester.makepyfile(crashing=CRASHING)
    models = ["crashing.sound", f"crashing.{model}"]
    given = ", ".join(models[::-1] if is_reference else models)
    result = searched(
        "import crashing\n@settings(max_examples=20)\ndef test_port(assert_parity):\n"
        f"    assert_parity({given}, observations=nets.STRATEGY)\n"
    )
    result.assert_outcomes(failed=1)
    shown = result.stdout.str()
    assert "the table ends at 1.5" in shown and "INTERNALERROR" not in shown
    assert "the smallest observation found on which a model raises (" in shown
    assert "they diverge" not in shown


# --- failures that replay ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("candidate", "workers"),
    [("clipped", ()), ("broken", ("-n", "2"))],
    ids=["one process", "xdist"],
)
def test_a_failure_replays(searched, pytester, workers, candidate):
    code = one(candidate, decorators="@settings(print_blob=True{})\n")
    first = searched(code.format(""), "--parity-save=kept", *workers, own_process=True)
    first.assert_outcomes(failed=1)
    shown = smallest(first)
    # from the database, with nothing drawn anew
    again = searched(code.format(", phases=[Phase.reuse]"), own_process=True)
    again.assert_outcomes(failed=1)
    assert smallest(again) == shown
    # from the line that hypothesis prints, with an empty database
    (blob,) = re.findall(r"@reproduce_failure\('[^']*', b'[^']*'\)", first.stdout.str())
    decorated = searched(f"{blob}\n{one(candidate)}")
    decorated.assert_outcomes(failed=1)
    assert smallest(decorated) == shown
    # from the saved script, without hypothesis
    (script,) = pytester.path.glob("kept/*/observation.py")
    run = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, cwd=pytester.path.parent
    )
    assert run.returncode == 1, run.stdout + run.stderr
    assert "the saved observation:" in run.stdout
    assert smallest_of(run.stdout) == shown
    # and is gone when the model is fixed
    healed = pytester.path / "nets.py"
    healed.write_text(NETS.replace(".clip(-0.97, 0.97)", "").replace("x > 1.5", "x > 99"))
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def smallest(result):
    return smallest_of(result.stdout.str())


def smallest_of(output):
    """The numbers that are printed of the observation."""
    return re.search(r"  0: float32 \(2, 7\)\n((?:    .*\n)+)", output).group(1)


def test_the_arrays_of_a_failure_are_saved(searched, pytester):
    from parity.observations.saved import load

    searched(one("clipped"), "--parity-save=kept").assert_outcomes(failed=1)
    (folder,) = pytester.path.glob("kept/*")
    observation, random = load(folder / "observation.npz")
    assert observation.shape == (2, 7)
    assert random.shape == (8, 7)
    assert len(np.unique(random)) == random.size
    assert (folder / "clipped-1.py").exists()
    assert (folder / "random" / "clipped-1.py").exists()


def test_parametrized_tests_keep_their_examples_separate(searched):
    head = "import pytest\n@pytest.mark.parametrize('name', ['port', 'clipped'])\n"
    body = (
        "def test_port(assert_parity, name):\n"
        "    assert_parity(nets.reference, getattr(nets, name), observations=nets.STRATEGY)\n"
    )
    searched(head + body, own_process=True).assert_outcomes(passed=1, failed=1)
    again = searched(head + "@settings(phases=[Phase.reuse])\n" + body, own_process=True)
    outcomes = again.parseoutcomes()
    # of the one that passes hypothesis keeps an example if it climbed to one, else it skips
    assert outcomes.pop("failed") == 1
    assert outcomes in ({"skipped": 1}, {"passed": 1})
    again.stdout.fnmatch_lines(["the smallest observation found*"])
