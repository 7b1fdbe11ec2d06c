"""`parity transfer`: brings a model's weights into another, and proves it."""

from __future__ import annotations

import argparse
import json
from typing import Any

from parity.commands.shared import (
    EXIT_CODES,
    FORM,
    add_inputs,
    check_file,
    check_names,
    check_writable,
    inputs_from,
    put,
    show,
    write_text,
)
from parity.errors import UsageError
from parity.escape import for_terminal
from parity.report.bar import bar


def add(commands: Any) -> None:
    """Adds the command to the parser's."""
    transfer = commands.add_parser(
        "transfer",
        help="bring a model's weights into another, and prove it",
        description="Writes one model's weights into another of any framework, converted by what "
        "each does, and compares the two. Where they diverge it reports why, and writes nothing.",
        epilog="exit code: 0 parity, 1 diverged, 2 usage, 3 unverified, or it could not be run",
    )
    transfer.add_argument(
        "source", metavar="SOURCE", help=f"the model with the weights, as {FORM}; or a file of them"
    )
    transfer.add_argument("target", metavar="TARGET", help="the model that gets them")
    add_inputs(transfer)
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


def _transfer(options: argparse.Namespace) -> int:
    for option in ("json", "save_map", "output"):
        path = getattr(options, option)
        if path:
            check_writable(path, f"--{option.replace('_', '-')}")
    from parity.weights.saving import check, check_ending, save

    if options.output:
        check_ending(options.output)
    of_model = ":" in options.source
    if of_model and options.source_model:
        raise UsageError("--source-model: only for a file; the source is a model itself.")
    if not of_model:
        check_file(options.source)
    named = (options.source if of_model else None, options.target, options.source_model)
    check_names(*filter(None, named))
    inputs = inputs_from(options)
    from parity.commands.models import load_model
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
        write_text(options.save_map, json.dumps(found.pairing.to_map(), indent=2))
    if options.json:
        write_text(options.json, json.dumps(found.to_dict(), indent=2))
    if options.output and found.written:
        save(target, options.output)
    put(for_terminal(found.to_markdown() if options.markdown else found.summary()))
    if options.output and found.written:
        put(f"\nwrote {for_terminal(options.output)}")
    if found.report is not None and found.verdict != "parity":
        put()
        return show(found.report)
    return EXIT_CODES[found.verdict]
