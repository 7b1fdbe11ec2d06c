"""What the page shows, made from the JSON report's data: ids, marks, words, order, drawings.

Text goes through as it is; the template escapes it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import isfinite, isnan
from typing import Any

from parity.findings import LeafDifference, StructuralDifference
from parity.format import count, number, relative, share, short
from parity.model import full_name as name_in_full
from parity.report import sentences as say
from parity.report.html import drawing
from parity.result import Heads, Trunk

Data = Mapping[str, Any]

# A mark beside each word, so that no verdict is shown by colour alone.
_MARKS = {
    "parity": "✓",
    "diverged": "✕",
    "unverified": "?",
    "error": "!",
    "same": "✓",
    "inherited": "↳",
    "unmatched": "○",
}
_SEVERITY = ("diverged", "error", "unverified", "parity")
_MOST_FULL = 100  # hypothesis makes hundreds of comparisons in one test
_MOST_SITES = 30
_LONGEST_SLUG = 60


class Ids:
    """Ids that are unique on the page, and the same whenever the same report is rendered."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._counts: Counter[str] = Counter()  # of each name, so that a thousand take no longer

    def take(self, kind: str, name: str = "") -> str:
        slug = re.sub(r"[^A-Za-z0-9_.]+", "-", name)[:_LONGEST_SLUG].strip("-")
        stem = "-".join(part for part in (kind, slug) if part)
        self._counts[stem] += 1
        found = stem if self._counts[stem] == 1 else f"{stem}-{self._counts[stem]}"
        while found in self._taken:
            self._counts[stem] += 1
            found = f"{stem}-{self._counts[stem]}"
        self._taken.add(found)
        return found


def page(data: Data) -> dict[str, Any]:
    """The page of one report or of a run: its title, its sections, and the worst verdict."""
    ids = Ids()
    if "reference" in data:
        found = list(_sections(data, {}, ids))
        title = f"{full_name(data['reference'])} against " + ", ".join(
            full_name(one["candidate"]) for one in data["comparisons"]
        )
    else:
        found = [one for entry in data["comparisons"] for one in _of_run(entry, ids)]
        title = f"a run of {count(len(found), 'comparison')}"
    for section in found[_MOST_FULL:]:
        if section["verdict"] == "parity":
            section.update(layers=[], abridged=True)
    worst = min((one["verdict"] for one in found), key=_severity, default="")
    order = sorted(range(len(found)), key=lambda at: _severity(found[at]["verdict"]))
    for rank, at in enumerate(order):
        found[at]["rank"] = rank
    counts = {verdict: sum(one["verdict"] == verdict for one in found) for verdict in _SEVERITY}
    return {
        "title": title,
        "verdict": worst,
        "counts": {verdict: count for verdict, count in counts.items() if count},
        "sections": found,
        "environments": _environments(data),
    }


def full_name(model: Data) -> str:
    """A model's name with its framework, said once."""
    name, framework = str(model["name"]), str(model["framework"])
    return name if name.lower() == framework else name_in_full(name, framework)


# --- sections ------------------------------------------------------------------------------------


def _of_run(entry: Data, ids: Ids) -> Iterator[dict[str, Any]]:
    """The comparisons of one call of `assert_parity`, or why there is none."""
    if entry["report"] is not None:
        yield from _sections(entry["report"], entry, ids)
        return
    yield {
        "id": ids.take("comparison", entry["test"]),
        "test": entry["test"],
        "verdict": "error",
        "error": entry["error"],
    }


def _sections(report: Data, entry: Data, ids: Ids) -> Iterator[dict[str, Any]]:
    for found in report["comparisons"]:
        name = entry.get("test") or found["candidate"]["name"]
        yield {
            "id": ids.take("comparison", name),
            "test": entry.get("test", ""),
            "verdict": found["verdict"],
            "odd_one_out": report.get("odd_one_out"),
            "names": (report["reference"]["name"], found["candidate"]["name"]),
            "full_names": (full_name(report["reference"]), full_name(found["candidate"])),
            "operations": (report["reference"]["operations"], found["candidate"]["operations"]),
            **_contents(report, found, ids),
        }


def _contents(report: Data, found: Data, ids: Ids) -> dict[str, Any]:
    divergences = [
        _divergence(divergence, number, ids)
        for number, divergence in enumerate(found["divergences"], 1)
    ]
    layers = [_layer(row, ids) for row in found["layers"]]
    _link(divergences, layers)
    _rank(layers)
    several = len(divergences) > 1
    for divergence in divergences:
        divergence["effect"] = _effect(divergence["found"]) if several else ""
    return {
        "reasons": found["reasons"],
        "caveats": found["caveats"],
        "divergences": divergences,
        "layers": layers,
        "verdicts": sorted({row["verdict"] for row in layers}),
        "depth": drawing.depth([row["depth"] for row in layers]) if layers else None,
        "notes": [_note(note) for note in found["notes"]],
        "structure": _structure(found.get("structure", ())),
        "outputs": [_output(row) for row in found["outputs"]],
        "heads": _heads(report, found),
        "coverage": _coverage(found["coverage"]),
    }


def _coverage(found: Data) -> dict[str, Any]:
    return {
        "outputs": say.outputs_compared(found["outputs_compared"], found["outputs_total"]),
        "values": say.values_matched(number(found["values"])),
        "sides": tuple(
            f"{found[f'{side}_matched']} of {found[f'{side}_values']}"
            for side in ("reference", "candidate")
        ),
    }


def _environments(data: Data) -> dict[str, Data]:
    """Versions and flags by framework; of a run those of its first report that has them."""
    found: dict[str, Data] = {}
    reports = [data] if "reference" in data else [one["report"] for one in data["comparisons"]]
    for report in reports:
        for name, versions in (report or {}).get("versions", {}).items():
            found.setdefault(name, versions)
    return found


# --- divergences ---------------------------------------------------------------------------------


def _divergence(found: Data, count: int, ids: Ids) -> dict[str, Any]:
    measured, closest = found.get("spread"), found.get("closest")
    return {
        "id": ids.take("divergence"),
        "number": count,
        "title": say.operation(found["reference"]["op"], found["candidate"]["op"]),
        "found": found,
        "outputs": f"differ {_by(found['residual'])}",
        "order": "" if found.get("order") == "same" else found.get("order", ""),
        "sides": [_side(found, side, at) for at, side in enumerate(("reference", "candidate"))],
        "places": [" | ".join(map(place, sites)) for sites in found.get("places", ())],
        "leaves": [str(LeafDifference(**leaf)) for leaf in found["leaves"]],
        "downstream": say.sentence(say.downstream(found["reconverges"])),
        "cause": _cause(found["cause"]) if found.get("cause") else None,
        "closest": say.closest_cause(**{**closest, "share": number(closest["share"])})
        if closest
        else "",
        "computed": closest.get("evidence", ()) if closest else (),
        "row": None,
        "spread": drawing.spread(measured, number) if measured else None,
    }


def _side(found: Data, side: str, at: int) -> dict[str, Any]:
    others = [place(site) for site in found[f"{side}_region"]]
    here = place(found[side])
    others = [one for one in dict.fromkeys(others) if one != here]
    return {
        **found[side],
        "layer": " ".join(filter(None, (found[side]["layer"], _stage(found[side])))),
        "source": relative(found[side]["source"]),
        "frames": [
            f"{relative('{file}:{line}'.format(**frame))} in {frame['function']}"
            for frame in islice(found[side]["frames"], 1, _MOST_SITES)
        ],
        "shape": say.size(found["shapes"][at]) if found.get("shapes") else "",
        "random": bool(found["random"][at]),
        "others": others[:_MOST_SITES],
        "more": max(0, len(others) - _MOST_SITES),
    }


def _stage(site: Data) -> str:
    """Says so of a step of the backward pass; older reports have none."""
    return f"({site['stage']} pass)" if site.get("stage") else ""


def place(site: Data | None) -> str:
    """Where an operation is, in a few words."""
    if site is None:
        return "–"
    return str(say.place(site["layer"], site["source"], site["op"], site.get("stage", "")))


def _by(residual: Any) -> str:
    found = number(residual)
    return "by NaN" if isnan(found) else share(found)


def _cause(cause: Data) -> dict[str, Any]:
    before, after = number(cause["residual_before"]), number(cause["residual_after"])
    return {
        "found": cause,
        "parameters": [
            (name, str(reference), str(candidate))
            for name, (reference, candidate) in cause["parameters"].items()
        ],
        "before": short(before),
        "after": short(after),
        "falls": after < before,
        "proof": drawing.fall(before, after),
        "inputs": count(cause["inputs"], "input"),
        "heading": say.cause(cause["confirmed"], cause["summary"]),
        "facts": [*cause["evidence"], *map(say.as_likely, cause["alternatives"])],
    }


def _effect(found: Data) -> str:
    """What fixing this one alone does to the outputs."""
    text = say.effect(number(found.get("output_before")), number(found.get("output_after")))
    return say.sentence(text) if text else ""


# --- rows ----------------------------------------------------------------------------------------


def _layer(row: Data, ids: Ids) -> dict[str, Any]:
    found = row["difference"] or {}
    shape = row["reference_shape"] if row["reference_shape"] is not None else row["candidate_shape"]
    relative_difference = number(found.get("relative"))
    return {
        **row,
        "id": ids.take("layer", row["candidate"] or row["reference"]),
        "shape": say.size(shape or ()),
        "largest": short(found["largest"]) if found else "",
        "relative": short(relative_difference) if found else "",
        "rounding": short(row.get("rounding")) if found else "",
        "local": short(row["local"]) if row.get("local") is not None else "",
        "cosine": _cosine(found),
        "masks": found.get("nonfinite_differ", 0),
        "divergence": None,
        "depth": (relative_difference, number(row.get("rounding")), row["verdict"], bool(found)),
    }


def _cosine(found: Data) -> str:
    cosine = number(found.get("cosine"))
    return f"{cosine:.4f}" if isfinite(cosine) else ""


def _link(divergences: Sequence[dict[str, Any]], layers: Sequence[dict[str, Any]]) -> None:
    """Links each divergence to the row of its stage, found by name."""
    free = [row for row in layers if row["verdict"] == "diverged"]
    for divergence in divergences:
        found = divergence["found"]
        # as the table of layers calls the place of an operation
        names = {
            f"{name} ({site['stage']})" if site.get("stage") else name
            for site in (found["candidate"], *found["candidate_region"])
            for name in [site["layer"] or site["source"].rsplit("/", 1)[-1] or site["op"]]
        }
        row = next((row for row in free if row["candidate"] in names), None)
        if row is not None:
            free.remove(row)
            divergence["row"], row["divergence"] = row, divergence


def _rank(layers: Sequence[dict[str, Any]]) -> None:
    """The place of each row when the worst come first: those at fault, then by difference."""
    order = {"diverged": 0, "unmatched": 2, "inherited": 3, "same": 4}

    def badness(at: int) -> tuple[int, float, int]:
        row = layers[at]
        difference = row["depth"][0]
        rank = order.get(row["verdict"], 1)
        return rank, 0.0 if isnan(difference) else -difference, at

    for rank, at in enumerate(sorted(range(len(layers)), key=badness)):
        layers[at]["rank"] = rank


def _note(note: Data) -> dict[str, Any]:
    return {
        "kind": note["kind"],
        "op": note["candidate"]["op"],
        "places": (place(note["reference"]), place(note["candidate"])),
        "differs": _by(note["residual"]),
        "why": [one for one in (note["detail"], say.WHY_NO_FAULT.get(note["kind"])) if one],
    }


def _structure(found: Sequence[Data]) -> Sequence[say.Fold]:
    return say.folded(
        (
            StructuralDifference(**one).headline,
            f"{place(one['reference'])} | {place(one['candidate'])}",
        )
        for one in found
    )


def _output(row: Data) -> dict[str, Any]:
    found, decisions = row["difference"], row["decisions"]
    shapes = say.size(row["reference_shape"]), say.size(row["candidate_shape"])
    largest = short(found["largest"]) if found else "not comparable"
    if found and found["nonfinite_differ"]:
        largest += f" ({found['nonfinite_differ']} NaN or infinite on one side)"
    return {
        "name": row["name"],
        "cells": [
            row.get("verdict", ""),
            shapes[0] if shapes[0] == shapes[1] else f"{shapes[0]} | {shapes[1]}",
            largest,
            short(found["relative"]) if found else "",
            say.size(found["index"]) if found else "",
            *(_exact(found[side]) if found else "" for side in ("reference", "candidate")),
            *(_decisions(decisions) if decisions else ()),
        ],
    }


def _heads(report: Data, found: Data) -> list[str]:
    """What the heads share, as the terminal says it below its outputs."""
    heads = found.get("heads")  # older reports have none
    if not heads:
        return []
    pair = [
        Heads(tuple(_trunk(one) for one in heads[side]["trunks"]), heads[side]["equal"])
        for side in ("reference", "candidate")
    ]
    names = str(report["reference"]["name"]), str(found["candidate"]["name"])
    rows = (row for row in found["outputs"] if not row.get("is_gradient"))
    verdicts = {row["name"]: row["verdict"] for row in rows}
    return [line.strip() for line in say.heads_lines((pair[0], pair[1]), names, verdicts)]


def _trunk(found: Data) -> Trunk:
    return Trunk(**{name: tuple(names) for name, names in found.items()})


def _exact(value: Any) -> str:
    found = number(value)
    return f"{found:.7g}" if isfinite(found) else "NaN" if isnan(found) else short(found)


def _decisions(found: Data) -> list[str]:
    """Greedy choices that agree, ties, margin, the best three that agree, sampling that differs."""
    return [
        _percent(found["greedy"]),
        str(found["ties"]),
        short(found["margin"]),
        _percent(found["top3"]),
        _percent(found["sampled"]),
    ]


def _percent(share: Any) -> str:
    found = number(share)
    return f"{found:.1%}" if isfinite(found) else "–"


def mark(verdict: str) -> str:
    return _MARKS.get(verdict, "≈")


def _severity(verdict: str) -> int:
    return _SEVERITY.index(verdict)
