"""`parity compare`: compares models that the command line names."""

from __future__ import annotations

import argparse
from typing import Any

from parity import budget
from parity.commands.shared import (
    add_inputs,
    check_names,
    check_writable,
    inputs_from,
    show,
    writing,
)
from parity.errors import UsageError
from parity.report.bar import bar

_DESCRIPTION = """\
Runs the same inputs through models that ought to agree, and reports where they diverge.

A model is named as package.module:attribute; the working directory is searched first. The
attribute is a model, or a class or function that builds one without arguments. What cannot be seen
from a model stands after an @, with commas between:

  nets:port@NHWC            takes its images channels last; the reference's are NCHW unless said
  nets:head@tensorflow      a function over tensors, and its framework
  nets:net@train            runs in training mode"""
_EXAMPLES = """\
examples:
  parity compare nets:reference nets:port@NHWC --inputs observations.npz
  parity compare nets:actor ports:build_actor --random 5,17 --seed 3 --json report.json
  parity compare nets:actor ports:build_actor --env CartPole-v1 --steps 32

exit code: 0 parity, 1 diverged, 2 usage, 3 unverified, or the comparison could not be run"""


def add(commands: Any) -> None:
    """Adds the command to the parser's."""
    compare = commands.add_parser(
        "compare",
        help="compare models named as package.module:attribute",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    compare.add_argument(
        "reference", metavar="REFERENCE", help="the model that is held to be right"
    )
    compare.add_argument(
        "candidates", metavar="CANDIDATE", nargs="+", help="each is compared to it"
    )
    add_inputs(compare)
    compare.add_argument(
        "--gradients",
        action="store_true",
        help="compare the backward pass as well: gradients of all outputs, by input and parameter",
    )
    compare.add_argument("--json", metavar="PATH", help="write the report there as well, as JSON")
    compare.add_argument(
        "--save",
        metavar="DIR",
        help="write the inputs and outputs of each divergence there, with scripts",
    )
    for name, text in budget.OPTIONS.items():
        compare.add_argument(f"--{name}", metavar="N", type=float, help=text)
    compare.set_defaults(run=_compare)


def _compare(options: argparse.Namespace) -> int:
    if options.json:
        check_writable(options.json)
    check_names(options.reference, *options.candidates)
    limits = {name: getattr(options, name) for name in budget.OPTIONS}
    for name, value in limits.items():
        if not budget.is_one(value):
            raise UsageError(f"--{name}: give a positive number.")
    inputs = inputs_from(options)
    from parity.commands.models import load_model
    from parity.comparison import compare

    with bar():
        models = [load_model(text) for text in (options.reference, *options.candidates)]
        if inputs is None and any(model.inputs is None for model in models):
            raise UsageError("No inputs: give --inputs FILE.npz, --random SHAPE, or --env ID.")
        report = compare(*models, inputs=inputs, gradients=options.gradients, **limits)
    if options.json:
        with writing(f"--json: {options.json}"):
            report.save(options.json)
    if options.save:
        with writing(f"--save: {options.save}"):
            report.save_divergences(options.save)
    return show(report)
