"""Attacks that break the verdict today: the list is to become empty, and nothing is to be added.

The tests expect exactly these to fail (`tests/attacks`); one that is fixed must be taken off.
"""

# Faulty candidates that get `parity`.
WRONG_PASSES: frozenset[str] = frozenset(
    [
        "advantage-beside-returns",
        "amplitudes-beside-turns-little",
        "amplitudes-of-a-response",
        "cost-of-a-bankruptcy",
        "deadline-in-days",
        "deviation-in-private",
        "gamma-or-lambda",
        "hashes-and-none",
        "item-and-score-long",
        "item-and-score-short",
        "kept-of-one-observation",
        "logits-by-an-index",
        "order-in-a-text",
        "packed-item",
        "rate-beside-a-return",
        "renamed-steps",
        "small-gains-behind-a-py-function",
        "small-levels",
        "steps-and-rate",
        "time-since-1970-number",
        "time-since-1970-text",
        "zero-behind-a-point-address",
        "zero-behind-a-point-version",
    ]
)

# Correct twins that are `diverged`.
ALARMS: frozenset[str] = frozenset(
    [
        "arrival-numpy",
        "arrival-python",
        "choice-in-half",
        "closed-gate-in-half",
        "four-decimals",
        "json-as-bytes",
        "levels-and-zero",
        "mask-in-bfloat16",
        "names-in-another-order",
        "packed-otherwise-halves",
        "packed-otherwise-network",
        "residual-of-a-law",
        "returns-that-occur",
        "start-of-ones",
        "text-of-numbers-base64",
        "text-of-numbers-comma",
        "text-of-numbers-hexadecimal",
        "whole-prices",
        "whole-without-a-point",
    ]
)

# Attacks that end in an error of this project's own.
CRASHES: frozenset[str] = frozenset()

# Seeds of random mutations that are a wrong pass or an alarm.
MUTATIONS: frozenset[int] = frozenset()
