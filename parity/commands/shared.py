"""What several commands share: the options for inputs, checks of files, what is printed."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parity.atomic import write_whole
from parity.errors import ParityError, UsageError

if TYPE_CHECKING:
    from parity.report.report import Report

EXIT_CODES = {"parity": 0, "diverged": 1, "unverified": 3}
FORM = "package.module:attribute"


def add_inputs(command: argparse.ArgumentParser) -> None:
    """The options that say what the models run on."""
    inputs = command.add_mutually_exclusive_group()
    inputs.add_argument(
        "--inputs",
        metavar="FILE",
        help=".npz or .npy, in the reference's layout: one array; arr_0, arr_1, ... for several "
        "positional ones; or named ones. Or recorded observations: RLlib's .json or .parquet, a "
        "folder of them, or minari:ID",
    )
    inputs.add_argument(
        "--random",
        metavar="[NAME=]SHAPE",
        action="append",
        help="random signed float32 input, as in 5,4,84,84; once for each input",
    )
    inputs.add_argument(
        "--env",
        metavar="ID",
        help="observations of a Gymnasium environment under a random policy, as in CartPole-v1",
    )
    command.add_argument(
        "--steps",
        metavar="N",
        type=int,
        help="how many observations --env gives, default 64; or --inputs, default all",
    )
    command.add_argument("--seed", type=int, default=0, help="of --random and --env; default 0")


def inputs_from(options: argparse.Namespace) -> Any:
    """What the options of `add_inputs` name, or None."""
    from parity.commands.models import search_here
    from parity.frameworks.import_hooks import silence_imports
    from parity.inputs.arrays import random_inputs

    if options.seed < 0:
        raise UsageError("--seed: give 0 or a positive number.")
    if options.steps is not None and options.steps < 1:
        raise UsageError("--steps: give 1 or more.")
    if options.steps is not None and options.inputs is None and options.env is None:
        raise UsageError("--steps: only with --env or --inputs.")
    silence_imports()
    if options.inputs is not None:
        from parity.observations.recorded import recorded

        return recorded(options.inputs, options.steps)
    if options.env is not None:
        from parity.observations.rollout import STEPS, rollout

        search_here()  # for an environment that the user's module registers
        return rollout(options.env, options.steps or STEPS, options.seed)
    return random_inputs(options.random, options.seed) if options.random else None


def check_names(*models: str) -> None:
    """Says before anything is loaded that a word names no model."""
    from parity.commands.models import check_name

    for text in models:
        check_name(text)


def check_file(text: str) -> None:
    """Says so where a file of weights, or the prefix of a checkpoint, is not there."""
    if text.endswith(".py"):
        check_names(text)
    if not Path(text).exists() and not Path(f"{text}.index").exists():
        raise UsageError(f"There is no file {text!r}; a model is named as {FORM}.")


def check_writable(path: str, option: str = "--json") -> None:
    """Says before the work is done that its result could not be written."""
    folder = Path(path).parent
    if Path(path).is_dir():
        raise UsageError(f"{option}: {path} is a folder; name a file.")
    if not folder.is_dir():
        raise UsageError(f"{option}: there is no folder {folder}.")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{option}: the folder {folder} may not be written to.")


def write_text(path: str, text: str) -> None:
    with writing(path):
        write_whole(path, f"{text}\n".encode())


@contextmanager
def writing(what: str) -> Iterator[None]:
    """Says so where a file, or a folder, cannot be written."""
    try:
        yield
    except OSError as error:
        raise ParityError(f"{what} could not be written: {error}") from error


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


def show(report: Report) -> int:
    from parity.report.terminal import WIDTH, render

    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((WIDTH, 0)).columns if terminal else WIDTH
    put(render(report, color=terminal and not plain, width=width))
    return EXIT_CODES[report.verdict]
