"""Keeps TensorFlow's log out of reports; it listens only to what is set before its import."""

from __future__ import annotations

import os
import sys


def silence() -> None:
    """Sets the log level that the user has not set, while it still has an effect."""
    if "tensorflow" not in sys.modules:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
