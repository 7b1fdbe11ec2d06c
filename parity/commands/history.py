"""`parity history`: adds a run, and shows where a layer's difference moved."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from parity.commands.shared import put
from parity.errors import UsageError

FILE = "parity-history.sqlite"
_MOVED, _UNCLEAR = 1, 125
_DESCRIPTION = """\
Keeps the runs that `pytest --parity-report RUN.json` wrote, in one file.

  add RUN.json    adds a run, as of git's HEAD
  show            each comparison over the runs, and the first run where it moved"""
_END = """\
exit code: 0 as it was, 1 moved, 125 cannot tell, which `git bisect run` skips; whatever goes wrong
is 125 as well"""


def add(commands: Any) -> None:
    """Adds the command to the parser's."""
    history = commands.add_parser(
        "history",
        help="keep the runs of pytest, and show in which a layer's difference moved",
        description=_DESCRIPTION,
        epilog=_END,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = history.add_subparsers(metavar="ACTION", required=True)
    adding = actions.add_parser("add", help="add a run, as of git's HEAD")
    adding.add_argument("run_file", metavar="RUN.json", help="what pytest --parity-report wrote")
    adding.add_argument(
        "--commit", metavar="NAME", help="of what the run is; without it of git's HEAD"
    )
    adding.set_defaults(run=_add)
    showing = actions.add_parser(
        "show", help="each comparison over the runs, and the first where it moved", epilog=_END
    )
    showing.add_argument("--comparison", metavar="TEXT", default="", help="those with it in a name")
    showing.add_argument(
        "--layer", metavar="TEXT", default="", help="layers with it in their names, run by run"
    )
    showing.add_argument(
        "--against", metavar="COMMIT", help="compare the last run with this one's; else the first's"
    )
    showing.add_argument("--factor", type=float, default=None, help="as parity_baseline_factor; 4")
    showing.set_defaults(run=_show)
    for action in (adding, showing):
        action.add_argument("--file", type=Path, default=FILE, help=f"the history; {FILE}")
        action.set_defaults(trouble=_UNCLEAR)


def _add(options: argparse.Namespace) -> int:
    from parity.format import count
    from parity.history import run, store

    revision = options.commit.strip() if options.commit is not None else run.commit()
    if not revision:
        raise UsageError("--commit: name the commit.")
    version, entries = run.read(Path(options.run_file))
    added = store.add(Path(options.file), revision, version, entries)
    put(f"{options.file}: {count(len(entries), 'comparison')} of {added} added")
    return 0


def _show(options: argparse.Namespace) -> int:
    from parity.baseline.gate import factor_of
    from parity.history.render import Shown
    from parity.history.store import reading

    factor = factor_of(options.factor, "--factor")
    with reading(Path(options.file)) as history:
        shown = Shown(history, options.comparison, options.layer, options.against, factor)
        put(shown.text())
        return _MOVED if shown.moved else _UNCLEAR if shown.unclear else 0
