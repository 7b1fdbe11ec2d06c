"""The table of layers for a terminal: row by row both names, the difference, the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from rich import box
from rich.table import Table
from rich.text import Text

from parity.format import short
from parity.result import Comparison, LayerRow, ModelSummary, Result

# Of verdicts, and of rows.
STYLES = {
    "parity": "bold green",
    "diverged": "bold red",
    "unverified": "bold yellow",
    "divergence": "red",
    "inherited": "dim red",
    "unmatched": "dim",
    "constant-precision": "yellow",
    "low-precision": "yellow",
    "parameter-differs": "bold yellow",
    "rounding": "yellow",
    "no-effect": "yellow",
    "host-decided": "yellow",
    "random": "yellow",
    "no-float64": "yellow",
    "same": "green",
}
_MANY_ROWS = 60
_LONGEST_SHAPE = 16
_SHORTEST_NAME = 12
_HEADINGS = ("shape", "axes", "max diff", "of scale", "local", "cosine", "")
_NUMBERS = _HEADINGS[2:-1]
_LEFT_OUT = ("cosine", "max diff", "axes")  # in this order, where the terminal is narrow


def layers_table(report: Result, comparison: Comparison, width: int) -> Table:
    """The rows of a comparison; of a deep model those near a difference.

    Numbers and verdicts are whole at any width; the layers' names share what is left of it.
    """
    rows = _abridge(comparison.layers)
    own, *others = zip(*map(_cells, rows), strict=True)
    columns = dict(zip(_HEADINGS, others[1:], strict=True))
    columns["shape"] = tuple(_shortened(text, _LONGEST_SHAPE) for text in columns["shape"])
    room = width - sum(_wide(heading, texts) + 2 for heading, texts in columns.items()) - 2
    for heading in _LEFT_OUT:
        if room < 2 * _SHORTEST_NAME:
            room += _wide(heading, columns.pop(heading)) + 2

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    models = [_heading(model) for model in (report.reference, comparison.candidate)]
    names = [own, others[0]]
    needed = [max(map(len, [*one, *texts])) for one, texts in zip(models, names, strict=True)]
    for at, share in enumerate(_shared(room, needed)):
        names[at] = tuple(_shortened(text, share) for text in names[at])
        heading = "\n".join(_shortened(line, share) for line in models[at])
        table.add_column(heading, no_wrap=True)
    for heading in columns:
        justify = "right" if heading in _NUMBERS else "left"
        table.add_column(heading, no_wrap=True, justify=justify)  # type: ignore[arg-type]
    *shown, verdicts = names + list(columns.values())
    for row, verdict, *texts in zip(rows, verdicts, *shown, strict=True):
        style = STYLES.get(row.verdict, "") if isinstance(row, LayerRow) else "dim"
        table.add_row(*texts, Text(verdict, style))
    return table


def _wide(heading: str, texts: Sequence[str]) -> int:
    return max(map(len, [heading, *texts]))


def _heading(model: ModelSummary) -> tuple[str, str]:
    """A model's name over its framework."""
    name = model.name.removesuffix(f"({model.framework})").strip()
    return name, f"({model.framework})"


def _shared(room: int, needed: Sequence[int]) -> tuple[int, int]:
    """The columns of two names: what they need, or half each, or what the other leaves over."""
    first, second = needed
    half = max(room // 2, _SHORTEST_NAME)
    return min(first, max(half, room - second)), min(second, max(half, room - first))


def _shortened(text: str, room: int) -> str:
    """Text cut in its middle: a layer is known by the branch it begins with, and its own name."""
    if len(text) <= room:
        return text
    head = (room - 1) // 3
    return f"{text[:head]}…{text[len(text) - (room - 1 - head) :]}"


def _abridge(rows: tuple[LayerRow, ...]) -> list[LayerRow | int]:
    """All rows, or of a deep model those around a difference, and how many are left out between."""
    if len(rows) <= _MANY_ROWS:
        return list(rows)
    near = {
        other
        for index, row in enumerate(rows)
        if row.verdict not in ("same", "inherited", "unmatched")
        for other in range(index - 3, index + 4)
    }
    near |= set(range(5)) | set(range(len(rows) - 5, len(rows)))
    shown: list[LayerRow | int] = []
    for index, row in enumerate(rows):
        if index in near:
            shown.append(row)
        elif shown and isinstance(shown[-1], int):
            shown[-1] += 1
        else:
            shown.append(1)
    return shown


def _cells(row: LayerRow | int) -> list[str]:
    if isinstance(row, int):
        return [f"… {row} more", *[""] * (1 + len(_HEADINGS))]
    shape = row.reference_shape or row.candidate_shape or ()
    word = "rounded" if row.verdict.endswith("-precision") else row.verdict
    return [
        row.reference or "-",
        row.candidate or "-",
        "x".join(map(str, shape)),
        row.order,
        *_numbers(row),
        word.partition("-")[0],  # of a parameter that differs
    ]


def _numbers(row: LayerRow) -> list[str]:
    found = row.difference
    if found is None:
        return ["", "", "", ""]
    own = "" if row.local is None else short(row.local)
    cosine = "" if isnan(found.cosine) else f"{found.cosine:.4f}"
    return [short(found.largest), short(found.relative), own, cosine]
