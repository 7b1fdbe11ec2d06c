"""The code of the README and of some of docs/ runs, and prints what its comments say."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# before a block is run: what it imports first is forgotten after it, and would be there twice
import parity.comparison
import parity.rl  # noqa: F401
from tests.docs.walk import normalized, walk

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
NAMES = ("rl.md", "distributions.md", "heads.md", "stages.md")
PAGES = README + "".join((ROOT / "docs" / name).read_text() for name in NAMES)
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGES, re.MULTILINE | re.DOTALL)
TESTS = [block for block in BLOCKS if "def test_" in block]
SCRIPTS = [block for block in BLOCKS if "def test_" not in block]


@pytest.fixture(autouse=True)
def frameworks():
    for name in ("torch", "tensorflow", "keras"):
        pytest.importorskip(name)


def test_there_are_both_kinds():
    assert TESTS
    assert SCRIPTS


@pytest.mark.parametrize("block", TESTS)
def test_a_block_with_tests_passes_under_pytest(pytester, block):
    pytester.makepyfile(test_readme_block=block)
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=block.count("def test_"))


@pytest.mark.parametrize("block", SCRIPTS)
def test_a_script_prints_what_its_comments_say(tmp_path, block):
    script = tmp_path / "script.py"
    script.write_text(block)
    path = [str(ROOT), *(folder for folder in sys.path if folder)]
    done = subprocess.run(
        [sys.executable, "-c", f"import runpy, sys; sys.path[:0] = {path!r}; "
         f"runpy.run_path({str(script)!r})"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = re.findall(r"^ *print\(.*\)  # (.*)$", block, re.MULTILINE)
    assert expected
    assert done.stdout.splitlines() == expected


SHELL = re.search(r"## On the command line\n.*?```sh\n(.*?)```", README, re.DOTALL)[1]
COMMANDS = [line.partition("    #") for line in SHELL.splitlines()]


def test_the_commands_do_what_is_said_behind_them(tmp_path):
    """From the first to the last: one reads what another has written."""
    pytest.importorskip("pkg_resources")  # which Chainer needs
    if importlib.util.find_spec("chainer") is None:
        pytest.skip("Chainer is not installed")
    folder = tmp_path / "clone"
    folder.mkdir()
    (folder / "examples").symlink_to(ROOT / "examples")
    page = "".join(f"```console\n$ {command}\n```\n" for command, _, _ in COMMANDS)
    ran = list(walk(page, folder))
    assert len(ran) == len(COMMANDS) == 6
    for one, (_, _, comment) in zip(ran, COMMANDS, strict=True):
        expected = re.search(r"exit code (\d)", comment)
        assert one.code == (int(expected[1]) if expected else 0), f"{one.command}\n{one.error}"
    for name in ("report.json", "report.html", "out.keras"):
        assert (folder / name).stat().st_size


def test_the_demo_is_as_the_picture_shows():
    """Both are of one example: what the picture says of the divergence the demo prints."""
    from tests.docs.test_picture import FILE, shown

    shim = "from parity.cli import main; main(['demo'])"
    path = os.pathsep.join([str(ROOT), *(folder for folder in sys.path if folder)])
    done = subprocess.run(
        [sys.executable, "-c", shim],
        capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    printed = {" ".join(line.split()) for line in normalized(done.stdout).splitlines()}
    lines = [" ".join(line.split()) for line in shown(FILE.read_text()).splitlines()]
    picture = [line for line in lines if "outputs differ" in line or line.startswith("fix:")]
    assert len(picture) == 2
    assert set(picture) <= printed


def test_the_table_of_verdicts_gives_the_commands_exit_codes():
    from parity.commands.shared import EXIT_CODES

    rows = re.findall(r"^\| `(\w+)` \|.*\| (\d) \|$", README, re.MULTILINE)
    assert {verdict: int(code) for verdict, code in rows} == EXIT_CODES


def test_the_options_it_names_exist(pytester):
    shown = pytester.runpytest("--help").stdout.str()
    for option in set(re.findall(r"--parity-\w+", README)):
        assert option in shown
