"""The report finds RLlib's own differences, at their place and with their cause.

Runs in an environment of its own: `make rllib`.
"""

from pathlib import Path

import pytest

pytest.importorskip("tests.rllib.nets", reason="see `make rllib`", exc_type=ImportError)

import ray  # noqa: E402

from tests.rllib import differences as cases  # noqa: E402

BY_TITLE = {one.title: one for one in cases.DIFFERENCES}


@pytest.mark.parametrize("title", BY_TITLE)
def test_rllibs_own_difference_is_found(title):
    expected = BY_TITLE[title]
    verdict, found, place, text = cases.observed(expected)
    assert verdict == expected.verdict, text
    if verdict == "diverged":
        assert found == expected.found, text
        assert expected.place in place, text
    else:
        assert all(any(words in one for one in found) for words in expected.found), text


def test_the_page_describes_each():
    page = (Path(__file__).parents[2] / "docs/rllib.md").read_text()
    assert [title for title in BY_TITLE if f"## {title}" not in page] == []
    assert (
        f"ray {ray.__version__}," in page
    )  # else: python -m benchmarks.rllib --write docs/rllib.md
