"""The section at the end of a run, JUnit properties, GitHub's annotations, pytest-html's link."""

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

MORE = """
from hypothesis import given, settings, strategies as st

def test_zeros(assert_parity):
    assert_parity(nets.zeros, nets.zeros, inputs=nets.inputs())

@settings(max_examples=7, database=None)
@given(batch=st.integers(1, 9))
def test_drawn(assert_parity, batch):
    assert_parity(nets.reference, nets.port, inputs=nets.inputs(batch))
"""
TORCH = """
import numpy as np, pytest

torch = pytest.importorskip("torch")
import parity

def reference(x):
    return torch.softmax(x, 1)

def port(x):
    return torch.softmax(x, 0)

def test_port(assert_parity):
    inputs = np.random.default_rng(0).normal(size=(5, 7)).astype("float32")
    models = [parity.wrap(one, framework="torch") for one in (reference, port)]
    assert_parity(*models, inputs=inputs)
"""
each_way = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "xdist"])
HEAD = "11 comparisons in 5 tests: 9 parity, 1 diverged, 1 unverified; 1 could not be run"


def section(result):
    """The lines of the section `parity`."""
    lines = result.stdout.str().splitlines()
    [start] = [at for at, line in enumerate(lines) if re.fullmatch(r"=+ parity =+", line)]
    end = next(at for at in range(start + 1, len(lines)) if lines[at].startswith(("===", "---")))
    return lines[start + 1 : end]


@pytest.fixture
def tests(of_each_kind):
    return f"{of_each_kind}{MORE}"


@pytest.fixture
def on_github(nets, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(nets.path))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(nets.path / "step.md"))
    return nets


@each_way
def test_the_section_states_what_was_compared(nets, tests, workers):
    nets.makepyfile(test_a=tests)
    result = nets.runpytest(*workers)
    result.assert_outcomes(passed=3, failed=3)
    head, coverage, examples, *rest = section(result)
    assert head == HEAD
    assert coverage == "coverage: 11 of 11 outputs compared, 100% of informative values matched"
    assert examples == "hypothesis: 7 examples run"
    worst = [line for line in rest if line.startswith("worst layer: ")]
    assert re.fullmatch(
        r"worst layer: faulty diverges by 5\.0e-01 of its scale \(rounding \S+\), "
        r"test_a\.py::test_differs",
        worst[0],
    )
    assert len(worst) <= 3
    assert "::error" not in result.stdout.str()  # this is not GitHub


@each_way
def test_verbose_has_a_line_for_each_comparison(nets, tests, workers):
    nets.makepyfile(test_a=tests)
    found = section(nets.runpytest("-v", *workers))
    found = found[: found.index(HEAD)]
    assert [line.partition(",")[0] for line in found if line] == [
        "test_a.py::test_agrees: port against reference: parity",
        "test_a.py::test_agrees: port against reference: parity",
        "test_a.py::test_breaks: could not be run: broken (numpy) raised RuntimeError: "
        "the weights were never loaded",
        "test_a.py::test_differs: faulty against reference: diverged",
        "test_a.py::test_drawn: port against reference: parity",
        "test_a.py::test_zeros: zeros #2 against zeros #1: unverified",
    ]
    [drawn] = [line for line in found if "test_drawn" in line]
    assert "parity, 7 times, " in drawn


def test_quiet_has_one_line(nets, tests):
    nets.makepyfile(test_a=tests)
    result = nets.runpytest("-q")
    assert result.stdout.str().count("\nparity: ") == 1
    assert f"\nparity: {HEAD}\n" in result.stdout.str()
    assert not re.search("=+ parity =+", result.stdout.str())


@each_way
def test_a_run_that_compares_nothing_says_nothing(on_github, workers):
    on_github.makepyfile("def test_nothing(assert_parity): pass")
    result = on_github.runpytest("-v", *workers)
    result.assert_outcomes(passed=1)
    assert not re.search("=+ parity =+", result.stdout.str())
    assert not (on_github.path / "step.md").exists()


def test_the_slowest_are_reported(nets):
    nets.makepyfile(
        test_a="""
        import time, nets, numpy as np

        def slow(x):
            time.sleep(0.3)
            return np.asarray(nets.port(x))

        def test_both(assert_parity):
            assert_parity(nets.reference, slow, inputs=nets.inputs())
            assert_parity(nets.reference, nets.port, inputs=nets.inputs())
        """
    )
    lines = [line for line in section(nets.runpytest()) if line.startswith("slowest: ")]
    assert re.fullmatch(
        r"slowest: \d+\.\d s, test_a.py::test_both: slow against reference", lines[0]
    )
    assert len(lines) == 1 or "port against reference" in lines[1]


def test_examples_of_a_search_are_counted(nets):
    nets.makepyfile(
        test_a="""
        import nets, numpy as np
        from hypothesis import strategies as st
        from hypothesis.extra.numpy import arrays

        def test_it(assert_parity):
            drawn = arrays(np.float32, (2, 7), elements=st.floats(-3, 3, width=32))
            assert_parity(nets.reference, nets.port, observations=drawn, max_examples=9)
        """
    )
    assert "hypothesis: 9 examples run" in section(nets.runpytest())


def test_a_divergence_that_the_baseline_accepts_is_reported_as_such(on_github):
    on_github.makepyfile(
        test_a="""
        import nets

        def test_it(assert_parity):
            assert_parity(nets.reference, nets.faulty, inputs=nets.inputs())
        """
    )
    gate = ("--parity-baseline", "baseline.json")
    on_github.runpytest(*gate, "--parity-update")
    path = on_github.path / "baseline.json"
    data = json.loads(path.read_text())
    for entry in data["entries"].values():
        entry["accepted"] = {"reason": "known", "until": "2999-01-01"}
    path.write_text(json.dumps(data))
    result = on_github.runpytest(*gate)
    result.assert_outcomes(passed=1)
    found = section(result)
    assert "1 comparison in 1 test: 1 diverged; 1 of them accepted" in found
    assert [line for line in found if line.startswith("::warning ")]
    assert not [line for line in found if line.startswith("::error ")]


ONLY_ONCE = "    if nets.__dict__.setdefault('ran', []): return\n    nets.ran.append(1)"


@pytest.mark.parametrize("again", ["", ONLY_ONCE], ids=["the same", "comparing no more"])
def test_of_a_test_that_runs_again_the_last_time_counts(nets, tests, again):
    nets.makeconftest(
        """
        from _pytest.runner import runtestprotocol

        def pytest_runtest_protocol(item, nextitem):
            for _ in range(2):
                for report in runtestprotocol(item, nextitem=nextitem, log=False):
                    item.ihook.pytest_runtest_logreport(report=report)
            return True
        """
    )
    head = "def test_differs(assert_parity):\n"
    nets.makepyfile(test_a=tests.replace(head, f"{head}{again}\n"))
    left = "10 comparisons in 4 tests: 9 parity, 1 unverified; 1 could not be run"
    assert (left if again else HEAD) in section(nets.runpytest())


def test_a_name_cannot_break_its_line_or_make_a_command(on_github):
    on_github.makepyfile(
        test_a="""
        import nets, parity

        def test_it(assert_parity):
            port = parity.wrap(nets.zeros, name="port\\n::error::boo\\x1b[m|<b>", framework="numpy")
            assert_parity(nets.zeros, port, inputs=nets.inputs())
        """
    )
    result = on_github.runpytest("-v")
    commands = [line for line in section(result) if line.startswith("::")]
    assert len(commands) == 1
    assert commands[0].startswith(
        "::error file=test_a.py,line=3,title=parity::port\\n\\x3a:error::boo\\x1b[m"
    )
    assert not [line for line in section(result) if "\x1b" in line]
    assert "<b>" not in (on_github.path / "step.md").read_text()


# --- JUnit ---------------------------------------------------------------------------------------


def properties(path):
    return {
        case.get("name"): {one.get("name"): one.get("value") for one in case.iter("property")}
        for case in ElementTree.parse(path).iter("testcase")
    }


@each_way
def test_junit_properties_are_there_if_asked_for(nets, tests, workers):
    nets.makepyfile(test_a=tests)
    nets.runpytest("--junit-xml=run.xml", "--parity-junit", *workers)
    found = properties(nets.path / "run.xml")
    agrees, differs = found["test_agrees"], found["test_differs"]
    assert agrees["parity.1.verdict"] == agrees["parity.2.verdict"] == "parity"
    assert differs["parity.1.models"] == "faulty against reference"
    assert differs["parity.1.verdict"] == "diverged"
    assert differs["parity.1.difference"] == "5.0e-01"
    assert differs["parity.1.coverage"] == "1.000"
    assert found["test_breaks"]["parity.1.verdict"] == "error"
    assert "parity.2.verdict" not in found["test_drawn"]  # one of many examples
    assert found["test_compares_nothing"] == {}
    nets.runpytest("--junit-xml=plain.xml", *workers)
    assert not any(
        name.startswith("parity")
        for case in properties(nets.path / "plain.xml").values()
        for name in case
    )


# --- GitHub --------------------------------------------------------------------------------------


@each_way
def test_both_lines_are_annotated(on_github, workers):
    folder = on_github.mkdir("a, b%")
    (folder / "test_port.py").write_text(TORCH)
    result = on_github.runpytest(*workers)
    result.assert_outcomes(failed=1)
    error, notice = (line for line in section(result) if line.startswith("::"))
    assert error == (
        "::error file=a%2C b%25/test_port.py,line=11,title=parity::"
        "Softmax: inputs agree, outputs differ; "
        "softmax-axis: softmax over axis 0 of (5, 7); the reference takes axis -1"
        "%0Aport against reference, in a, b%25/test_port.py::test_port"
    ).replace("Softmax:", error.partition("parity::")[2].partition(":")[0] + ":")
    assert notice == (
        "::notice file=a%2C b%25/test_port.py,line=8,title=parity::"
        "port diverges from this line at a, b%25/test_port.py:11"
        "%0Ain a, b%25/test_port.py::test_port"
    )
    page = (on_github.path / "step.md").read_text()
    assert page.startswith("## parity\n\n- 1 comparison in 1 test: 1 diverged\n")
    assert "| diverged | a, b%/test&#95;port.py::test&#95;port | port against reference |" in page


def test_what_has_no_line_of_its_own_is_annotated_at_the_test(on_github, tests):
    on_github.makepyfile(test_a=tests)
    lines = [line for line in section(on_github.runpytest()) if line.startswith("::")]
    assert [line.partition(",title")[0] for line in lines] == [
        "::error file=test_a.py,line=10",
        "::error file=test_a.py,line=7",
        "::error file=test_a.py,line=18",
    ]


def test_a_file_outside_the_workspace_is_not_annotated(on_github, tests, monkeypatch):
    on_github.makepyfile(test_a=tests)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(on_github.path / "elsewhere"))
    assert not [line for line in section(on_github.runpytest()) if line.startswith("::")]


def test_the_summary_is_appended_to_what_other_steps_wrote(on_github, tests):
    on_github.makepyfile(test_a=tests)
    (on_github.path / "step.md").write_text("before\n")
    on_github.runpytest()
    assert (on_github.path / "step.md").read_text().startswith("before\n## parity\n")


def test_a_summary_that_cannot_be_written_is_reported(on_github, tests, monkeypatch):
    on_github.makepyfile(test_a=tests)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(on_github.path))
    result = on_github.runpytest()
    result.assert_outcomes(passed=3, failed=3)
    result.stdout.fnmatch_lines(["parity: GITHUB_STEP_SUMMARY could not be written: *"])


def test_no_more_annotations_than_github_shows(on_github):
    on_github.makepyfile(
        test_a="""
        import nets, parity, pytest

        @pytest.mark.parametrize("batch", range(2, 16))
        def test_zeros(assert_parity, batch):
            port = parity.wrap(nets.zeros, name=f"port {batch}", framework="numpy")
            assert_parity(nets.zeros, port, inputs=nets.inputs(batch))
        """
    )
    result = on_github.runpytest()
    result.assert_outcomes(failed=14)
    assert len([line for line in section(result) if line.startswith("::error ")]) == 10


# --- pytest-html ---------------------------------------------------------------------------------


def test_pytest_html_gets_a_link(nets, tests):
    """As the plugin asks for it; it need not be installed for this."""
    nets.makeconftest(
        """
        def pytest_addhooks(pluginmanager):
            class Hooks:
                def pytest_html_results_summary(self, prefix, summary, postfix, session): ...
            if not pluginmanager.hasplugin("html"):
                pluginmanager.add_hookspecs(Hooks)

        def pytest_addoption(parser, pluginmanager):
            if not pluginmanager.hasplugin("html"):
                parser.addoption("--html", dest="htmlpath")

        def pytest_sessionfinish(session):
            prefix = []
            session.config.hook.pytest_html_results_summary(
                prefix=prefix, summary=[], postfix=[], session=session
            )
            open("prefix", "w").write("".join(prefix))
        """
    )
    nets.makepyfile(test_a=tests)
    nets.runpytest("--html=out/run.html", "--parity-html=pages/a b.html")
    prefix = (nets.path / "prefix").read_text()
    assert '<a href="../pages/a%20b.html">' in prefix
    nets.runpytest("--html=out/run.html")
    assert (nets.path / "prefix").read_text() == ""


def test_the_link_is_in_pytest_htmls_own_page(nets, tests):
    pytest.importorskip("pytest_html")
    nets.makepyfile(test_a=tests)
    nets.runpytest("--html=out/run.html", "--parity-html=pages/run.html")
    assert '<a href="../pages/run.html">' in (nets.path / "out" / "run.html").read_text()
