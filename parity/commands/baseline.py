"""`parity baseline`: shows a baseline, compares two, prunes one, accepts a divergence in it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from parity.baseline.entry import Acceptance, Entry
from parity.baseline.file import changing, read
from parity.baseline.gate import FACTOR, differing, factor_of, worse
from parity.commands.shared import put
from parity.errors import FileError, UsageError
from parity.escape import on_one_line
from parity.format import count
from parity.safe_json import parsed

_DESCRIPTION = """\
What `pytest --parity-baseline FILE` compares a run with, and `--parity-update` writes.

  show FILE      the entries: verdict, layers, what is accepted and until when
  diff A B       what is worse, better, added and gone in B; exit code 1 if any is worse
  prune FILE     drops the entries that a whole run, written by pytest --parity-report, has not
  accept FILE    lets a known divergence pass until a day, for a reason"""


def add(commands: Any) -> None:
    """Adds the command to the parser's."""
    baseline = commands.add_parser(
        "baseline",
        help="show, compare, prune the regression gate's file; accept a divergence in it",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = baseline.add_subparsers(metavar="ACTION", required=True)
    show = actions.add_parser("show", help="the entries of a baseline")
    show.add_argument("file", metavar="FILE")
    show.set_defaults(run=_show)
    diff = actions.add_parser("diff", help="what is worse, better, added and gone in B")
    diff.add_argument("before", metavar="A")
    diff.add_argument("after", metavar="B")
    diff.add_argument(
        "--factor", type=float, default=FACTOR, help=f"as parity_baseline_factor; {FACTOR:g}"
    )
    diff.set_defaults(run=_diff)
    prune = actions.add_parser("prune", help="drop the entries that a whole run has not")
    prune.add_argument("file", metavar="FILE")
    prune.add_argument(
        "--report",
        metavar="RUN",
        required=True,
        help="what pytest --parity-report wrote of a whole run, no test deselected or skipped",
    )
    prune.add_argument("--dry-run", action="store_true", help="say which, and leave the file")
    prune.set_defaults(run=_prune)
    accept = actions.add_parser("accept", help="let a known divergence pass until a day")
    accept.add_argument("file", metavar="FILE")
    accept.add_argument("entry", metavar="ENTRY", help="its name, or a part that no other has")
    accept.add_argument("--reason", required=True, help="why it may stay")
    accept.add_argument("--until", metavar="DATE", required=True, help="the last day, 2026-12-31")
    accept.set_defaults(run=_accept)


def _show(options: argparse.Namespace) -> int:
    entries = read(Path(options.file))
    for name, entry in sorted(entries.items()):
        _say(name, f"  {_summary(entry)}")
        if entry.accepted is not None:
            expired = ", expired" if entry.accepted.expired(date.today()) else ""
            _say(f"  accepted until {entry.accepted.until}{expired}: {entry.accepted.reason}")
    _say(f"{options.file}: {count(len(entries), 'entry')}")
    return 0


def _summary(entry: Entry) -> str:
    if entry.generated:
        return f"{entry.verdict}; of generated inputs, so the verdict alone is kept"
    layers = [(layer.difference or 0.0, name) for name, layer in entry.layers.items()]
    largest, where = max(layers, default=(0.0, "none"))
    return (
        f"{entry.verdict}; {count(len(layers), 'matched layer')}, the largest difference "
        f"{largest:.1e} at {where}; {100 * entry.coverage['values']:.4g}% of the values compared"
    )


def _diff(options: argparse.Namespace) -> int:
    factor = factor_of(options.factor, "--factor")
    before, after = read(Path(options.before)), read(Path(options.after))
    regressions = 0
    for name in sorted({*before, *after}):
        if name not in before or name not in after:
            _say(name, f"  {'only in ' + (options.after if name in after else options.before)}")
            continue
        lost = worse(name, before[name], after[name], factor)
        regressions += len(lost)
        for failure in lost:
            _say(name, f"  worse: {failure.change}")
        for failure in worse(name, after[name], before[name], factor):
            _say(name, f"  better{failure.place}: was {failure.now}, now {failure.was}")
        if before[name].accepted != after[name].accepted:
            _say(name, f"  accepted: was {_terms(before[name])}, now {_terms(after[name])}")
    pairs = [(before[name], after[name]) for name in before if name in after]
    for line in differing(pairs):
        _say(line)
    _say(f"{count(regressions, 'regression')} in {count(len(pairs), 'shared entry')}")
    return 1 if regressions else 0


def _terms(entry: Entry) -> str:
    accepted = entry.accepted
    return "not" if accepted is None else f"until {accepted.until} ({accepted.reason})"


def _prune(options: argparse.Namespace) -> int:
    made, broken = _made(Path(options.report))
    path = Path(options.file)

    def gone(entries: Mapping[str, Entry]) -> list[str]:
        # a test that broke before it compared still makes its entries when it is fixed
        return [
            name
            for name, entry in sorted(entries.items())
            if name not in made and entry.source not in broken
        ]

    if options.dry_run:
        names = gone(read(path))
    else:
        read(path)  # one that is not there is not made
        with changing(path) as entries:
            names = gone(entries)
            for name in names:
                del entries[name]
    for name in names:
        _say(name)
    would = "would be dropped" if options.dry_run else "dropped"
    _say(f"{path}: {count(len(names), 'entry')} {would}")
    return 0


def _made(path: Path) -> tuple[set[str], set[str]]:
    """The entries that a run made, and the tests of which a comparison broke."""
    try:
        run = parsed(path.read_text(encoding="utf-8"))
        comparisons = run["comparisons"]
        made = {name for found in comparisons for name in found["entries"]}
        broken = {found["test"] for found in comparisons if found["report"] is None}
    except FileNotFoundError:
        raise UsageError(f"--report: there is no file {path}.") from None
    except OSError as error:
        raise FileError(f"--report: {path} cannot be read: {error}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FileError(
            f"--report: {path} is no report of a run ({type(error).__name__}: {error}). Write one "
            "with `pytest --parity-report PATH`."
        ) from error
    if not made:
        raise UsageError(
            f"--report: {path} has no comparisons, so all would be dropped. Give that of a whole "
            "run; or delete the baseline."
        )
    return made, broken


def _accept(options: argparse.Namespace) -> int:
    try:
        until = date.fromisoformat(options.until)
    except ValueError:
        raise UsageError(
            f"--until: {options.until!r} is no date; write it as 2026-12-31."
        ) from None
    if until < date.today():
        raise UsageError(f"--until: {until} has passed.")
    if not options.reason.strip():
        raise UsageError("--reason: say why it may stay.")
    path = Path(options.file)
    read(path)  # one that is not there is not made
    with changing(path) as entries:
        name = _named(entries, options.entry, path)
        if entries[name].verdict == "parity":
            raise UsageError(
                f"{name} is parity: there is nothing to accept. If it diverges now, write that "
                f"first: `pytest --parity-baseline {path} --parity-update`."
            )
        accepted = Acceptance(options.reason.strip(), until.isoformat())
        entries[name] = replace(entries[name], accepted=accepted)
    _say(name, f"  {entries[name].verdict}, accepted until {until}: {accepted.reason}")
    return 0


def _named(entries: Mapping[str, Entry], text: str, path: Path) -> str:
    if text in entries:
        return text
    found = sorted(name for name in entries if text in name)
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(f"{path} has no entry {text!r}; `parity baseline show {path}` lists them.")
    shown = "".join(f"\n  {name}" for name in found[:10])
    raise UsageError(f"{text!r} is part of {len(found)} entries of {path}; name one:{shown}")


def _say(*lines: str) -> None:
    """Prints lines, in which names may be anything."""
    for line in lines:
        put(on_one_line(line))
