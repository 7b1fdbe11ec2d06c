"""`parity report`: renders a saved report as an HTML page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from parity.commands.shared import check_writable, put, writing
from parity.errors import UsageError
from parity.escape import for_terminal
from parity.progress import say
from parity.report.bar import bar


def add(commands: Any) -> None:
    """Adds the command to the parser's."""
    report = commands.add_parser(
        "report",
        help="render a saved report as an HTML page",
        description="Renders what report.save, `compare --json` or `pytest --parity-report` wrote.",
    )
    report.add_argument("saved", metavar="REPORT.json", help="of one comparison, or a whole run")
    report.add_argument(
        "-o", "--output", metavar="PAGE.html", required=True, help="write the page there"
    )
    report.set_defaults(run=_report)


def _report(options: argparse.Namespace) -> int:
    check_writable(options.output, "--output")
    if not Path(options.saved).exists():
        raise UsageError(f"There is no file {options.saved}.")
    from parity.report.html.render import save
    from parity.report.schema import read

    with writing(f"--output: {options.output}"), bar():
        say("drawing the page")
        advice = "Name a file that report.save or --parity-report wrote."
        save(options.output, read(options.saved, advice))
    put(f"wrote {for_terminal(options.output)}")
    return 0
