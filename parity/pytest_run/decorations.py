"""Hypothesis's decorators on a test that compares models."""

from __future__ import annotations

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
