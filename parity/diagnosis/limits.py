"""The numeric limits of the diagnosis, each with the reason for its value.

Differences are relative where nothing else is said: the root mean square of a difference over that
of the reference, or of an element over itself. `U32` is the unit roundoff of float32.
"""

from __future__ import annotations

import numpy as np

from parity.numerics.limits import U32

ROUNDED_CONSTANTS = 16 * U32  # what constants rounded to float32 leave of values that agree
LEFT = 0.01  # of a difference, once what explains it is put right

# --- regions --------------------------------------------------------------------------------------
LEAST_FAULT_OF_CONSTANTS = 0.1  # no rounding of a float32 parameter leaves so much
CUT_TRIES = 60  # pairs of values that are tried as the end of a region; a pair costs a replay
ALIKE_TRIES = 8  # the same of values that are made with the same weights, after those
OTHER_WEIGHTS, OTHER_ROOTS = 0.5, 2.0  # operations by which pairs made of others are put behind
OTHER_ROOTS_WITHIN = 12  # operations behind a pair made of others
BOTTLENECK_TRIES = 24  # the same of values through which all goes, where no others end it
BOTTLENECKS = 64  # of either side
WHOLE_CUT_TRIES = 8  # pairs at which a larger region may end, from which nothing else goes on
SWAPPED_STEPS = 60  # operations behind a value whose axes lie otherwise, up to where that begins
STEPS_TO_AGREE = 6  # after which what reads a value agrees, if it reads it as it ought to
FEW_CUT_TRIES = 3  # of transposed squares, which are tried before all else
PASSED_ON_STEPS = 3  # operations by which one side changes what the other passes on unchanged
LARGER_CUT_TRIES = 16  # pairs a few operations behind a cut after which little agrees
FEW_AGREE = 3  # values after a cut: they may agree by chance
PASSED_ON_TRIED = 12  # of the values passed on
ORDERS_TRIED = 6  # axis orders for a pair: all, where three axes have one length
UNSURE_STEPS = 4  # operations beyond a doubtful cut within which a surer one is preferred
STEPS_TO_A_JOIN = 256  # operations within which the turns of a loop are joined
A_LAYER_EACH = 4  # operations: a product and its bias on either side
SPLITS_TRIED = 60  # of a region into one operation and the rest, at all depths: they explode
MISMATCHES_IN_A_ROW = 8  # what comes after them may be as many again
STEPS_TO_RECONVERGE = 40  # operations within which a substituted value must lead to a match
ENCLOSURE_ENDS = 6  # later values at which an enlarged region may end: as many as after an epsilon
TERMS_OF_A_SUM = 24  # operations in a sum that is seen as a whole
ENCLOSURE_STEPS = 40  # operations of an enlarged region: no explanation needs more
RECURRENT_ENCLOSURE_STEPS = 1000  # the same of a recurrent layer, step by step
ENCLOSURES_TRIED = 6  # enlarged regions of a divergence; each is tried with all causes
LINKED_STEPS = 16  # operations between inputs of one side and inputs of the other

# --- cases and explanations -----------------------------------------------------------------------
RUNS_KEPT = 16  # replays of a region, as causes ask for the same ones again
WIDE_INPUTS = 4.0  # standard deviation of inputs at which every activation saturates
CONSTANTS_OF_A_CAUSE = 8 * U32  # a few constants baked in float32
SENSITIVE = 4.0  # times what one float32 rounding of the substituted value changes
EXPLAINED_AT_A_SITE = 3  # divergences at one pair of sites that are each explained
RUNS_TO_EXPLAIN = 96  # of a region, as measured: generated inputs, predictions, the proof

# --- the kind of a mismatch -----------------------------------------------------------------------
INDEPENDENT_INPUTS = 3  # of a rank test, each with a false-alarm rate of 1 / 20: together 1 / 8000
BY_THE_HOST = 2.0**-10  # what rounding may leave in a value that the host computed
WITHOUT_FLOAT64 = 2.0**-15  # larger rounding would hide what a port gets wrong
FAR_PARAMETER = 256  # roundings of the largest value: no sum of a few roundings is so large
STANDS_OUT = 8.0  # times what rounding explains on stress inputs
VISIBLE_UNDER_STRESS = 1e-6  # constants in float32 leave less
STRESS_STEPS = 16  # inputs between the user's and the extreme ones
STRESS_JUMP = 100.0  # from step to step a difference grows by less; a branch appears at once
FLOAT64_CANCELLED = 2.0**-46  # of the largest element: more than float64 cancels
NOTED_ELEMENT = 2.0  # times four root mean squares, which no element exceeds by more
OTHER_ROUNDINGS = 8  # turns: what moves in none of them is exact
VISIBLE_OUTPUT = 2.0**-10  # of the outputs: whoever uses them sees more
WITHIN_ROUNDING = 3.0  # times what inputs and constants account for; correct pairs differ by less

# --- outputs --------------------------------------------------------------------------------------
SEEN_IN_OUTPUTS = 1e-6  # constants in float32 leave less of an output
REDUCED_AXES = 5  # with more there are too many ways to reduce
SAME_NAME_NEAR = 1e-3  # outputs that belong together, but for chaotic models
REORDERED_OUTPUTS = 16  # of more outputs no other order is tried
LARGE_OUTPUT = 1_000_000  # elements, from which on no second array of its size is made
MOST_BEYOND = 0.5  # of the elements of a large output: as many differ by no rounding
UNIFORM_ROUNDINGS = 8.0  # that sums inside a kernel leave of one value
NEARLY_ALL_MATCHED = 0.9  # of the values inside: then they show what uniform outputs do not
LARGE_RUN = 1 << 24  # elements of the outputs: of such no run is kept beside the next

# --- the whole comparison -------------------------------------------------------------------------
HARMED = 10.0  # times as large after a repair, which then repaired nothing
HELPED = 0.9  # times as large after a repair
HELPED_BELOW_A_UNIT = 0.1  # likewise where outputs differ by less than a unit of float32
LAST_DIGITS = 8.0  # times rounding: what a constant's last digits leave
CONSTANTS_OF_BOTH = 2.0  # times what moved constants change: either model may have rounded them
DAMPED = 1e4  # times as large at the place as in the outputs: what follows forgets it
WORSE_WITHOUT = 1.001  # times as large without one repair
RESTORED = 1e-5  # of what outputs differ by, with one repair: what rounded constants leave
MUCH_WORSE_WITHOUT = 1.5  # where one cause has several places: without one it may be more
DIVERGENT_ANYWAY = 1e-6  # in float64; rounding of float32 constants leaves less of a value
NEARLY_SAME = 0.05  # noise that is used otherwise, as reversed, is farther

# --- rounding of outputs --------------------------------------------------------------------------
ROUNDING_TURNS = 8  # of moved inputs
TIMES_MOVED = 64.0  # sums in another order leave some of that, constants inside as much again
TIMES_MOVED_NARROW = 8.0  # in a narrow format, where a unit is as large as all that
NEIGHBOURS_ROUNDING = 2.0**-26  # of what is usual nearby: constants' rounding, not moved inputs'
OWN_ROUNDING = 8.0 * U32  # of an element itself
FLUSHED = 2.0**-60  # of the largest nearby: some kernels flush it to zero
FLUSHED_ANYWHERE = 2.0**-120  # likewise, whatever lies nearby: close to the smallest float32
LOST_BESIDE_FLOAT64 = 2.0**-12  # what float32 may lose beside a model that computes in float64
TIES = 16.0 * U32  # a whole number that so many units do not change was no tie
WHOLE_NUMBERS = 2.0**23  # float32 has no digits behind the point from here on
STEPS_MOVED = 4.0  # times the steps that roundings change a whole number by
LOST_NEAR_ONE = 64 * U32  # of values about 1, whose difference is small
LOST_OF_LARGE = 2.0**-14  # smaller outputs have a scale of their own
TF32_BITS = np.uint32(0xFFFFE000)  # those of a float32 that TensorFloat-32 keeps
SHOWS_LOW_PRECISION = 2.0**-13  # of the outputs
SAME_MASK = 16 * U32  # a mask's constant, written twice

# --- values that a program holds or prints --------------------------------------------------------
SAME_AS_HELD = 8 * U32  # of a constant and the value that it was made from
OTHER_THAN_HELD = 64 * SAME_AS_HELD  # what lies between is not claimed
HELD_BY_CHANCE = 4  # fewer equal values are chance
HELD_ANYWHERE = 64  # values that are looked for wherever they are
ROUNDINGS_OF_A_NUMBER = 16.0  # as often a computation rounds whose inputs were rounded once
SAME_NUMBER = 4 * U32  # as a constant that is rounded once more
SAME_KERNEL = 16 * U32  # as two exponentials of one number
SAME_COMPUTATION = 64 * U32  # between two frameworks, but for chaotic models
OTHER_NUMBER = 2.0**-10  # more than rounding leaves, but for chaotic models
FAULTY_NUMBER = 1000.0  # times what rounding moves
COARSE = 16.0  # steps: a number that moves by fewer was rounded to them
NUMBER_JUMP = 0.25  # of its size, by which no rounded whole number moves
NUMBER_TIE = 1.5  # steps: a tie moves a number by no more
LARGEST_POWER = 300  # of ten, near which float64 ends
SAME_HOST_NUMBER = 4 * U32  # equal but for the last bits of float32
HOST_NUDGES = 8  # runs with nudged inputs: a number that rounding moves stays in few of them
SHOWN_CHARACTERS = 60  # of a leaf in a message

# --- other samples, other inputs ------------------------------------------------------------------
TIMES_ELSEWHERE = 64.0  # what the models differ by on the given inputs
NUDGES = 2  # runs with nudged inputs
MORE_NUDGES = 8  # a value that so many do not move, none moves
BY_POSITION = 1e-3  # of its size: an output may change so with where its sample lies in the batch
EXPLAINED_BY_POSITION = 0.25  # of a difference; two changes by position explain less
CHANGED_INPUT = 64 * U32  # less may be another rounding of what is added to a large number
FEW_SAMPLES = 2  # samples that still have a spread
OTHER_SAMPLES = 2  # that stand for a single one
SAMPLE_STEP = 0.03  # of its size, by which they differ from it at most
MOVED_SAMPLES = 8  # that are changed, one after the other, to see where each has gone
SAMPLE_NUDGE = 1e-6  # so little that what is sorted by value stays in order
DOUBTED_OTHER = 1e-3  # between outputs: no rounding
DOUBTED_CLOSE = 1e-3  # nearer outputs of plain runs may be equal but for rounding

# --- weights that are not shared ------------------------------------------------------------------
MATRIX_AXES = 2  # longer than 1; biases have one, also where they are stored as one tensor
SEVERAL_WEIGHTS = 2  # of a single weight its layer says more
WEIGHT_PICKS = 256  # values by which two weights are compared
MOST_OF_A_WEIGHT = 0.5  # of its values, where it is cut otherwise; few of others are equal
CELL_GATES = 4  # an LSTM's
PICK_STEP = 104729 * 7  # shares no factor with usual lengths, so that every axis varies
ALIKE_WEIGHTS = 0.9  # cosine; of unrelated weights it is near zero

# --- normalisations -------------------------------------------------------------------------------
HUGE_INPUTS = {1: 1e7, 2: 1e10}  # by the draw: what is bounded does not grow
SMALL_INPUTS = (1e-2, 1e-4, 1e-6, 1e-8, 1e-11)  # at which an epsilon shows
EPSILON_ITERATIONS = (
    6  # of the fit of an epsilon, to which responses to small inputs are reciprocal
)
WINDOW_COLUMNS = 32  # of channels, on which windows are looked for
WIDEST_WINDOW = 65  # of channels
FITS_FORMULA = 1e-6  # constants may be baked in float32

# --- random draws ---------------------------------------------------------------------------------
RUNS_DIFFER = 1e-3  # by this of their size: rounding leaves less between runs on other samples
CHANCE_TURNS = 16  # runs of each model, each on other samples
DENSITY_SAMPLES = 8  # fewer show no density
NEARLY_ONE_LAW = 1e-3  # by which noises of nearly one distribution differ
PROBABILITY_OFF = 2e-6  # by which the distributions of two noises may differ
NOISE_VALUES = 16  # at most, that noise is substituted for
NOISE_PLACES = 17  # probabilities at which elements are compared
LEAST_PROBABILITY = 0.01  # of them
NOISE_DIFFERS = 1e-6  # of an element's spread: no rounding of constants leaves as much
KERNEL_SAMPLES = 1000  # of a kernel in a turn: the least and the largest are its ends
KERNEL_SAMPLES_VALUES = 1_000_000  # that these make in all
RERUN_KERNELS = 8.0  # times rounding: where an array lies in memory may change how a kernel rounds
UNBOUNDED_REACH = 16.0  # times the largest sample, where a distribution has no ends
MIXED_TURNS = 16  # in which each draw is another mixture
USUAL_TURNS = 8  # in which samples are as large as those that were drawn
NEAR_AN_END = 2.0**-20  # of an interval; 1 plus such a number is still another float32
GRAPH_LOOKS = (16, 32, 64, 256)  # runs of graph and code: a large difference needs few
GRAPH_OPERATIONS = 16_000  # in the runs of a look, and
GRAPH_VALUES = 20_000_000  # values that they give: a look of more is not taken, but for the first
GRAPH_STREAM = 100  # seed of the code's runs; those of the graphs have the first numbers
GRAPH_ELEMENTS = 16_384  # of an output; of a larger one a part is taken
GRAPH_SINGLE_ELEMENTS = 32  # of an output that are compared by themselves
GRAPH_PRODUCTS = 16  # outputs of which each is multiplied by each
GRAPH_ERROR_RATE = 1e-6  # of a comparison of graphs that are right
REDRAWS = 6  # turns at least, where they cost little
REDRAWN_DECISIONS = 1000  # a difference in 0.5% of them is seen in 99.3% of comparisons
MOST_REDRAWS = 1000  # turns
REDRAWN_OPERATIONS = 40_000  # in all turns
LARGE_REDRAW = 4_000_000  # values that a turn makes, for which there are but two
REDRAWN_VALUES = 40_000_000  # that all turns make
REPAIRING_REDRAWS = 4  # turns on whose samples draws are paired anew
REDRAW_APART = 1e-6  # no rounding in float64, but what follows from another decision
FAR_REDRAW = 3  # of so many turns one has many extreme samples, where a clip or a floor shows
REFUSED_REDRAWS = 3  # turns that cannot be run
REDRAW_NO_ROUNDING = 1000.0  # times REDRAW_APART: no rounding that was amplified
REDRAW_POOL = 4  # values, of which the largest is seldom next to nothing
REDRAW_AMPLIFIED = 100.0  # times what constants leave on the recorded samples
LAW_RUNS = 16_000  # of each model
LAW_FIRST_RUNS = 125  # each look has twice as many as that before: a large difference needs few
LAW_LEAST_RUNS = 200  # of each model; with fewer nothing is claimed
LAW_OPERATIONS = 400_000  # in all runs
LAW_VALUES = 200_000_000  # that these give
LAW_EQUAL_SAMPLES = 8  # that a kernel does not give by chance, if they are equal
LAW_STREAM = 1000  # seed of a kernel's generator, with the run and the model added
LAW_ELEMENTS = 128  # of an output that are compared, and sums of all as many again
LAW_PRODUCTS = 64  # of which each is multiplied by each
LAW_ERROR_RATE = 1e-6  # of a comparison of models that are one
LAW_NEGLIGIBLE = 2.0**-10  # of what is large among values: of this quantile of their sizes
LAW_LARGE_QUANTILE = 0.99
LAW_ROUNDING = 1e-9  # of the largest

# --- values cut into steps ------------------------------------------------------------------------
SAME_STEP = 1e-5  # between an operation's result for one step and for all at once: rounding
LEAST_STEP = 4  # elements of a step: of fewer, chance may agree
LARGEST_CUT = 1 << 20  # elements
LONGEST_LOOP = 64
STEPS_CUT = 1024  # in all: each is an operation more
