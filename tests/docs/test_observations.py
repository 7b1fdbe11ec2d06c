"""docs/observations.md: its code runs and prints what it says, its tables name all there is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "observations.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
TESTS = [block for block in BLOCKS if "def test_" in block]
SCRIPTS = [block for block in BLOCKS if "def test_" not in block]

pytest.importorskip("gymnasium")


def test_there_are_both_kinds():
    assert TESTS
    assert SCRIPTS


@pytest.mark.parametrize("block", TESTS)
def test_a_block_with_tests_passes_under_pytest(pytester, block):
    pytest.importorskip("torch")
    pytester.makepyfile(test_observations_block=block)
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=block.count("def test_"))


@pytest.mark.parametrize("block", SCRIPTS)
def test_a_script_prints_what_its_comments_say(tmp_path, block):
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{block}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = re.findall(r"^ *print\(.*\)  # (.*)$", block, re.MULTILINE)
    assert expected
    assert done.stdout.splitlines() == expected


def test_its_table_names_every_edge():
    from parity.observations import EDGES

    assert re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE) == list(EDGES)
