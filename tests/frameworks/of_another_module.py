"""A user's module that another one imports."""

from __future__ import annotations

calls = 0


def step(x: float) -> float:
    global calls
    calls += 1
    return x * 2
