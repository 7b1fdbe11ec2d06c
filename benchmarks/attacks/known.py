"""Attacks that break the verdict today: the list is to become empty, and nothing is to be added.

The tests expect exactly these to fail (`tests/attacks`); one that is fixed must be taken off.
"""

# Faulty candidates that get `parity`.
WRONG_PASSES: frozenset[str] = frozenset(
    [
        "absorbed-to-a-percent",
        "attribute-on-demand",
        "behind-a-getter",
        "counted-penalties",
        "dropped-tail",
        "ids-as-keys",
        "number-with-unit",
        "own-batch",
        "whole-shares",
    ]
)

# Correct twins that are `diverged`.
ALARMS: frozenset[str] = frozenset(["order-of-entries"])

# Attacks that end in an error of this project's own.
CRASHES: frozenset[str] = frozenset()

# Seeds of random mutations that are a wrong pass or an alarm.
# 100144: Chainer's `where` with a mask that NumPy made of a variance that is rounding alone.
MUTATIONS: frozenset[int] = frozenset([100144])
