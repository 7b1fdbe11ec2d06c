"""What the command prints, also to a reader that stops early, such as `head`."""

from __future__ import annotations

import os
import sys


def put(text: str = "") -> None:
    """Prints; whoever closed the pipe is left in peace, and what follows goes nowhere."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        _let_go()


def flush() -> None:
    """Ends what others printed, as argparse does: at its end Python would complain."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _let_go()


def _let_go() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
