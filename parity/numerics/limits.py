"""The numeric limits of this package, each with the reason for its value.

Differences are relative: the root mean square of a difference over that of the reference, or of an
element over itself.
"""

from __future__ import annotations

# --- formats --------------------------------------------------------------------------------------
U32 = 2.0**-24  # unit roundoff of float32
U64 = 2.0**-53  # of float64
UNITS = {"float32": U32, "bfloat16": 2.0**-8, "float16": 2.0**-11}  # formats of parameters
LEAST = 2.0**-149  # the smallest number of float32 that is not zero
FACTOR = 4.0  # a few roundings may add up in one operation
# Relative to the largest: what roundings of constants to float32 leave between two values that are
# one, when both models run in float64.
ALIKE = 1e-6

# --- what rounding accounts for -------------------------------------------------------------------
# Of 77 correct pairs, each written by itself, the largest ratio was 1.12 (a constant rounded to
# float32), of 42 faulty ones the smallest 49,704. Between the two limits nothing is claimed.
ACCOUNTED = 8.0
FAULTY = 1000.0
POOL = 4  # fewer elements do not show what rounding is usual among them
# An element may be right by luck: then what is usual nearby counts, up to the loss of six bits by
# cancellation, and not where an element is small by itself.
LUCK = 64.0
# What float64 itself cancels, as 1 + erf far below zero does in any precision: of the size of the
# element's neighbours.
FLOAT64_FLOOR = 2.0**-50
# Between models that ran in float64 no replay measures rounding; matching's bound holds there.
FLOAT64_RUNS = 1e-10
# A model without float64 shows no rounding of its own: it may have so many times the other's.
UNMEASURED = 8.0
NEAR_ONE = 2.0**-4  # where all values are smaller, no 1 was added to them

# --- differences ----------------------------------------------------------------------------------
# Beyond this ratio of the largest to the typical magnitude large values are compared by themselves:
# their size would hide every difference elsewhere.
LARGE_RATIO = 1e4
NEGLIGIBLE = 1e-6  # of the largest: such a difference is not seen beside it
# Masks are written as -inf, float32.min, -1e9, -1e8; no activation is so large and so constant.
# A logit that is added to -1e7 moves it by a few of 1e6.
SENTINEL = 1e7
SENTINEL_SPREAD = 1.0001
SWALLOWED = 2.0**-21  # of a mask's constant: float32 rounds the logit that it swallows to that
COLUMNS = 64  # which are measured one by one
LEAST_COLUMN = 1e-3  # of the second largest: smaller columns do not count by themselves
BLOCK = 1 << 14  # elements that stay in the cache
SLICE_BLOCK = 1 << 20  # elements of which slices are measured at once, as to make no large array
FLUSHED_SLICE = 2.0**-100  # what is smaller a kernel may flush to zero

# --- measuring rounding ---------------------------------------------------------------------------
CONSTANT_DRAWS = 2  # replays with moved constants, which all leave about the same
NOISE_DRAWS = 4  # replays with moved values: by luck an element stays in one, seldom in all
FEW_BITS = 2.0**12  # a multiple of its inverse is exact, as sums of powers of two are
SMALL = 2.0**11  # larger values that have digits behind the point are rounded
KERNEL_ROUNDINGS = 4.0  # of a kernel's result, by which it may be off and has lost nothing
MAGNIFIED = 32.0  # times by which an operation magnifies what its inputs are off by
MASK_SHARES = (0.03, 3e-3, 3e-4)  # by which inputs move, at most, to see whether a mask stays
MASK_CONSTANT = 1e-4  # more than a mask's constant moves with the logit that it swallows

# --- one function in every precision --------------------------------------------------------------
KERNEL_DRAWS = 3, 12  # calls with moved arguments; more where an element stayed by luck
OTHER_KERNEL = 16.0  # times what moved inputs leave: sums and constants inside round by less
# Of an element: less may be rounding inside, which moved arguments do not show.
LOST_IN_KERNEL = 2.0**-6
# What is lost of small values that 1 is added to, as in log(1 + exp(x)): rounding, whatever it is
# of the small element. What it changes in the outputs as they ran is judged by itself.
LOST_OF_ONES = 4 * U32

# --- without float64 ------------------------------------------------------------------------------
# Draws for each input; a rank test over them cannot give less than 1 / (RANK_DRAWS + 1).
RANK_DRAWS = 19
ORDER_OF_SUMMATION = 8.0  # times the largest of them: long sums in another order leave as much
# So many times more than that is no rounding, whatever other inputs show: a branch that only the
# user's inputs reach, as a mask of zeros.
NO_SUMMATION = 128.0

# --- precision scaling ----------------------------------------------------------------------------
CUT = 2.0**-14.5  # half way, in powers of two, between 2**-29 and 1
# What float64 may have more of a difference than float32, 2**-29 of it: a factor for the luck of a
# draw and for sums in another order.
SCALING_SLACK = 2.0**-24

# --- two runs of one model ------------------------------------------------------------------------
# Of 52 outputs of right graphs the furthest was 3.7 times what moves it in an element, and 0.9 as a
# whole, both where XLA adds 2,000 products. An output of few operations that is off by 1e-6 of
# itself throughout is 1.1 to 3.8 as a whole.
RERUN_AS_A_WHOLE = 1.0
RERUN_PRIOR = 15  # elements, as if so many more did not differ: few do not show what is usual
