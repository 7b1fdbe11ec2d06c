"""Where a comparison moved over runs, and its plot."""

from dataclasses import replace

import pytest

from parity.baseline.entry import Entry, Layer
from parity.history.changes import course
from parity.history.render import STEPS, levels, spark
from parity.history.store import Run

WAS = Entry(
    source="test_a.py::test_port",
    shared=False,
    verdict="parity",
    environment={"machine": {"parity": "0.1.0"}, "torch": {"torch": "2.5.0"}},
    coverage={"values": 1.0, "outputs": 1.0},
    layers={"l1 | dense": Layer("same", 1e-7, 2e-7), "l2 | dense": Layer("same", 0.0, 2e-7)},
)


def with_layer(difference, rounding=2e-7, entry=WAS):
    layers = {**entry.layers, "l2 | dense": Layer("same", difference, rounding)}
    return replace(entry, layers=layers)


def followed(*entries, factor=4.0):
    points = [(Run(at, f"c{at}", "", ""), entry) for at, entry in enumerate(entries, 1)]
    found = course("port", points, factor)
    moves = [(one.first.what, one.first.where, one.run.number, one.lasts) for one in found.moves]
    return found, moves


def test_what_stays_within_rounding_does_not_move():
    found, moves = followed(WAS, with_layer(7e-7), with_layer(1e-8, 1e-9), WAS)
    assert not found.moved and moves == []


def test_the_first_run_that_moved_is_reported_though_later_ones_did_as_well():
    found, moves = followed(WAS, WAS, with_layer(1e-3), with_layer(1e-1))
    assert found.moved
    assert moves == [("the difference has grown", "l2 | dense", 3, True)]
    assert found.moves[0].first.now == "1.0e-03 (5e+03 times its rounding)"


def test_what_moved_and_came_back_has_not_moved():
    found, moves = followed(WAS, with_layer(1e-3), WAS)
    assert not found.moved
    assert moves == [("the difference has grown", "l2 | dense", 2, False)]


def test_a_creep_is_seen_though_no_step_of_it_is_large():
    steps = [with_layer(1e-6 * 1.5**at) for at in range(4)]
    assert all(not followed(*pair)[0].moved for pair in zip(steps, steps[1:], strict=False))
    _, moves = followed(WAS, *steps)
    assert moves == [("the difference has grown", "l2 | dense", 4, True)]


def test_every_rule_of_the_gate_is_a_move():
    worse = replace(WAS, verdict="diverged", coverage={"values": 0.5, "outputs": 1.0})
    worse = replace(worse, layers={"l1 | dense": WAS.layers["l1 | dense"]})
    _, moves = followed(WAS, worse)
    assert [(what, where) for what, where, *_ in moves] == [
        ("the verdict is worse", ""),
        ("a layer has vanished", "l2 | dense"),
        ("fewer values are compared", ""),
    ]


def test_the_factor_moves_the_bound():
    assert followed(WAS, with_layer(3e-6))[0].moved
    assert not followed(WAS, with_layer(3e-6), factor=9.0)[0].moved


def test_another_environment_is_reported_and_its_rounding_not_compared():
    there = replace(WAS, environment={**WAS.environment, "torch": {"torch": "2.6.0"}})
    found, _ = followed(WAS, with_layer(1e-3, entry=there))
    assert not found.moved and found.environment == ("torch: 2.5.0 -> 2.6.0",)
    found, _ = followed(WAS, there, WAS)
    assert found.environment == ()
    assert followed(WAS, replace(there, verdict="diverged"))[0].moved


# --- plots ---------------------------------------------------------------------------------------


def layers(*differences, rounding=1e-8):
    return [None if one is None else Layer("same", one, rounding) for one in differences]


def test_a_plot_has_a_step_for_each_run():
    assert spark(layers(1e-7, 1e-7, 1e-3, None, 1e-5, float("inf"))) == "▁▁█·▅█"


def test_what_is_below_rounding_is_level():
    assert spark(layers(0.0, 1e-9, 1e-12, 1e-8)) == "▁▁▁▁"
    assert spark(layers(0.0, 0.0, rounding=0.0)) == "▁▁"


def test_no_difference_at_all_is_lowest_whatever_its_rounding():
    assert spark([Layer("same", 0.0, 1e-9), Layer("same", 0.0, 1e-5)]) == "▁▁"
    assert spark(layers(0.0, 0.0, rounding=float("inf"))) == "▁▁"
    exact_at_first = [Layer("same", 0.0, 0.0), Layer("same", 0.0, 0.0), Layer("same", 1e-3, 1e-8)]
    assert spark(exact_at_first) == "▁▁█"


def test_less_than_two_decades_do_not_fill_a_plot():
    assert levels(layers(1e-7, 1e-6)) == [0.0, pytest.approx(0.5)]


def test_of_many_runs_the_worst_of_each_part_is_shown():
    many = [1e-7] * 1000
    many[777] = 1e-2
    text = spark(layers(*many))
    assert len(text) == STEPS
    assert text.count("█") == 1 and text.index("█") == 777 // 25
