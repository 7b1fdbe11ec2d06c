"""The command `parity`: it parses, calls and prints; the work is done elsewhere.

Nothing heavy is imported before the words are understood, so that `parity --help` is quick.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parity import __version__, budget
from parity.errors import InputError, ParityError, UsageError
from parity.escape import for_terminal
from parity.printing import flush, put
from parity.progress import say
from parity.report.bar import bar

if TYPE_CHECKING:
    from parity.report.report import Report

EXIT_CODES = {"parity": 0, "diverged": 1, "unverified": 3}
_USAGE = 2
FORM = "package.module:attribute"
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
  parity compare nets:actor ports:build_actor --env CartPole-v1 --steps 32

exit code: 0 parity, 1 diverged, 2 usage, 3 unverified, or the comparison could not be run"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    try:
        options = _parser().parse_args(arguments)
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
    _add_inputs(compare)
    compare.add_argument("--json", metavar="PATH", help="write the report there as well, as JSON")
    compare.add_argument(
        "--save",
        metavar="DIR",
        help="write what enters each divergence and what comes out there, with scripts",
    )
    for name, told in budget.OPTIONS.items():
        compare.add_argument(f"--{name}", metavar="N", type=float, help=told)
    compare.set_defaults(run=_compare)

    weights = commands.add_parser(
        "weights",
        help="list a model's tensors and what they do",
        description="Lists every parameter and buffer of a model: name, shape, role, and the "
        "operations that use it; and which of several outputs depend on it.",
    )
    weights.add_argument("model", metavar="MODEL", help=f"the model, as {FORM}")
    _add_inputs(weights)
    weights.add_argument("--json", metavar="PATH", help="write the list there as well, as JSON")
    weights.set_defaults(run=_weights)

    transfer = commands.add_parser(
        "transfer",
        help="bring a model's weights into another, and prove it",
        description="Writes one model's weights into another of any framework, converted by what "
        "each does, and compares the two. Where they diverge it tells why, and writes nothing.",
        epilog="exit code: 0 parity, 1 diverged, 2 usage, 3 unverified, or it could not be run",
    )
    transfer.add_argument(
        "source", metavar="SOURCE", help=f"the model with the weights, as {FORM}; or a file of them"
    )
    transfer.add_argument("target", metavar="TARGET", help="the model that gets them")
    _add_inputs(transfer)
    transfer.add_argument("-o", "--output", metavar="FILE", help="write the target's weights there")
    transfer.add_argument(
        "--source-model", metavar="MODEL", help="what a file was saved from: it proves the transfer"
    )
    transfer.add_argument(
        "--map", metavar="FILE", help="which tensors belong together, as JSON or TOML"
    )
    transfer.add_argument("--save-map", metavar="FILE", help="write that map as JSON, to be edited")
    transfer.add_argument(
        "--adapt-variances",
        action="store_true",
        help="add what batch norms' epsilons differ by to their variances",
    )
    force = "write what was paired though the two diverge"
    transfer.add_argument("--force", action="store_true", help=force)
    transfer.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    transfer.add_argument("--json", metavar="PATH", help="write the result there as well, as JSON")
    transfer.set_defaults(run=_transfer)

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

    from parity.baseline.command import add as add_baseline

    add_baseline(commands)
    from parity.history.command import add as add_history

    add_history(commands)

    demo = commands.add_parser(
        "demo", help="compare an agent's network in torch, Keras (with a fault) and Chainer"
    )
    demo.set_defaults(run=_demo)
    doctor = commands.add_parser(
        "doctor", help="show what can change numbers here: versions, threads, flags"
    )
    doctor.set_defaults(run=_doctor)
    return parser


def _add_inputs(command: argparse.ArgumentParser) -> None:
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


def _inputs(options: argparse.Namespace) -> Any:
    """What `_add_inputs` was given, or None."""
    from parity.cli_arguments import random_inputs, search_here
    from parity.frameworks.tf_logging import silence_imports

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


def _weights(options: argparse.Namespace) -> int:
    if options.json:
        _check_writable(options.json)
    _check_names(options.model)
    inputs = _inputs(options)
    from parity.cli_arguments import load_model
    from parity.weights.inventory import inventory

    with bar():
        found = inventory(load_model(options.model), inputs)
    if options.json:
        _write(options.json, json.dumps(found.to_dict(), indent=2))
    put(for_terminal(str(found)))
    return 0


def _transfer(options: argparse.Namespace) -> int:
    for option in ("json", "save_map", "output"):
        path = getattr(options, option)
        if path:
            _check_writable(path, f"--{option.replace('_', '-')}")
    from parity.weights.saving import check, check_ending, save

    if options.output:
        check_ending(options.output)
    of_model = ":" in options.source
    if of_model and options.source_model:
        raise UsageError("--source-model: only for a file; the source is a model itself.")
    if not of_model:
        _check_file(options.source)
    named = (options.source if of_model else None, options.target, options.source_model)
    _check_names(*filter(None, named))
    inputs = _inputs(options)
    from parity.cli_arguments import load_model
    from parity.weights.transfer import transfer

    with bar():
        source = load_model(options.source) if of_model else options.source
        target = load_model(options.target)
        if options.output:
            check(target, options.output)
        model = load_model(options.source_model) if options.source_model else None
        ways = options.adapt_variances, options.force
        found = transfer(source, target, inputs, options.map, model, *ways)
    if options.save_map:
        _write(options.save_map, json.dumps(found.pairing.to_map(), indent=2))
    if options.json:
        _write(options.json, json.dumps(found.to_dict(), indent=2))
    if options.output and found.written:
        save(target, options.output)
    put(for_terminal(found.to_markdown() if options.markdown else found.summary()))
    if options.output and found.written:
        put(f"\nwrote {for_terminal(options.output)}")
    if found.report is not None and found.verdict != "parity":
        put()
        return _show(found.report)
    return EXIT_CODES[found.verdict]


def _check_names(*models: str) -> None:
    """Says before anything is loaded that a word names no model."""
    from parity.cli_arguments import check_name

    for text in models:
        check_name(text)


def _check_file(text: str) -> None:
    """Says so where a file of weights, or the prefix of a checkpoint, is not there."""
    if text.endswith(".py"):
        _check_names(text)
    if not Path(text).exists() and not Path(f"{text}.index").exists():
        raise UsageError(f"There is no file {text!r}; a model is named as {FORM}.")


def _write(path: str, text: str) -> None:
    from parity.weights.files.safe_io import whole

    try:
        with whole(Path(path)) as place:
            place.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise ParityError(f"{path} could not be written: {error}") from error


def _compare(options: argparse.Namespace) -> int:
    if options.json:
        _check_writable(options.json)
    _check_names(options.reference, *options.candidates)
    limits = {name: getattr(options, name) for name in budget.OPTIONS}
    for name, value in limits.items():
        if not budget.is_one(value):
            raise UsageError(f"--{name}: give a positive number.")
    inputs = _inputs(options)
    from parity.cli_arguments import load_model
    from parity.comparison import compare

    with bar():
        models = [load_model(text) for text in (options.reference, *options.candidates)]
        if inputs is None and any(model.inputs is None for model in models):
            raise UsageError("No inputs: give --inputs FILE.npz, --random SHAPE, or --env ID.")
        report = compare(*models, inputs=inputs, **limits)
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


def _report(options: argparse.Namespace) -> int:
    _check_writable(options.output, "--output")
    if not Path(options.saved).exists():
        raise UsageError(f"There is no file {options.saved}.")
    from parity.report.html.render import read, save

    try:
        with bar():
            say("drawing the page")
            save(options.output, read(options.saved))
    except OSError as error:
        raise ParityError(f"--output: {options.output} could not be written: {error}") from error
    put(f"wrote {for_terminal(options.output)}")
    return 0


def _demo(options: argparse.Namespace) -> int:
    from parity.demo import run

    with bar():
        report = run()
    return _show(report)


def _doctor(options: argparse.Namespace) -> int:
    from parity.doctor import examine

    put(for_terminal(examine()))
    return 0


def _show(report: Report) -> int:
    from parity.report.terminal import WIDTH, render

    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((WIDTH, 0)).columns if terminal else WIDTH
    put(render(report, color=terminal and not plain, width=width))
    return EXIT_CODES[report.verdict]


def _check_writable(path: str, option: str = "--json") -> None:
    """Says before the work is done that its result could not be written."""
    folder = Path(path).parent
    if Path(path).is_dir():
        raise UsageError(f"{option}: {path} is a folder; name a file.")
    if not folder.is_dir():
        raise UsageError(f"{option}: there is no folder {folder}.")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{option}: the folder {folder} may not be written to.")
