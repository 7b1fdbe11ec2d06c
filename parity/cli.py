"""The command `parity`: it parses, calls and prints; the work is done elsewhere.

Nothing heavy is imported before the words are understood, so that `parity --help` is quick.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence

from parity import __version__
from parity.commands import baseline, compare, demo, doctor, history, report, transfer, weights
from parity.commands.shared import flush
from parity.errors import InputError, ParityError, UsageError
from parity.escape import for_terminal

_COMMANDS = compare, weights, transfer, report, baseline, history, demo, doctor
_USAGE = 2
_ENVIRONMENT = 3
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    try:
        options = parser().parse_args(arguments)
    except SystemExit:
        flush()
        raise
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal that knows no box drawing
    try:
        code: int = options.run(options)
    except ParityError as error:
        print(f"parity: {for_terminal(error.command or str(error))}", file=sys.stderr)
        usage = isinstance(error, (UsageError, InputError))
        return _trouble(options, _USAGE if usage else _ENVIRONMENT)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception:
        # Python would exit with 1, which here says that the models diverge.
        traceback.print_exc()
        print("parity: this is a fault of parity itself; please report it.", file=sys.stderr)
        return _trouble(options, _ENVIRONMENT)
    return code


def _trouble(options: argparse.Namespace, usual: int) -> int:
    """The exit code where something went wrong; a command may have one of its own."""
    code: int = getattr(options, "trouble", usual)
    return code


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(
        prog="parity",
        description="Do models of several frameworks compute the same thing, but for rounding? "
        "If not, on which line do they diverge?",
    )
    found.add_argument("--version", action="version", version=f"parity {__version__}")
    commands = found.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add(commands)
    return found
