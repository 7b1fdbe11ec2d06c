"""What a user's module keeps, by itself and through another one."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tests.frameworks import of_another_module

calls = 0
listed: list[int] = []
array = np.zeros(3)
python = random.Random(1)
held: dict[str, Any] = {}


def step(x: Any) -> Any:
    global calls
    calls += 1
    listed.append(calls)
    array[0] += 1
    of_another_module.calls += 1
    return x * 2


def run(x: Any) -> Any:
    return held["layer"](x)
