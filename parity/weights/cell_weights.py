"""The weights of a recurrent cell in one arrangement, whatever a framework calls and orders them.

Rows stand gate by gate, each with all its units, in the order i, f, g, o of an LSTM and r, z, n of
a GRU; so (gates x units, in) for the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from parity.tape import Array

Terms = list[tuple[float | Array, Array]]  # addresses, each with the sign of what is there


@dataclass(frozen=True)
class CellWeights:
    """One direction of one layer.

    Attributes:
        roles: kernel, recurrent kernel, bias, recurrent bias.
        tensors: names of its tensors.
    """

    units: int
    roles: dict[str, Terms]
    tensors: Collection[str] = ()

    @property
    def gates(self) -> int:
        return int(self.roles["kernel"][0][1].shape[0]) // self.units


def weights_of_cell(
    units: int, kernel: Array, recurrent: Array, biases: Sequence[Array], sign: Array | None = None
) -> CellWeights:
    """A cell of arrays that are in the common arrangement.

    Args:
        biases: of the input's product and of the state's; or one alone, or none.
        sign: of each row, where some hold the negative of what is meant.
    """
    rows, columns = (1.0, 1.0) if sign is None else (sign, sign[:, None])
    roles: dict[str, Terms] = {
        "kernel": [(columns, kernel)],
        "recurrent kernel": [(columns, recurrent)],
    }
    for role, bias in zip(("bias", "recurrent bias"), biases, strict=False):
        roles[role] = [(rows, bias)]
    return CellWeights(units, roles)


def cells_by_name(
    names: Collection[str],
    read: Callable[[str], Array],
    pattern: re.Pattern[str],
    reader: Callable[[Mapping[str, Array]], CellWeights | None],
) -> Iterator[CellWeights]:
    """The cells whose tensors' names are a common part and that of a role.

    Args:
        pattern: with the groups `cell` (or several that begin so) and `role`.
        reader: makes a cell of its tensors by role, if they are one.
    """
    groups: dict[str, dict[str, str]] = {}
    for name in names:
        if match := pattern.match(name):
            common = "".join(
                part or "" for key, part in match.groupdict().items() if key.startswith("cell")
            )
            groups.setdefault(common, {})[match["role"]] = name
    for own in groups.values():
        found = reader({role: read(name) for role, name in own.items()})
        if found is not None:
            yield CellWeights(found.units, found.roles, own.values())
