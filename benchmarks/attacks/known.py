"""Attacks that break the verdict today: to become empty; only a new round of attacks adds to it.

The tests expect exactly these to fail (`tests/attacks`); one that is fixed must be taken off.
"""

# Faulty candidates that get `parity`.
WRONG_PASSES: frozenset[str] = frozenset(
    [
        # the mode of what a function holds is the comparison's to set; a large negative constant
        # is a mask (docs/decisions/0020)
        "nobody-called-eval",
        "crash-in-a-step",
        # what is not looked at: less than a narrow format's unit where both models are in one, than
        # float32 loses of large numbers beside a model in float64, than 2**-26 of what is usual,
        # than a framework's own curve loses; which zeros a sparse tensor writes out
        # (docs/decisions/0021)
        "digits-behind-a-half-layer",
        "variance-in-a-half-model",
        "chances-beside-a-script",
        "small-returns",
        "rare-failures-in-chainer",
        "scores-of-neighbours",
        # within 64 times what rounding does to the other model
        "rare-transitions",
        # a model in half precision that takes float32 too is given its inputs as they are
        "half-squares",
        # a seed that is itself drawn, of few
        "sixteen-noises",
        # round eleven (docs/decisions/0023)
        "floor-of-a-price",
        "seed-set-for-each-agent",
        "seed-set-for-four-coins",
        "cold-by-a-module",
        "readings-among-turns",
        "ranking-in-a-plain-dict",
        # round twelve (docs/decisions/0025)
        "kept-sensors",
        "kept-largest-of-one",
        "exported-with-a-length",
        "mean-of-a-padded-sequence",
        "branch-of-a-trace",
        "scaled-after-it-was-compiled",
        "last-places-cut-off",
        "state-in-another-nest",
        "legal-as-integers",
        "slope-of-a-framework",
        "flag-forgotten",
        "steps-of-another-private-name",
        "grid-by-way-of-a-clock",
        "slot-by-ticks",
    ]
)

# Correct twins that are `diverged`.
ALARMS: frozenset[str] = frozenset(
    [
        # another formula that is right to float32, and masks in outputs (docs/decisions/0020)
        "distances-of-nobody",
        "guarded-length",
        "knots",
        "mask-of-ten-thousand",
        "masked-costs",
        # a generator made anew in each call, of a seed and a count that is put back
        "seed-and-step",
        "swing-by-steps",
        # round eleven
        "restored-by-the-first-call",
        "step-in-a-module",
        "step-behind-wrappers",
        "swings-with-a-phase",
        "turned-and-mirrored",
    ]
)

# Attacks that end in an error of this project's own.
CRASHES: frozenset[str] = frozenset()

# Seeds of random mutations that are a wrong pass or an alarm.
MUTATIONS: frozenset[int] = frozenset()
