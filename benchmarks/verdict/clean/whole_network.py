"""Clean pairs of the network that faults are planted in, in float32 and in half precision."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from benchmarks.corpus.scenarios.pair import Side
from benchmarks.verdict import network
from benchmarks.verdict.inputs import MODERATE

from .layers import AROUND
from .subject import Clean, Forms, pairs_of


def every_stage(rng: np.random.Generator) -> Forms:
    numbers = network.Numbers()
    forms = {framework: network.side(framework, numbers) for framework in network.FRAMEWORKS}
    for name, dtype in (("torch float16", torch.float16), ("torch bfloat16", torch.bfloat16)):
        forms[name] = Side("torch", network.TorchNet(numbers).eval().to(dtype), "NCHW")
    return forms, (rng.normal(size=network.SHAPE).astype(np.float32),)


def pairs() -> Iterator[Clean]:
    yield from pairs_of("whole network", every_stage, *AROUND)
    yield from pairs_of(
        "low precision of float32",
        every_stage,
        ("torch", "torch float16"),
        ("torch", "torch bfloat16"),
        ("keras", "torch float16"),
        styles=(*MODERATE, "pixels 0..255"),
        noted="low-precision",
    )
