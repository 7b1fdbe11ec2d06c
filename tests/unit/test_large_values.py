"""Large values: none is kept twice without need, and nothing of their size is made in vain."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import parity
from parity.diagnosis import limits as diagnosis_limits
from parity.diagnosis import replay_check
from parity.inputs import layout_advice
from parity.matching import limits as matching_limits
from parity.matching.match import Indexed, match
from parity.rl import decisions
from parity.rl.decisions import decide

torch = pytest.importorskip("torch")


def matched(candidate: Any, inputs: Any) -> Any:
    def reference(x: Any) -> Any:
        return torch.relu(x * 1.5) + 1.0

    models = [parity.wrap(model, framework="torch") for model in (reference, candidate)]
    tapes = [layout_advice.record(model, models[0], inputs)[1] for model in models]
    return match(Indexed(tapes[0], tapes[0].replay("float64")), tapes[1])


@pytest.fixture
def inputs(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(matching_limits, "LARGE_VALUE", 1)
    return np.random.default_rng(0).normal(size=(6, 8)).astype("float32")


def shared(found: Any) -> list[bool]:
    return [
        np.shares_memory(found.side.array(value), found.reference.array(pair.reference))
        for value, pair in found.pairs.items()
        if found.side.tape.producer(value) is not None
    ]


def test_a_value_that_is_its_partner_to_the_bit_is_kept_once(inputs: Any) -> None:
    found = matched(lambda x: 1.0 + torch.relu(1.5 * x), inputs)
    assert shared(found) and all(shared(found))
    assert found.alone  # sharing replaces nothing


def test_zeros_of_another_sign_are_kept(inputs: Any) -> None:
    """1 / x distinguishes them: substituting one for the other would hide a fault."""
    found = matched(lambda x: torch.where(x > 0, x * 1.5, torch.tensor(-0.0)) + 1.0, inputs)
    values = [found.side.array(value) for value in found.pairs]
    assert any(np.signbit(array[array == 0]).any() for array in values if array.dtype.kind == "f")


def test_another_arrangement_is_kept(inputs: Any) -> None:
    found = matched(lambda x: torch.relu(1.5 * x.T) + 1.0, inputs)
    assert found.pairs and not any(shared(found))


def plain(
    recorded: Any, model: Any, inputs: Any, monkeypatch: pytest.MonkeyPatch
) -> tuple[Any, Any]:
    """The recorded output, and how a model runs unwatched, where outputs are taken for large."""
    monkeypatch.setattr(diagnosis_limits, "LARGE_RUN", 1)
    models = [parity.wrap(one, framework="torch") for one in (recorded, model)]
    tape = layout_advice.record(models[0], models[0], inputs)[1]
    (value,) = tape.outputs.values()
    run = replay_check.plain_run(tape, models[1], inputs)
    return tape.adapter.to_numpy(tape.recorded[value]), run


def test_an_output_that_is_the_recorded_one_is_kept_once(
    inputs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded, run = plain(torch.relu, torch.relu, inputs, monkeypatch)
    assert np.shares_memory(run.run()["output"], recorded)
    assert run.elsewhere(0, None)["output"].shape == run.elsewhere(2, None)["output"].shape


def test_an_output_that_is_another_when_nobody_watches_is_kept_as_it_is(
    inputs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One with another sign of zero too."""
    recorded, run = plain(torch.relu, lambda x: -torch.relu(x), inputs, monkeypatch)
    assert np.array_equal(run.run()["output"], -recorded)
    inputs = np.minimum(inputs, 0)  # all is zero
    recorded, run = plain(torch.relu, lambda x: -torch.relu(x), inputs, monkeypatch)
    assert np.signbit(run.run()["output"]).all() and not np.signbit(recorded).any()


def test_decisions_are_the_same_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    for table in (random.normal(size=(50, 6)), random.dirichlet(np.ones(6), 50)):
        a = table.astype("float32")
        b = (table + 1e-2 * random.normal(size=table.shape)).astype("float32")
        whole = decide(a, b, table)
        with monkeypatch.context() as patch:
            patch.setattr(decisions, "_AT_ONCE", 42)
            assert decide(a, b, table) == whole


def test_decisions_make_nothing_of_the_whole_size() -> None:
    table = np.random.default_rng(0).normal(size=(40_000, 200))
    outputs = table.astype("float32")
    tracemalloc.start()
    try:
        decide(outputs, outputs, table)
        assert tracemalloc.get_traced_memory()[1] < 2 * table.nbytes
    finally:
        tracemalloc.stop()
