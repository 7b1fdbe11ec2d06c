"""The page's drawings as SVG coordinates; the template writes the elements, the style colours.

By hand: of the libraries that draw SVG without heavy dependencies, pygal takes some 300 bytes a
point, links scripts from its own site and knows no heat map, and leather has no log axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil, floor, inf, isfinite, isnan, log10
from typing import Any

from parity.format import short

WIDTH, HEIGHT = 720, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 92, 12, 22, 34
_MOST_TICKS = 6
_MARGINS = 12, 32  # of the axis from the plot's ends: with nothing there, and with a label
_DECADES = 20
_PLOT = HEIGHT - _TOP - _BOTTOM
# The least share of the largest difference that each shade of a map stands for, darkest first.
SHADES = (0.5, 0.2, 0.1, 0.01, 1e-4, 0.0)
_BARS = 240, 80


def depth(rows: Sequence[tuple[float, float, str, bool]]) -> dict[str, Any]:
    """The difference of each layer along the model, on a log axis, over the rounding floor.

    Args:
        rows: of each layer the relative difference, the reference's rounding, the verdict, and
            whether it was compared at all.
    """
    known = [_decade(one) for row in rows for one in row[:2] if isfinite(one) and one > 0]
    low = floor(min(known, default=-8.0))
    high = max(ceil(max(known, default=0.0)), low + 2)
    # zeros lie below the axis, infinities above it
    zero = any(row[0] == 0 or row[1] == 0 for row in rows)
    infinite = any(row[3] and not isfinite(row[0]) for row in rows)
    above, below = _MARGINS[infinite], _MARGINS[zero]
    step = (_PLOT - above - below) / (high - low)

    def height(value: float) -> float:
        if value == 0:
            return HEIGHT - _BOTTOM - 4
        if not isfinite(value):
            return _TOP + 2
        return _TOP + above + (high - _decade(value)) * step

    wide = (WIDTH - _LEFT - _RIGHT) / len(rows)
    dots, floors, crosses, gaps = [], [], [], []
    for at, (difference, rounding, verdict, compared) in enumerate(rows):
        x = _LEFT + (at + 0.5) * wide
        if not isnan(rounding):
            floors.append(f"{x - wide / 2:.1f} {height(rounding):.1f}h{wide:.1f}")
        if verdict == "diverged":
            crosses.append((round(x, 1), round(height(difference), 1)))
        elif compared:
            dots.append(f"M{x:.1f} {height(difference):.1f}h0")
        else:
            gaps.append(f"M{x:.1f} {HEIGHT - _BOTTOM}v5")
    every = ceil((high - low) / _MOST_TICKS)
    return {
        "ticks": [(round(height(10.0**one), 1), f"1e{one}") for one in range(low, high + 1, every)],
        "zero": height(0.0) if zero else None,
        "infinite": height(inf) if infinite else None,
        "dots": "".join(dots),
        "floor": "".join(f"{'L' if at else 'M'}{one}" for at, one in enumerate(floors)),
        "crosses": crosses,
        "gaps": "".join(gaps),
        "layers": len(rows),
        "left": _LEFT,
        "right": WIDTH - _RIGHT,
        "top": _TOP,
        "bottom": HEIGHT - _BOTTOM,
        "width": WIDTH,
        "height": HEIGHT,
    }


def _decade(value: float) -> float:
    """Where a number lies on a log axis that ends where no difference of interest is."""
    return min(max(log10(value), -_DECADES), _DECADES)


def fall(before: float, after: float) -> tuple[float, float]:
    """The lengths of two bars, in 0..100, for a difference before and after: 16 decades long."""
    found = []
    for value in (before, after):
        decades = 16 + (log10(value) if isfinite(value) and value > 0 else 0.0)
        found.append(0.0 if value == 0 else 100.0 if not isfinite(value) else decades * 100 / 18)
    return round(min(max(found[0], 0), 100), 1), round(min(max(found[1], 0), 100), 1)


def spread(found: Mapping[str, Any], number: Callable[[Any], float]) -> dict[str, Any]:
    """How the values of a divergence differ: histograms, a profile of each axis, a map.

    What would be a drawing of one tone is written in words.
    """
    values, differences = found["values"], found["differences"]
    most = max([*values["reference"], *values["candidate"], 0])
    axes = [
        (at, axis["size"], [number(one) for one in axis["largest"]])
        for at, axis in enumerate(found["axes"])
        if axis["size"] > 1
    ]
    flat = [axis for axis in axes if len(set(axis[2])) == 1]
    cells = (
        [[number(one) for one in row] for row in found["map"]["largest"]] if found["map"] else []
    )
    tones = {_shade(one, _most(cells)) for row in cells for one in row}
    return {
        "values": {
            "reference": _bars(values["reference"], most),
            "candidate": _outline(values["candidate"], most),
            "ends": _ends(values["edges"]),
        },
        "differences": {
            "bars": _bars(differences["counts"], max([*differences["counts"], 0])),
            "ends": _ends(differences["edges"]),
        },
        "axes": [_profile(*axis) for axis in axes if axis not in flat],
        "map": _map(cells, found) if len(tones) > 1 else None,
        "alike": [*_flat(flat), *(_even(cells, found) if len(tones) == 1 else ())],
    }


def _ends(edges: Sequence[float]) -> tuple[str, str] | None:
    return (f"{float(edges[0]):.3g}", f"{float(edges[-1]):.3g}") if edges else None


def _bars(counts: Sequence[float], most: float) -> str:
    """Bars from the ground; the least that is not nothing can still be seen."""
    if not counts or not most:
        return ""
    wide, high = _BARS[0] / len(counts), _BARS[1]
    tall = [max(1.0, min(count / most, 1.0) * high) for count in counts]
    return "".join(
        f"M{at * wide:.1f} {high}v-{tall[at]:.1f}h{wide * 0.9:.1f}V{high}z"
        for at, count in enumerate(counts)
        if count
    )


def _outline(counts: Sequence[float], most: float) -> str:
    if not counts or not most:
        return ""
    wide, high = _BARS[0] / len(counts), _BARS[1]
    steps = "".join(f"V{high - count / most * high:.1f}h{wide:.1f}" for count in counts)
    return f"M0 {high}{steps}V{high}"


def _profile(axis: int, size: int, largest: Sequence[float]) -> dict[str, Any]:
    most = max((one for one in largest if isfinite(one)), default=0.0)
    # NaN or infinity on one side is as tall as can be
    return {
        "axis": axis,
        "size": size,
        "parts": len(largest),
        "most": "∞" if inf in largest else f"{most:.1e}",
        "bars": _bars([most or 1.0 if one == inf else one for one in largest], most or 1.0),
        "infinite": [at for at, one in enumerate(largest) if one == inf],
    }


def _flat(axes: Sequence[tuple[int, int, Sequence[float]]]) -> Iterator[str]:
    """Profiles of one height, in words."""
    named = [f"axis {axis} (size {size})" for axis, size, _ in axes]
    if named:
        most = short(axes[0][2][0])  # of all that is along any axis
        yield f"The largest difference, {most}, is the same all along {' and '.join(named)}."


def _even(cells: Sequence[Sequence[float]], found: Mapping[str, Any]) -> Iterator[str]:
    """A map of one shade, in words."""
    ends = [short(pick(one for row in cells for one in row)) for pick in (min, max)]
    axes = " and ".join(f"axis {axis}" for axis in found["map"]["axes"])
    yield f"By {axes} at once it is {' to '.join(dict.fromkeys(ends))} everywhere."


def _most(cells: Sequence[Sequence[float]]) -> float:
    return max((one for row in cells for one in row if isfinite(one)), default=0.0)


def _map(cells: Sequence[Sequence[float]], found: Mapping[str, Any]) -> dict[str, Any]:
    """A heat map: for each shade one path of all runs of cells that have it."""
    most = _most(cells)
    paths = [""] * (len(SHADES) + 1)
    for y, row in enumerate(cells):
        x = 0
        while x < len(row):
            shade, start = _shade(row[x], most), x
            while x < len(row) and _shade(row[x], most) == shade:
                x += 1
            if shade is not None:
                paths[shade] += f"M{start} {y}.5h{x - start}"
    axes = found["map"]["axes"]
    return {
        "paths": paths,
        "rows": len(cells),
        "columns": len(cells[0]),
        "axes": [(axis, found["shape"][axis]) for axis in axes],
        "most": f"{most:.1e}",
        "legend": ["a NaN or an infinity on one side", *(_words(share) for share in SHADES)],
    }


def _shade(value: float, most: float) -> int | None:
    """0 for NaN or infinity on one side, then the darkest to the lightest; None for 0."""
    if value == inf:
        return 0
    if not value > 0:
        return None
    return 1 + next(at for at, least in enumerate(SHADES) if value >= least * most)


def _words(share: float) -> str:
    return f"from {share:g} of the largest" if share else "less"
