"""Attacks that break the verdict today: to become empty; only a new round of attacks adds to it.

The tests expect exactly these to fail (`tests/attacks`); one that is fixed must be taken off.
"""

# Faulty candidates that get `parity`.
WRONG_PASSES: frozenset[str] = frozenset(
    [
        "cache-of-a-half-model-float16",
        "kept-of-clipped",
    ]
)

# Correct twins that are `diverged`.
ALARMS: frozenset[str] = frozenset(
    [
        "start-of-ones",
    ]
)

# Attacks that end in an error of this project's own.
CRASHES: frozenset[str] = frozenset()

# Seeds of random mutations that are a wrong pass or an alarm.
MUTATIONS: frozenset[int] = frozenset()
