"""The command `parity`: it parses, calls and prints; the work is done elsewhere.

Nothing heavy is imported before the words are understood, so that `parity --help` is quick.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from parity import __version__
from parity.baseline import command as baseline
from parity.commands import compare, report, transfer, weights
from parity.commands.shared import show
from parity.errors import InputError, ParityError, UsageError
from parity.escape import for_terminal
from parity.history import command as history
from parity.printing import flush, put
from parity.report.bar import bar

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
    for command in (compare, weights, transfer, report, baseline, history):
        command.add(commands)
    _add_demo_and_doctor(commands)
    return found


def _add_demo_and_doctor(commands: Any) -> None:
    demo = commands.add_parser(
        "demo", help="compare an agent's network in torch, Keras (with a fault) and Chainer"
    )
    demo.set_defaults(run=_demo)
    doctor = commands.add_parser(
        "doctor", help="show what can change numbers here: versions, threads, flags"
    )
    doctor.set_defaults(run=_doctor)


def _demo(options: argparse.Namespace) -> int:
    from parity.demo import run

    with bar():
        found = run()
    return show(found)


def _doctor(options: argparse.Namespace) -> int:
    from parity.doctor import examine

    put(for_terminal(examine()))
    return 0
