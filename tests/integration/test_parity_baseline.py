"""--parity-baseline and --parity-update: what has become worse fails, and rounding does not."""

import json
import os
import shlex
from xml.etree import ElementTree

import pytest

from parity.cli import main

TESTS = """
import nets, pytest

@pytest.fixture(scope="module")
def ported(assert_parity):
    assert_parity(nets.reference, nets.port, inputs=nets.inputs())

def test_agrees(assert_parity, ported):
    assert_parity(nets.reference, nets.port, inputs=nets.inputs(3))
    assert_parity(nets.reference, nets.port, inputs=nets.inputs(4))

class TestMore:
    @pytest.mark.parametrize("batch", [3, 4])
    def test_batch(self, assert_parity, ported, batch):
        assert_parity(nets.reference, nets.port, inputs=nets.inputs(batch))
"""
FAULTY = """
import nets

def test_differs(assert_parity):
    assert_parity(nets.reference, nets.faulty, inputs=nets.inputs())
"""
GATE = ("--parity-baseline", "baseline.json")
UPDATE = (*GATE, "--parity-update")
each_way = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "xdist"])


@pytest.fixture
def gated(nets):
    """A folder with tests, and what a run of them wrote."""
    nets.makepyfile(test_a=TESTS)
    nets.runpytest(*UPDATE).assert_outcomes(passed=3)
    return nets


def entries(nets):
    return json.loads((nets.path / "baseline.json").read_text())["entries"]


def edit(nets, old, new):
    path = nets.path / "baseline.json"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def change(nets, name, **facts):
    path = nets.path / "baseline.json"
    data = json.loads(path.read_text())
    data["entries"][name].update(facts)
    path.write_text(json.dumps(data))


def expect(result, regressions, *lines):
    assert result.ret == (pytest.ExitCode.TESTS_FAILED if regressions else pytest.ExitCode.OK)
    noun = "regression" if regressions == 1 else "regressions"
    result.stdout.fnmatch_lines([*lines, f"*baseline.json: {regressions} {noun} in *"])


@each_way
def test_the_first_run_writes_it_and_the_next_passes(nets, workers):
    nets.makepyfile(test_a=TESTS)
    result = nets.runpytest(*UPDATE, *workers)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*5 entries added, 0 changed, 0 removed, 0 as they were"])
    assert list(entries(nets)) == [
        "test_a.py::TestMore::test_batch[3]: reference -> port",
        "test_a.py::TestMore::test_batch[4]: reference -> port",
        "test_a.py::ported: reference -> port",
        "test_a.py::test_agrees: reference -> port",
        "test_a.py::test_agrees: reference -> port (2)",
    ]
    before = (nets.path / "baseline.json").read_bytes()
    expect(nets.runpytest(*GATE, *workers), 0)
    nets.runpytest(*UPDATE, *workers)
    assert (nets.path / "baseline.json").read_bytes() == before


@each_way
def test_a_worse_verdict_fails(gated, workers):
    gated.makepyfile(nets=(gated.path / "nets.py").read_text().replace("matmul(x", "matmul(2 * x"))
    result = gated.runpytest_subprocess(*GATE, *workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["test_a.py::*", "  the verdict is worse: was parity, now diverged", "*baseline accept*"]
    )


NAME = "test_a.py::test_agrees: reference -> port"


@pytest.mark.parametrize(
    ("facts", "lines"),
    [
        (
            {"layers": {"gone | gone": {"verdict": "same", "difference": 0.0, "rounding": 0.0}}},
            ["  a layer has vanished at gone | gone: was matched, now without a partner*"],
        ),
        (
            {"decisions": {"other": 1.0}},
            ["  no greedy actions are compared at output other: was 100%, now no table*"],
        ),
        (
            {"coverage": {"values": 1.01, "outputs": 1.0}},
            ["  fewer values are compared: was 101%, now 100%"],
        ),
        (
            {"coverage": {"values": 1.0, "outputs": 1.5}},
            ["  fewer outputs are compared: was 150%, now 100%"],
        ),
        (
            {"decisions": {"output": 1.5}},
            ["  fewer greedy actions agree at output output: was 150%, now 100%"],
        ),
    ],
    ids=["layer", "decisions", "coverage of values", "coverage of outputs", "greedy actions"],
)
def test_what_passes_alone_fails_against_what_was(gated, facts, lines):
    change(gated, NAME, **facts)
    expect(gated.runpytest(*GATE), 1, NAME, *lines)


def test_a_difference_that_grows_fails_though_the_verdict_is_parity(nets):
    """The port computes in less precision: rounding explains it, and it was better before."""
    exact = """
        import nets, numpy as np

        def port(x):
            return np.tanh(x @ nets.WEIGHT)

        def test_port(assert_parity):
            inputs = nets.inputs().astype("float64")
            reference = lambda x: np.tanh(x @ nets.WEIGHT)
            assert assert_parity(reference, port, inputs=inputs).verdict == "parity"
        """
    nets.makepyfile(test_a=exact)
    nets.runpytest(*UPDATE).assert_outcomes(passed=1)
    sloppy = exact.replace("x @ nets.WEIGHT)\n\n", 'x.astype("float16") @ nets.WEIGHT)\n\n')
    nets.makepyfile(test_a=sloppy)
    result = nets.runpytest_subprocess(*GATE)
    result.stdout.fnmatch_lines(["  the difference has grown at *: was *, now *"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_an_entry_that_the_baseline_lacks_fails_until_it_is_added(gated):
    gated.makepyfile(test_b=TESTS)
    expect(
        gated.runpytest(*GATE),
        5,
        "test_b.py::test_agrees: reference -> port",
        "  the baseline has no such entry: was nothing, now parity",
        "  `pytest --parity-baseline baseline.json --parity-update=new` adds it",
    )
    result = gated.runpytest(*GATE, "--parity-update=new")
    result.stdout.fnmatch_lines(["*5 entries added, 0 changed, 0 removed, 5 as they were"])
    expect(gated.runpytest(*GATE), 0)


def test_new_only_adds(gated):
    change(gated, NAME, verdict="diverged")
    (gated.path / "test_a.py").write_text(TESTS.replace("[3, 4]", "[4, 5]"))
    gated.runpytest_subprocess(*GATE, "--parity-update=new")
    assert entries(gated)[NAME]["verdict"] == "diverged"
    for batch in (3, 4, 5):
        assert f"test_a.py::TestMore::test_batch[{batch}]: reference -> port" in entries(gated)


MISSING = {
    "a test": (("def test_agrees", "def agrees"), "there is no such test", 2),
    "a parameter": (("[3, 4]", "[3]"), "there is no such test", 1),
    "a class": (("class TestMore", "class More"), "there is no such test", 2),
    "a call": (("port, inputs=nets.inputs(4", "reference, inputs=nets.inputs(4"), "without it", 1),
    "a fixture": (("assert_parity, ported", "assert_parity"), "its fixture is not used", 1),
}  # fmt: skip


@pytest.mark.parametrize(
    ("workers", "case"), [*(((), case) for case in MISSING), (("-n", "2"), "a parameter")]
)
def test_an_entry_that_is_no_longer_made_fails(gated, workers, case):
    edits, why, count = MISSING[case]
    (gated.path / "test_a.py").write_text(
        TESTS.replace(*edits).replace("self, assert_parity, ported", "self, assert_parity")
        if why == "its fixture is not used"
        else TESTS.replace(*edits)
    )
    result = gated.runpytest_subprocess(*GATE, *workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    said = result.stdout.str()
    assert said.count("the run made no such comparison: was parity") == count
    assert why in said
    assert "prune" in said
    if case == "a parameter":
        gated.runpytest_subprocess(*UPDATE, *workers)
        expect(gated.runpytest_subprocess(*GATE, *workers), 0)


def test_a_file_that_is_gone_fails(gated):
    os.rename(gated.path / "test_a.py", gated.path / "test_b.py")
    gated.runpytest_subprocess(*GATE, "--parity-update=new")
    result = gated.runpytest_subprocess(*GATE)
    expect(result, 5, "  *: was parity, now there is no test_a.py")


@pytest.mark.parametrize(
    "words",
    [
        ("-k", "batch"),
        ("-k", "batch", "-n", "2"),
        ("test_a.py::test_agrees",),
        ("test_a.py::TestMore::test_batch[3]",),
        ("test_b.py",),
        ("--deselect", "test_a.py::TestMore"),
    ],
    ids=["-k", "xdist", "test", "parameter", "file", "deselect"],
)
def test_an_entry_that_was_not_asked_for_is_not_missing(gated, words):
    gated.makepyfile(test_b="def test_nothing(): pass")
    before = (gated.path / "baseline.json").read_bytes()
    expect(gated.runpytest(*GATE, *words), 0, "not compared: * not asked for")
    gated.runpytest(*UPDATE, *words)
    assert (gated.path / "baseline.json").read_bytes() == before


SHARED = """
import nets, pytest

@pytest.fixture(scope="session", params=[3, 4])
def everywhere(request, assert_parity):
    assert_parity(nets.reference, nets.port, inputs=nets.inputs(request.param))
"""


def test_a_fixture_of_a_conftest_is_missing_only_where_it_ran_without_it(gated):
    gated.makeconftest(SHARED)
    gated.makepyfile(test_b="def test_it(everywhere): pass")
    gated.runpytest_subprocess(*UPDATE)
    shared = [f"::everywhere[{index}]: reference -> port" for index in (0, 1)]
    assert list(entries(gated))[:2] == shared
    expect(gated.runpytest_subprocess(*GATE), 0)
    expect(gated.runpytest_subprocess(*GATE, "test_a.py"), 0, "not compared: 2 entries not asked*")
    gated.makeconftest(
        SHARED.replace("    assert_parity(nets", "    return (nets").replace("inputs=", "")
    )
    why = "  the run made no such comparison: was parity, now its fixture ran without it"
    expect(gated.runpytest_subprocess(*GATE), 2, *(line for name in shared for line in (name, why)))


def test_entries_of_tests_that_skip_or_fail_before_are_reported(gated):
    (gated.path / "test_a.py").write_text(
        TESTS.replace("def test_agrees", "@pytest.mark.skip\ndef test_agrees").replace(
            "        assert_parity(nets.ref",
            "        assert batch == 4\n        assert_parity(nets.ref",
        )
    )
    before = (gated.path / "baseline.json").read_bytes()
    result = gated.runpytest_subprocess(*GATE)
    result.assert_outcomes(passed=1, failed=1, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "not compared: 2 entries whose tests were skipped",
            "not compared: 1 entry whose tests failed before",
        ]
    )
    gated.runpytest_subprocess(*UPDATE)
    assert (gated.path / "baseline.json").read_bytes() == before


def test_another_order_of_tests_changes_nothing(gated):
    (gated.path / "conftest.py").write_text(
        "def pytest_collection_modifyitems(items): items.reverse()"
    )
    before = (gated.path / "baseline.json").read_bytes()
    expect(gated.runpytest_subprocess(*GATE), 0)
    gated.runpytest_subprocess(*UPDATE)
    assert (gated.path / "baseline.json").read_bytes() == before


def test_a_test_that_runs_again_counts_once(gated):
    """As plugins do that give a flaky test another try."""
    (gated.path / "conftest.py").write_text(
        """
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    for _ in range(2):
        for report in runtestprotocol(item, nextitem=nextitem, log=False):
            item.ihook.pytest_runtest_logreport(report=report)
    return True
"""
    )
    expect(gated.runpytest_subprocess(*GATE), 0)


def test_another_environment_is_reported_and_differences_are_not_compared(gated):
    edit(gated, '"numpy": "', '"numpy": "1.')
    result = gated.runpytest(*GATE)
    expect(
        result,
        0,
        "5 comparisons of the baseline were made in another environment:",
        "  numpy: 1.* -> 2.*",
        "  compared there: verdicts, *; not compared: differences *",
    )
    change(gated, NAME, layers={"gone | gone": {"verdict": "same", "difference": 0, "rounding": 0}})
    expect(gated.runpytest(*GATE), 1, "  a layer has vanished at gone | gone*")


def test_of_generated_inputs_the_verdict_is_kept(nets):
    nets.makepyfile(
        test_h="""
        import nets
        from hypothesis import given, settings, strategies as st

        @settings(max_examples=5)
        @given(batch=st.integers(1, 9))
        def test_drawn(assert_parity, batch):
            assert_parity(nets.reference, nets.port, inputs=nets.inputs(batch))
        """
    )
    nets.runpytest(*UPDATE).assert_outcomes(passed=1)
    [entry] = entries(nets).values()
    assert entry["generated"] and entry["layers"] == {}
    for _ in range(2):
        expect(nets.runpytest(*GATE), 0)


# --- accepted ------------------------------------------------------------------------------------


@pytest.fixture
def diverging(nets):
    nets.makepyfile(test_b=FAULTY)
    nets.runpytest(*UPDATE).assert_outcomes(failed=1)
    return nets


FAULT = "test_b.py::test_differs: reference -> faulty"


@each_way
def test_an_accepted_divergence_passes_with_the_baseline_alone(diverging, workers):
    diverging.runpytest(*GATE, *workers).assert_outcomes(failed=1)
    change(diverging, FAULT, accepted={"reason": "upstream bug", "until": "9999-12-31"})
    result = diverging.runpytest(*GATE, *workers)
    result.assert_outcomes(passed=1)
    expect(result, 0, f"accepted until 9999-12-31: {FAULT} is diverged: upstream bug")
    diverging.runpytest(*workers).assert_outcomes(failed=1)


@each_way
def test_an_update_says_how_what_it_wrote_is_accepted(nets, workers):
    nets.makepyfile(test_b=FAULTY)
    result = nets.runpytest(*UPDATE, *workers)
    result.assert_outcomes(failed=1)
    accept = f"parity baseline accept baseline.json '{FAULT}' --reason WHY --until DATE"
    result.stdout.fnmatch_lines(
        [
            f"written, and not accepted: {FAULT} is diverged",
            f"  its test fails all the same: fix it; or, to let it pass for a while, `{accept}`",
            "*1 entry added, 0 changed, 0 removed, 0 as they were",
        ]
    )
    words = shlex.split(accept.replace("WHY", "bug").replace("DATE", "9999-12-31"))
    assert main(words[1:]) == 0  # as it was printed, word for word
    result = nets.runpytest(*UPDATE, *workers)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"accepted until 9999-12-31: {FAULT} is diverged: bug"])
    assert "not accepted" not in result.stdout.str()


def test_an_update_says_nothing_of_the_kind_where_all_agree(nets):
    nets.makepyfile(test_a=TESTS)
    assert "accept" not in nets.runpytest(*UPDATE).stdout.str()


def test_an_acceptance_that_has_expired_fails(diverging):
    change(diverging, FAULT, accepted={"reason": "upstream bug", "until": "2020-02-29"})
    result = diverging.runpytest(*GATE)
    result.assert_outcomes(failed=1)
    expect(
        result,
        1,
        FAULT,
        "  an acceptance has expired: was accepted until 2020-02-29 (upstream bug), now diverged",
    )


def test_what_is_worse_than_accepted_fails(diverging):
    accepted = {"reason": "upstream bug", "until": "9999-12-31"}
    change(diverging, FAULT, accepted=accepted)
    source = (diverging.path / "nets.py").read_text()
    (diverging.path / "nets.py").write_text(source.replace("float32(1.5)", "float32(9)"))
    result = diverging.runpytest_subprocess(*GATE)
    expect(result, 1, "  the difference has grown at reference | faulty: was 5.0e-01*")
    change(diverging, FAULT, accepted=accepted, verdict="unverified")
    diverging.runpytest_subprocess(*GATE).assert_outcomes(failed=1)
    result = diverging.runpytest_subprocess(*UPDATE)
    result.stdout.fnmatch_lines([f"no longer accepted, as it has changed: {FAULT}"])
    assert "accepted" not in entries(diverging)[FAULT]


def test_mismatch_at_another_layer_than_was_accepted_fails(diverging):
    accepted = {"reason": "upstream bug", "until": "9999-12-31"}
    [(layer, facts)] = entries(diverging)[FAULT]["layers"].items()
    change(diverging, FAULT, accepted=accepted, layers={layer: {**facts, "verdict": "same"}})
    result = diverging.runpytest(*GATE)
    result.assert_outcomes(passed=1)
    expect(result, 1, f"  the models diverge at {layer}: was same, now diverged")


def test_an_acceptance_that_is_needed_no_more_is_reported(diverging):
    change(diverging, FAULT, accepted={"reason": "upstream bug", "until": "2020-02-29"})
    source = (diverging.path / "nets.py").read_text()
    (diverging.path / "nets.py").write_text(source.replace("float32(1.5)", "float32(1)"))
    expect(
        diverging.runpytest_subprocess(*GATE), 0, f"no longer needed: the acceptance of {FAULT}*"
    )
    diverging.runpytest_subprocess(*UPDATE)
    assert "accepted" not in entries(diverging)[FAULT]


# --- where else a regression is reported ---------------------------------------------------------


def junit(nets):
    """The failed test cases of the file, by class and name, and its counts."""
    root = ElementTree.parse(nets.path / "junit.xml").getroot()
    [suite] = root.iter("testsuite")
    failed = {
        f"{case.get('classname')}: {case.get('name')}": case.find("failure").text
        for case in suite.iter("testcase")
        if case.find("failure") is not None
    }
    return failed, {name: int(suite.get(name)) for name in ("tests", "failures", "errors")}


@each_way
def test_the_junit_file_has_a_failed_case_for_each_entry_that_is_worse(gated, workers):
    layers = {"gone | gone": {"verdict": "same", "difference": 0.0, "rounding": 0.0}}
    change(gated, NAME, layers=layers, coverage={"values": 1.01, "outputs": 1.0})
    batch = "test_a.py::TestMore::test_batch[3]: reference -> port"
    change(gated, batch, layers=layers)
    result = gated.runpytest_subprocess(*GATE, "--junitxml", "junit.xml", *workers)
    result.assert_outcomes(passed=3)
    expect(result, 3)
    failed, counts = junit(gated)
    assert counts == {"tests": 5, "failures": 2, "errors": 0}
    assert set(failed) == {
        "test_a: test_agrees: reference -> port",
        "test_a.TestMore: test_batch(3): reference -> port",
    }
    text = failed["test_a: test_agrees: reference -> port"]
    assert text.startswith("parity baseline\n")
    for words in ("a layer has vanished at gone | gone", "fewer values are compared: was 101%"):
        assert words in text


def test_entries_missing_on_either_side_and_a_file_that_cannot_be_written_are_in_it(gated):
    gated.makepyfile(test_b=TESTS)
    os.rename(gated.path / "test_a.py", gated.path / "test_c.py")
    gated.runpytest_subprocess(*GATE, "--junitxml", "junit.xml")
    failed, _ = junit(gated)
    texts = "\n".join(failed.values())
    assert texts.count("the baseline has no such entry") == 10
    assert texts.count("the run made no such comparison") == 5
    gated.makepyfile(test_b="import shutil\ndef test_it(): shutil.rmtree('out')")
    (gated.path / "out").mkdir()
    words = ("--parity-baseline", "out/b.json", "--parity-update", "--junitxml", "junit.xml")
    assert gated.runpytest_subprocess(*words, "test_b.py").ret != pytest.ExitCode.OK
    [text] = junit(gated)[0].values()
    assert "the baseline could not be written" in text


def test_where_nothing_is_worse_the_junit_file_is_pytests_own(gated):
    expect(gated.runpytest_subprocess(*GATE, "--junitxml", "junit.xml"), 0)
    assert junit(gated) == ({}, {"tests": 3, "failures": 0, "errors": 0})


# --- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (GATE, "There is no baseline *--parity-update*"),
        (("--parity-update",), "--parity-update: name the file with --parity-baseline FILE."),
        ((*UPDATE, "test_a.py"), "--parity-update: 'test_a.py' is neither all nor new.*"),
        ((*UPDATE, "-o", "parity_baseline_factor=0.5"), "parity_baseline_factor: '0.5' is no *"),
        ((*UPDATE, "-o", "parity_baseline_factor=x"), "parity_baseline_factor: 'x' is no factor*"),
        ((*UPDATE, "-o", "parity_baseline_factor=nan"), "parity_baseline_factor: 'nan' is no *"),
    ],
)
def test_what_cannot_be_is_reported_before_the_run(nets, words, says):
    nets.makepyfile(test_a=TESTS)
    result = nets.runpytest(*words)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {says}"])
    assert not (nets.path / "baseline.json").exists()


def test_a_damaged_baseline_is_reported_before_the_run(gated):
    edit(gated, '"schema": 1,', '"schema": 1')
    for words in (GATE, UPDATE):
        result = gated.runpytest(*words)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["ERROR: *baseline.json, line 3: this is no JSON*"])


def test_a_factor_of_the_ini_file_is_used(diverging):
    change(diverging, FAULT, accepted={"reason": "upstream bug", "until": "9999-12-31"})
    source = (diverging.path / "nets.py").read_text()
    (diverging.path / "nets.py").write_text(source.replace("float32(1.5)", "float32(2)"))
    expect(diverging.runpytest_subprocess(*GATE), 0)
    diverging.makeini("[pytest]\nparity_baseline_factor = 1.5")
    expect(diverging.runpytest_subprocess(*GATE), 1, "*grown*", "*1.5 times the larger*")


def test_a_disk_that_fails_in_the_end_is_reported_and_is_no_success(nets):
    nets.makepyfile(
        """
        import shutil

        def test_removes_the_folder():
            shutil.rmtree("out")
        """
    )
    (nets.path / "out").mkdir()
    result = nets.runpytest("--parity-baseline", "out/b.json", "--parity-update")
    assert result.ret != pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["the baseline could not be written: *b.json cannot be written*"])


def test_without_the_option_nothing_is_said(nets):
    nets.makepyfile(test_a=TESTS)
    nets.runpytest("--parity-report", "run.json").stdout.no_fnmatch_line("*baseline*")
