"""Replays that are not made, and values that are not kept: what comparisons cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import parity
from parity.diagnosis import regimes
from parity.diagnosis.case import case_of
from parity.diagnosis.locate import _without_look_alikes, locate
from parity.diagnosis.moved_outputs import moving_outputs
from parity.diagnosis.output_pairs import pair_outputs
from parity.frameworks import load
from parity.matching.match import Indexed, Match, match
from parity.numerics import limits
from parity.numerics.limits import UNITS
from parity.numerics.rounding_noise import _moved, moved_by_rounding, moves, rounds
from parity.tape import Tape

torch = pytest.importorskip("torch")

X = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)


def recorded(function: Any) -> Tape:
    return load("torch").record(parity.wrap(function, framework="torch"), X)


def model(x: Any) -> Any:
    return torch.tanh(torch.exp(x * 0.3) - 1.0) * 2.0


@pytest.fixture
def replays(monkeypatch: pytest.MonkeyPatch) -> list[Tape]:
    """Of which tape each replay is, as they are made."""
    made: list[Tape] = []
    replay = Tape.replay

    def counted(self: Tape, *args: Any, **options: Any) -> Any:
        made.append(self)
        return replay(self, *args, **options)

    monkeypatch.setattr(Tape, "replay", counted)
    return made


def test_a_replay_lets_go_of_what_is_not_asked_for() -> None:
    tape = recorded(model)
    (output,) = tape.outputs.values()
    for precision in (None, "float64"):
        whole, frugal = tape.replay(precision), tape.replay(precision, kept=[output])
        assert set(whole.native) > set(frugal.native) == {output}
        assert np.array_equal(whole.array(output), frugal.array(output))


def test_a_replaced_value_is_there_for_all_its_readers() -> None:
    tape = recorded(lambda x: (torch.exp(x), x * 2.0))
    (given,) = tape.inputs.values()
    outputs = list(tape.outputs.values())
    run = tape.replay("float64", {given: np.zeros(X.shape)}, kept=outputs)
    assert (run.array(outputs[0]) == 1).all() and (run.array(outputs[1]) == 0).all()


def test_how_far_values_move_is_known_after_each_replay(replays: list[Tape]) -> None:
    tape = recorded(model)
    (output,) = tape.outputs.values()
    sofar = []
    for number, found in enumerate(moves(tape, [output], None, rounds), 1):
        assert len(replays) == number + 1  # and the one without moves
        sofar.append(found[output].copy())
    assert len(sofar) == limits.NOISE_DRAWS
    assert all((a <= b).all() for a, b in zip(sofar, sofar[1:], strict=False))
    assert (sofar[0] < sofar[-1]).any()
    assert np.array_equal(sofar[-1], moved_by_rounding(tape, [output], None, rounds)[output])


def test_the_run_without_moves_is_made_once_for_all_that_ask_for_it(replays: list[Tape]) -> None:
    tape = recorded(model)
    values = list(tape.outputs.values())
    (given,) = tape.inputs.values()
    for computed in (rounds, None):
        assert list(moves(tape, values, None, computed))
    assert len(replays) == 2 * limits.NOISE_DRAWS + 1
    # of other inputs, or within, it is another one
    assert np.any(next(moves(tape, values, {given: 2 * X}, rounds))[values[0]])
    assert len(replays) == 2 * limits.NOISE_DRAWS + 3
    inside = tape.ops[0].outputs[0]
    assert np.any(next(moves(tape, [inside], None, rounds))[inside])
    assert len(replays) == 2 * limits.NOISE_DRAWS + 5


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_values_move_as_they_would_in_float64(dtype: str) -> None:
    random = np.random.default_rng(0)
    array = (X * 10.0 ** random.uniform(-4, 4, X.shape)).astype(dtype)
    unit, ways = UNITS.get(dtype, 2.0**-53), random.integers(-1, 2, X.shape)
    exact = random.random(X.shape) < 0.2
    moved = array.astype(np.float64) * (1 + 2 * unit * ways * ~exact)
    found = _moved(array, unit, lambda shape: ways.astype(np.int8), False, exact)
    assert found.dtype == array.dtype and np.array_equal(found, moved.astype(dtype))
    assert (found != array).any() and (found == array).any()


def matched_of(reference: Any, candidate: Any) -> Match:
    tapes = recorded(reference), recorded(candidate)
    return match(Indexed(tapes[0], tapes[0].replay("float64")), tapes[1])


def located(reference: Any, candidate: Any) -> Any:
    found = matched_of(reference, candidate)
    pairs, _ = pair_outputs(*found.tapes)
    return found, pairs, *locate(found, pairs)


def test_what_lies_otherwise_comes_no_closer_and_is_not_run_for(replays: list[Tape]) -> None:
    def reference(x: Any) -> Any:
        return torch.atanh(torch.sign(x).clamp(-1 + 1e-6, 1 - 1e-6))

    def laid_out(x: Any) -> Any:
        return torch.atanh(torch.sign(x).clamp(-1 + 1e-6, 1 - 1.001e-6).reshape(-1))

    def in_two(x: Any) -> Any:
        return torch.atanh(torch.sign(x).clamp(min=-1 + 1e-6).clamp(max=1 - 1e-6))

    for candidate, is_left in ((laid_out, True), (in_two, False)):
        found = matched_of(reference, candidate)
        near = [pair for pair in found.pairs.values() if not pair.same]
        replays.clear()
        assert near and (_without_look_alikes(found, near) == near) == is_left
        assert len(replays) == (0 if is_left else 1)


def test_no_replay_is_made_once_what_is_moved_accounts_for_a_difference(
    replays: list[Tape], monkeypatch: pytest.MonkeyPatch
) -> None:
    matched, (pair,), *_ = located(model, model)
    monkeypatch.setattr(regimes, "rounding", lambda one, _: np.zeros(one.shape))  # right by luck
    arrays = matched.reference.array(pair.reference), matched.side.array(pair.candidate)
    exact = {pair.candidate_name: arrays[1]}
    replays.clear()
    allowed = regimes._of_float32(matched, pair, (None, None), exact, arrays)  # type: ignore[arg-type]
    assert not np.any(next(allowed)) and not replays  # what both are off by, which is measured
    assert np.any(next(allowed))
    assert len(replays) == 4  # of both as they are, and with moved values once
    assert len(list(moving_outputs(matched, pair, rounds))) == limits.NOISE_DRAWS


def test_the_reference_is_not_run_again_on_the_users_inputs(replays: list[Tape]) -> None:
    _, _, (mismatch,), repaired = located(model, lambda x: torch.tanh(torch.exp(x * 0.3)) * 2.0)
    tape = repaired.reference.tape

    def runs() -> int:
        """Of the reference's region, and of what else of the reference the candidate reads."""
        found = replays.count(tape)
        replays.clear()
        return found

    runs()
    case = case_of(repaired, mismatch)
    assert case is not None
    as_they_are = runs()
    again = case.probe(dict(case.first.given))  # the same values, and not known to be
    assert runs() == as_they_are + 1
    assert np.array_equal(again.reference, case.first.reference)


def test_what_a_difference_grows_to_is_not_kept(replays: list[Tape]) -> None:
    _, _, (mismatch,), repaired = located(model, lambda x: torch.tanh(torch.exp(x * 0.3)) * 2.0)
    case = case_of(repaired, mismatch)
    assert case is not None
    kept = len(case._kept)
    case.replays({root: 2.0 * array for root, array in case.first.given.items()})
    assert len(case._kept) == kept
