"""What reports say of numbers, in words."""

from __future__ import annotations

from parity.report.sentences import effect

ALONE = "with that value alone substituted"


def test_a_value_that_increases_the_difference_is_said_to() -> None:
    assert effect(0.1, 0.2) == (
        f"{ALONE} the outputs differ more, by 20.0% of their size instead of by 10.0% of their size"
    )


def test_figures_that_read_the_same_say_nothing_of_another() -> None:
    assert (
        effect(0.00701, 0.00702) == f"{ALONE} the outputs differ as they did, by 0.7% of their size"
    )
    assert (
        effect(0.00702, 0.00701) == f"{ALONE} the outputs differ as they did, by 0.7% of their size"
    )


def test_a_repair_that_brings_them_nearer_says_by_how_much() -> None:
    assert effect(0.2, 0.1) == (
        f"{ALONE} the outputs differ by 10.0% of their size instead of by 20.0% of their size"
    )
