"""The numeric limits of this package, each with the reason for its value."""

from __future__ import annotations

# Unit roundoff of float32, and of the formats in which parameters are kept.
U32 = 2.0**-24
LEAST = 2.0**-149  # the smallest number of float32 that is not zero
UNITS = {"float32": U32, "bfloat16": 2.0**-8, "float16": 2.0**-11}
# Relative to the largest: what roundings of constants to float32 leave between two values that are
# one, when both models run in float64.
SAME = 1e-6
# A few roundings may add up in one operation.
FACTOR = 4.0
