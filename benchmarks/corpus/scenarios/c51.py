"""Seed 002: pairs of a C51 dueling DQN, and the faults that can be planted in one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import c51_chainer, c51_keras, c51_tensorflow, c51_torch
from .c51_sizes import ACTIONS, ATOMS, Weights
from .pair import Pair, Side, image_pair, image_side, place_of, tagged_lines

FRAMEWORKS: dict[str, Any] = {
    "torch": c51_torch,
    "keras": c51_keras,
    "tensorflow": c51_tensorflow,
    "chainer": c51_chainer,
}
FRAMEWORK_PAIRS = (
    ("torch", "keras"),
    ("torch", "tensorflow"),
    ("torch", "chainer"),
    ("chainer", "keras"),
)


@dataclass(frozen=True)
class Fault:
    """A fault, the tags of the lines on which a report must place it, and its cause.

    An operation that the candidate lacks has no line there. Its place is where its result is
    missed; in the reference it is any line of the region that the candidate does otherwise.
    """

    name: str
    reference: tuple[str, ...]
    candidate: str
    cause: str

    def is_at(self, divergence: Any, reference: str, candidate: str) -> bool:
        """Whether a divergence stands on this fault's lines of both frameworks' files."""
        stages = [f"stage: {stage}" for stage in self.reference]
        reference_lines = tagged_lines(FRAMEWORKS[reference].__file__, *stages)
        candidate_lines = tagged_lines(FRAMEWORKS[candidate].__file__, self.candidate)
        return (
            place_of(divergence.reference) in reference_lines
            and place_of(divergence.candidate) in candidate_lines
        )


CENTRING = ("mean", "centre", "combine")
FAULTS = {
    fault.name: fault
    for fault in (
        Fault("softmax-axis-0", ("softmax",), "fault: softmax-axis-0", "softmax-axis"),
        Fault("softmax-axis-1", ("softmax",), "fault: softmax-axis-1", "softmax-axis"),
        Fault("mean-atoms", ("mean",), "fault: mean-atoms", "dueling-mean-axis"),
        Fault("mean-batch", ("mean",), "fault: mean-batch", "dueling-mean-axis"),
        Fault("mean-all", ("mean",), "fault: mean-all", "dueling-mean-axis"),
        Fault("max", ("mean",), "fault: max", "dueling-max-centered"),
        Fault("not-centred", CENTRING, "fault: not-centred", "dueling-not-centered"),
        Fault("value-centred", CENTRING, "fault: value-centred", "dueling-wrong-tensor"),
        # The support is a constant of the model: its place is the line where it enters.
        Fault("support-reversed", ("weigh",), "stage: weigh", "support-order"),
        Fault("support-range", ("weigh",), "stage: weigh", "support-range"),
        Fault("expectation-axis", ("expect",), "fault: expectation-axis", "expectation-axis"),
        Fault("reshape", ("reshape",), "fault: reshape", "atoms-actions-order"),
    )
}
NO_FAULT: frozenset[str] = frozenset()


def signed(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def network_pair(reference: str, candidate: str, *faults: str, batch: int = 5) -> Pair:
    """The whole network on images: trunk, two streams and the dueling head."""
    return branches_pair(reference, candidate, [frozenset(faults)], batch)


def branches_pair(
    reference: str, candidate: str, sets: list[frozenset[str]], batch: int = 5
) -> Pair:
    """As `network_pair`, with an independent C51 branch for each set of faults."""
    rng = np.random.default_rng(20)
    weights = Weights.random(rng, heads=len(sets))
    clean = FRAMEWORKS[reference].network(weights, [NO_FAULT] * len(sets))
    faulty = FRAMEWORKS[candidate].network(weights, sets)
    images = signed(rng, batch, 4, 20, 22)
    return image_pair(image_side(reference, clean), image_side(candidate, faulty), images)


def head_pair(reference: str, candidate: str, *faults: str, batch: int = 32) -> Pair:
    """The dueling head alone: advantages (batch, actions * atoms) and values (batch, atoms).

    Its logits are (32, 6, 51), as in the user's thread.
    """
    rng = np.random.default_rng(51)
    clean = FRAMEWORKS[reference].head(NO_FAULT)
    faulty = FRAMEWORKS[candidate].head(frozenset(faults))
    inputs = (signed(rng, batch, ACTIONS * ATOMS), signed(rng, batch, ATOMS))
    return Pair(Side(reference, clean), Side(candidate, faulty), inputs)


BUILDERS: dict[str, Callable[..., Pair]] = {"network": network_pair, "head": head_pair}
