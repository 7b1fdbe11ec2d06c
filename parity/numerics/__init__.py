"""By how much two arrays differ, and how much of that rounding can be."""
