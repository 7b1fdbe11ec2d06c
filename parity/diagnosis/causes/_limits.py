"""The numeric limits of the causes, each with the reason for its value."""

from __future__ import annotations

# --- what a value is compared with ----------------------------------------------------------------
CLOSE = 1e-5  # relative, where a proposal is tried at first: what holds is tried in full
SAME_PARAMETER = 1e-6  # relative, of numbers that are solved for from float32 constants
SAME_ADVANTAGE = 1e-6  # relative, of float32 weights in float64
CORRECTION_EPSILON = 1e-4  # absolute: an epsilon in the correction is smaller where tanh bends
MASKED = -1e6  # the logarithm of the probability of a masked element
ROUNDED_CONSTANT = 0.02  # relative: two digits are the fewest that anyone leaves
SAME_CONSTANT = 3e-7  # relative: what differs less is one number in float32
SAME_VARIANCE = 1e-7  # relative, of an element
SIMILAR_VARIANCE = 1e-2  # relative: two models' running variances, not one with another epsilon
FLAT = 1e-3  # a smaller slope is half of x, or a half: no activation
HUGE_INPUT = 1e6  # there the epsilon is nothing
TINY_INPUT = 1e-8  # and there it is nearly all
SIGMAS_OF_SHARE = 5  # that a share of zeros may be off its rate

# --- how much is looked at or tried ---------------------------------------------------------------
VALUES_TRIED = 24  # of a region, in the order of the flow: each may cost a replay
ELEMENTS_AT_FIRST = 64  # of which most formulas are ruled out
OPS_BEFORE_A_VALUE = 12  # that may give it a constant
CORRECTIONS_AT_FIRST = 256  # elements: fewer may all be where tanh saturates
CURVE_POINTS = 512  # of each trial
CURVE_POINTS_AT_FIRST = 16  # most curves are ruled out by few points
OPS_OF_A_LAYER = 40  # more are not one layer's activation, but a loop
OPS_OF_AN_ACTIVATION = 9  # a hand-written GELU has eight
PAIRS_OF_VALUES = 60  # between which an activation is looked for
OPS_BESIDE_A_BIAS = 24  # of a region in which nothing else differs
VECTORS_OF_A_NORM = 10  # among which the roles in a norm are looked for
BYPASSES_TRIED = 24  # a region of many operations is no simple wiring
SOURCES_TRIED = 24  # as many
INPUTS_EXCHANGED = 4  # of one shape
EQUAL_VALUES = 24  # that are looked at
SCALES_TRIED = 4  # values of a region that scale another
CONSTANTS_TRIED = 8  # of each side
SLICES_RUN = 64  # of an axis that was not reduced: the rest runs once for each

# --- how far what belongs together may be ---------------------------------------------------------
OPS_TO_THE_SUM = 3  # behind a region in which value and advantages may be added
OPS_TO_THE_ATOMS = 2  # behind a region in which atoms become probabilities
OPS_TO_THE_NOISE = 3  # between a scale and what it scales
OPS_TO_AN_ACTION = 8  # behind the squashing of an action
OPS_OF_A_NORM = 8  # computing ones, before a value that may have normalised it
OPS_TO_A_LAYER = 40  # behind a region in which what it lacks may follow
OPS_OF_AN_AFFINE = 2  # behind a norm that may be its scale and offset
OPS_OF_A_PREPARATION = 4  # between an input and what is made of it beforehand

# --- what chance explains as well -----------------------------------------------------------------
ELEMENTS_OF_A_SUM = 5  # the ratio of sum and mean; a smaller one may be any factor
ELEMENTS_OF_A_MASK = 8  # of fewer a mask may be chance
PARTS_ROLLED = 6  # by any number; more parts only by one
PARTS_ORDERED = 16  # channels or frames
SAMPLES_OF_A_CHANNEL = 3  # to read off its scale and offset

# --- costs: of explanations that hold, the least assumed is reported ------------------------------
OP_LEFT_OUT = 0.01  # each operation more
OTHER_SOURCE = 0.5  # an operation that is missing is the simpler explanation
PLAIN_REDUCTION = 0.5  # a hand-written softmax or norm is more than the sum in it
OF_A_DISTRIBUTION = -0.5  # reported in place of the activation that it is too
