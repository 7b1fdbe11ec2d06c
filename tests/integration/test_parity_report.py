"""--parity-report: every comparison of the run as JSON, whoever ran it and however it ended."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

each_way = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "xdist"])


def compared(path):
    run = json.loads(path.read_text())
    assert run["schema"] == 2
    return run["comparisons"]


@each_way
def test_every_comparison_is_written(nets, of_each_kind, workers):
    file = nets.makepyfile(of_each_kind).name
    result = nets.runpytest("--parity-report", "out/run.json", *workers)
    result.assert_outcomes(passed=2, failed=2)
    found = compared(nets.path / "out" / "run.json")
    assert [one["test"].removeprefix(f"{file}::") for one in found] == [
        "test_agrees",
        "test_agrees",
        "test_breaks",
        "test_differs",
    ]
    verdicts = [one["report"] and one["report"]["verdict"] for one in found]
    assert verdicts == ["parity", "parity", None, "diverged"]
    assert [
        one["report"]["comparisons"][0]["outputs"][0]["reference_shape"] for one in found[:2]
    ] == [
        [3, 3],
        [4, 3],
    ]
    assert "the weights were never loaded" in found[2]["error"]
    assert [one["error"] for one in found if one["report"]] == [None] * 3
    result.stdout.fnmatch_lines(["parity: 4 comparisons written to *run.json"])
    assert os.listdir(nets.path / "out") == ["run.json"]


def test_a_report_in_it_is_the_one_that_a_comparison_gives(nets):
    nets.makepyfile(
        """
        import json, nets

        def test_it(assert_parity):
            report = assert_parity(nets.reference, nets.port, inputs=nets.inputs())
            report.save("own.json")
        """
    )
    nets.runpytest("--parity-report", "run.json").assert_outcomes(passed=1)
    [found] = compared(nets.path / "run.json")
    assert found["report"] == json.loads((nets.path / "own.json").read_text())


@each_way
def test_a_run_without_comparisons_writes_an_empty_list(nets, workers):
    nets.makepyfile("def test_nothing(): pass")
    nets.runpytest("--parity-report", "run.json", *workers).assert_outcomes(passed=1)
    assert compared(nets.path / "run.json") == []


def test_comparisons_of_fixtures_belong_to_the_test_that_ran_them(nets):
    nets.makepyfile(
        """
        import nets, pytest

        @pytest.fixture(scope="module")
        def ported(assert_parity):
            assert_parity(nets.reference, nets.port, inputs=nets.inputs())

        def test_first(ported): pass
        def test_second(ported): pass
        """
    )
    nets.runpytest("--parity-report", "run.json").assert_outcomes(passed=2)
    [found] = compared(nets.path / "run.json")
    assert found["test"].endswith("::test_first")


def test_without_the_option_nothing_is_written_or_said(nets, of_each_kind):
    nets.makepyfile(of_each_kind)
    before = set(os.listdir(nets.path))
    result = nets.runpytest("-p", "no:cacheprovider")
    result.stdout.no_fnmatch_line("*written to*")
    assert not [name for name in set(os.listdir(nets.path)) - before if name.endswith("json")]


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@each_way
def test_an_interrupted_run_writes_what_was_compared(nets, workers):
    nets.makepyfile(
        """
        import time, nets

        def test_a(assert_parity):
            assert_parity(nets.reference, nets.port, inputs=nets.inputs())

        def test_b():
            time.sleep(0.5)  # until the result of test_a has arrived
            open("reached", "w").close()

        def test_c():
            time.sleep(60)

        def test_d():
            time.sleep(60)
        """
    )
    command = [sys.executable, "-m", "pytest", "--parity-report", "run.json", *workers]
    environment = {**os.environ, "PYTHONPATH": str(nets.path)}
    running = subprocess.Popen(
        command,
        cwd=nets.path,
        env=environment,
        stdout=subprocess.PIPE,
        start_new_session=True,
        # a run in the background of a shell has it ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    until = time.monotonic() + 60
    while not (nets.path / "reached").exists() and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(running.pid, signal.SIGINT)
    running.communicate(timeout=300)
    assert running.returncode == pytest.ExitCode.INTERRUPTED
    assert [one["report"]["verdict"] for one in compared(nets.path / "run.json")] == ["parity"]
    assert not [name for name in os.listdir(nets.path) if name.startswith(".run.json")]


def test_a_path_that_cannot_be_written_is_reported_before_the_run(nets):
    nets.makepyfile("def test_nothing(): pass")
    (nets.path / "folder").mkdir()
    (nets.path / "file").write_text("")
    for path, why in (("folder", "*folder is a folder; name a file."), ("file/run.json", "*file*")):
        result = nets.runpytest("--parity-report", path)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"ERROR: --parity-report: {why}"])
        result.stdout.no_fnmatch_line("*passed*")


def test_a_disk_that_fails_in_the_end_is_reported_and_is_no_success(nets):
    nets.makepyfile(
        """
        import os, shutil

        def test_removes_the_folder():
            shutil.rmtree("out")
        """
    )
    result = nets.runpytest("--parity-report", "out/run.json")
    assert result.ret != pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["parity: --parity-report could not be written: *"])
