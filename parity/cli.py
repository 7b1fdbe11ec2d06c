"""The command `parity`: it parses, calls and prints; the work is done elsewhere.

Nothing heavy is imported before the words are understood, so that `parity --help` is quick.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parity import __version__
from parity.errors import InputError, ParityError, UsageError

if TYPE_CHECKING:
    from parity.report.summary import Report

EXIT_CODES = {"parity": 0, "diverged": 1, "unverified": 3}
_USAGE = 2
_ENVIRONMENT = 3
_INTERRUPTED = 130

_COMPARE = """\
Runs the same inputs through models that ought to agree, and says where they part.

A model is named as package.module:attribute; the working directory is searched first. The
attribute is a model, or a class or function that builds one without arguments. What cannot be seen
from a model stands after an @, with commas between:

  nets:port@NHWC            takes its images channels last; the reference's are NCHW unless said
  nets:head@tensorflow      a function over tensors, and its framework
  nets:net@train            runs in training mode"""
_COMPARE_END = """\
examples:
  parity compare nets:reference nets:port@NHWC --inputs observations.npz
  parity compare nets:actor ports:build_actor --random 5,17 --seed 3 --json report.json

exit code: 0 parity, 1 diverged, 2 usage, 3 unverified, or the comparison could not be run"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    options = _parser().parse_args(arguments)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal that knows no box drawing
    try:
        code: int = options.run(options)
    except ParityError as error:
        print(f"parity: {error}", file=sys.stderr)
        return _USAGE if isinstance(error, (UsageError, InputError)) else _ENVIRONMENT
    except KeyboardInterrupt:
        return _INTERRUPTED
    except Exception:
        # Python would exit with 1, which here says that the models diverge.
        traceback.print_exc()
        print("parity: this is a fault of parity itself; please report it.", file=sys.stderr)
        return _ENVIRONMENT
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="parity",
        description="Do models of several frameworks compute the same thing, but for rounding? "
        "If not, on which line do they part?",
    )
    parser.add_argument("--version", action="version", version=f"parity {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    compare = commands.add_parser(
        "compare",
        help="compare models named as package.module:attribute",
        description=_COMPARE,
        epilog=_COMPARE_END,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    compare.add_argument(
        "reference", metavar="REFERENCE", help="the model that is held to be right"
    )
    compare.add_argument(
        "candidates", metavar="CANDIDATE", nargs="+", help="each is compared to it"
    )
    inputs = compare.add_mutually_exclusive_group()
    inputs.add_argument(
        "--inputs",
        metavar="FILE",
        help=".npz or .npy, in the reference's layout: one array; arr_0, arr_1, ... for several "
        "positional ones; or named ones",
    )
    inputs.add_argument(
        "--random",
        metavar="[NAME=]SHAPE",
        action="append",
        help="random signed float32 input, as in 5,4,84,84; once for each input",
    )
    compare.add_argument("--seed", type=int, default=0, help="of --random; default 0")
    compare.add_argument("--json", metavar="PATH", help="write the report there as well, as JSON")
    compare.add_argument(
        "--save",
        metavar="DIR",
        help="write what enters each divergence and what comes out there, with scripts",
    )
    compare.set_defaults(run=_compare)

    demo = commands.add_parser(
        "demo", help="compare an agent's network in torch, Keras (with a fault) and Chainer"
    )
    demo.set_defaults(run=_demo)
    doctor = commands.add_parser(
        "doctor", help="show what can change numbers here: versions, threads, flags"
    )
    doctor.set_defaults(run=_doctor)
    return parser


def _compare(options: argparse.Namespace) -> int:
    if options.json:
        _check_writable(options.json)
    if options.seed < 0:
        raise UsageError("--seed: give 0 or a positive number.")
    from parity.comparison import compare
    from parity.frameworks.quiet import silence_imports
    from parity.loading import load_model, random_inputs, read_inputs

    silence_imports()
    inputs = None
    if options.inputs is not None:
        inputs = read_inputs(options.inputs)
    elif options.random:
        inputs = random_inputs(options.random, options.seed)
    models = [load_model(text) for text in (options.reference, *options.candidates)]
    if inputs is None and any(model.inputs is None for model in models):
        raise UsageError("No inputs: give --inputs FILE.npz, or --random SHAPE.")
    report = compare(*models, inputs=inputs)
    if options.json:
        try:
            report.save(options.json)
        except OSError as error:
            raise ParityError(f"--json: {options.json} could not be written: {error}") from error
    if options.save:
        try:
            report.save_divergences(options.save)
        except OSError as error:
            raise ParityError(f"--save: {options.save} could not be written: {error}") from error
    return _show(report)


def _demo(options: argparse.Namespace) -> int:
    from parity.demo import run

    with _progress("parity demo: building and comparing the models ..."):
        report = run()
    return _show(report)


def _doctor(options: argparse.Namespace) -> int:
    from parity.doctor import examine

    _print(examine())
    return 0


def _show(report: Report) -> int:
    from parity.report.terminal import render

    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    _print(render(report, color=sys.stdout.isatty() and not plain))
    return EXIT_CODES[report.verdict]


def _print(text: str) -> None:
    """Prints, and leaves in peace whoever stopped reading, such as `head`."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _check_writable(path: str) -> None:
    """Says before the work is done that its result could not be written."""
    folder = Path(path).parent
    if Path(path).is_dir():
        raise UsageError(f"--json: {path} is a folder; name a file.")
    if not folder.is_dir():
        raise UsageError(f"--json: there is no folder {folder}.")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"--json: the folder {folder} may not be written to.")


@contextlib.contextmanager
def _progress(text: str) -> Iterator[None]:
    """A line on the terminal while something runs, gone afterwards."""
    if not sys.stderr.isatty():
        yield
        return
    print(text, end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
