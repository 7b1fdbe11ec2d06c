"""The report for a terminal of 100 columns: verdict, divergences, then the table of layers."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from parity.escape import on_one_line
from parity.findings import Divergence, Note, StructuralDifference
from parity.format import count, relative, share
from parity.model import full_name
from parity.report import sentences as say
from parity.report.table import STYLES, layers_table
from parity.result import Comparison, Result
from parity.tape import Site

WIDTH = 100
_LEAVES = 8  # lines for the parameters that differ at one place
_MANY_STEPS = 15
_NAME = 28  # columns


def render(report: Result, color: bool = False, width: int = WIDTH) -> str:
    """The report as text.

    Args:
        color: whether to use ANSI colours.
        width: columns.
    """
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=color,
        no_color=not color,
        color_system="standard" if color else None,
        highlight=False,
        legacy_windows=False,
    )
    for part in parts(report, width):
        console.print(part)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def parts(report: Result, width: int = WIDTH) -> Iterator[RenderableType]:
    """The report, from its headline to the coverage, for a console of rich's."""
    report = _visible(report)
    yield _headline(report)
    for comparison in report.comparisons:
        yield from _comparison(report, comparison, width)


def _headline(report: Result) -> Text:
    text = Text()
    text.append(report.verdict, STYLES[report.verdict])
    names = ", ".join(
        full_name(found.candidate.name, found.candidate.framework) for found in report.comparisons
    )
    text.append(f": {full_name(report.reference.name, report.reference.framework)} against {names}")
    if report.odd_one_out:
        text.append(f"\nthe odd one out is {report.odd_one_out}", "bold")
    return text


def _comparison(report: Result, comparison: Comparison, width: int) -> Iterator[RenderableType]:
    if len(report.comparisons) > 1:
        line = Text("\n")
        line.append(comparison.verdict, STYLES[comparison.verdict])
        line.append(f": {full_name(comparison.candidate.name, comparison.candidate.framework)}")
        yield line
    for reason in comparison.reasons:
        yield Padding(Text(f"- {reason}"), (0, 0, 0, 2))
    for number, divergence in enumerate(comparison.divergences, 1):
        yield _divergence(report, comparison, number, divergence)
    for notes in _alike(comparison.notes):
        yield _note(notes)
    if comparison.by_formula is not None:
        lines = say.formula_lines(
            comparison.by_formula, report.reference.name, comparison.candidate.name
        )
        yield Text("\n".join(["", *lines]))
    for caveat in comparison.caveats:
        yield Padding(Text(f"- note: {caveat}"), (0, 0, 0, 2))
    yield from _structure(comparison)
    if comparison.layers:
        yield Text("")
        yield layers_table(report, comparison, width)
        yield Text("")
    yield _outputs(comparison)
    names = report.reference.name, comparison.candidate.name
    verdicts = {row.name: row.verdict for row in comparison.outputs if not row.is_gradient}
    heads = [*say.heads_lines(comparison.heads, names, verdicts)]
    if heads:
        yield Text("\n".join(heads))
    yield _coverage(comparison)


def _divergence(
    report: Result, comparison: Comparison, number: int, divergence: Divergence
) -> RenderableType:
    head = Text(f"\n{number}. ", "bold red")
    head.append(say.operation(divergence.reference.op, divergence.candidate.op), "bold")
    if divergence.times > 1:
        head.append(f", {divergence.times} times")
    head.append(f": inputs agree, outputs differ {share(divergence.residual)}")
    if divergence.shapes and sorted(divergence.shapes[0]) != sorted(divergence.shapes[1]):
        head.append(
            f"; shapes {say.size(divergence.shapes[0])} and {say.size(divergence.shapes[1])}"
        )
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, site, region in (
        (report.reference.name, divergence.reference, divergence.reference_region),
        (comparison.candidate.name, divergence.candidate, divergence.candidate_region),
    ):
        short = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
        grid.add_row(Text(short, "bold"), _site(site))
        others = _other_lines(site, region)
        if others:
            grid.add_row("", Text(f"with {others}", "dim"))
    leaves = [*map(str, divergence.leaves)]
    if len(leaves) > _LEAVES:
        leaves[_LEAVES - 1 :] = [f"and {len(leaves) - _LEAVES + 1} more"]
    lines: list[RenderableType] = [grid]
    if divergence.places:
        lines.append(Text(say.also_at(_pairs(divergence)), "dim"))
    lines += map(Text, leaves)
    if divergence.detail:
        lines.append(Text(divergence.detail))
    if any(divergence.random):
        names = report.reference.name, comparison.candidate.name
        side = "both models" if all(divergence.random) else names[divergence.random.index(True)]
        lines.append(Text(f"{say.RANDOM} in {side}"))
    lines += [_cause(divergence), Text(say.downstream(divergence.reconverges), "dim")]
    if len(comparison.divergences) > 1:  # what this one does, beside the others
        effect = say.effect(divergence.output_before, divergence.output_after)
        lines += [Text(effect, "dim")] if effect else []
    return Group(head, *(Padding(line, (0, 0, 0, 3)) for line in lines))


def _cause(divergence: Divergence) -> Text:
    """The cause with its proof, or what comes closest to one."""
    cause, closest = divergence.cause, divergence.closest
    text = Text()
    if cause is None:
        text.append("unexplained", "bold")
        if closest is not None:
            text.append(f"; {say.closest_cause(**vars(closest))}")
            for fact in closest.evidence:
                text.append(f"\n{fact}")
        return text
    text.append(cause.kind, "bold")
    text.append(f", {say.cause(cause.confirmed, cause.summary)}")
    for name, (reference, candidate) in cause.parameters.items():
        text.append(f"\n{name}: {reference} -> {candidate}")
    for fact in cause.evidence:
        text.append(f"\n{fact}")
    for kind in cause.alternatives:
        text.append(f"\n{say.as_likely(kind)}")
    if cause.residual_after < cause.residual_before:
        found = "proof" if cause.confirmed else "evidence"
        fall = f"from {cause.residual_before:.1e} to {cause.residual_after:.0e}"
        inputs = count(cause.inputs, "input")
        text.append(f"\n{found}: the difference falls {fall} on {inputs}", "dim")
    if cause.unproved:
        text.append(f"\nnot proved: {cause.unproved}", "dim")
    if cause.edit is not None:
        text.append("\nfix: ")
        text.append(cause.edit[0], "red")
        text.append("  ->  ")
        text.append(cause.edit[1], "green")
    return text


def _site(site: Site) -> Text:
    text = Text()
    if site.stage:
        text.append(f"{site.stage} pass  ", "bold")
    if site.layer:
        text.append(site.layer, "cyan")
        text.append("  ")
    if site.source:
        text.append(relative(site.source))
        text.append(f"\n    {site.code}", "bold")
    elif not site.layer:
        text.append(say.NO_LINE, "dim")
    return text


def _other_lines(site: Site, region: tuple[Site, ...]) -> str:
    lines = dict.fromkeys(
        relative(other.source) if other.source else other.layer
        for other in region
        if (other.source, other.layer) != (site.source, site.layer)
    )
    names = [line for line in lines if line and line != relative(site.source)]
    return say.listed(names, 3)


def _alike(notes: Sequence[Note]) -> list[list[Note]]:
    """Notes of one kind at one line, as a loop over layers makes them, together."""
    found: dict[tuple[str, ...], list[Note]] = {}
    for note in notes:
        site = note.candidate
        where: tuple[str, ...] = (site.source,) if site.source else (site.op, site.layer)
        if note.kind == "parameter-differs":  # each names its own
            where += (note.detail,)
        found.setdefault((note.kind, *where), []).append(note)
    return list(found.values())


def _note(notes: Sequence[Note]) -> RenderableType:
    note = max(notes, key=lambda one: one.residual)
    text = f"- {note.kind}: {note.candidate.op} at {_place(note.candidate)}"
    if len(notes) > 1:
        text += f", {len(notes)} times,"
    text += f" differs {share(note.residual)}"
    why = say.WHY_NO_FAULT.get(note.kind, "")
    text += "".join(f"; {part}" for part in (note.detail, why) if part)
    return Padding(Text(text, "yellow"), (0, 0, 0, 2))


def _structure(comparison: Comparison) -> Iterator[RenderableType]:
    """What differs in the layers themselves, whatever the weights are."""
    found = say.folded((one.headline, _places(one)) for one in comparison.structure)
    if not found:
        return
    yield Text("\nstructure, without values", "bold")
    for fold in found[:_MANY_STEPS]:
        line = Text(f"- {fold.text}")
        if fold.times > 1:
            line.append(f", {fold.times} times: at {fold.listed}", "dim")
        else:
            line.append(f"  {fold.listed}", "dim")
        yield Padding(line, (0, 0, 0, 2))
    if len(found) > _MANY_STEPS:
        yield Padding(Text(f"- and {len(found) - _MANY_STEPS} more", "dim"), (0, 0, 0, 2))


def _pairs(found: Divergence) -> list[str]:
    return [" | ".join(map(_place, sites)) for sites in found.places]


def _places(found: StructuralDifference) -> str:
    return " | ".join(_place(site) for site in (found.reference, found.candidate))


def _place(site: Site | None) -> str:
    return "-" if site is None else say.place(site.layer, site.source, site.op, site.stage)


def _outputs(comparison: Comparison) -> RenderableType:
    lines = Text()
    random = any(note.kind == "random" for note in comparison.notes)
    gradients = [row for row in comparison.outputs if row.is_gradient]
    for row in comparison.outputs:
        if row.is_gradient and row.verdict == "parity" and row.difference is not None:
            continue
        kind = "" if row.is_gradient else "output "
        lines.append(f"{kind}{row.name!r} {say.size(row.reference_shape)}: ")
        if row.difference is None:
            lines.append(f"not comparable with {say.size(row.candidate_shape)}\n")
            continue
        found = row.difference
        lines.append(
            f"largest difference {found.largest:.2e} at {say.size(found.index)}: "
            f"{found.reference:.7g} and {found.candidate:.7g}"
        )
        if row.decisions is not None:
            lines.append(f"; greedy choices agree in {row.decisions.greedy:.1%}")
            if row.decisions.ties:
                lines.append(f", {row.decisions.ties} by ties within rounding")
        if random:
            lines.append("; each model on its own random samples")
        lines.append("\n")
    lines.append(say.gradients_line(gradients))
    lines.rstrip()
    return lines


def _coverage(comparison: Comparison) -> Text:
    found = comparison.coverage
    matched = found.reference_matched + found.candidate_matched
    total = found.reference_values + found.candidate_values
    return Text(
        f"coverage: {say.outputs_compared(found.outputs_compared, found.outputs_total)}, "
        f"{matched} of {total} informative values matched ({found.values:.0%})",
        "dim",
    )


# --- names that can be shown ----------------------------------------------------------------------


def _visible(found: Any) -> Any:
    """Data with every text in it on one line, however deep it lies; arrays are left alone."""
    if isinstance(found, str):
        return on_one_line(found)
    if isinstance(found, Site):
        names = on_one_line(found.op), on_one_line(found.layer)
        return _VisibleSite(*names, found.frames, found.stage)
    if isinstance(found, tuple):
        return tuple(map(_visible, found))
    if isinstance(found, Mapping):
        return {_visible(key): _visible(one) for key, one in found.items()}
    if is_dataclass(found) and not isinstance(found, type):
        own = {one.name: _visible(getattr(found, one.name)) for one in fields(found)}
        return replace(found, **own)
    return found


class _VisibleSite(Site):
    """A site whose line is read where it lies, and shown without what it hides."""

    @property
    def source(self) -> str:
        return on_one_line(super().source)

    @property
    def code(self) -> str:
        return on_one_line(super().code)
