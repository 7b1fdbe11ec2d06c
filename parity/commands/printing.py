"""What the command prints, also to a reader that stops early, such as `head`."""

from __future__ import annotations

import os
import sys

from parity.errors import ParityError


def put(text: str = "") -> None:
    """Prints; whoever closed the pipe is left in peace, and what follows goes nowhere.

    Raises:
        ParityError: it cannot be written, as on a full disk.
    """
    try:
        print(text, flush=True)
    except BrokenPipeError:
        _let_go()
    except OSError as error:
        _let_go()
        raise ParityError(f"what is to be printed could not be written: {error}.") from error


def flush() -> None:
    """Ends what others printed, as argparse does: at its end Python would complain."""
    try:
        sys.stdout.flush()
    except OSError:
        _let_go()


def _let_go() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
