"""`parity history show` as text: what moved, the layers over the runs, a layer run by run."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from math import ceil, inf, log10

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from parity.baseline.entry import Layer
from parity.errors import UsageError
from parity.escape import on_one_line
from parity.format import count
from parity.history.changes import Course, Move, course
from parity.history.store import History, Run

STEPS = 40  # in a sparkline
_HEIGHTS = "▁▂▃▄▅▆▇█"
_GAP = "·"
_DECADES = 2.0  # a plot covers at least as many: less is no movement
_MOST_LAYERS = 10  # that are as they were
_BAR = 20
_WIDTH = 100  # where it is no terminal


class Shown:
    """The last run held against an earlier one.

    Args:
        comparison, layer: parts of the names of those that are shown, and judged.
        against: a commit, or the beginning of one; None for the first run.

    Attributes:
        moved: whether anything in the last run is worse than in that run.
        unclear: whether nothing is, but not all could be compared.
    """

    def __init__(
        self, history: History, comparison: str, layer: str, against: str | None, factor: float
    ) -> None:
        runs = history.runs()
        self._base, self._last = _found(runs, against), runs[-1]
        self._layer = layer
        runs = runs[runs.index(self._base) :]
        before, after = history.names(self._base), history.names(self._last)
        names = [one for one in sorted({*before, *after}) if comparison in one]
        if not before and not after:
            shown = " and ".join(dict.fromkeys(map(str, (self._base, self._last))))
            raise UsageError(f"{shown}: no comparisons. Add a run: `parity history add RUN.json`.")
        if not names:
            raise UsageError(
                f"--comparison: neither {self._base} nor {self._last} has one with {comparison!r} "
                "in its name."
            )
        self._gone = [one for one in names if one not in after]
        self._courses = []
        for name in names:
            entries = history.entries(name)
            points = [(run, entries[run.number]) for run in runs if run.number in entries]
            if points and name not in self._gone:
                self._courses.append(_of_layers(course(name, points, factor), layer))
        if layer and not any(_layers(one, layer) for one in self._courses):
            raise UsageError(f"--layer: {self._last} has none with {layer!r} in its name.")

    @property
    def moved(self) -> bool:
        return any(one.moved for one in self._courses)

    @property
    def unclear(self) -> bool:
        alone = self._base == self._last
        return not self.moved and bool(
            alone or self._gone or any(c.environment for c in self._courses)
        )

    def text(self) -> str:
        console = Console(highlight=False, markup=False, emoji=False, legacy_windows=False)
        console.width = console.width if console.is_terminal else _WIDTH
        console.file = shown = io.StringIO()  # its own capture writes to the terminal too
        for part in self._parts():
            console.print(part, soft_wrap=isinstance(part, Text))
        return "\n".join(line.rstrip() for line in shown.getvalue().splitlines())

    def _parts(self) -> Iterator[RenderableType]:
        for one in self._courses:
            yield from _course(one, self._layer)
        for name in self._gone:
            yield _text(name)
            yield _text(f"  in {self._base}, and not in {self._last}")
        moved = [one for one in self._courses if one.moved]
        yield _text(
            f"{self._last} against {self._base}: {len(moved)} of "
            f"{count(len(self._courses), 'comparison')} moved"
            + (f", {len(self._gone)} gone" if self._gone else "")
            + ("; it is the only one" if self._base == self._last else "")
        )


def _found(runs: list[Run], against: str | None) -> Run:
    """The run that the last one is held against: the last of its commit."""
    if against is None:
        return runs[0]
    found = [run for run in runs if against and run.revision.startswith(against)]
    if not found:
        raise UsageError(f"--against: no run is of a commit {against!r}.")
    if len({run.revision for run in found}) > 1:
        shown = ", ".join(dict.fromkeys(run.revision for run in found[:5]))
        raise UsageError(f"--against: {against!r} begins several commits: {shown}.")
    return found[-1]


def _of_layers(found: Course, part: str) -> Course:
    """The course with the moves of some layers alone, if a part of their names is given."""
    if not part:
        return found
    names = _layers(found, part)
    moves = tuple(move for move in found.moves if move.first.where in names)
    return Course(found.name, found.points, moves, found.environment)


def _layers(found: Course, part: str = "") -> list[str]:
    """The layers of the first and the last run, in the order of the data flow."""
    names = [*found.points[-1][1].layers, *found.points[0][1].layers]
    return [name for name in dict.fromkeys(names) if part in name]


def _course(found: Course, layer: str) -> Iterator[RenderableType]:
    (first, was), (last, now) = found.points[0], found.points[-1]
    yield _text(found.name, style="bold")
    if len(found.points) == 1:
        yield _text(f"  1 run, {last}: {now.verdict}")
    else:
        yield _text(
            f"  {len(found.points)} runs, {first} to {last}: {_words(was.verdict, now.verdict)}"
        )
    for move in found.moves:
        yield _text(f"  {_stated(move)}", style="red" if move.lasts else "")
    if found.environment:
        yield _text("  in another environment, so that rounding is not compared:")
    for fact in found.environment:
        yield _text(f"    {fact}")
    if layer:
        for name in _layers(found, layer):
            yield _text(f"  {name}")
            yield _run_by_run(found, name)
    elif _layers(found):
        yield _table(found)


def _words(was: str, now: str) -> str:
    return now if was == now else f"{was}, now {now}"


def _stated(move: Move) -> str:
    first, over = move.first, "" if move.lasts else ", and no longer is"
    return (
        f"{first.what}{first.place}: was {first.was}, then {first.now}; first in {move.run}{over}"
    )


def _table(found: Course) -> Table:
    """The layers that moved, and the worst of the others."""
    first = {}
    for move in reversed(found.moves):
        first[move.first.where] = move.run
    names = _layers(found)
    now = found.points[-1][1].layers
    still = sorted(
        (one for one in names if one not in first), key=lambda one: -_difference(now.get(one))
    )
    kept = {*first, *still[:_MOST_LAYERS]}
    table = _plain("layer", "over the runs", "first", "last", "rounding", "moved in")
    for name in names:
        if name in kept:
            row = [entry.layers.get(name) for _, entry in found.points]
            table.add_row(
                _text(name),
                spark(row),
                _short(row[0]),
                _short(row[-1]),
                _rounding(row[-1]),
                _text(str(first.get(name, ""))),
                style="red" if name in first else "",
            )
    more = len(names) - sum(name in kept for name in names)
    if more:
        table.add_row(_text(f"and {count(more, 'layer')} as they were"))
    return table


def _run_by_run(found: Course, name: str) -> Table:
    table = _plain("run", "commit", "added", "verdict", "difference", "rounding", "")
    row = [entry.layers.get(name) for _, entry in found.points]
    for (run, _), layer, level in zip(found.points, row, levels(row), strict=True):
        table.add_row(
            str(run.number),
            _text(run.short),
            run.added[:16].replace("T", " "),
            layer.verdict if layer else "–",
            _short(layer),
            _rounding(layer),
            "█" * (1 + round(level * (_BAR - 1)))
            if level is not None and _difference(layer)
            else "",
        )
    return table


def _text(text: str, style: str = "") -> Text:
    """Text that stays on its line, whatever the names in it hold."""
    return Text(on_one_line(text), style)


def _plain(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name, overflow="fold", no_wrap=name not in ("layer", "commit"))
    return table


def _difference(layer: Layer | None) -> float:
    return layer.difference or 0.0 if layer else 0.0


def _short(layer: Layer | None) -> str:
    return "–" if layer is None or layer.difference is None else f"{layer.difference:.1e}"


def _rounding(layer: Layer | None) -> str:
    return "–" if layer is None else f"{layer.rounding:.1e}"


# --- differences over runs, on a log axis: what is below rounding is level ------------------------


def spark(layers: Sequence[Layer | None]) -> str:
    """A step for each run, or for as many as fit; a dot where the layer was not compared."""
    heights = levels(layers)
    each = ceil(len(heights) / STEPS)
    parts = [heights[at : at + each] for at in range(0, len(heights), each)]
    text = ""
    for part in parts:
        known = [one for one in part if one is not None]
        text += _HEIGHTS[round(max(known) * (len(_HEIGHTS) - 1))] if known else _GAP
    return text


def levels(layers: Sequence[Layer | None]) -> list[float | None]:
    """How high each difference is between the lowest and the highest, in 0..1; 0.0 is lowest."""
    values = [None if layer is None else _value(layer) for layer in layers]
    known = [log10(one) for one in values if one and one < inf]
    low = min(known, default=0.0)
    if 0.0 in values:
        low -= _DECADES  # whatever is not 0.0 stands above it
    span = max(max(known, default=0.0) - low, _DECADES)
    return [
        None
        if one is None or layer is None
        else min((log10(one) - low) / span, 1.0)
        if one and layer.difference
        else 0.0
        for layer, one in zip(layers, values, strict=True)
    ]


def _value(layer: Layer) -> float | None:
    return None if layer.difference is None else max(layer.difference, layer.rounding)
