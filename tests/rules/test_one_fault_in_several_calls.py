"""A fault of one line that is called several times is one, and is said in one way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from tests.rules.pairs import compare, kinds, summaries, weights

draw = np.random.default_rng(55)
STATES = draw.standard_normal((6, 7)).astype("f")
ACTOR, CRITIC, VALUE = weights(7, 3), weights(10, 8), weights(8, 1)


def actor_critic(scales: bool) -> Callable[..., torch.Tensor]:
    """What a critic says of an action that is chosen: scaled, it is the tanh that both have."""

    def model(states: torch.Tensor) -> torch.Tensor:
        chosen = 2.5 * torch.tanh(states @ ACTOR)
        read = chosen / 2.5 if scales else chosen
        return torch.tanh(torch.cat([states, read], 1) @ CRITIC) @ VALUE

    return model


def test_an_operation_that_is_missing_before_what_is_read() -> None:
    report = compare(actor_critic(True), actor_critic(False), inputs=STATES)
    assert kinds(report) == ["op-missing"] and "div by 2.5 at " in summaries(report)


FILTERS = [[weights(5, 5, 2) / 3 for _ in range(3)] for _ in range(2)]
STEPS = draw.standard_normal((4, 5, 9)).astype("f")


def towers(first: bool) -> Callable[[torch.Tensor], torch.Tensor]:
    """Causal convolutions of several dilations, in two towers of which the second reads both."""

    def block(x: torch.Tensor, filters: torch.Tensor, dilation: int) -> torch.Tensor:
        padded = torch.nn.functional.pad(x, (dilation, 0) if first else (0, dilation))
        return torch.tanh(torch.nn.functional.conv1d(padded, filters, dilation=dilation))

    def tower(x: torch.Tensor, filters: list[torch.Tensor]) -> torch.Tensor:
        for number, one in enumerate(filters):
            x = x + block(x, one, 2**number)
        return x

    def model(x: torch.Tensor) -> torch.Tensor:
        x = tower(x, FILTERS[0])
        return torch.softmax(tower(x, FILTERS[1]).sum(2), 1)

    return model


def test_paddings_at_the_other_end_do_not_undo_each_other() -> None:
    report = compare(towers(True), towers(False), inputs=STEPS)
    causes = [one.cause for one in report.divergences if one.cause]
    assert {one.kind for one in causes} == {"padding-asymmetry"}
    assert all(one.confirmed for one in causes), str(report)
