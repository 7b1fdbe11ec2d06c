"""Outputs beside the traced ones: what the host computed, and leaves that hold no numbers.

A number that a model computed with Python or NumPy has no history on the tape: all that is known
is what it was, so no replay says what rounding did to it. A string, a member of an enum or None is
equal or not. Of an object of any other kind nothing is known unless both models gave an equal one:
then the comparison says that it was left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time, timedelta
from enum import Enum
from pathlib import PurePath
from types import CellType, FunctionType, MethodType
from typing import Any

import numpy as np

from parity.diagnosis.region import OutputPair
from parity.diagnosis.replayed import PlainRun
from parity.diagnosis.written_numbers import equal_but_for_digits
from parity.errors import ParityError
from parity.numerics.difference import residual
from parity.numerics.rounding import U32
from parity.objects import Private, Setting
from parity.outputs import Outputs as Flat
from parity.outputs import Repeated
from parity.tape import Array, Tape

# Equal but for the last bits of float32, as a constant that is rounded once more.
_EQUAL = 4 * U32
# So far apart are numbers that two frameworks compute in float32, but for chaotic models.
_COMPUTED = 64 * U32
# More than rounding leaves in float32 but for chaotic models; what lies between is not told.
_APART = 2.0**-10
_SHOWN = 60  # characters of a leaf in a message


@dataclass
class Beside:
    """What the outputs beside the traced ones came to.

    Attributes:
        apart: reasons why outputs differ, by name.
        unverified: of those that were not compared, what each is.
        doubts: why a comparison of what the host computed tells nothing.
        verdicts: of the outputs that the host computed, by name.
    """

    apart: dict[str, str] = field(default_factory=dict)
    unverified: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    verdicts: dict[str, str] = field(default_factory=dict)


def by_value(reference: Tape, candidate: Tape, pair: OutputPair) -> bool:
    """Whether a pair of outputs can be held against each other by what was recorded only."""
    return any(
        value in (tape.outputs[name] for name in tape.by_value)
        for tape, value in ((reference, pair.reference), (candidate, pair.candidate))
    )


def judge_beside(
    reference: Tape,
    candidate: Tape,
    pairs: Sequence[OutputPair],
    plain: Sequence[PlainRun] = (),
) -> Beside:
    """Compares what the tapes cannot replay, and says what nobody compared.

    Args:
        plain: how both are run without being recorded.
    """
    found = Beside()
    for pair in pairs:
        if by_value(reference, candidate, pair):
            _compare_recorded(found, reference, candidate, pair, plain)
    _compare_leaves(found, reference, candidate, plain)
    _nothing_dropped(found, reference, candidate, pairs)
    return found


def _recorded(tape: Tape, value: int) -> Array:
    return tape.adapter.to_numpy(tape.recorded[value])


def _compare_recorded(
    found: Beside,
    reference: Tape,
    candidate: Tape,
    pair: OutputPair,
    plain: Sequence[PlainRun],
) -> None:
    ours, theirs = _recorded(reference, pair.reference), _recorded(candidate, pair.candidate)
    if ours.shape != theirs.shape:
        found.verdicts[pair.name] = "diverged"  # the shapes are told with the others'
        return
    gap = residual(_wide(ours), _wide(theirs))
    beside = max(gap, _of_one_element(ours, theirs))
    covered = _is_covered(ours, theirs, pair, plain)
    if beside <= _EQUAL and covered is not False:
        found.verdicts[pair.name] = "parity"
        return
    who = reference if pair.reference in _by_host(reference) else candidate
    values = pair.reference, pair.candidate
    runs = zip(plain, values, strict=False)
    changing = next((run.tape for run, value in runs if _changes(run, value)), None)
    if changing is not None or covered or gap <= _APART:
        found.verdicts[pair.name] = "unverified"
        found.doubts.append(
            f"output {pair.name!r} of {changing.model} is another one in every run, as a time that "
            "was taken: it cannot be compared. Leave it out, or return what it is made of"
            if changing is not None
            else f"output {pair.name!r} of {who.model} is computed by Python or NumPy, where it "
            f"cannot be followed, and differs by {beside:.1e} of its size, or by more in a small "
            "element: rounding cannot be told "
            "from a fault. Compute it with the framework's operations, or return what it is made of"
        )
        return
    found.verdicts[pair.name] = "diverged"
    found.apart[pair.name] = (
        f"output {pair.name!r}, which {who.model} computes by Python or NumPy, is "
        f"{_brief(ours)} in {reference.model} and {_brief(theirs)} in {candidate.model}"
    )


def _of_one_element(ours: Array, theirs: Array) -> float:
    """The largest difference of an element, of its own size and at least that of most others."""
    if ours.dtype.kind != "f" or theirs.dtype.kind != "f" or not ours.size:
        return 0.0
    a, b = _wide(ours), _wide(theirs)
    finite = np.isfinite(a) & np.isfinite(b)
    size = np.abs(a[finite])
    gap = np.abs(a[finite] - b[finite])
    if not gap.any():
        return 0.0
    least = float(np.median(size)) or float(size.max())
    return float(np.max(gap / np.maximum(size, least))) if least else float("inf")


def _is_covered(
    ours: Array, theirs: Array, pair: OutputPair, plain: Sequence[PlainRun]
) -> bool | None:
    """Whether each element differs by no more than it does where the inputs move by a rounding.

    Returns:
        None where that cannot be measured.
    """
    if ours.dtype.kind != "f" or theirs.dtype.kind != "f" or not plain:
        return None
    moved = np.zeros(ours.shape)
    for one, value, recorded in zip(
        plain, (pair.reference, pair.candidate), (ours, theirs), strict=True
    ):
        names = [name for name, number in one.tape.outputs.items() if number == value]
        for again in _nudged(one):
            array = again.get(names[0])
            if array is None or array.shape != recorded.shape:
                return None
            moved = np.fmax(moved, np.abs(_wide(array) - _wide(recorded)))
    a, b = _wide(ours), _wide(theirs)
    allowed = _ROUNDINGS * moved + _COMPUTED * np.maximum(np.abs(a), np.abs(b))
    return bool(((a == b) | (np.abs(a - b) <= allowed) | (np.isnan(a) & np.isnan(b))).all())


# A computation rounds as often as this, where its inputs were rounded once.
_ROUNDINGS = 64.0


def _nudged(plain: PlainRun) -> Sequence[Mapping[str, Any]]:
    """Runs of a model whose inputs moved by a rounding."""
    if plain.nudged is None:
        return []
    try:
        return [plain.nudged(seed, None) for seed in range(_NUDGES)]
    except ParityError:  # moved inputs are outside what it takes
        return []


def _changes(plain: PlainRun, value: int) -> bool:
    """Whether what the host computed for an output is another number in another run."""
    tape = plain.tape
    names = [name for name in tape.by_value if tape.outputs[name] == value]
    try:
        again = plain.run() if names else {}
    except ParityError:  # told where the tape is held against that run
        return False
    recorded = _recorded(tape, value)
    return any(name in again and not _alike(recorded, again[name]) for name in names)


def _alike(a: Array, b: Array) -> bool:
    return a.shape == b.shape and residual(_wide(a), _wide(b)) <= _EQUAL


def _by_host(tape: Tape) -> set[int]:
    return {tape.outputs[name] for name in tape.by_value}


def _wide(array: Array) -> Array:
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _compare_leaves(
    found: Beside, reference: Tape, candidate: Tape, plain: Sequence[PlainRun]
) -> None:
    runs = plain or (None, None)
    ours = _held_against(reference, candidate, runs[0])
    theirs = _held_against(candidate, reference, runs[1])
    if in_order(reference, candidate, ours, theirs):
        theirs = dict(zip(ours, theirs.values(), strict=True))
    for name in dict.fromkeys((*ours, *theirs)):
        if name in ours and name in theirs:
            sides = (reference, ours[name]), (candidate, theirs[name])
            _compare_leaf(found, name, *sides, plain)
            continue
        holder, other = (reference, candidate) if name in ours else (candidate, reference)
        leaf = ours.get(name, theirs.get(name))
        # None against nothing holds no values; None against a tensor is told with that tensor
        if leaf is not None and name not in other.outputs:
            found.unverified.append(
                f"output {name!r} of {holder.model}, {_told(leaf)}, is missing in {other.model}"
            )


def in_order(
    reference: Tape, candidate: Tape, ours: Mapping[str, Any], theirs: Mapping[str, Any]
) -> bool:
    """Whether outputs are paired in their order: as many, of other names and equal numbers in keys.

    A key that is a number is data, as an item's id: an item of another id is another item.
    """
    return (
        not set(ours) & set(theirs)
        and len(ours) == len(theirs)
        and all(
            reference.numbers.get(a) == candidate.numbers.get(b)
            for a, b in zip(ours, theirs, strict=True)
        )
    )


def apart(ours: Any, theirs: Any) -> bool:
    """Whether two leaves are what they show, and differ."""
    plain = _is_plain(ours) and _is_plain(theirs)
    return plain and not _equal(ours, theirs) and not equal_but_for_digits(ours, theirs)


def _held_against(tape: Tape, other: Tape, plain: PlainRun | None) -> dict[str, Any]:
    """The leaves of a model, without the settings that the other one's object has not.

    What is another number for other samples, as an action, is no setting.
    """
    return {
        name: leaf.value if isinstance(leaf, Setting) else leaf
        for name, leaf in tape.other_outputs.items()
        if not isinstance(leaf, Setting)
        or name in other.other_outputs
        or plain is not None
        and _follows_the_inputs(plain, name, leaf)
    }


def _follows_the_inputs(plain: PlainRun, name: str, leaf: Setting) -> bool:
    for at in range(len(plain.orders)):
        try:
            found = plain.elsewhere(at, None) if plain.elsewhere is not None else None
        except ParityError:  # it takes no samples in this order
            continue
        if isinstance(found, Flat) and found.others.get(name, leaf) != leaf:
            return True
    return False


def _compare_leaf(
    found: Beside,
    name: str,
    ours: tuple[Tape, Any],
    theirs: tuple[Tape, Any],
    plain: Sequence[PlainRun],
) -> None:
    if _equal(ours[1], theirs[1]):
        return
    if equal_but_for_digits(ours[1], theirs[1]):
        # bytes may be anything: they are numbers if the last digits of the inputs change them
        if isinstance(ours[1], bytes) and not all(_is_of_digits(one, name) for one in plain):
            found.unverified.append(
                f"output {name!r} is bytes that are equal if they hold numbers, but for rounding: "
                "return the numbers"
            )
        return
    if _is_plain(ours[1]) and _is_plain(theirs[1]):
        found.apart[name] = (
            f"output {name!r} is {_brief(ours[1])} in {ours[0].model} and {_brief(theirs[1])} in "
            f"{theirs[0].model}"
        )
        return
    tape, leaf = theirs if _is_plain(ours[1]) else ours
    found.unverified.append(
        f"output {name!r} of {tape.model} is {_told(leaf)}, which is not compared: return the "
        "tensors that it holds, by name or as a tuple"
    )


def _is_of_digits(plain: PlainRun, name: str) -> bool:
    """Whether a leaf is another one where the inputs move by a rounding."""
    leaf = plain.tape.other_outputs.get(name)
    runs = [one for one in _nudged(plain) if isinstance(one, Flat)]
    return any(not _equal(leaf, one.others.get(name)) for one in runs)


_NUDGES = 2


def _nothing_dropped(
    found: Beside, reference: Tape, candidate: Tape, pairs: Sequence[OutputPair]
) -> None:
    """Every output is in a pair, or is missing on the other side, which is told there."""
    paired = {pair.reference for pair in pairs}, {pair.candidate for pair in pairs}
    for tape, other, values in zip(
        (reference, candidate), (candidate, reference), paired, strict=True
    ):
        for name, value in tape.outputs.items():
            if value not in values and name in other.outputs:
                found.unverified.append(f"output {name!r} of {tape.model} was not compared")


def missing(name: str, holder: Tape, other: Tape) -> str:
    """What is said of an output that only one model has."""
    leaf = other.other_outputs.get(name, other)
    if leaf is other:
        return f"output {name!r} of {holder.model} is missing in {other.model}"
    return (
        f"output {name!r} is a tensor of shape {holder.values[holder.outputs[name]].shape} in "
        f"{holder.model} and {_told(leaf)} in {other.model}"
    )


# --- leaves --------------------------------------------------------------------------------------

_PLAIN = (str, bytes, bool, int, float, complex, date, time, timedelta, PurePath, Enum, Repeated)


def _is_plain(leaf: Any) -> bool:
    """Whether a leaf is what it shows: two that differ are a difference."""
    if isinstance(leaf, (set, frozenset)):
        return all(map(_is_plain, leaf))
    if isinstance(leaf, (np.ndarray, np.generic)):
        return leaf.dtype.kind in "SUMm"
    return leaf is None or isinstance(leaf, _PLAIN) or _dtype_name(leaf) != ""


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, Enum) and isinstance(b, Enum) and type(a) is not type(b):
        named = (type(a).__name__, a.name) == (type(b).__name__, b.name)
        plain = all(type(one.value) is not object for one in (a, b))
        return named and (not plain or _equal(a.value, b.value))
    if isinstance(a, FunctionType) and isinstance(b, FunctionType):
        return _same_function(a, b)
    if isinstance(a, MethodType) and isinstance(b, MethodType):
        return a.__func__ is b.__func__ and _hold_the_same(a.__self__, b.__self__)
    if isinstance(a, Private) and isinstance(b, Private):
        arrays = [one for one in (a.value, b.value) if isinstance(one, np.ndarray)]
        if len(arrays) == 2 and all(one.dtype.kind == "f" for one in arrays):
            return residual(_wide(arrays[0]), _wide(arrays[1])) <= _COMPUTED
        return _equal(a.value, b.value)
    a, b = _as_text(a), _as_text(b)
    if _dtype_name(a) and _dtype_name(b):
        return _dtype_name(a) == _dtype_name(b)
    if isinstance(a, (np.ndarray, np.generic)) or isinstance(b, (np.ndarray, np.generic)):
        ours, theirs = np.asarray(a), np.asarray(b)
        times = ours.dtype.kind in "mM" and theirs.dtype.kind in "mM"  # NaT is NaT
        return bool(np.array_equal(ours, theirs, equal_nan=times))
    try:
        return bool(a is b or a == b)
    except (TypeError, ValueError, RuntimeError):  # of an object that compares element by element
        return False


def _as_text(leaf: Any) -> Any:
    """Bytes as the text that they are, as in TensorFlow's tensors of strings."""
    try:
        if isinstance(leaf, bytes):
            return leaf.decode()
        if isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind == "S":
            return np.char.decode(leaf, "utf-8")
    except UnicodeDecodeError:
        pass
    return leaf


def _same_function(a: FunctionType, b: FunctionType) -> bool:
    """Whether two functions are one piece of code made with equal values."""
    ours, theirs = _made_with(a), _made_with(b)
    return (a.__code__ is b.__code__ and len(ours) == len(theirs)) and all(
        x is y or not isinstance(x, FunctionType) and _equal(x, y)
        for x, y in zip(ours, theirs, strict=True)
    )


def _hold_the_same(a: object, b: object) -> bool:
    """Whether two objects of one class have equal attributes; what else they hold is not known."""
    if type(a) is not type(b) or not all(hasattr(one, "__dict__") for one in (a, b)):
        return a is b
    ours, theirs = vars(a), vars(b)
    return ours.keys() == theirs.keys() and all(_equal(ours[name], theirs[name]) for name in ours)


def _made_with(function: FunctionType) -> list[Any]:
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    cells = [cell for cell in function.__closure__ or () if cell != CellType()]  # or it is empty
    return [*defaults, *(cell.cell_contents for cell in cells)]


def _dtype_name(leaf: Any) -> str:
    """The name of a framework's dtype, as `float32`; "" of anything else."""
    if isinstance(leaf, np.dtype):
        return str(leaf.name)
    if type(leaf).__name__ not in ("dtype", "DType"):
        return ""
    return str(getattr(leaf, "name", leaf)).removeprefix("torch.")


def _told(leaf: Any) -> str:
    if _is_plain(leaf):
        return _brief(leaf)
    if isinstance(leaf, Private):
        return f"{_told(leaf.value)} in a private attribute"
    kind = type(leaf)
    return f"a {kind.__module__}.{kind.__qualname__}".replace("builtins.", "")


def _brief(leaf: Any) -> str:
    if isinstance(leaf, (np.ndarray, np.generic)):
        leaf = leaf.item() if np.ndim(leaf) == 0 else leaf
    array = isinstance(leaf, np.ndarray)
    text = np.array2string(leaf, threshold=6, precision=6) if array else repr(leaf)
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
