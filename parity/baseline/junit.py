"""What has become worse, in the file of `--junitxml`: a failed test case for each entry.

No test of its own stands for an entry, and those that ran may all have passed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from _pytest.junitxml import xml_key

_ROUND = str.maketrans("[]", "()")  # pytest takes what follows a square one for parameters


def add_failures(config: pytest.Config, failures: Mapping[str, Sequence[str]]) -> None:
    """Adds them, where that file was asked for; before pytest writes it.

    Args:
        failures: the lines about each entry, by its name.
    """
    file = config.stash.get(xml_key, None)
    if file is None:
        return
    for name, found in failures.items():
        report = pytest.TestReport(
            nodeid=name.translate(_ROUND),
            location=(name.partition("::")[0], None, name),
            keywords={},
            outcome="failed",
            longrepr="\n".join(["parity baseline", *found]),
            when="call",
        )
        file.pytest_runtest_logreport(report)
