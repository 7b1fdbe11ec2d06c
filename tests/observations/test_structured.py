"""Sequences and their padding, states, masks of legal actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parity.errors import InputError
from parity.observations import action_masks, sequences

from .laws import all_differ, holds, is_of, minimal

S = pytest.importorskip("gymnasium").spaces

SPACE = S.Dict(image=S.Box(0, 255, (3, 4), np.uint8), speed=S.Box(-1, 1, (2,)), gear=S.Discrete(6))
BOX = S.Box(-1, 1, (3,))


def test_a_sequence_is_laid_out_as_said() -> None:
    strategy = sequences(
        SPACE, state=[(5,), S.Box(0, 1, (7,))], previous_action=S.Discrete(9), previous_reward=True
    )

    def law(drawn: dict[str, Any]) -> None:
        batch, steps = drawn["mask"].shape
        assert batch != steps and not {batch, steps} & {2, 3, 4, 5, 6, 7, 9} and steps > 1
        assert drawn["observations"]["image"].shape == (batch, steps, 3, 4)
        assert drawn["observations"]["image"].dtype == np.uint8
        assert drawn["observations"]["speed"].shape == (batch, steps, 2)
        assert drawn["observations"]["gear"].shape == (batch, steps)
        assert drawn["previous_action"].shape == drawn["previous_reward"].shape == (batch, steps)
        assert [one.shape for one in drawn["state"]] == [(batch, 5), (batch, 7)]
        assert drawn["lengths"].dtype == np.int32 and drawn["lengths"].shape == (batch,)
        assert ((1 <= drawn["lengths"]) & (drawn["lengths"] <= steps)).all()
        assert (drawn["mask"].sum(1) == drawn["lengths"]).all()
        assert (np.sort(~drawn["mask"], axis=1) == ~drawn["mask"]).all()
        for row, step in np.argwhere(drawn["mask"]):
            at = {key: part[row, step] for key, part in drawn["observations"].items()}
            is_of(SPACE, at | {"gear": at["gear"][()]})

    holds(law, strategy, 30)


@pytest.mark.parametrize("kind", ["zeros", "last", "values", "nan"])
def test_what_lies_in_the_padding(kind: str) -> None:
    seen = []

    def law(drawn: dict[str, Any]) -> None:
        values, mask = drawn["observations"], drawn["mask"]
        if mask.all():
            return
        seen.append(True)
        behind = values[~mask]
        assert not np.isnan(values[mask]).any()
        if kind == "zeros":
            assert not behind.any()
        if kind == "nan":
            assert np.isnan(behind).all()
        if kind == "last":
            last = values[np.arange(len(mask)), drawn["lengths"] - 1]
            assert (behind == np.repeat(last, (~mask).sum(1), axis=0)).all()
        if kind == "values":
            all_differ(values)

    holds(law, sequences(BOX, batch=4, steps=5, padding=kind), 30)
    assert seen


def test_every_kind_of_padding_is_drawn_but_nan() -> None:
    kinds = set()

    def law(drawn: dict[str, Any]) -> None:
        values, mask = drawn["observations"], drawn["mask"]
        assert not np.isnan(values).any()
        if not mask.all():
            unlike = len(np.unique(values[~mask])) == values[~mask].size
            kinds.add("zeros" if not values[~mask].any() else "values" if unlike else "last")

    holds(law, sequences(BOX, batch=4, steps=6), 60)
    assert kinds == {"zeros", "last", "values"}


def test_time_may_come_first() -> None:
    def law(drawn: dict[str, Any]) -> None:
        assert drawn["observations"].shape == (5, 4, 3) and drawn["mask"].shape == (5, 4)
        assert drawn["lengths"].shape == (4,) and drawn["state"]["h"].shape == (4, 8)
        assert (drawn["mask"].sum(0) == drawn["lengths"]).all()
        assert not drawn["observations"][~drawn["mask"]].any()

    strategy = sequences(BOX, batch=4, steps=5, state={"h": 8}, time_major=True, padding=("zeros",))
    holds(law, strategy, 30)


def test_padding_shrinks_away() -> None:
    strategy = sequences(S.Box(-1, 1, (1,)), batch=2, steps=2)
    found = minimal(strategy)
    assert found["mask"].all() and found["observations"].ravel().tolist() == [0, 1, -1, 0.5]
    found = minimal(strategy, lambda drawn: not drawn["mask"].all())
    assert found["mask"].sum() == 3 and not found["observations"][~found["mask"]].any()


@pytest.mark.parametrize("batch", [None, 3, 40])
@pytest.mark.parametrize(
    ("actions", "widths"),
    [(5, [5]), (S.Discrete(3), [3]), ([2, 4], [2, 4]), (S.MultiDiscrete([3, 5]), [3, 5])],
)
def test_each_choice_has_a_legal_action(actions: Any, widths: list[int], batch: Any) -> None:
    def parts(mask: np.ndarray) -> list[np.ndarray]:
        assert mask.dtype == bool
        assert mask.shape == ((sum(widths),) if batch is None else (batch, sum(widths)))
        return np.split(np.atleast_2d(mask), np.cumsum(widths)[:-1], axis=1)

    def some(mask: np.ndarray) -> None:
        assert all((part.sum(1) >= 1).all() for part in parts(mask))

    def one(mask: np.ndarray) -> None:
        assert all((part.sum(1) == 1).all() for part in parts(mask))

    def every(mask: np.ndarray) -> None:
        assert all(part.all() for part in parts(mask))

    holds(some, action_masks(actions, batch), 30)
    holds(one, action_masks(actions, batch, legal="one"), 30)
    holds(every, action_masks(actions, batch, legal="all"), 5)
    with pytest.raises(AssertionError):
        holds(one, action_masks(actions, batch), 30)
    with pytest.raises(AssertionError):
        holds(every, action_masks(actions, batch), 30)


def test_a_mask_shrinks_to_one_action_in_each_row() -> None:
    assert minimal(action_masks(3, batch=2)).tolist() == [
        [True, False, False],
        [False, True, False],
    ]
    assert minimal(action_masks(3, dtype=np.int8)).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: sequences(S.Text(3)), "no fixed size"),
        (lambda: sequences(BOX, padding="none"), "zeros, last, values, nan"),
        (lambda: sequences(BOX, padding=()), "zeros, last, values, nan"),
        (lambda: sequences(BOX, batch=None), "whole numbers"),
        (lambda: sequences(BOX, mask=BOX), "mask of their own"),
        (lambda: sequences(BOX, edges="bytes"), "no room"),
        (lambda: minimal(sequences(BOX, batch=0)), "batch is 0"),
        (lambda: action_masks(0), "their number"),
        (lambda: action_masks([]), "their number"),
        (lambda: action_masks(S.MultiBinary(3)), "Discrete"),
        (lambda: action_masks(3, legal="none"), "'some', 'one' or 'all'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        call()
