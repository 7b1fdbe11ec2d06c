"""Recurrent cells: the tensors of each framework's own, as kernel, recurrent kernel and biases.

Every cell is brought to one arrangement: rows gate by gate, each with all its units, gates in the
order i, f, g, o of an LSTM and r, z, n of a GRU; so (gates x units, in) for the kernel.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from parity.architecture.program import Program
from parity.tape import Array
from parity.weights.element_index import Addresses
from parity.weights.handwritten_cells import Written, written
from parity.weights.operands import Part

Terms = list[tuple[float | Array, Array]]  # addresses, each with the sign of what is there

_TORCH = re.compile(r"(.*?)(?:weight|bias)_(?:ih|hh)(_l\d+)?(_reverse)?$")
_KERAS = re.compile(r"(.*/)?(kernel|recurrent_kernel|bias)$")
_CHAINER = re.compile(r"(.*/)([wb]\d+|(?:upward|lateral|[WU](?:_[rz])?)/[Wb])$")
_GATES_OF_KERAS = {3: (1, 0, 2)}  # z, r, h; an LSTM's are in our order
_INTERLEAVED = (1, 2, 0, 3)  # Chainer's a, i, f, o
_CELL_OPS = frozenset(("recurrence",))


@dataclass(eq=False)
class Cell:
    """One direction of one layer.

    Attributes:
        name: what its tensors' names have in common.
        roles: kernel, recurrent kernel, bias, recurrent bias.
        first: index of the first operation that reads it.
        step: number of the step that it is in, with others perhaps.
        skips: whether its first turn leaves out the recurrent biases, as Chainer's `L.GRU` does.
    """

    name: str
    gates: int
    units: int
    roles: dict[str, Terms]
    tensors: frozenset[int]
    first: int = -1
    step: int = -1
    skips: bool = False
    parts: dict[str, Part] = field(default_factory=dict)

    @property
    def key(self) -> tuple[int, int, int]:
        return self.gates, self.units, self.roles["kernel"][0][1].shape[1]


def cells(program: Program, addresses: Addresses) -> list[Cell]:
    """The cells of a model whose tape has recurrences, in the order in which they first run."""
    recurrent = [n for n, step in enumerate(program.steps) if step.kind in _CELL_OPS]
    if not recurrent:
        return []
    tape = program.graph.tape
    pattern, read = _BY_FRAMEWORK[tape.framework]
    groups: dict[str, dict[str, Array]] = {}
    for number, tensor in enumerate(addresses.tensors):
        for name in tensor.names:
            match = pattern.match(name)
            if match:
                own = addresses.own(number)
                groups.setdefault(_group(match), {})[_role(match, name)] = own
    found = [_from_written(addresses, one) for one in written(program, addresses)]
    taken = {number for cell in found for number in cell.tensors}
    for name, tensors in groups.items():
        cell = read(name, tensors)
        if cell is None:
            continue
        cell.tensors = frozenset(n for own in tensors.values() for n in addresses.tensors_in(own))
        cell.first = _first(program, addresses, cell.tensors)
        cell.skips = "recurrent bias" in cell.roles and not _recurs(cell, addresses)
        if cell.first >= 0 and not cell.tensors & taken:
            found.append(cell)
    for cell in found:
        _make_parts(program, cell)
    return sorted(found, key=lambda cell: cell.first)


def _from_written(addresses: Addresses, one: Written) -> Cell:
    tensors = frozenset(
        n for terms in one.roles.values() for _, own in terms for n in addresses.tensors_in(own)
    )
    return Cell("", one.gates, one.units, one.roles, tensors, one.first, one.step, one.skips)


def _group(match: re.Match[str]) -> str:
    if match.re is _TORCH:  # a layer and a direction each have their own
        return "".join(part or "" for part in match.groups())
    return match[1] or ""


def _role(match: re.Match[str], name: str) -> str:
    if match.re is _TORCH:
        return re.sub(r"(_l\d+)?(_reverse)?$", "", name.removeprefix(match[1]))
    return match[2]


def _recurs(cell: Cell, addresses: Addresses) -> bool:
    """Whether any operation reads the recurrent weights: Chainer's GRU has none at its first."""
    read = set(addresses.leaves.values())
    return any(
        not read.isdisjoint(addresses.tensors_in(own)) for _, own in cell.roles["recurrent kernel"]
    )


def _first(program: Program, addresses: Addresses, tensors: frozenset[int]) -> int:
    """The first operation that computes with a cell's tensors, and for the outputs."""
    tape, live = program.graph.tape, program.graph.live
    leaves = [leaf for leaf, number in addresses.leaves.items() if number in tensors]
    seen, stack, found = set(leaves), list(leaves), []
    while stack:
        for index in tape.consumers[stack.pop()]:
            op = tape.ops[index]
            if op.role != "move":
                found += [index] if index in live else []
            else:
                stack.extend(v for v in op.outputs if v not in seen)
                seen.update(op.outputs)
    return min(found, default=-1)


def _make_parts(program: Program, cell: Cell) -> None:
    graph = program.graph
    owner = graph.owner.get(cell.first)
    if cell.step < 0 and owner is not None:
        cell.step = program.steps.index(owner)
    op = graph.tape.ops[cell.first]
    width = cell.key[2]
    shapes = graph.tape.values
    live = [v for v in op.inputs if not graph.is_static(v) and shapes[v].shape[-1:] == (width,)]
    for role, terms in cell.roles.items():
        enters = live[0] if role == "kernel" and live else None
        cell.parts[role] = Part(cell.step, role, lambda terms=terms: terms, enters)  # type: ignore[misc]


def _torch(name: str, own: Mapping[str, Array]) -> Cell | None:
    if not {"weight_ih", "weight_hh"} <= set(own):
        return None
    units = own["weight_hh"].shape[1]
    roles: dict[str, Terms] = {
        "kernel": [(1.0, own["weight_ih"])],
        "recurrent kernel": [(1.0, own["weight_hh"])],
    }
    biases = [own[key] for key in ("bias_ih", "bias_hh") if key in own]
    return _cell(name, units, roles, biases)


def _keras(name: str, own: Mapping[str, Array]) -> Cell | None:
    if not {"kernel", "recurrent_kernel"} <= set(own):
        return None
    units, columns = own["recurrent_kernel"].shape
    order = _GATES_OF_KERAS.get(columns // units, tuple(range(columns // units)))

    def rows(array: Array) -> Array:  # (..., gates x units) to (gates x units, ...)
        gates = array.reshape(*array.shape[:-1], len(order), units)[..., order, :]
        return np.moveaxis(gates.reshape(*array.shape), -1, 0)

    roles: dict[str, Terms] = {
        "kernel": [(1.0, rows(own["kernel"]))],
        "recurrent kernel": [(1.0, rows(own["recurrent_kernel"]))],
    }
    bias = own.get("bias")
    biases = [] if bias is None else [rows(one) for one in np.atleast_2d(bias)]
    return _cell(name, units, roles, biases)


def _chainer(name: str, own: Mapping[str, Array]) -> Cell | None:
    if "w0" in own:
        half = len([key for key in own if key[0] == "w"]) // 2
        first, second = range(half), range(half, 2 * half)
        roles: dict[str, Terms] = {
            "kernel": [(1.0, np.concatenate([own[f"w{k}"] for k in first]))],
            "recurrent kernel": [(1.0, np.concatenate([own[f"w{k}"] for k in second]))],
        }
        biases = [np.concatenate([own[f"b{k}"] for k in half_]) for half_ in (first, second)]
        return _cell(name, own["w0"].shape[0], roles, biases)
    if "upward/W" in own and "lateral/W" in own:
        units = own["lateral/W"].shape[1]

        def rows(array: Array) -> Array:
            gates = array.reshape(units, 4, *array.shape[1:])[:, list(_INTERLEAVED)]
            return np.moveaxis(gates, 1, 0).reshape(array.shape)

        roles = {
            "kernel": [(1.0, rows(own["upward/W"]))],
            "recurrent kernel": [(1.0, rows(own["lateral/W"]))],
        }
        return _cell(name, units, roles, [rows(own["upward/b"])] if "upward/b" in own else [])
    if {"W_r/W", "W_z/W", "W/W", "U_r/W", "U_z/W", "U/W"} <= set(own):
        units = own["U/W"].shape[0]
        # its update gate is the complement of the others', so all that makes it is negated
        sign = np.repeat([1.0, -1.0, 1.0], units)
        both: dict[str, list[Array]] = {
            key: [own[f"{side}{gate}/{key}"] for side in "WU" for gate in ("_r", "_z", "")]
            for key in "Wb"
            if f"W/{key}" in own
        }
        roles = {
            "kernel": [(sign[:, None], np.concatenate(both["W"][:3]))],
            "recurrent kernel": [(sign[:, None], np.concatenate(both["W"][3:]))],
        }
        found = _cell(name, units, roles, [])
        if "b" in both:
            found.roles["bias"] = [(sign, np.concatenate(both["b"][:3]))]
            found.roles["recurrent bias"] = [(sign, np.concatenate(both["b"][3:]))]
        return found
    return None


def _cell(name: str, units: int, roles: dict[str, Terms], biases: list[Array]) -> Cell:
    gates = roles["kernel"][0][1].shape[0] // units
    if biases:
        roles["bias"] = [(1.0, biases[0])]
    if len(biases) == 2:
        roles["recurrent bias"] = [(1.0, biases[1])]
    return Cell(name.rstrip("./_"), gates, units, roles, frozenset())


_BY_FRAMEWORK = {
    "torch": (_TORCH, _torch),
    "tensorflow": (_KERAS, _keras),
    "chainer": (_CHAINER, _chainer),
}


def same_biases(ours: Cell, theirs: Cell) -> None:
    """Adds up the biases of both where one has but one."""
    if {"bias", "recurrent bias"} <= set(ours.roles) & set(theirs.roles):
        return
    for cell in (ours, theirs):
        second = cell.roles.pop("recurrent bias", None)
        cell.parts.pop("recurrent bias", None)
        if second is not None and "bias" in cell.roles:
            terms = [*cell.roles["bias"], *second]
            cell.roles["bias"] = terms
            cell.parts["bias"].find = lambda terms=terms: terms  # type: ignore[misc]


def pair_cells(
    ours: Sequence[Cell], theirs: Sequence[Cell], steps: Mapping[int, int], notes: list[str]
) -> list[tuple[Cell, Cell]]:
    """Cells of one size: those alone in steps that belong together, the others as they run."""
    pairs = []
    for key, count in Counter(cell.key for cell in ours).items():
        left = [cell for cell in ours if cell.key == key]
        right = [cell for cell in theirs if cell.key == key]
        if len(left) != len(right):
            notes.append(
                f"the source has {count} recurrent cell(s) of {key[1]} units over {key[2]} "
                f"features, the target {len(right)}: they are left over"
            )
            continue
        partners = _by_step(right)
        for step, cell in _by_step(left).items():
            other = partners.get(steps.get(step, -1))
            if cell is not None and other is not None:
                pairs.append((cell, other))
                left.remove(cell)
                right.remove(other)
        pairs += list(zip(left, right, strict=True))
    for one, other in pairs:
        if one.skips != other.skips:
            notes.append(
                f"the recurrent cell of the {'source' if one.skips else 'target'} leaves out its "
                "recurrent biases at the first step, as Chainer's L.GRU does, and the other's does "
                "not: they agree only where those biases are zero"
            )
    return pairs


def _by_step(cells: Sequence[Cell]) -> dict[int, Cell | None]:
    """The cell of each step; None where there are several."""
    counts = Counter(cell.step for cell in cells)
    return {cell.step: cell if counts[cell.step] == 1 else None for cell in cells}
