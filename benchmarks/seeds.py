"""One seed for the generators of all frameworks, so that a run can be had again."""

from __future__ import annotations

import random
import sys

import numpy as np


def seed_all(seed: int) -> None:
    """Seeds Python, NumPy, and those of torch, TensorFlow and Keras that have been imported."""
    random.seed(seed)
    np.random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed + 1)
    if "tensorflow" in sys.modules:
        sys.modules["tensorflow"].random.set_seed(seed + 2)
    if "keras" in sys.modules:
        sys.modules["keras"].utils.set_random_seed(seed + 3)
