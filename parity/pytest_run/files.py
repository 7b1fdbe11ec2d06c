"""The files of a whole run, written where the results of all processes arrive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from parity import __version__
from parity.errors import ParityError
from parity.escape import for_terminal
from parity.report.schema import SCHEMA


class RunReport:
    """Collects the comparisons of all tests, and writes the files that the options name."""

    def __init__(self, paths: dict[str, Path]) -> None:
        self.paths = paths
        self.compared: list[dict[str, Any]] = []
        self.problems: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.compared += json.loads(getattr(report, "parity", "[]"))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Writes the files, whether the tests passed, failed or were interrupted."""
        # workers finish in any order; those of one test keep their order
        self.compared.sort(key=lambda found: found["test"])
        run = {"schema": SCHEMA, "parity": __version__, "comparisons": self.compared}
        for option, path in self.paths.items():
            try:
                self._write(option, path, run)
            except (OSError, ParityError) as error:
                self.problems[option] = str(error)
                session.exitstatus = pytest.ExitCode.INTERNAL_ERROR

    def _write(self, option: str, path: Path, run: dict[str, Any]) -> None:
        if option == "--parity-html":
            from parity.report.html.render import save

            save(path, run)
        else:
            from parity.atomic import write_json

            write_json(path, run)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        count = len(self.compared)
        noun = "comparison" if count == 1 else "comparisons"
        for option, path in self.paths.items():
            if option in self.problems:
                line = f"parity: {option} could not be written: {self.problems[option]}"
                terminalreporter.write_line(for_terminal(line), red=True)
            else:
                terminalreporter.write_line(f"parity: {count} {noun} written to {path}")
