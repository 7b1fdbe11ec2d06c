"""Attacks that break the verdict today: to become empty; only a new round of attacks adds to it.

The tests expect exactly these to fail (`tests/attacks`); one that is fixed must be taken off.
"""

# Faulty candidates that get `parity`.
WRONG_PASSES: frozenset[str] = frozenset(
    [
        "advantage-beside-returns",
        "amplitudes-beside-turns-little",
        "amplitudes-of-a-response",
        "cache-of-a-half-model-float16",
        "clip-of-a-log-loss",
        "cost-of-a-bankruptcy",
        "deadline-in-days",
        "deviation-in-private",
        "epsilon-of-a-likelihood",
        "four-digits-left",
        "gamma-or-lambda",
        "hashes-and-none",
        "item-and-score-long",
        "item-and-score-short",
        "kept-of-one-observation",
        "logits-by-an-index",
        "one-large-account",
        "order-in-a-text",
        "origin-twice",
        "packed-item",
        "rate-beside-a-return",
        "renamed-steps",
        "scaled-offset",
        "seven-decimals",
        "small-gains-behind-a-py-function",
        "small-levels",
        "steps-and-rate",
        "table-of-small-numbers",
        "tail-by-differences",
        "time-since-1970-number",
        "time-since-1970-text",
        "variance-of-squares",
        "zero-behind-a-point-address",
        "zero-behind-a-point-version",
    ]
)

# Correct twins that are `diverged`.
ALARMS: frozenset[str] = frozenset(
    [
        "arrival-numpy",
        "arrival-python",
        "four-decimals",
        "json-as-bytes",
        "levels-and-zero",
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
