"""`parity weights`: lists a model's tensors and what they do."""

from __future__ import annotations

import argparse
import json
from typing import Any

from parity.commands.shared import (
    FORM,
    add_inputs,
    check_names,
    check_writable,
    inputs_from,
    put,
    write_text,
)
from parity.escape import for_terminal
from parity.report.bar import bar


def add(commands: Any) -> None:
    """Adds the command to the parser's."""
    weights = commands.add_parser(
        "weights",
        help="list a model's tensors and what they do",
        description="Lists every parameter and buffer of a model: name, shape, role, and the "
        "operations that use it; and which of several outputs depend on it.",
    )
    weights.add_argument("model", metavar="MODEL", help=f"the model, as {FORM}")
    add_inputs(weights)
    weights.add_argument("--json", metavar="PATH", help="write the list there as well, as JSON")
    weights.set_defaults(run=_weights)


def _weights(options: argparse.Namespace) -> int:
    if options.json:
        check_writable(options.json)
    check_names(options.model)
    inputs = inputs_from(options)
    from parity.commands.models import load_model
    from parity.weights.inventory import inventory

    with bar():
        found = inventory(load_model(options.model), inputs)
    if options.json:
        write_text(options.json, json.dumps(found.to_dict(), indent=2))
    put(for_terminal(str(found)))
    return 0
