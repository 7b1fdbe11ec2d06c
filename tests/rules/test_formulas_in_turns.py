"""Formulas of a loop's turns, and of constants that one model makes for all turns at once."""

from __future__ import annotations

import numpy as np
import torch

from tests.rules.pairs import compare, kinds

own = np.random.default_rng(31)
STEPS, CHOICES = (own.standard_normal(shape).astype("f") for shape in ((4, 3, 3, 5), (4, 3, 3, 4)))
INTO, OUT = (
    torch.from_numpy(own.standard_normal(shape).astype("f")) for shape in ((12, 6), (6, 2))
)


def in_turns(x: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    """The choice before, zeros at first, and who chooses, beside each step."""
    found = []
    for step in range(3):
        last = chosen[:, step - 1] if step else torch.zeros_like(chosen[:, 0])
        who = torch.eye(3).expand(4, 3, 3)
        found.append(torch.tanh(torch.cat([x[:, step], last, who], -1) @ INTO) @ OUT)
    return torch.stack(found, 1)


def at_once(x: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    """The choice of the step itself."""
    who = torch.eye(3).expand(4, 3, 3, 3)
    features = torch.cat([x, chosen, who], -1)
    return torch.stack([torch.tanh(features[:, t] @ INTO) @ OUT for t in range(3)], 1)


def test_turns_that_read_the_step_itself() -> None:
    report = compare(in_turns, at_once, inputs=(STEPS, CHOICES))
    assert kinds(report) == ["different-formula"] * 2  # the first turn reads zeros
