"""docs/test-run.md: its example prints what the page shows, except for last digits by rounding."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "test-run.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def without_rounding(text):
    """Numbers that are rounding alone, and how many `=` fill a line, differ between machines."""
    return re.sub(r"\d\.\de-0[78]", "ROUNDING", re.sub("=+", "=", text))


def test_the_section_is_as_shown(pytester):
    [code], [shown] = blocks("python"), blocks("text")
    pytester.makepyfile(test_swish=code)
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    lines = [line for line in result.stdout.str().splitlines() if "slowest" not in line]
    start = next(at for at, line in enumerate(lines) if re.fullmatch("=+ parity =+", line))
    printed = "\n".join(lines[start : start + len(shown.splitlines())])
    assert without_rounding(printed) == without_rounding(shown.rstrip())


def test_rounding_alone_is_passed_over():
    assert without_rounding("diverges by 1.1e-01") == "diverges by 1.1e-01"
    assert without_rounding("differs by 8.6e-08") == without_rounding("differs by 1.1e-07")
