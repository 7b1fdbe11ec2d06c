"""All pairs whose verdict must be parity, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import permutations

import numpy as np

from . import c51, decompositions, deeprl, nature_dqn, sequences
from .pair import Pair, image_pair

DECOMPOSITIONS = {
    "BatchNorm folded": decompositions.batchnorm_folded,
    "log-softmax by hand": decompositions.log_softmax,
    "im2col": decompositions.im2col,
    "dueling re-associated": decompositions.dueling_reassociated,
    "flatten, weights permuted": decompositions.flatten_permuted,
    "LSTM unrolled": sequences.lstm,
    "attention by hand": sequences.attention,
}


def decomposition_pair(name: str, index: int, fused_first: bool) -> Pair:
    """Fused against by hand: the `index`-th of each, which are of different frameworks."""
    fused, by_hand, inputs = DECOMPOSITIONS[name](np.random.default_rng(33))
    sides = (fused[index], by_hand[index])
    reference, candidate = sides if fused_first else sides[::-1]
    if reference.layout:
        return image_pair(reference, candidate, *inputs)
    return Pair(reference, candidate, inputs)


def pairs() -> dict[str, Callable[[], Pair]]:
    found: dict[str, Callable[[], Pair]] = {}
    for build in c51.BUILDERS:
        for two in permutations(c51.FRAMEWORKS, 2):
            found[f"C51 {build}, {' to '.join(two)}"] = partial(c51.BUILDERS[build], *two)
    for name in DECOMPOSITIONS:
        for index in range(3):
            found[f"{name} {index}"] = partial(decomposition_pair, name, index, True)
            found[f"{name} {index}, reversed"] = partial(decomposition_pair, name, index, False)
    for name in deeprl.MODELS:
        found[f"ChainerRL to PFRL, {name}"] = partial(deeprl.library_pair, name)
    right = "right: transposed, dense permuted"
    found[f"Nature DQN, {right}"] = partial(nature_dqn.conversion_pair, right)
    return found


PAIRS = pairs()
