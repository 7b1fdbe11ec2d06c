"""The numeric limits of matching, each with the reason for its value."""

from __future__ import annotations

from parity.numerics.limits import U32

# Relative differences of float64 replays. Frameworks that compute the same agree to 1e-15 per
# operation; constants that are baked in float32 leave 1e-9 to 1e-7; a fault leaves more.
SAME = 1e-10
NEAR = 1e-4
FEW_DISTINCT = 4  # fewer distinct values are no evidence
FIRST_ELEMENTS = 16  # of which most arrays show so many

# --- axis orders ----------------------------------------------------------------------------------
SAMPLED_ELEMENTS = 64  # by which most orders are ruled out
MEASURED_AT_ONCE = 1 << 12  # elements that cost no more than the choice of a few
FEW_AXES = 4  # up to this there are no more than 24 orders
MANY_AXES = 6  # beyond this not every permutation is tried
SUMS_DIFFER = 4.0  # times what the elements' difference may add up to in a sum along axes

# --- partners -------------------------------------------------------------------------------------
UNCHANGED = 1e-13  # below this a replacement would change nothing
SMALL_LEAF = 4096  # elements; larger weights are looked up when somebody asks for them
LARGE_VALUE = 1 << 18  # elements of a value that is not kept twice
LOOK_ALIKES = 16  # at most so many are compared in full, for each value
CONSTANTS_APART = 8 * U32  # what constants rounded to float32 leave in an element

# --- look-alikes ----------------------------------------------------------------------------------
LOOK_AHEAD = 8  # operations after a replacement that may speak for or against it
STEPS_AHEAD = 64  # operations that are tried: a formula in a function of which no inside is known
CLEARLY = 2.0  # times nearer
ENOUGH_NEARER = 2  # values that are nearer with a replacement than without

# --- tables ---------------------------------------------------------------------------------------
LEAST_TABLE = 2  # elements of a table
SAME_ELEMENT = 4.0 * U32  # of an element, which the rounding of constants explains
NEAR_TABLE = 2.0**-10  # of the squares: what is farther is another computation
TABLE_ROUNDINGS = 2.0  # times what the computing model loses: one that holds it lost as much
