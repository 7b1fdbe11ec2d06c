"""The code of docs/observations-search.md passes, and fails where its models diverge."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "observations-search.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def frameworks():
    for name in ("torch", "tensorflow", "keras"):
        pytest.importorskip(name)


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_passes_under_pytest(pytester, block):
    pytester.makepyfile(test_block=block)
    pytester.runpytest_inprocess().assert_outcomes(passed=block.count("def test_"))


@pytest.mark.parametrize(
    ("block", "right", "wrong"),
    [
        (BLOCKS[0], 'activation="tanh"', 'activation="relu"'),
        (BLOCKS[1], "index, 9", "index % 8, 9"),
    ],
)
def test_it_fails_with_a_fault(pytester, block, right, wrong):
    assert right in block
    pytester.makepyfile(test_block=block.replace(right, wrong))
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["the smallest observation found on which they diverge*"])
