"""What is shown and written of a whole run, where the results of all processes arrive."""

from __future__ import annotations

import json
import os
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from parity import __version__
from parity.errors import ParityError
from parity.escape import for_terminal
from parity.format import count
from parity.pytest_run import github
from parity.pytest_run.summary_data import Compared, from_text
from parity.pytest_run.summary_text import lines
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
        found = count(len(self.compared), "comparison")
        for option, path in self.paths.items():
            if option in self.problems:
                line = f"parity: {option} could not be written: {self.problems[option]}"
                terminalreporter.write_line(for_terminal(line), red=True)
            else:
                terminalreporter.write_line(f"parity: {found} written to {path}")


class RunSummary:
    """Collects what all tests compared, from all of xdist's workers."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._found: dict[str, list[Compared]] = {}
        self._lines: dict[str, github.Line] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":  # anew, where a plugin runs a failed test again
            self._found[report.nodeid] = from_text(getattr(report, "parity_compared", "[]"))
            file, line, _ = report.location
            # the location's lines are counted from 0
            self._lines[report.nodeid] = (str(self._config.rootpath / file), (line or 0) + 1)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Writes the section; nothing where nothing was compared."""
        found = [(test, one) for test, group in sorted(self._found.items()) for one in group]
        if not found:
            return
        verbosity = self._config.get_verbosity()
        failed = any(one.verdict != "parity" and not one.accepted for _, one in found)
        if verbosity >= 0:
            terminalreporter.ensure_newline()
            terminalreporter.section("parity", red=failed, green=not failed)
        for line in lines(found, verbosity):
            terminalreporter.write_line(for_terminal(line))
        for line in github.report(found, self._lines):
            terminalreporter.write_line(line)

    @pytest.hookimpl(optionalhook=True)  # of pytest-html, where it is installed
    def pytest_html_results_summary(self, prefix: list[str], session: pytest.Session) -> None:
        page = self._config.getoption("--parity-html")
        shown = self._config.getoption("htmlpath", None)
        if page and shown:
            folder = self._config.invocation_params.dir
            prefix.append(_link(folder / page, (folder / shown).parent))


def _link(page: Path, folder: Path) -> str:
    try:
        to = quote(Path(os.path.relpath(page, folder)).as_posix())
    except ValueError:  # another drive
        to = page.as_uri()
    return f'<p><a href="{escape(to)}">parity: every comparison of the run</a></p>'
