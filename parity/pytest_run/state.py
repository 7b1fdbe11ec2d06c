"""What is known while pytest runs, kept where every hook finds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from parity.baseline.session import Recorder
    from parity.pytest_run.summary_data import Compared

FILES = ("--parity-report", "--parity-html")  # of the whole run: as JSON, as a page
COMPARED = pytest.StashKey[list[dict[str, Any]]]()  # by the test that runs now, for the files
SUMMED: pytest.StashKey[list[Compared]] = pytest.StashKey()  # the same, for the summary
RECORDER: pytest.StashKey[Recorder] = pytest.StashKey()  # if reported or gated
RUNNING = pytest.StashKey["Running"]()


class Running:
    """The test that runs, what hypothesis's decorators left on it, and how often it searches."""

    def __init__(self, item: pytest.Item, decorations: dict[str, Any]) -> None:
        self.item = item
        self.name = getattr(item, "originalname", None) or "observations"
        self.decorations = decorations
        self.searches = 0
