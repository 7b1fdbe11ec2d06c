"""One random pair: its truth, without this project's code, and what `parity` says of it.

The truth is measured in NumPy: both programs in float64 give the difference that is not rounding.
What rounding could explain is measured by Monte-Carlo arithmetic: the unmutated program, written as
it is on either side, runs in float64 with every constant and every result moved at random by up to
one rounding of float32. A mutation is a fault where an element differs by 32 times the largest of
six such runs or more, and the frameworks' own float32 runs differ by 16 times that or more. It is
none where all differ by a thousandth of that at most. What lies between is counted, not judged.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.attacks.mutations.backends import BACKENDS, TensorFlow, Torch, chainer, tf, torch
from benchmarks.attacks.mutations.in_numpy import NumPy, PlainNumPy
from benchmarks.attacks.mutations.mutate import Mutation, mutate
from benchmarks.attacks.mutations.program import Draw, Layouts, Node, Program, evaluate

FAULTY = 32.0
SHOWN = 16.0
NONE = 1e-3
_RUNS = 6
_EXACT = NumPy()


@dataclass(frozen=True)
class Written:
    """How a program is written on one side: the framework, each node's way, values' layouts."""

    framework: str
    seed: int
    layouts: Layouts
    parameters: bool

    def way(self, node: Node) -> int:
        return int(np.random.default_rng([self.seed, node.id]).integers(6))


@dataclass(frozen=True)
class Pair:
    """A program as it is written on both sides, and its mutation."""

    program: Program
    mutation: Mutation
    reference: Written
    candidate: Written


@dataclass(frozen=True)
class Judged:
    """What came of a pair.

    Attributes:
        truth: `"fault"`, `"none"`, `"between"`, or `"broken: ..."` where the pair itself is.
        faulty, twin: verdicts; "" where nothing was compared.
    """

    seed: int
    kind: str
    about: str
    sides: str
    truth: str
    times: float
    faulty: str = ""
    twin: str = ""

    @property
    def wrong_pass(self) -> bool:
        return self.truth == "fault" and self.faulty == "parity"

    @property
    def alarm(self) -> bool:
        return self.twin == "diverged"

    @property
    def line(self) -> str:
        return json.dumps(self.__dict__)


def pair(seed: int) -> Pair | None:
    """The pair of a seed; None where nothing could be mutated."""
    random = np.random.default_rng([77, seed])
    program = Draw(random, _EXACT).program()
    values = evaluate(program, _EXACT, _wide(program.inputs))
    mutation = mutate(program, values, random)
    if mutation is None:
        return None
    names = [
        ("torch", "tensorflow"),
        ("tensorflow", "torch"),
        ("torch", "chainer"),
        ("chainer", "tensorflow"),
        ("torch", "numpy"),
        ("numpy", "tensorflow"),
    ]
    reference, candidate = names[int(random.choice(6, p=[0.4, 0.3, 0.1, 0.05, 0.1, 0.05]))]
    if "chainer" in (reference, candidate) and "bfloat16" in mutation.about:
        reference, candidate = "torch", "tensorflow"
    layouts = {}
    for node in program.nodes:
        rank = values[node.id].ndim
        if node.op != "input" and rank > 1 and random.random() < 0.2:
            layouts[node.id] = tuple(int(i) for i in random.permutation(rank))
    sides = [
        Written(name, int(random.integers(1 << 30)), kept, bool(random.random() < 0.5))
        for name, kept in ((reference, {}), (candidate, layouts))
    ]
    return Pair(program, mutation, *sides)


def _wide(inputs: Sequence[Any]) -> list[Any]:
    return [a.astype(np.float64) if a.dtype.kind == "f" else a for a in inputs]


# --- the truth ------------------------------------------------------------------------------------


def truth(given: Pair) -> tuple[str, float]:
    """What the mutation is, and how many times its rounding some element differs."""
    program, mutated = given.program, given.mutation.program
    inputs = _wide(program.inputs)
    with np.errstate(all="ignore"):
        try:
            right, wrong = (
                _outputs(one, evaluate(one, _EXACT, inputs)) for one in (program, mutated)
            )
        except (ValueError, IndexError) as error:
            return f"broken: {error}", float("nan")
        rounding = _rounding(given, right)
        reference = plain(program, given.reference)
        try:
            candidate, twin = plain(mutated, given.candidate), plain(program, given.candidate)
        except Exception as error:
            return f"broken: {type(error).__name__}: {str(error)[:80]}", float("nan")
        if _times(reference, twin, rounding) > FAULTY:
            return "broken: the twin is not the program", _times(reference, twin, rounding)
        times, shown = _times(right, wrong, rounding), _times(reference, candidate, rounding)
    if times >= FAULTY and shown >= SHOWN:
        return "fault", min(times, 1e30)
    return ("none" if times <= NONE and shown <= FAULTY else "between"), times


def _outputs(program: Program, values: dict[int, Any]) -> list[Any]:
    return [values[one] for one in program.outputs]


def _rounding(given: Pair, right: list[Any]) -> list[Any]:
    """How far rounding may move each element."""
    random = np.random.default_rng(0)
    most = [2.0**-24 * np.abs(one) + 1e-38 for one in right]
    for run in range(_RUNS):
        written = (given.reference, given.candidate)[run % 2]
        xp = NumPy(noise=random)
        inputs = [xp.const(one) for one in _wide(given.program.inputs)]
        values = evaluate(given.program, xp, inputs, written.way)
        for bound, a, b in zip(most, right, _outputs(given.program, values), strict=True):
            np.fmax(bound, np.abs(a - b), out=bound)
    return most


def _times(reference: list[Any], candidate: list[Any], rounding: list[Any]) -> float:
    largest = 0.0
    for a, b, most in zip(reference, candidate, rounding, strict=True):
        if a.shape != b.shape:
            return float("inf")
        gap = np.abs(a.astype(np.float64) - b)
        gap = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, gap)
        gap = np.where(np.isfinite(gap), gap, np.inf)
        largest = max(largest, float((gap / most).max(initial=0)))
    return largest


# --- the models -----------------------------------------------------------------------------------


def model(program: Program, written: Written) -> Any:
    """A program as a model of a framework, over its inputs; outputs come as a tuple."""
    xp: Any
    if written.framework == "numpy":
        xp = PlainNumPy()
    else:
        xp = BACKENDS[written.framework](written.parameters)
        for node in program.nodes:
            for item in node.p.values():
                if isinstance(item, np.ndarray) and item.dtype.kind == "f":
                    xp.const(item)

    def run(*inputs: Any) -> Any:
        values = evaluate(program, xp, inputs, written.way, written.layouts)
        return tuple(_outputs(program, values))

    if written.framework == "torch" and written.parameters:
        return _TorchNet(xp, run)
    if written.framework == "tensorflow" and written.parameters:
        return _TensorFlowNet(xp, run)
    return run


class _TorchNet(torch.nn.Module):
    def __init__(self, xp: Torch, run: Any) -> None:
        super().__init__()
        tensors = [tensor for _, tensor in xp.held.values()]
        self.held = torch.nn.ParameterList(
            [one for one in tensors if isinstance(one, torch.nn.Parameter)]
        )
        self._run = run

    def forward(self, *inputs: Any) -> Any:
        return self._run(*inputs)


class _TensorFlowNet(tf.Module):
    def __init__(self, xp: TensorFlow, run: Any) -> None:
        super().__init__()
        self.held = [one for _, one in xp.held.values() if isinstance(one, tf.Variable)]
        self._run = run

    def __call__(self, *inputs: Any) -> Any:
        return self._run(*inputs)


def plain(program: Program, written: Written) -> list[Any]:
    """What a user gets who runs the model."""
    make: dict[str, Any] = {
        "torch": lambda a: torch.from_numpy(a.copy()),
        "tensorflow": tf.constant,
        "chainer": lambda a: chainer.Variable(a) if a.dtype.kind == "f" else a,
        "numpy": np.array,
    }
    result = model(program, written)(*map(make[written.framework], program.inputs))
    return [_array(one) for one in result]


def _array(tensor: Any) -> Any:
    if isinstance(tensor, torch.Tensor):
        return tensor.detach().numpy()
    if isinstance(tensor, chainer.Variable):
        return tensor.array
    return np.asarray(tensor)


# --- the verdict ----------------------------------------------------------------------------------


def report(given: Pair, *programs: Program) -> Any:
    """The report on programs as the candidate writes them, against the unmutated reference."""
    import parity

    reference = parity.wrap(model(given.program, given.reference), given.reference.framework)
    candidates = [
        parity.wrap(model(one, given.candidate), given.candidate.framework) for one in programs
    ]
    return parity.compare(reference, *candidates, inputs=tuple(given.program.inputs))


def judged(seed: int) -> Judged | None:
    """The result of a seed."""
    given = pair(seed)
    if given is None:
        return None
    found, times = truth(given)
    sides = f"{given.reference.framework} {given.candidate.framework}"
    known = (seed, given.mutation.kind, given.mutation.about, sides, found, times)
    if found.startswith("broken"):
        return Judged(*known)
    both = given.mutation.program, given.program
    if found == "between":
        return Judged(*known, "", _verdict(given, given.program))
    try:
        return Judged(*known, *(str(one.verdict) for one in report(given, *both).comparisons))
    except Exception:  # of which of the two is seen when each is compared alone
        return Judged(*known, *(_verdict(given, one) for one in both))


def _verdict(given: Pair, program: Program) -> str:
    from parity.errors import ParityError

    try:
        return str(report(given, program).verdict)
    except ParityError as error:
        return f"refused: {str(error).partition(chr(10))[0]}"
    except Exception as error:
        return f"crash: {type(error).__name__}: {error}"
