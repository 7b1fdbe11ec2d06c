"""How a page of docs/ that is made from the code is written: printed, or put into its file."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from parity.history.run import commit


def write(name: str, make: Callable[[], str], arguments: Sequence[str] | None = None) -> int:
    """The command of one page.

    Args:
        name: of the module, `benchmarks.options`.
        make: gives the page's text.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=make.__doc__)
    parser.add_argument("--write", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    text = make()
    if options.write:
        options.write.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


def printed_by(command: str) -> str:
    """How a page of figures was made: the command, and the commit that it ran at."""
    return f"Printed by `{command}` at commit {commit()[:8]}"


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
