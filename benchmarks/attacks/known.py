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
        "epsilon-among-noisy-windows",
        # a seed that is itself drawn, of few
        "sixteen-noises",
        # round eleven
        "bucket-beside-its-id",
        "real-beside-complex",
        "listed-amounts",
        "listed-variances",
        "speeds-beside-masses",
        "likelihoods-of-outliers",
        "even-grid-of-times",
        "anchors-beside-prices",
        "scaled-cast",
        "phases-by-the-host",
        "readings-among-turns",
        "kept-white-point",
        "kept-gain",
        "kept-middle",
        "kept-longest-length",
        "kept-behind-a-row-of-the-clock",
        "kept-beside-price-and-volume",
        "kept-beside-many-columns",
        "fields-of-boxes-in-a-list",
        "traced-before-it-was-set",
        "predicted-before-it-was-set",
        "two-graphs-of-one-seed",
        "noise-clipped-by-numpy",
        "drawn-again-by-numpy",
        "noise-clipped-before-chainer",
        "floor-of-a-length",
        "below-a-learned-limit",
        "floor-of-a-price",
        "noise-beside-a-large-memory",
        "seed-set-for-each-agent",
        "seed-set-for-four-coins",
        "kept-beside-chaos",
        "kept-beside-a-residual",
        "kept-beside-two-large-accounts",
        "kept-spread-of-a-large-batch",
        "kept-embedding-of-a-goal",
        "kept-order-of-one-sample",
        "kept-count-of-one-board",
        "kept-largest-pixel",
        "kept-of-what-comes-in-time",
        "cold-by-a-module",
        "squash-in-private",
        "unit-in-private",
        "bijector-in-private",
        "actuator-of-one-name",
        "height-and-width-exchanged",
        "horizon-beside-a-version",
        "pulled-instead-of-pushed",
        "ranking-in-a-plain-dict",
        "steps-in-which-nothing-happens",
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
        "rotary-tables",
        "schedule-of-a-diffusion",
        "equal-offers",
        "distance-to-itself",
        "features-in-a-cube",
        "smoothing-by-numpy",
        "step-in-a-module",
        "step-behind-wrappers",
        "restored-by-the-first-call",
        "dtype-as-text",
        "swings-with-a-phase",
        "turned-and-mirrored",
    ]
)

# Attacks that end in an error of this project's own.
CRASHES: frozenset[str] = frozenset(
    [
        "masked-logits-of-some",
        "listed-and-kept",
    ]
)

# Seeds of random mutations that are a wrong pass or an alarm.
MUTATIONS: frozenset[int] = frozenset()
