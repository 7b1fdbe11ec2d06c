"""Tests that compare models: hypothesis's decorators on them, and those of a unittest.TestCase."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Generator

import pytest

from parity.pytest_run.state import RUNNING, Running

_DECORATIONS = (
    "_hypothesis_internal_use_settings",
    "_hypothesis_internal_settings_applied",
    "_hypothesis_internal_use_seed",
    "_hypothesis_internal_use_reproduce_failure",
    "hypothesis_explicit_examples",
)  # what hypothesis's decorators leave on a function that is not under @given

_POINTLESS = """\
@settings, @seed, @example and @reproduce_failure do nothing here: the test is not under @given, and
draws no observations. Call assert_parity(..., observations=strategy), or take them off."""
_UNITTEST = """\
assert_parity is a pytest fixture, and a unittest.TestCase gets no fixtures as arguments.
Let the class fetch it, and call self.assert_parity(...):

    @pytest.fixture(autouse=True)
    def fetch_assert_parity(self, assert_parity):
        self.assert_parity = assert_parity

Or write the test as a plain function, or in a class that is no TestCase."""


def lift_deadline(item: pytest.Item) -> None:
    """Lifts hypothesis's default deadline of 200 ms from a test that compares models.

    A deadline watches the tested code; here it would watch how long comparing takes. One that
    somebody chose is kept.
    """
    if "assert_parity" in getattr(item, "fixturenames", ()):
        test = getattr(item, "function", None)
        settings = getattr(test, "_hypothesis_internal_use_settings", None)
        if settings and settings.deadline == settings.get_profile("default").deadline:
            lifted = type(settings)(parent=settings, deadline=None)
            test._hypothesis_internal_use_settings = lifted  # type: ignore[union-attr]


def wrap(item: pytest.Item) -> Generator[None, object, object]:
    """Hands hypothesis's decorators of a test to the search that it runs.

    Hypothesis refuses them on a test without @given; so it does here where no search was run.
    """
    function = getattr(item, "function", None)
    left = getattr(function, "__dict__", {})
    lent = {}
    if "assert_parity" in getattr(item, "fixturenames", ()) and "hypothesis" not in left:
        lent = {name: left[name] for name in _DECORATIONS if name in left}
    item.config.stash[RUNNING] = test = Running(item, lent)
    for name in lent:
        delattr(function, name)
    try:
        result = yield
    finally:
        del item.config.stash[RUNNING]
        for name, decoration in lent.items():
            setattr(function, name, decoration)
    if lent and not test.searches:
        pytest.fail(_POINTLESS, pytrace=False)
    return result


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
