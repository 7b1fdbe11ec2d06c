"""The type of an array, for what computes with arrays alone and knows no tape."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
