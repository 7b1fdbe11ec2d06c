"""Do graphs draw as the code does that they were traced from?

The bodies of `tf.function`s are recorded as they run without graphs. A graph is what its code was
when it was traced: with settings that it had then, with seeds that it was given then. Where draws
change what a model gives, the graphs' runs and those of the code are two samples of what may be two
laws. They are held against each other by some statistics of each output, and by how outputs go
together over all their elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from parity.diagnosis import limits
from parity.numerics.accounting import in_reals
from parity.numerics.difference import residual
from parity.tape import Array, Tape


def graphs_draw_otherwise(
    tape: Tape,
    graphs: Callable[[int], Mapping[str, Array]],
    code: Callable[[int], Mapping[str, Array]],
    drawn: Collection[str],
) -> str:
    """Says so where the graphs of a model give values of another law than their code; "" if not.

    Args:
        graphs, code: run the model with either, on other random numbers at each turn.
        drawn: the outputs that draws change.
    """
    names = [name for name in tape.outputs if name in drawn and name not in tape.by_value]
    found: list[list[Array]] = []
    others: list[list[Array]] = []
    given = sum(tape.values[value].size for op in tape.ops for value in op.outputs)
    for runs in limits.GRAPH_LOOKS:
        if found and (
            runs * len(tape.ops) > limits.GRAPH_OPERATIONS or runs * given > limits.GRAPH_VALUES
        ):
            break
        turns = range(len(found), runs)
        found += [_outputs(graphs(turn + 1), names) for turn in turns]
        others += [_outputs(code(limits.GRAPH_STREAM + turn), names) for turn in turns]
        if len({tuple(map(np.shape, one)) for one in (*found, *others)}) != 1:
            return ""  # draws decide how many there are
        if min(map(_different, (found, others))) < runs // 2:
            return ""  # a generator that is put back gives the same again, or little is drawn
        what = _difference(names, found, others)
        if what:
            return (
                f"as its user calls it {tape.model} gives random numbers of another law than its "
                f"code does: {what}, over {runs} runs of its graphs and {runs} without them. A "
                "tf.function keeps the settings and seeds with which it was traced: trace it when "
                "all is set, and draw in each by a generator of its own"
            )
    return ""


def _difference(
    names: Sequence[str], found: Sequence[Sequence[Array]], others: Sequence[Sequence[Array]]
) -> str:
    """Where the runs of both differ by more than chance leaves; "" if nowhere."""

    def of_each(rows: Callable[[Sequence[Array]], Array]) -> list[tuple[str, Array, Array]]:
        runs = (map(rows, zip(*one, strict=True)) for one in (found, others))
        return list(zip(names, *runs, strict=True))

    outputs, most = of_each(_stacked), limits.GRAPH_PRODUCTS
    features = [(f"output {name!r}", *_of_one(a, b)) for name, a, b in outputs]
    pairs = outputs[:most] + of_each(_by_sample)[:most]
    features += [(f"outputs {one} together", a, b) for one, a, b in _of_two(pairs)]
    count = sum(a.shape[1] for _, a, _ in features) * len(limits.GRAPH_LOOKS)
    # that two samples of one law do not overlap has a chance of 2 / (2n choose n)
    seen = min(1.0, math.sqrt(-math.log(limits.GRAPH_ERROR_RATE / 2 / max(count, 1)) / len(found)))
    for what, a, b in features:
        if any(_differ(*both, seen) for both in zip(a.T, b.T, strict=True)):
            return what
    return ""


def _outputs(run: Mapping[str, Array], names: Sequence[str]) -> list[Array]:
    """The real values of each output: none where it is absent, or holds something else."""
    found = [in_reals(run[name]) if name in run else np.zeros(0) for name in names]
    return [one if one.dtype.kind in "biuf" else np.zeros(0) for one in found]


def _stacked(runs: Sequence[Array]) -> Array:
    """What an output was in each run, a row each; of many elements some."""
    size = runs[0].size
    picks = np.linspace(0, max(size - 1, 0), min(size, limits.GRAPH_ELEMENTS)).astype(int)
    rows = np.stack([one.ravel()[picks] for one in runs])
    return np.nan_to_num(rows.astype(np.float64))


def _by_sample(runs: Sequence[Array]) -> Array:
    """The mean of each sample's values, a row for each run: outputs of any shape have that."""
    if runs[0].ndim < 2 or not runs[0].size:
        return np.zeros((len(runs), 0))
    return _stacked([one.reshape(len(one), -1).mean(1, keepdims=True) for one in runs])


def _different(runs: Sequence[Sequence[Array]]) -> int:
    return len({b"".join(one.tobytes() for one in run) for run in runs})


def _of_one(a: Array, b: Array) -> tuple[Array, Array]:
    """Statistics of one output, for each run of either: some elements, their mean and spread."""
    if not a.shape[1]:
        return a, b
    picks = np.linspace(0, a.shape[1] - 1, min(a.shape[1], limits.GRAPH_SINGLE_ELEMENTS)).astype(
        int
    )
    usual = np.concatenate([a, b]).mean(0)

    def features(one: Array) -> Array:
        spread = np.square(one - usual).mean(1)
        return np.column_stack([one[:, picks], one.mean(1), spread, one.min(1), one.max(1)])

    return features(a), features(b)


def _of_two(pairs: Sequence[tuple[str, Array, Array]]) -> list[tuple[str, Array, Array]]:
    """How outputs of one shape go together: the mean of their elements' products."""
    found = []
    for at, (name, a, b) in enumerate(pairs):
        for other, c, d in pairs[at + 1 :]:
            if name == other or a.shape != c.shape or not a.shape[1]:
                continue
            usual = [np.concatenate(both).mean(0) for both in ((a, b), (c, d))]
            reference, candidate = (
                ((x - usual[0]) * (y - usual[1])).mean(1)[:, None] for x, y in ((a, c), (b, d))
            )
            found.append((f"{name!r} and {other!r}", reference, candidate))
    return found


def _differ(a: Array, b: Array, seen: float) -> bool:
    """Whether the distance of two samples (Kolmogorov-Smirnov's) is none that chance leaves."""
    both = np.sort(np.concatenate([a, b]))
    below = [np.searchsorted(np.sort(one), both, "right") / len(one) for one in (a, b)]
    if np.abs(below[0] - below[1]).max() < seen:
        return False
    return residual(np.sort(a), np.sort(b)) > limits.RUNS_DIFFER
