"""Attacks that break the verdict today: the list is to become empty, and nothing is to be added.

The tests expect exactly these to fail (`tests/attacks`); one that is fixed must be taken off.
"""

# Faulty candidates that get `parity`.
WRONG_PASSES: frozenset[str] = frozenset(
    [
        "bins-beside-an-epoch",
        "four-digits-left",
        "seven-decimals",
        "tail-by-differences",
        "variance-of-squares",
    ]
)

# Correct twins that are `diverged`.
ALARMS: frozenset[str] = frozenset(
    [
        "constant-of-six-digits",
        "dropped-wherever",
        "root-by-steps",
        "sine-by-its-series",
        "start-of-ones",
    ]
)

# Attacks that end in an error of this project's own.
CRASHES: frozenset[str] = frozenset()

# Seeds of random mutations that are a wrong pass or an alarm.
MUTATIONS: frozenset[int] = frozenset()
