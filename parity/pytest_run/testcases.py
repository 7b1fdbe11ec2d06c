"""What a `missing 1 required positional argument` of a unittest.TestCase means."""

from __future__ import annotations

import inspect
import sys

import pytest

_UNITTEST = """\
assert_parity is a pytest fixture, and a unittest.TestCase gets no fixtures as arguments.
Let the class fetch it, and call self.assert_parity(...):

    @pytest.fixture(autouse=True)
    def fetch_assert_parity(self, assert_parity):
        self.assert_parity = assert_parity

Or write the test as a plain function, or in a class that is no TestCase."""


def refuse(item: pytest.Item) -> None:
    """Fails a test of a TestCase that asks for the fixture in a way that gives it none."""
    unittest = sys.modules.get("unittest")
    owner = getattr(item, "cls", None)
    if unittest is None or owner is None or not issubclass(owner, unittest.TestCase):
        return
    asked = "assert_parity" in inspect.signature(item.function).parameters  # type: ignore[attr-defined]
    marks = item.iter_markers("usefixtures")
    marked = any("assert_parity" in mark.args for mark in marks)
    if asked or marked and not hasattr(item.instance, "assert_parity"):  # type: ignore[attr-defined]
        pytest.fail(_UNITTEST, pytrace=False)
