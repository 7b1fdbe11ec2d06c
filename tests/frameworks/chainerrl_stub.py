"""Makes ChainerRL 0.8 importable beside a current gym, for its models."""

from __future__ import annotations

import importlib
import sys
import types
import warnings
from typing import Any

from parity.frameworks.chainer_numpy import import_chainer


def import_chainerrl() -> Any:
    """The `chainerrl` module.

    It asks for `gym.wrappers.Monitor` and its recorder, gone since gym 0.23, for its own Monitor;
    its models use neither. gym has the two only while ChainerRL is being imported.
    """
    import_chainer()
    if "chainerrl" not in sys.modules:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wrappers = importlib.import_module("gym.wrappers")
            recorder = types.ModuleType("gym.wrappers.monitoring.stats_recorder")
            recorder.StatsRecorder = type("StatsRecorder", (), {})  # type: ignore[attr-defined]
            wrappers.Monitor = type("Monitor", (), {})  # type: ignore[attr-defined]
            sys.modules[recorder.__name__] = recorder
            try:
                importlib.import_module("chainerrl")
            finally:
                del sys.modules[recorder.__name__], wrappers.Monitor  # type: ignore[attr-defined]
    return sys.modules["chainerrl"]
