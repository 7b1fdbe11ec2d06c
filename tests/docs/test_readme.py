"""The code of the README and of some of docs/ runs, and prints what its comments say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

# before a block is run: what it imports first is forgotten after it, and would be there twice
import parity.comparison
import parity.rl  # noqa: F401

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
NAMES = ("rl", "distributions", "heads", "stages")
PAGES = README + "".join((ROOT / "docs" / f"{name}.md").read_text() for name in NAMES)
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


def test_the_table_of_verdicts_gives_the_commands_exit_codes():
    from parity.cli import EXIT_CODES

    rows = re.findall(r"^\| `(\w+)` \|.*\| (\d) \|$", README, re.MULTILINE)
    assert {verdict: int(code) for verdict, code in rows} == EXIT_CODES


def test_the_options_it_names_exist(pytester):
    shown = pytester.runpytest("--help").stdout.str()
    for option in set(re.findall(r"--parity-\w+", README)):
        assert option in shown
